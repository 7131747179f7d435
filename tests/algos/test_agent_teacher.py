"""Imitation of agents: what they label, and that it depends on nothing else."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from src.algos.agent_teacher import AgentTeacher, LabelConfig, policy_weights, position_value
from src.algos.alphabeta import AlphaBetaAgent, DifficultyConfig
from src.algos.imitation import Imitation, load_learner
from src.algos.mcts import MctsAgent
from src.algos.minimax import MinimaxAgent
from src.algos.weights import export_weights
from src.core.errors import UserError
from src.core.parallel import TaskPool
from src.core.play.agent import Agent, Decision, SelfPlay
from src.core.play.search_interface import WIN, parse_score, score_text
from src.envs.minesweeper.agents import ExactAgent
from src.envs.quoridor.agents import RunnerAgent
from src.envs.tictactoe.game import TicTacToe
from src.nets.flat import MLP
from tests.algos.making import (
    PLAIN_WEIGHTS,
    assert_same_weights,
    fit,
    no_curriculum,
    playing,
    ppo,
    read_column,
    rows_without_times,
    saved_learner,
    versus,
)
from tests.algos.test_alphazero import alphazero
from tests.algos.test_imitation import imitation, minesweeper
from tests.lab import Lab

NET = MLP([16])
GAME = TicTacToe(symmetric=True)


def labels(**changes: Any) -> LabelConfig:
    settings = {"opening_plies": 2, "explore": 0.2, "dagger": 0.0, "score_weight": 0.5, "score_scale": 100.0}
    return LabelConfig(**(settings | changes))


def teacher(agent: Agent | None = None, **changes: Any) -> AgentTeacher:
    return AgentTeacher(agent or MinimaxAgent(), labels(**changes), partial(load_learner, NET))


def learning(**changes: Any) -> Imitation:
    """A short run with several rounds, in which the learner plays."""
    sizes = {"total_steps": 640, "batch_size": 16, "chunk_size": 32, "window": 2, "repeats": 1}
    settings = {"teacher": MinimaxAgent(), "labels": labels(dagger=0.5), "net": NET}
    return imitation(**(settings | sizes | changes))


def learner() -> dict[str, Any]:
    env = versus()
    saved = export_weights(NET.build((2, 3, 3), 9), env)
    return {**saved, "weights": {name: weight.numpy() for name, weight in saved["weights"].items()}}


def board_of(observation: np.ndarray) -> str:
    """Return the position of tic-tac-toe that was observed."""
    own, other = observation.reshape(2, 9) > 0
    stones = "XO" if own.sum() == other.sum() else "OX"
    return "".join(stones[0] if a else stones[1] if b else "." for a, b in zip(own, other, strict=True))


@pytest.mark.parametrize("dagger", [0.0, 1.0])
def test_labels_are_those_of_the_teacher_whoever_plays(dagger: float):
    minimax, played = MinimaxAgent(), learner() if dagger else None
    batch = teacher(dagger=dagger, score_weight=1.0).labeled_batch(GAME, 0, 3, 200, played)
    for observation, policy, legal, chance in zip(
        batch.observation, batch.policy, batch.legal_actions, batch.win_probability, strict=True
    ):
        state = board_of(observation)
        assert np.flatnonzero(legal).tolist() == GAME.legal_actions(state)
        assert np.flatnonzero(policy).tolist() == minimax.best_actions(GAME, state)
        assert chance == (1 + minimax.value(GAME, state)) / 2
    batch = teacher(explore=0.0, opening_plies=0, dagger=dagger).labeled_batch(GAME, 0, 3, 200, played)
    decided = [minimax.value(GAME, board_of(one)) != 0 for one in batch.observation]
    assert any(decided) == (dagger > 0), "perfect play on both sides leads to drawn positions only"


def test_a_batch_depends_on_seed_and_number_only():
    agents = MinimaxAgent(), MctsAgent(simulations=20, exploration=0.5)
    makes = partial(_make, [teacher(agent, dagger=0.5) for agent in agents], learner())
    with TaskPool(makes, 0) as here, TaskPool(makes, 1) as there:
        first = [here.submit(number)() for number in (3, 2, 1, 0)]
        second = [job() for job in [there.submit(number) for number in range(4)]][::-1]
    for one, other in zip(first, second, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[0].observation, first[2].observation)
    assert not np.array_equal(first[1].observation, first[3].observation)


def _make(labelers: list[AgentTeacher], played: Any, number: int) -> Any:
    return labelers[number % 2].labeled_batch(GAME, 0, number // 2, 60, played)


def test_soft_targets_are_those_of_the_teacher():
    mcts, state = MctsAgent(simulations=50, exploration=0.5), GAME.initial(np.random.default_rng(0))
    decision = mcts.decide(GAME, state, np.random.default_rng(1))
    visits = decision.info["action_visits"]
    assert visits.sum() == 50
    assert visits.argmax() == decision.action
    weights = policy_weights(decision, 9).astype(float)
    np.testing.assert_allclose(weights / weights.sum(), visits / 50, atol=1e-3)
    perfect = MinimaxAgent().decide(GAME, state, np.random.default_rng(1))
    assert perfect.info["action_probability"].sum() == pytest.approx(1)
    assert policy_weights(perfect, 9).tolist() == [1] * 9, "every first move draws"
    both = Decision(2, {"action_visits": np.array([0, 4, 4]), "action_probability": np.array([0, 0.2, 0.8])})
    np.testing.assert_allclose(policy_weights(both, 4), [0, 0.25, 1, 0], atol=1e-3)
    assert policy_weights(Decision(2), 4).tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("info", "value"),
    [
        ({"value": 0.3}, 0.3),
        ({"value": -1.7}, -1.0),
        ({"win_rate": 0.75}, 0.5),
        ({"score": "0"}, 0.0),
        ({"score": "-100"}, -np.tanh(0.5)),
        ({"score": "win-in-7"}, 1.0),
        ({"score": "loss-in-12"}, -1.0),
    ],
)
def test_the_value_of_a_decision(info: dict[str, Any], value: float):
    assert position_value(info, 100.0) == pytest.approx(value)


def test_a_decision_without_a_value_has_none():
    assert np.isnan(position_value({"nodes": 3}, 100.0))


@pytest.mark.parametrize("score", [0, 17, -400, WIN - 3, 12 - WIN])
def test_scores_are_read_back(score: int):
    assert parse_score(score_text(score)) == score


class Lowest(Agent):
    """Plays the lowest legal action, and claims to win."""

    deterministic = True

    def __init__(self, info: dict[str, Any]) -> None:
        self.info = info

    def decide(self, game: Any, view: Any, rng: np.random.Generator) -> Decision:
        return Decision(game.legal_actions(view)[0], self.info)


def test_a_value_target_is_the_outcome_unless_another_move_follows():
    """The lowest actions on both sides: the first player wins after seven plies."""
    outcome = [1, 0] * 3 + [1]
    for info, weight, expected in (
        ({}, 0.5, outcome),
        ({"value": 0.5}, 0.0, outcome),
        ({"value": 0.5}, 1.0, [0.75] * 7),
        ({"value": 0.5}, 0.5, [0.875, 0.375] * 3 + [0.875]),
        ({"action_probability": np.arange(1, 10)}, 0.0, outcome),  # its choice, though it is not the most probable one
    ):
        labeler = teacher(Lowest(info), opening_plies=0, explore=0.0, score_weight=weight)
        assert labeler.labeled_batch(GAME, 0, 0, 7).win_probability.tolist() == expected
    explored = teacher(Lowest({"value": 0.5}), opening_plies=0, explore=1.0, score_weight=0.0)
    chances = explored.labeled_batch(GAME, 0, 0, 300).win_probability
    assert {0.25, 0.75} <= set(chances.tolist()), "the value before a random move, for both players"
    unknown = teacher(Lowest({}), opening_plies=0, explore=1.0, score_weight=0.0).labeled_batch(GAME, 0, 0, 300)
    assert (unknown.win_probability == -1).mean() > 0.5, "no value is known before a random move"


def test_a_run_that_was_killed_ends_like_one_that_was_not_with_any_number_of_processes(tmp_path: Path):
    fit(learning(), versus(), tmp_path / "whole")
    fit(learning(), versus(), tmp_path / "killed", saves=23)  # in a round that the learner plays
    fit(learning(workers=2), versus(), tmp_path / "killed")
    assert_same_weights(tmp_path / "whole", tmp_path / "killed", "last")
    assert rows_without_times(tmp_path / "whole") == rows_without_times(tmp_path / "killed")
    fit(learning(labels=labels(dagger=0.0)), versus(), tmp_path / "teacher")
    assert rows_without_times(tmp_path / "whole") != rows_without_times(tmp_path / "teacher")


def test_the_learner_plays_from_the_third_round_on_with_its_earlier_weights(tmp_path: Path):
    algo = learning()
    fit(algo, versus(), tmp_path / "run")
    players = saved_learner(tmp_path / "run")["players"]
    assert set(players) == {"9", "10", "11"}, "40 updates, four in a round: those of the window, and ahead"


def test_what_cannot_teach_is_refused():
    def refusal(**changes: Any) -> str:
        with pytest.raises(UserError) as error:
            learning(**changes).check(versus(), no_curriculum())
        return str(error.value)

    assert refusal(teacher=SelfPlay()).startswith("algo.teacher must be a fixed agent")
    assert "it plays Quoridor only; choose another, such as agent@algo.teacher=mcts" in refusal(teacher=RunnerAgent())
    assert "set algo.teacher.seconds=null" in refusal(teacher=timed_search())
    assert "algo.teacher is missing" in refusal(teacher=None)
    assert "opening_plies=40 is too many" in refusal(labels=labels(opening_plies=40))
    assert "set algo.workers=0" in refusal(teacher=Lowest({"value": lambda: 0}), workers=1)
    with pytest.raises(UserError, match="resigns too often"):
        teacher(Resigning()).labeled_batch(GAME, 0, 0, 10)


def test_a_teacher_may_resign_now_and_then():
    labeled = teacher(Resigning(after=3), opening_plies=0).labeled_batch(GAME, 0, 0, 10)
    assert {9 - board_of(observation).count(".") for observation in labeled.observation} == {0, 1, 2}


class Resigning(Agent):
    """Resigns when so many stones are on the board."""

    def __init__(self, after: int = 0) -> None:
        self.after = after

    def decide(self, game: Any, view: Any, rng: np.random.Generator) -> Decision:
        legal = game.legal_actions(view)
        return Decision(None if 9 - len(legal) >= self.after else legal[0])


def timed_search() -> AlphaBetaAgent:
    level = DifficultyConfig(depth=1, noise=0, selective=False, waiting_plies=None, fastest_win=True)
    return AlphaBetaAgent("easy", {"easy": level}, {}, None, 0.1)


def test_ppo_and_alphazero_continue_where_imitation_ended(tmp_path: Path):
    """With the same network, and hardly any learning, their first evaluation is that of the checkpoint."""
    env, settings = versus(), {"net": NET, "eval_episodes": 50, "init_from": str(tmp_path / "run")}
    fit(learning(eval_every=640, eval_episodes=50), env, tmp_path / "run")
    expected = read_column(tmp_path / "run", "eval/not_lost_share")
    best = saved_learner(tmp_path / "run", "best")["weights"]
    continued: dict[str, Any] = {
        "ppo": ppo(lr=1e-12, losses=PLAIN_WEIGHTS, **settings),
        "alphazero": alphazero(lr=1e-12, weight_decay=0.0, **settings),
    }
    for name, algo in continued.items():
        algo.check(env, no_curriculum())
        fit(algo, env, tmp_path / name)
        assert read_column(tmp_path / name, "eval/not_lost_share")[0] == expected[-1]
        for key, weight in saved_learner(tmp_path / name)["weights"].items():
            np.testing.assert_allclose(weight.float(), best[key].float(), atol=1e-4)


def test_an_agent_teaches_a_game_with_an_auxiliary_task_that_it_does_not_label(tmp_path: Path):
    algo = imitation(teacher=ExactAgent(), labels=labels(explore=0.0, opening_plies=0))
    algo.check(minesweeper(), no_curriculum())
    fit(algo, minesweeper(), tmp_path / "run")
    assert read_column(tmp_path / "run", "losses/policy_loss")
    assert not read_column(tmp_path / "run", "losses/aux_loss")
    with pytest.raises(UserError, match="which an agent does not label"):
        imitation(teacher=ExactAgent(), labels=labels(), play=playing()).check(minesweeper(), no_curriculum())


@pytest.mark.slow
def test_tic_tac_toe_is_learned_from_perfect_play(lab: Lab):
    run = lab.train("env=tictactoe", "algo=imitation", "device=cpu", "logger=csv", "evaluation.episodes=20")
    assert max(read_column(run, "eval/not_lost_share")) == 1
