"""AlphaZero: it learns, resumes bit by bit, refuses what it cannot play, and reports what its search found."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from src.algos.alphazero import AlphaZero
from src.algos.alphazero.agent import NetworkEvaluator, PlayConfig, SearchAgent
from src.algos.alphazero.learning import AlphaZeroTrainer, RatedPastSelves
from src.algos.alphazero.search import SearchConfig
from src.algos.alphazero.self_play import TrainingBatch, gumbel_noise
from src.algos.minimax import MinimaxAgent
from src.algos.weights import build_net, export_weights
from src.core.errors import UserError
from src.core.play.agent import RandomAgent
from src.core.play.arena import evaluate
from src.core.play.curriculum import Curriculum
from src.core.play.game import Trait
from src.core.runs import checkpoint
from src.envs.tictactoe.game import TicTacToe
from src.nets.boards import Heads, Residual
from src.nets.flat import MLP
from tests.algos.making import (
    ONE_THREAD,
    assert_same_weights,
    fit,
    no_curriculum,
    rows_without_times,
    run_in,
    saved_learner,
    versus,
)
from tests.envs.quoridor.making import make_game

GAME = TicTacToe(symmetric=True)


def alphazero(**changes: Any) -> AlphaZero:
    search = SearchConfig(simulations=8, considered_actions=4, visit_offset=50.0, value_scale=0.25)
    net = {"net": MLP([32]), "play": PlayConfig(simulations=16), "search": search, "init_from": None}
    sizes = {"total_steps": 256, "num_envs": 16, "steps_per_env": 4, "opening_plies": 2, "buffer_size": 400}
    training = {"batch_size": 32, "repeats": 1.5, "augment": True, "gamma": 0.99, "td_lambda": 0.9, "vf_coef": 1.0}
    optimizer = {"lr": 0.01, "lr_warmup": 2, "weight_decay": 0.0001, "max_grad_norm": 1.0, "ema_decay": 0.9}
    limits = {"seconds": None, "eval_every": 128, "eval_episodes": 10, "eval_opening_plies": 0}
    settings: dict[str, Any] = {"compute": ONE_THREAD, "past_selves": 2, "past_selves_games": 8}
    return AlphaZero(**(settings | net | sizes | training | optimizer | limits | changes))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    fit(alphazero(), versus(), folder)
    return folder


@pytest.mark.parametrize("saves", [2, 3])
def test_a_run_that_was_killed_ends_like_one_that_was_not(tmp_path: Path, uninterrupted: Path, saves: int):
    """Four updates of 4 moves in 16 games, in which games begun before the save end after it."""
    fit(alphazero(), versus(), tmp_path, saves=saves)
    fit(alphazero(), versus(), tmp_path)
    rows = rows_without_times(tmp_path)
    assert len(rows) == 4
    assert rows == rows_without_times(uninterrupted)
    assert float(rows[-1]["losses/value_loss"]) > 0
    assert_same_weights(tmp_path, uninterrupted)


def test_it_logs_its_games_and_its_rating_above_its_first_weights(uninterrupted: Path):
    rows = rows_without_times(uninterrupted)
    last = {name: float(value) for name, value in rows[-1].items() if value}
    assert 5 <= last["train/episode_length"] <= 9
    assert 0 <= last["train/draw_rate"] + last["train/first_player_win_rate"] <= 1
    assert last["eval/past_selves_elo_low"] < last["eval/past_selves_elo"] < last["eval/past_selves_elo_high"]
    assert last["train/past_selves"] == 2
    assert 0 < last["train/replay_size"] <= 400


@pytest.mark.slow
def test_it_learns_tic_tac_toe(tmp_path: Path):
    algo = alphazero(net=MLP([64]), total_steps=6400, num_envs=64, buffer_size=6400, batch_size=64, eval_every=6400)
    agent = fit(algo, versus(), tmp_path)
    alone = alphazero(net=MLP([64]), play=PlayConfig(simulations=0)).load_agent(saved_learner(tmp_path, "best"))
    score = evaluate(GAME, agent, RandomAgent(), 100, 0).total
    assert score.wins >= 85
    assert score.losses <= 10
    assert evaluate(GAME, alone, RandomAgent(), 100, 0).total.wins >= 75
    untrained = evaluate(GAME, agent_of(alphazero(), simulations=0), RandomAgent(), 100, 0).total
    assert untrained.wins < 70


def agent_of(algo: AlphaZero, simulations: int, env: Any = None) -> SearchAgent:
    torch.manual_seed(0)
    env = env or versus()
    saved = export_weights(build_net(algo.net, env, None), env)
    return SearchAgent(algo.load_agent(saved).net, ONE_THREAD, PlayConfig(simulations), algo.search, algo.gamma)


def test_the_search_of_the_agent_is_reported_with_its_decision():
    agent = agent_of(alphazero(), simulations=64)
    decision = agent.decide(GAME, "XX.OO....", np.random.default_rng(0))
    assert decision.action == 2
    assert decision.info["simulations"] == 64
    assert decision.info["visits"] == decision.info["action_visits"][2] == decision.info["action_visits"].max()
    assert decision.info["value"] > 0.8
    assert decision.info["action_probability"][2] > 0.9
    assert agent.deterministic
    best, *others = agent.analyze(GAME, "XX.OO....", 9)
    assert (best.score, best.actions) == ("0.990", (2,))
    assert all(float(line.score) <= 0.99 for line in others)
    assert len({line.actions[0] for line in others}) == len(others) == 3, "only four actions are considered"


def test_without_simulations_the_network_moves():
    agent = agent_of(alphazero(), simulations=0)
    decision = agent.decide(GAME, "XX.OO....", np.random.default_rng(0))
    chances = decision.info["action_probability"]
    assert decision.action == int(chances.argmax())
    lines = agent.analyze(GAME, "XX.OO....", 3)
    assert [line.actions[0] for line in lines] == np.argsort(-chances)[:3].tolist()
    assert lines[0].score == f"{chances.max():.3f}"


def test_decisions_do_not_depend_on_the_batch():
    agent, rng = agent_of(alphazero(), simulations=16), np.random.default_rng(0)
    states = ["." * 9, "XX.OO....", "X...O...X"]
    together = agent.decide_batch(GAME, states, [rng] * 3)
    assert [agent.decide(GAME, state, rng).action for state in states] == [one.action for one in together]


def test_search_loses_fewer_games():
    algo = alphazero()
    lost = [evaluate(GAME, agent_of(algo, simulations), RandomAgent(), 100, 0).total.losses for simulations in (0, 32)]
    assert lost[1] < lost[0] / 2


def test_gumbel_noise_has_its_mean_and_variance():
    noise = gumbel_noise(400, 100, torch.Generator().manual_seed(0))
    assert noise.mean() == pytest.approx(0.5772, abs=0.02)
    assert noise.var() == pytest.approx(np.pi**2 / 6, abs=0.05)
    assert np.isfinite(noise).all()


def test_losses_by_hand(tmp_path: Path):
    """Two legal actions with equal logits: cross entropy log 2; values 0.5 for a target of -1: 2.25; vf_coef 2."""
    with run_in(tmp_path) as run:
        trainer = AlphaZeroTrainer(alphazero(vf_coef=2.0), versus(), run)
    logits = torch.zeros(1, 9)
    logits[0, 5] = 100.0  # illegal
    trainer.compiled = lambda observations: Heads(logits, torch.tensor([0.5]), torch.zeros(1, 0))
    mask, policy = torch.zeros(1, 9, dtype=torch.bool), torch.zeros(1, 9)
    mask[0, :2], policy[0, :2] = True, torch.tensor([0.25, 0.75])
    losses = trainer._losses(TrainingBatch(torch.zeros(1, 2, 3, 3), mask, policy, torch.tensor([-1.0])))
    assert losses["policy_loss"].item() == pytest.approx(np.log(2))
    assert losses["value_loss"].item() == pytest.approx(2.25)
    assert losses["loss"].item() == pytest.approx(np.log(2) + 4.5)
    assert losses["entropy"].item() == pytest.approx(np.log(2))


def test_openings_are_neither_searched_nor_trained_on(tmp_path: Path):
    with run_in(tmp_path) as run:
        algo = alphazero(opening_plies=3, num_envs=64, buffer_size=6400, steps_per_env=1)
        trainer = AlphaZeroTrainer(algo, versus(), run)
    (group,) = trainer.groups
    assert set(group.lengths.tolist()) == {0, 1, 2, 3}
    plies = [9 - state.count(".") for state in group.positions.roots()]
    assert plies == group.lengths.tolist()
    assert len(set(group.positions.roots())) > 20, "they are random"
    trainer.update()  # one move
    assert (group.lengths == np.array(plies) + 1).all()
    assert (group.buffer.ages == 1).all(), "of every game"
    first = group.buffer.masks[0].sum(dim=1)
    assert first.tolist() == [9 - ply for ply in plies], "the first stored position is that after the opening"


def test_too_large_buffers_and_too_long_openings_are_refused(monkeypatch: pytest.MonkeyPatch):
    each = 4 * 2 * 9 + 5 * 9 + 10
    monkeypatch.setattr(checkpoint, "MAX_BYTES", 500 * each)
    alphazero(buffer_size=450).check(versus(), no_curriculum())  # a tenth is left for the rest
    with pytest.raises(UserError, match=r"algo.buffer_size=451 takes .* choose at most 450"):
        alphazero(buffer_size=451).check(versus(), no_curriculum())
    with pytest.raises(UserError, match="opening_plies=9 is too many"):
        alphazero(opening_plies=9).check(versus(), no_curriculum())


def test_a_network_for_a_board_learns_quoridor(tmp_path: Path):
    game = make_game(3, walls=1, ply_limit=20, distance_maps=True)
    env = versus(game=game)
    algo = alphazero(
        net=Residual(8, 1, 1, corner_planes=True, value_pool="mean_max"),
        total_steps=64,
        eval_every=64,
        eval_opening_plies=1,
    )
    algo.check(env, no_curriculum())
    agent = fit(algo, env, tmp_path)
    agent.check(game)
    assert agent.decide(game, game.initial(np.random.default_rng(0)), np.random.default_rng(0)).action is not None


def test_a_game_with_hidden_information_is_refused():
    class Hidden(TicTacToe):
        traits = frozenset({Trait.TWO_PLAYER, Trait.DETERMINISTIC})

    with pytest.raises(UserError, match=r"it needs a game with perfect information"):
        alphazero().check(versus(game=Hidden(symmetric=True)), no_curriculum())


def test_what_does_not_fit_is_refused():
    with pytest.raises(UserError, match=r"algo.buffer_size=8 must be at least algo.num_envs=16"):
        alphazero(buffer_size=8)
    with pytest.raises(UserError, match=r"simulations=-1 must be"):
        PlayConfig(simulations=-1)
    with pytest.raises(UserError, match=r"algo=alphazero learns from itself alone: set curriculum=none"):
        alphazero().check(versus(), Curriculum({"easy": lambda env: versus()}, 0.5))


def test_past_selves_are_rated_on_one_scale():
    """A perfect player against snapshots that play at random: 8 games in all, both seats against each snapshot."""

    def load(weights: dict[str, Any]) -> RandomAgent:
        return RandomAgent()

    rated, other = (RatedPastSelves(2, 8, load) for _ in range(2))
    assert rated.measure(GAME, MinimaxAgent(), 0) == {}, "there is no past self yet"
    rated.add(lambda: {"number": 0})
    first = rated.measure(GAME, MinimaxAgent(), 0)
    assert first["eval/past_selves_elo_low"] < first["eval/past_selves_elo"] < first["eval/past_selves_elo_high"]
    assert first["eval/past_selves_elo"] > 200
    for number in (1, 2):
        rated.add(lambda number=number: {"number": number})  # type: ignore[misc]
    other.load_state(rated.state())
    assert rated.measure(GAME, RandomAgent(), 0) == other.measure(GAME, RandomAgent(), 0)
    assert rated.state()["results"][0] == ["1", "0", *rated.state()["results"][0][2:]]
    games = [row[3] for row in rated.state()["results"]]
    assert games == [8, 4, 4], "one snapshot, then two"


def test_priors_are_positive_for_legal_actions_only():
    logits = torch.tensor([[200.0, -200.0, 300.0, *[0.0] * 6]])
    evaluator = NetworkEvaluator(lambda _: Heads(logits, torch.tensor([1.5]), torch.zeros(1, 0)), ONE_THREAD)  # type: ignore[arg-type]
    positions = GAME.positions(1, 1)
    positions.set_roots([0], ["..XO....."])
    priors, values = evaluator(positions).result()
    assert priors[0, [2, 3]].tolist() == [0.0, 0.0]
    assert priors[0, 0] == pytest.approx(1.0)
    assert 0 < priors[0, 1] < 1e-6
    assert values.tolist() == [1.0], "values are limited to the range of outcomes"


def test_outputs_that_are_not_finite_are_an_error_and_not_a_move():
    heads = Heads(torch.full((1, 9), torch.nan), torch.tensor([torch.nan]), torch.zeros(1, 0))
    positions = GAME.positions(1, 1)
    positions.set_roots([0], ["." * 9])
    with pytest.raises(UserError, match="the network returns NaN or infinite values"):
        NetworkEvaluator(lambda _: heads, ONE_THREAD)(positions).result()  # type: ignore[arg-type]


def test_long_searches_play_fewer_games_at_once():
    games = [agent_of(alphazero(), simulations).games_in_step for simulations in (0, 64, 4095)]
    assert games == [512, 512, 16]
