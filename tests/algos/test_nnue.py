"""The learned evaluation: its labels by hand, exact resume, and what it learns and refuses."""

import io
import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from src.algos.alphabeta import AlphaBetaAgent, DifficultyConfig
from src.algos.nnue.agent import EvaluationAgent, EvaluationNetwork, PlayConfig, numpy_weights
from src.algos.nnue.games import PROVEN, GamePlan, PlayedGame, SelfPlayConfig, evaluation_of, play_game, stored_score
from src.algos.nnue.learning import NNUE, Dataset, NNUETrainer, score_scale, unpacked, win_probabilities
from src.core.errors import UserError
from src.core.parallel import ordered_results
from src.core.play.agent import RandomAgent, StoppableAgent, require_traits
from src.core.play.arena import evaluate
from src.core.play.curriculum import Curriculum
from src.core.play.search_interface import WIN
from src.core.runs import checkpoint
from src.core.runs.run import BEST
from src.core.seeding import generator
from src.envs.quoridor.agents import RunnerAgent
from src.envs.quoridor.learned_evaluation import RECORD
from src.envs.quoridor.search.nnue import load_network
from src.envs.tictactoe.game import TicTacToe
from src.envs.two_player_env import VersusEnv
from tests.algos.making import (
    ONE_THREAD,
    assert_same_weights,
    fit,
    rows_without_times,
    run_in,
    saved_learner,
    versus,
)
from tests.envs.quoridor.making import GAME, make_game
from tests.marks import mostly_slow

WEIGHTS = {"path": 10, "endgame": 15, "walls": 2, "mobility": 3, "efficiency": 5}
LEVEL = DifficultyConfig(depth=1, noise=4, selective=True, waiting_plies=60, fastest_win=True)
FIRST_PLAYER = AlphaBetaAgent("quick", {"quick": LEVEL}, WEIGHTS, nodes=None, seconds=None)
SELF_PLAY = SelfPlayConfig(nodes=20, opening_plies=4, random_moves=0.05)
NO_CURRICULUM = Curriculum({}, None)
EVALUATION = evaluation_of(GAME)


def nnue(**changes: Any) -> NNUE:
    play = {"play": PlayConfig(seconds=None, nodes=30, threads=1), "self_play": SELF_PLAY, "first_player": FIRST_PLAYER}
    games = {"positions": None, "generations": 2, "games": 3, "window": 2, "reset_weights": True, "workers": 0}
    training = {"total_steps": 2 * 4 * 32, "score_weight": 0.5, "holdout": 0.1, "batch_size": 32, "augment": True}
    optimizer = {"lr": 0.005, "lr_warmup": 2, "weight_decay": 0.0001, "max_grad_norm": 1.0, "compute": ONE_THREAD}
    limits = {"seconds": None, "eval_every": 96, "eval_episodes": 4, "eval_nodes": 20, "eval_opening_plies": 2}
    settings: dict[str, Any] = {"init_from": None} | play | games | training | optimizer | limits
    return NNUE(**(settings | changes))


def quoridor(game: Any = GAME) -> VersusEnv:
    return versus(game=game)


def labeled(*rows: tuple[int, int]) -> np.ndarray:
    """Return records of scores and results."""
    records = np.zeros(len(rows), RECORD)
    records["score"], records["result"] = np.array(rows).T
    return records


def one_game() -> np.ndarray:
    """Return the records of a game."""
    return GamePlan(GAME, FIRST_PLAYER, None, SELF_PLAY, 0, 0).play(0).records


def saved_games(path: Path, games: int = 6, seed: int = 0) -> Path:
    plan = GamePlan(GAME, FIRST_PLAYER, None, SELF_PLAY, seed, 0)
    np.save(path, np.concatenate([plan.play(number).records for number in range(games)]))
    return path


def test_targets_by_hand():
    """Scale 50: a score of 50 is a chance of 1 / (1 + 1/e); a proven score counts, whatever the result was."""
    won, lost = PROVEN, -PROVEN
    records = labeled((0, won), (0, 0), (50, won), (-50, won), (won, lost), (lost, won), (PROVEN - 1, 0), (0, -50))
    chance = 1 / (1 + math.exp(-1))
    half = [0.75, 0.5, chance / 2 + 0.5, (1 - chance) / 2 + 0.5, 1, 0, 0.75, 0.25 + (1 - chance) / 2]
    assert win_probabilities(records, 50, 0.5).tolist() == pytest.approx(half)
    results = [1, 0.5, 1, 1, 1, 0, 0.5, 1 - chance]
    assert win_probabilities(records, 50, 0.0).tolist() == pytest.approx(results), "results"
    assert win_probabilities(records, 50, 1.0)[2] == pytest.approx(chance), "scores"
    assert win_probabilities(records, 50, 0.5).dtype == np.float32


def test_the_scale_of_scores_fits_the_outcomes():
    """A score of 100 with a winning chance of 1 / (1 + 1/e) is one unit of log odds; draws, proofs and games
    with a random move are left out.
    """
    won = round(10_000 / (1 + math.exp(-1)))
    rows = [(100, PROVEN)] * won + [(100, -PROVEN)] * (10_000 - won)
    rows += [(100, result) for result in (0, -70) for _ in range(5000)] + [(PROVEN, -PROVEN)] * 5000
    assert score_scale(labeled(*rows)) == pytest.approx(100, rel=0.03)
    assert score_scale(labeled((5, 0), (PROVEN, PROVEN))) == 100, "nothing is known"


def test_validation_loss_by_hand():
    """A network of zeros expects one half: no loss for even positions, log 2 for won ones; parts are held out alike."""
    net = EvaluationNetwork(EVALUATION.layers)
    for weight in net.parameters():
        torch.nn.init.zeros_(weight)
    parts = [labeled(*[(0, 0)] * 20), labeled(*[(PROVEN, PROVEN)] * 10)]
    data = Dataset(EVALUATION, parts, 0.5, 0.1, "cpu")
    assert data.targets.tolist() == [0.5] * 18 + [1.0] * 9
    assert data.held_out_targets.tolist() == [0.5, 0.5, 1.0]
    assert data.validation_loss(net) == pytest.approx(math.log(2) / 3)
    rows = torch.tensor([0, 26])
    assert data.loss(net, rows, None).item() == pytest.approx(math.log(2)), "in training the entropy is not subtracted"


def test_a_mirrored_batch_is_that_of_mirrored_boards():
    torch.manual_seed(0)
    net = EvaluationNetwork(EVALUATION.layers)
    records = one_game()
    mirror = torch.from_numpy(EVALUATION.mirrored.astype(np.int64))
    images = records.copy()
    for field, row in (("horizontal", 8), ("vertical", 8)):
        bits = np.unpackbits(records[field].astype("<u8")[:, None].view(np.uint8), axis=1, bitorder="little")
        flipped = bits.reshape(-1, 8, row)[:, :, ::-1].reshape(-1, 64)
        images[field] = np.packbits(flipped, axis=1, bitorder="little").view("<u8")[:, 0]
    images["pawns"] = records["pawns"] + 8 - 2 * (records["pawns"] % 9)
    assert (images["horizontal"] != records["horizontal"]).any()
    one, other = (Dataset(EVALUATION, [part], 0.5, 0.1, "cpu") for part in (records, images))
    rows = torch.arange(len(one.targets))
    assert torch.equal(unpacked(one.bits)[:, mirror], unpacked(other.bits))
    assert one.loss(net, rows, mirror).item() == pytest.approx(other.loss(net, rows, None).item())
    assert one.loss(net, rows, None).item() != pytest.approx(other.loss(net, rows, None).item())


def test_every_other_batch_is_mirrored_if_configured(tmp_path: Path):
    data, losses = Dataset(EVALUATION, [one_game()], 0.5, 0.1, "cpu"), []
    for augment in (True, False):
        with run_in(tmp_path / str(augment)) as run:
            trainer = NNUETrainer(nnue(augment=augment), quoridor(), run)
            for _ in range(2):
                trainer._train_batch(data)
                losses.append(float(trainer.sums.pop("losses/loss")))
    assert losses[0] == losses[2], "the first batch is as it was played"
    assert losses[1] != pytest.approx(losses[3], rel=1e-4)


def test_positions_are_labeled_and_held_out_as_configured(tmp_path: Path):
    records = one_game()
    with run_in(tmp_path) as run:
        trainer = NNUETrainer(nnue(holdout=0.25, score_weight=0.9), quoridor(), run)
        trainer.played = [records]
        data = trainer._load_data()
    expected = win_probabilities(records, score_scale(records), 0.9).tolist()
    kept = len(records) - round(len(records) / 4)
    assert data.targets.tolist() == expected[:kept]
    assert data.held_out_targets.tolist() == expected[kept:]


def test_labels_of_a_game_by_hand():
    """Both step forward; at ply 3, player 2 to move, a win for player 2 is found: the game ends, lost for player 1."""

    def search(state: Any) -> tuple[int, int]:
        return (WIN - 5 if state.ply == 3 else 10 * state.ply), GAME.shortest_step(state)

    config = SelfPlayConfig(nodes=1, opening_plies=0, random_moves=0.0)
    game = play_game(GAME, search, config, np.random.default_rng(0))
    assert (game.outcome, game.plies) == (-1, 3)
    assert game.records["ply"].tolist() == [0, 1, 2, 3]
    assert game.records["score"].tolist() == [0, 10, 20, PROVEN]
    assert game.records["result"].tolist() == [-PROVEN, PROVEN, -PROVEN, PROVEN]
    config = SelfPlayConfig(nodes=1, opening_plies=0, random_moves=1.0)
    game = play_game(GAME, search, config, np.random.default_rng(0))
    assert game.records["result"].tolist() == [0, 10, 20, PROVEN], "before a random move the score counts"
    labels = play_game(GAME, search, SelfPlayConfig(1, 0, 0.5), np.random.default_rng(1)).records["result"].tolist()
    assert labels == [20, -20, 20, PROVEN], "the third move was random"
    assert [stored_score(score) for score in (7, -WIN + 3, 40_000, -40_000)] == [7, -PROVEN, PROVEN - 1, 1 - PROVEN]


def test_random_moves_are_played_but_not_searched():
    searched: list[int] = []

    def search(state: Any) -> tuple[int, int]:
        searched.append(state.ply)
        return 0, GAME.shortest_step(state)

    config = SelfPlayConfig(nodes=1, opening_plies=6, random_moves=0.0)
    games = [play_game(GAME, search, config, generator(0, number)) for number in range(30)]
    assert {int(game.records["ply"][0]) for game in games} == set(range(7))
    assert all((np.diff(game.records["ply"].astype(int)) == 1).all() for game in games)
    assert len(searched) == sum(len(game.records) for game in games)
    straight = SelfPlayConfig(nodes=1, opening_plies=0, random_moves=0.0)
    assert play_game(GAME, search, straight, generator(0, 1)).records["left"].min() == 10, "no wall is placed"
    noisy = SelfPlayConfig(nodes=1, opening_plies=0, random_moves=0.5)
    assert play_game(GAME, search, noisy, generator(0, 1)).records["left"].min() < 10


@pytest.mark.parametrize("has_network", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_game_depends_on_its_number_and_not_on_the_process(has_network: bool):
    network = EVALUATION.quantized(numpy_weights(EvaluationNetwork(EVALUATION.layers))) if has_network else None
    plan = GamePlan(GAME, FIRST_PLAYER, network, SELF_PLAY, 0, 1)
    here = list(ordered_results(plan.play, range(3), workers=0))
    there = list(ordered_results(plan.play, range(3), workers=2))
    assert [game.records.tobytes() for game in here] == [game.records.tobytes() for game in there]
    assert here[0].records.tobytes() != here[1].records.tobytes()
    again = list(ordered_results(plan.play, range(2, 3), workers=0))
    assert again[0].records.tobytes() == here[2].records.tobytes(), "games before it have no effect"


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    fit(nnue(), quoridor(), folder)
    return folder


@pytest.mark.parametrize("saves", mostly_slow([2, 5, 9, 12], fast=3))
def test_a_run_that_was_killed_ends_like_one_that_was_not(tmp_path: Path, uninterrupted: Path, saves: int):
    """It saves after each of 3 games, then of 4 batches, and the same again with its own network."""
    fit(nnue(), quoridor(), tmp_path, saves=saves)
    fit(nnue(), quoridor(), tmp_path)
    rows = rows_without_times(tmp_path)
    assert len(rows) == 4, "after 3 and 4 batches of each generation"
    assert rows == rows_without_times(uninterrupted)
    name = "network.safetensors"
    assert (tmp_path / name).read_bytes() == (uninterrupted / name).read_bytes()
    assert_same_weights(tmp_path, uninterrupted)


def test_a_best_checkpoint_without_tensors_is_refused(tmp_path: Path, uninterrupted: Path):
    folder = Path(shutil.copytree(uninterrupted, tmp_path / "run"))
    saved = checkpoint.load(folder / BEST)
    saved["learner"]["weights"] = dict.fromkeys(saved["learner"]["weights"], "text")
    checkpoint.save(folder / BEST, saved)
    with pytest.raises(UserError, match="weights"):
        fit(nnue(), quoridor(), folder)


def test_it_logs_its_games_and_losses(uninterrupted: Path):
    rows = [{name: float(value) for name, value in row.items() if value} for row in rows_without_times(uninterrupted)]
    assert [row["step"] for row in rows] == [96, 128, 224, 256]
    assert [row["train/generation"] for row in rows] == [0, 0, 1, 1]
    assert [row.get("train/episodes") for row in rows] == [3, None, 3, None]
    assert 10 < rows[0]["train/episode_length"] <= 200
    for generation in (0, 1):
        ends = rows[2 * generation]
        assert ends["train/draw_rate"] + ends["train/first_player_win_rate"] <= 1
    games = list(nnue().play_games(GAME, None, 0, 0, range(3)))  # those of the run, which has the seed 0
    assert rows[0]["train/draw_rate"] == pytest.approx(np.mean([game.outcome == 0 for game in games]), abs=1e-6)
    assert rows[0]["train/first_player_win_rate"] == pytest.approx(np.mean([game.outcome == 1 for game in games]))
    assert rows[2]["train/replay_size"] > rows[0]["train/replay_size"], "positions of both generations"
    assert rows[1]["train/lr"] == rows[3]["train/lr"] == 0
    assert all(row["losses/validation_loss"] > 0 for row in rows)


def test_the_window_drops_the_earliest_generation(tmp_path: Path):
    fit(nnue(window=1, eval_every=1000), quoridor(), tmp_path)
    first, second = (float(row["train/replay_size"]) for row in rows_without_times(tmp_path))
    count = sum(len(game.records) for game in nnue().play_games(GAME, None, 0, 0, range(3)))
    assert first == count - round(count / 10)
    state = saved_learner(tmp_path)
    (part,) = state["parts"]
    assert second == len(part.view(RECORD)) - round(len(part.view(RECORD)) / 10)


@pytest.mark.parametrize(("reset_weights", "names"), [(True, ("weights", 1)), (False, ("weights",))])
def test_a_generation_is_trained_from_random_weights_or_those_before(
    tmp_path: Path, reset_weights: bool, names: tuple[str | int, ...]
):
    """With steps too small to change a weight."""
    fit(nnue(lr=1e-12, weight_decay=0.0, reset_weights=reset_weights), quoridor(), tmp_path)
    trained = saved_learner(tmp_path)["weights"]
    torch.manual_seed(int(generator(0, *names).integers(2**62)))
    for name, weight in EvaluationNetwork(EVALUATION.layers).state_dict().items():
        assert torch.allclose(trained[name], weight, atol=1e-9)


def test_a_time_limit_ends_games_and_training(tmp_path: Path):
    """No time at all: one game and one batch for each generation."""
    fit(nnue(seconds=1e-9, games=50), quoridor(), tmp_path)
    rows = rows_without_times(tmp_path)
    assert [float(row["step"]) for row in rows] == [32, 64]
    assert [float(row["train/episodes"]) for row in rows] == [1, 1]


def test_games_in_progress_end_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Otherwise the processes that play them would go on."""
    ended, play = [], NNUE.play_games

    def play_games(*arguments: Any) -> Iterator[PlayedGame]:
        try:
            yield from play(*arguments)
        finally:
            ended.append(True)

    monkeypatch.setattr(NNUE, "play_games", play_games)
    with run_in(tmp_path) as run:
        trainer = nnue(games=50).trainer(quoridor(), NO_CURRICULUM, run)

        def update() -> None:
            trainer._play_game()
            raise ZeroDivisionError

        monkeypatch.setattr(trainer, "update", update)
        with pytest.raises(ZeroDivisionError):
            trainer.fit()
        assert ended == [True]


@pytest.mark.slow
def test_it_learns_from_files(tmp_path: Path):
    """The validation loss falls, and the agent beats a random player."""
    files = [saved_games(tmp_path / f"{seed}.npy", 40, seed) for seed in (1, 2)]
    settings = {"total_steps": 128 * 120, "batch_size": 128, "eval_every": 128 * 4, "eval_episodes": 2, "lr": 0.002}
    algo = nnue(positions=[str(path) for path in files], **settings)
    algo.check(quoridor(), NO_CURRICULUM)
    agent = fit(algo, quoridor(), tmp_path / "run")
    rows = rows_without_times(tmp_path / "run")
    first, last = (float(rows[i]["losses/validation_loss"]) for i in (0, -1))
    assert last < 0.85 * first
    assert {row["train/generation"] for row in rows} == {"0"}
    assert all(not row.get("train/episodes") for row in rows), "it plays no games"
    assert evaluate(GAME, agent, RandomAgent(), 10, 0).total.wins >= 9


def test_a_run_on_files_resumes_only_with_the_same_files(tmp_path: Path):
    path = saved_games(tmp_path / "games.npy")
    algo = nnue(positions=[str(path)])
    fit(algo, quoridor(), tmp_path / "whole")
    fit(algo, quoridor(), tmp_path / "killed", saves=3)
    fit(algo, quoridor(), tmp_path / "killed")
    assert rows_without_times(tmp_path / "killed") == rows_without_times(tmp_path / "whole")
    fit(algo, quoridor(), tmp_path / "other", saves=3)
    saved_games(path, seed=1)
    with pytest.raises(UserError, match=r"files of algo.positions have changed"):
        fit(algo, quoridor(), tmp_path / "other")


def test_training_starts_from_the_best_network_of_init_from(tmp_path: Path, uninterrupted: Path):
    best = saved_learner(uninterrupted, "best")["weights"]
    with run_in(tmp_path) as run:
        trainer = NNUETrainer(nnue(init_from=str(uninterrupted)), quoridor(), run)
        assert all(torch.equal(weight, best[name]) for name, weight in trainer.net.state_dict().items())


@pytest.mark.slow
def test_the_network_of_init_from_plays_the_first_games(tmp_path: Path, uninterrupted: Path):
    algo = nnue(init_from=str(uninterrupted), generations=1)
    file = nnue(init_from=str(uninterrupted / "network.safetensors")).build_net(GAME)
    one, other = (EVALUATION.quantized(numpy_weights(net)) for net in (file, algo.build_net(GAME)))
    assert all((a == b).all() for a, b in zip(one, other, strict=True)), "the file of a run has the same integers"
    fit(algo, quoridor(), tmp_path / "one")
    games = [len(game.records) for game in algo.play_games(GAME, algo.first_net(GAME), 0, 0, range(3))]
    (row, *_) = rows_without_times(tmp_path / "one")
    assert float(row["train/replay_size"]) == sum(games) - round(sum(games) / 10)
    others = [len(game.records) for game in nnue().play_games(GAME, None, 0, 0, range(3))]
    assert games != others
    fit(algo, quoridor(), tmp_path / "two", saves=1)
    fit(nnue(generations=1), quoridor(), tmp_path / "two")  # as src.train resumes, when the other run may be gone
    assert rows_without_times(tmp_path / "two") == rows_without_times(tmp_path / "one")


def test_the_agent_plays_and_analyzes_by_the_search_of_its_network(uninterrupted: Path):
    best = saved_learner(uninterrupted, "best")
    agent = nnue().load_agent(best)
    agent.check(GAME)
    assert isinstance(agent, StoppableAgent)
    start = GAME.initial(np.random.default_rng(0))
    decision = agent.decide(GAME, start, np.random.default_rng(0))
    assert decision.info["depth"] > 1
    depths: list[int] = []
    lines = agent.analyze(GAME, start, 3, lambda result: depths.append(result.depth))
    assert len(lines) == 3
    assert depths[0] == 1
    agent.stop()
    kept, played = load_network(uninterrupted / "network.safetensors"), agent._player.network
    assert all((getattr(kept, name) == getattr(played, name)).all() for name in ("first", "second", "third"))
    alone = EvaluationAgent(best["weights"], PlayConfig(seconds=None, nodes=1, threads=1))
    assert alone.decide(GAME, start, np.random.default_rng(0)).info["depth"] == 1


def test_what_does_not_fit_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="it needs a game with a compiled search that has a learned evaluation"):
        require_traits(NNUE.needs, TicTacToe(symmetric=True))
    with pytest.raises(UserError, match=r"on 9x9 .* not on 5x5 with 3: set env\.game\.size=9 .* ppo learn it"):
        nnue().check(quoridor(make_game(5, walls=3, ply_limit=50)), NO_CURRICULUM)
    with pytest.raises(UserError, match=r"algo=nnue learns from itself alone: set curriculum=none"):
        nnue().check(quoridor(), Curriculum({"easy": lambda env: quoridor()}, 0.5))
    repeating = quoridor()
    repeating.baselines = {"runner": RunnerAgent()}
    with pytest.raises(UserError, match=r"opening_plies"):
        nnue(eval_opening_plies=0).check(repeating, NO_CURRICULUM)
    hurried = AlphaBetaAgent("quick", {"quick": LEVEL}, WEIGHTS, nodes=None, seconds=1.0)
    with pytest.raises(UserError, match=r"algo.first_player.seconds would make the games depend on the speed"):
        nnue(first_player=hurried).check(quoridor(), NO_CURRICULUM)
    with pytest.raises(UserError, match=r"set one of algo.play.seconds and algo.play.nodes"):
        PlayConfig(seconds=1.0, nodes=1, threads=1)
    with pytest.raises(UserError, match=r"algo.play.nodes=5 limits a search of one thread"):
        PlayConfig(seconds=None, nodes=5, threads=2)
    for name, value in {"holdout": 1.0, "workers": -1, "score_weight": 1.5, "positions": [], "games": 0}.items():
        with pytest.raises(UserError, match=f"{name}=.* must be"):
            nnue(**{name: value})


def test_files_of_positions_have_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, records = tmp_path / "a.npy", EVALUATION.records([GAME.initial(np.random.default_rng(0))] * 100)
    np.save(path, records)
    monkeypatch.setattr("src.algos.nnue.learning.max_positions_bytes", lambda: 2 * path.stat().st_size)
    read = nnue(positions=[str(path)] * 2).load_positions(GAME)
    assert [part.tobytes() for part in read] == [records.tobytes()] * 2
    with pytest.raises(UserError, match=r"a\.npy is larger"):
        nnue(positions=[str(path)] * 3).load_positions(GAME)


def test_positions_are_checked_before_memory_is_allocated(tmp_path: Path):
    pipe, huge, count = tmp_path / "pipe.npy", tmp_path / "huge.npy", (1 << 30) // RECORD.itemsize + 1
    os.mkfifo(pipe)
    header = io.BytesIO()
    descr = np.lib.format.dtype_to_descr(RECORD)
    np.lib.format.write_array_header_1_0(header, {"descr": descr, "fortran_order": False, "shape": (count,)})
    huge.write_bytes(header.getvalue())
    os.truncate(huge, huge.stat().st_size + count * RECORD.itemsize)  # takes no space on the disk
    for path, message in ((pipe, "cannot be read"), (huge, "is larger")):
        with pytest.raises(UserError, match=rf"algo\.positions: .*{path.name} {message}"):
            nnue(positions=[str(path)]).load_positions(GAME)


def test_files_that_hold_no_positions_are_refused(tmp_path: Path):
    missing, text, numbers = tmp_path / "missing.npy", tmp_path / "text.npy", tmp_path / "numbers.npy"
    archive, long, strange, syntax = (tmp_path / f"{name}.npy" for name in ("archive", "long", "strange", "syntax"))
    text.write_text("positions")
    np.save(numbers, np.zeros(10))
    archive.write_bytes(b"PK\x03\x04 and more")
    syntax.write_bytes(numbers.read_bytes().replace(b"}", b"("))
    records = np.zeros(10, EVALUATION.record)
    np.save(long, records)
    long.write_bytes(long.read_bytes() + b"x")
    records["result"] = PROVEN + 1
    np.save(strange, records)
    for path, message in {
        missing: "cannot be read",
        text: "cannot be read",
        archive: "cannot be read",
        syntax: "cannot be read",
        long: "does not hold positions of this game",
        numbers: "does not hold positions of this game",
        strange: "does not hold positions of this game",
    }.items():
        with pytest.raises(UserError, match=rf"algo.positions: .*{path.name}'? {message}"):
            nnue(positions=[str(path)]).check(quoridor(), NO_CURRICULUM)
    records = EVALUATION.records([GAME.initial(np.random.default_rng(0))] * 10)
    for pawn, horizontal, vertical, message in (
        (0, 1, 2, "a pawn is walled in"),  # in the cells a1, b1
        (4, 3, 0, "walls overlap"),
        (4, 0, 1 | 1 << 8, "walls overlap"),
        (4, 1, 1, "walls overlap"),
    ):
        records["pawns"][:, 0], records["horizontal"], records["vertical"] = pawn, horizontal, vertical
        np.save(numbers, records)
        with pytest.raises(UserError, match=f"not positions of Quoridor: {message}"):
            nnue(positions=[str(numbers)]).check(quoridor(), NO_CURRICULUM)
    records["horizontal"], records["vertical"] = 1 << 7 | 1 << 8, 1 << 2 | 1 << 18  # neighbors that do not overlap
    np.save(numbers, records)
    nnue(positions=[str(numbers)]).check(quoridor(), NO_CURRICULUM)
