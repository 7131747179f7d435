"""Agents in the arena and on the command line: the solvers, and the hybrid of exact inference and a network."""

import os
from pathlib import Path

import numpy as np
import pytest

from src.core.errors import UserError
from src.core.play.agent import Agent, Decision, RandomAgent
from src.core.play.arena import evaluate
from src.core.play.game import Game
from src.envs.minesweeper.agents import ExactAgent, HybridAgent, RulesAgent
from src.envs.minesweeper.game import Minesweeper, View
from src.envs.minesweeper.make_boards import main as make_boards
from src.envs.minesweeper.solver import analyze
from src.envs.minesweeper.variant import Encoding
from src.envs.tictactoe.game import TicTacToe
from tests.lab import Lab, read_json

GAME = Minesweeper(8, 8, 10, first_click="uniform")


def test_metrics_count_guesses():
    metrics = evaluate(GAME, ExactAgent(), None, 200, seed=2).metrics
    assert 0.2 < metrics["guess"] < 0.8
    assert 0.5 < metrics["won_without_guess"] < 0.9
    assert metrics["invalid_rate"] == 0
    rules = evaluate(GAME, RulesAgent(), None, 200, seed=2)
    assert rules.metrics["guess"] == 0
    assert rules.metrics["won_without_guess"] == rules.total.win_rate, "who never guesses wins without a guess or not"


class Scripted(Agent):
    """Plays given decisions, then gives up; in every game from the start."""

    games_in_step = 1

    def __init__(self, *decisions: Decision) -> None:
        self.decisions, self.left = decisions, iter(decisions)

    def decide(self, game: Game, view: View, rng: np.random.Generator) -> Decision:
        if (view.visible >= 0).sum() == 1:  # a new game
            self.left = iter(self.decisions)
        return next(self.left, Decision(None))


@pytest.mark.parametrize(
    ("decisions", "expected"),
    [
        ([Decision(2, plan=[4, 2, 6])], {"avg_progress": 1.0, "steps": 3, "steps_to_win": 3, "decisions": 1}),
        ([Decision(2), Decision(4), Decision(6)], {"avg_progress": 1, "steps": 3, "steps_to_win": 3, "decisions": 3}),
        ([Decision(2), Decision(1, plan=[4])], {"avg_progress": 0.5, "steps": 2, "steps_to_loss": 2, "decisions": 2}),
        ([Decision(2)], {"avg_progress": 0.5, "steps": 1, "decisions": 1}),  # gives up
    ],
)
def test_steps_are_counted_by_outcome_and_alike_for_one_or_several_reveals_per_decision(decisions, expected):
    """The cells of the board `_*_*_*_`, of which the first one is open, are revealed by themselves."""
    game = Minesweeper(1, 7, 3, safe_neighborhood=False)
    score = evaluate(game, Scripted(*decisions), None, 2, 0, [game.start(0, [1, 3, 5]) for _ in range(2)])
    names = ("avg_progress", "steps", "steps_to_win", "steps_to_loss", "decisions")
    assert {name: score.metrics[name] for name in names if name in score.metrics} == expected


def test_steps_to_win_and_loss_are_means_over_those_games():
    score = evaluate(GAME, ExactAgent(), None, 100, seed=2)
    won, lost = score.total.wins, score.total.losses
    assert lost > 5
    both = won * score.metrics["steps_to_win"] + lost * score.metrics["steps_to_loss"]
    assert both == pytest.approx(100 * score.metrics["steps"])
    assert score.metrics["steps_to_win"] > score.metrics["steps_to_loss"]


def test_the_command_reports_them(lab: Lab):
    arguments = ("env=minesweeper_8x8", "agent=random", "episodes=20", "json=out.json")
    shown = lab.succeed("evaluate", *arguments).stdout
    assert all(name in shown for name in ("avg progress", "steps to loss", "decisions"))
    measured = read_json(lab.folder / "out.json")["metrics"]
    assert measured["steps_to_loss"] == measured["steps"] == measured["decisions"]
    assert "steps_to_win" not in measured, "none of them was won"


def test_playing_in_step_and_alone_is_the_same():
    class Alone(ExactAgent):
        games_in_step = 1

    assert evaluate(GAME, ExactAgent(), None, 70, seed=3).outcomes == evaluate(GAME, Alone(), None, 70, seed=3).outcomes


def test_a_density_band_is_counted_by_density():
    game = Minesweeper(8, 8, 10, first_click="uniform", mine_density=[0.12, 0.2])
    score = evaluate(game, ExactAgent(), None, 200, seed=0)
    groups = score.by_group()
    assert len(groups) > 3
    shares = [float(name.split("%")[0]) for name in groups]
    assert shares == sorted(shares)
    assert sum(tally.games for tally in groups.values()) == 200


def test_a_random_player_reveals_and_never_flags():
    game, rng = Minesweeper(4, 4, 2), np.random.default_rng(0)
    view = game.view(game.initial(rng))
    assert {RandomAgent().decide(game, view, rng).action for _ in range(300)} == set(range(16))
    assert len(game.legal_actions(view)) == 32


def test_other_games_are_refused():
    with pytest.raises(UserError, match="with one player"):
        ExactAgent().check(TicTacToe(symmetric=True))
    ExactAgent().check(GAME)


def test_given_boards_are_played_in_their_order(lab: Lab):
    size = ["--rows", "8", "--cols", "8", "--mines", "10"]
    boards = lab.folder / "boards.json"
    assert make_boards([str(boards), *size, "--count", "30", "--seed", "5"]) == 0
    done = lab.run("evaluate", "env=minesweeper_8x8", "agent=exact", "boards=boards.json", "json=out.json")
    assert done.returncode == 0, done.stderr
    result = read_json(lab.folder / "out.json")
    assert (result["episodes"], len(result["per_board"])) == (30, 30)
    assert sum(result["per_board"]) == result["wins"]
    starts = GAME.fixed_starts(boards)[::-1]
    reversed_score = evaluate(GAME, ExactAgent(), None, 30, seed=0, starts=starts)
    assert [outcome == 1 for outcome in reversed_score.outcomes] == [bool(won) for won in result["per_board"][::-1]]


def test_boards_that_need_no_guess_are_won_without_one(tmp_path: Path):
    path = tmp_path / "calm.json"
    assert make_boards([str(path), "--rows", "8", "--cols", "8", "--mines", "10", "--count", "20", "--no-guess"]) == 0
    score = evaluate(GAME, ExactAgent(), None, 20, seed=0, starts=GAME.fixed_starts(path))
    assert score.metrics["won_without_guess"] == 1.0


def test_impossible_boards_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "none.json"
    crowded = ["--rows", "5", "--cols", "5", "--mines", "14", "--no-guess", "--max-tries", "30"]
    for arguments, message in (
        (crowded, "none of 30 boards"),
        (["--rows", "3", "--cols", "3", "--mines", "9"], "do not fit"),
    ):
        assert make_boards([str(path), *arguments]) == 2
        assert message in capsys.readouterr().err
    assert not path.exists()


def test_the_first_reveal_is_no_guess():
    game = Minesweeper(8, 8, 10)  # the player makes it
    decision = ExactAgent().decide(game, game.view(game.initial(np.random.default_rng(0))), np.random.default_rng(0))
    assert decision == (4 * 8 + 4, {"guess": False, "risk": 0.0, "reason": "the first reveal is safe"}, ())


def test_solvers_work_in_a_forked_process():
    evaluate(GAME, ExactAgent(), None, 20, seed=0)
    child = os.fork()
    if child == 0:
        evaluate(GAME, ExactAgent(), None, 20, seed=0)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(["opening_plies=3"], "for two-player games"), (["boards=some.json", "episodes=5"], "cannot be read")],
)
def test_user_errors_are_one_sentence(lab: Lab, arguments: list[str], sentence: str):
    done = lab.run("evaluate", "env=minesweeper_8x8", "agent=exact", *arguments)
    assert done.returncode != 0
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


class FakeNetwork:
    """Evaluates boards with the function `value`, and records them."""

    def __init__(self, value):
        self.value, self.seen = value, []

    def values(self, observations: np.ndarray) -> np.ndarray:
        self.seen.append(observations)
        return np.array([self.value(board) for board in observations])


def board(rows: int, cols: int, mines: int) -> Minesweeper:
    return Minesweeper(rows, cols, mines, first_click="uniform", flag_actions=False, encoding=Encoding(compact=True))


def stuck_view() -> View:
    """Return a view without certain cells and with too many completions to search."""
    visible = np.full((9, 9), -1, np.int8)
    visible[4, 4] = 2
    return View(visible, 20, over=False)


def test_certain_cells_are_revealed_without_the_network():
    network = FakeNetwork(lambda _: 1.0)
    seen = View(np.array([[-1, -1, -1], [1, 1, 1], [0, 0, 0]], np.int8), 1, over=False)
    decision = HybridAgent(network, 3).decide(board(4, 4, 1), seen, np.random.default_rng(0))
    assert {decision.action, *decision.plan} == {0, 2}
    assert decision.info["guess"] is False
    assert network.seen == []


def test_the_value_of_a_guess_is_the_expectation_over_its_successors():
    view = stuck_view()
    network = FakeNetwork(lambda _: 0.0)
    decision = HybridAgent(network, 5).decide(board(9, 9, 20), view, np.random.default_rng(0))
    risk = analyze(view.visible, view.mines).mine_probability.ravel()
    assert decision.info["win_chance"] == pytest.approx((1 - risk[decision.action]) / 2), "0 is an even chance"
    [asked] = network.seen
    changed = {int(cell) for successor in asked for cell in np.flatnonzero(successor.ravel() != view.visible.ravel())}
    assert 1 <= len(changed) <= 5
    assert all((successor.ravel() != view.visible.ravel()).sum() == 1 for successor in asked)


def test_the_network_decides_among_guesses():
    view = stuck_view()
    plain = HybridAgent(FakeNetwork(lambda _: 0.0), 8)
    first = plain.decide(board(9, 9, 20), view, np.random.default_rng(0)).action
    network = FakeNetwork(lambda successor: -1.0 if successor.ravel()[first] >= 0 else 0.9)
    assert HybridAgent(network, 8).decide(board(9, 9, 20), view, np.random.default_rng(0)).action != first


def test_batches_decide_like_single_views():
    game = board(9, 9, 20)
    rng = np.random.default_rng(5)
    views = [game.view(game.initial(rng)) for _ in range(20)]
    rngs = [np.random.default_rng(0)] * 20
    value = lambda successor: float((successor * np.arange(81).reshape(9, 9)).sum() % 7) / 7  # noqa: E731
    together = HybridAgent(FakeNetwork(value), 6).decide_batch(game, views, rngs)
    apart = [HybridAgent(FakeNetwork(value), 6).decide(game, view, rng) for view, rng in zip(views, rngs, strict=True)]
    assert [decision.action for decision in together] == [decision.action for decision in apart]


def test_an_agent_without_values_is_rejected():
    with pytest.raises(UserError, match="must be a trained network"):
        HybridAgent(ExactAgent(), 3)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="candidates=0"):
        HybridAgent(FakeNetwork(lambda _: 0.0), 0)
