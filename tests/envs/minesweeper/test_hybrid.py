import numpy as np
import pytest

from src.core.errors import UserError
from src.core.play.arena import evaluate
from src.envs.minesweeper.agents import ExactAgent
from src.envs.minesweeper.encoding import Encoding
from src.envs.minesweeper.game import Minesweeper, View
from src.envs.minesweeper.hybrid import HybridAgent
from src.envs.minesweeper.solver import analyse


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
    risk = analyse(view.visible, view.mines).mine_probability.ravel()
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


def test_with_constant_values_it_wins_about_as_often_as_the_solver():
    game = board(8, 8, 10)
    exact = evaluate(game, ExactAgent(), None, 200, 0).total.win_rate
    hybrid = evaluate(game, HybridAgent(FakeNetwork(lambda _: 0.0), 8), None, 200, 0).total.win_rate
    assert hybrid > exact - 0.1


def test_an_agent_without_values_is_rejected():
    with pytest.raises(UserError, match="must be a trained network"):
        HybridAgent(ExactAgent(), 3)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="candidates=0"):
        HybridAgent(FakeNetwork(lambda _: 0.0), 0)
