"""The time of a game, and how the master distributes it. Time is counted in nodes."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from src.core.play.search_interface import DECIDED, DepthResult
from src.envs.quoridor.agents import MasterAgent
from src.envs.quoridor.search import deepening
from src.envs.quoridor.search.clock import extension, move_budget
from src.envs.quoridor.search.deepening import SearchFeatures, SearchOptions, TimedSearch
from src.envs.quoridor.search.nnue import find_network, load_network
from src.envs.quoridor.search.timed_search import NODE_LIMIT, NODES
from tests.envs.quoridor.making import GAME, START, random_position

RNG = np.random.default_rng(0)
SPEED = 20_000  # nodes per second


def make_master() -> MasterAgent:
    return MasterAgent(None, 1000.0, None, 1, SearchOptions(table_bits=14), SearchFeatures())


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let searches take 1 / SPEED seconds per node."""
    running: list[TimedSearch] = []

    @contextmanager
    def stopped_after(self: TimedSearch, seconds: float | None) -> Iterator[None]:
        if seconds is not None:
            settings = self.main.tree.settings
            settings[NODE_LIMIT] = settings[NODES] + int(seconds * SPEED)
        yield

    plain = TimedSearch._search

    def search(self, state, depth):
        running[:] = [self]
        return plain(self, state, depth)

    def perf_counter() -> float:
        return float(running[0].main.tree.settings[NODES] / SPEED)

    monkeypatch.setattr(deepening, "time", SimpleNamespace(perf_counter=perf_counter))
    monkeypatch.setattr(TimedSearch, "_stopped_after", stopped_after)
    monkeypatch.setattr(TimedSearch, "_search", search)


def shared(left: float, increment: float, ply: int) -> tuple[float, float]:
    aim, limit = move_budget(left, increment, ply)
    assert aim is not None
    assert limit is not None
    return aim, limit


@pytest.mark.parametrize(("clock", "increment"), [(600, 0), (3, 0), (0.01, 0), (60, 1), (0.5, 2)])
def test_a_clock_lasts_for_the_longest_game_even_if_every_move_uses_its_limit(clock, increment):
    left = clock
    for ply in range(0, 200, 2):
        _, limit = shared(left, increment, ply)
        assert 0 <= limit <= left
        left += increment - limit


def test_most_of_a_clock_is_used_in_a_game_of_usual_length():
    left = 60.0
    for ply in range(4, 60, 2):
        left -= shared(left, 0, ply)[0]
    assert 0 < left < 0.4 * 60


def test_more_time_and_increment_are_shared_out():
    assert shared(60, 0, 10)[0] < shared(60, 1, 10)[0] < shared(120, 1, 10)[0]
    assert shared(60, 0, 10)[0] < shared(60, 0, 30)[0], "fewer moves are left"


def results(*found: tuple[int, int]) -> list[DepthResult]:
    return [DepthResult(depth, score, (move, 5), 10, 0.1) for depth, (move, score) in enumerate(found, start=1)]


def test_unstable_searches_are_extended_and_stable_ones_are_not():
    stable = extension(results((1, 10), (1, 10), (1, 12)))
    assert stable == extension(results((1, 10))) < 1
    changed, fallen = extension(results((1, 10), (1, 10), (2, 12))), extension(results((1, 90), (1, 90), (1, 10)))
    assert min(changed, fallen) >= 1
    assert (
        extension(results((2, 10), (1, 10), (2, 12))) > changed > extension(results((2, 10), (1, 10), (1, 12))) > stable
    )
    assert extension(results((1, 90), (1, 10), (1, 10))) == stable, "only the last fall counts"


@pytest.mark.usefixtures("counted")
def test_a_search_ends_with_the_first_depth_after_its_extended_aim():
    ends = set()
    for seed in range(8):
        search, aim = TimedSearch(load_network(find_network(None)), 200, SearchOptions()), 0.5
        found = list(search.deepen(random_position(GAME, seed, 16), 1000, aim=aim))
        if abs(found[-1].score) > DECIDED:
            continue
        for count in range(1, len(found)):
            assert found[count - 1].seconds < aim * extension(found[:count])
        assert found[-1].seconds >= aim * extension(found)
        ends.add(extension(found))
    assert len(ends) > 1, "some were extended"


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("increment", [0.0, 0.05])
def test_a_game_by_the_clock(increment):
    """No clock is exceeded, most of it is used, and a decided game takes less."""
    master, state, left = make_master(), START, [2.0, 2.0]
    used: tuple[list[float], list[float]] = ([], [])
    while GAME.outcome(state) is None:
        seat = state.ply % 2
        decision = master.decide_by_clock(GAME, state, left[seat], increment)
        used[seat].append(decision.info["nodes"] / SPEED)
        left[seat] -= used[seat][-1]
        assert left[seat] > -0.05, "the first depth takes no time"
        left[seat] += increment
        assert decision.action is not None
        state = GAME.play(state, decision.action)
    for times in used:
        assert sum(times) > 1
        assert max(times) > 3 * times[-1]


@pytest.mark.usefixtures("counted")
def test_a_single_legal_move_takes_no_time():
    only = GAME.read_position("a1 e9 0 3 20 a1h")
    assert len(GAME.legal_actions(only)) == 1
    assert make_master().decide(GAME, only, RNG).info["depth"] == 1
    assert make_master().decide_by_clock(GAME, only, 60, 0).info["depth"] == 1
    assert make_master().decide_by_clock(GAME, START, 60, 0).info["depth"] > 1


@pytest.mark.usefixtures("counted")
def test_a_move_by_the_clock_of_the_caller():
    master = make_master()
    depths = [
        master.decide_by_clock(GAME, START, left, added).info["depth"] for left, added in [(0, 0), (1, 0), (1, 1)]
    ]
    assert depths[0] == 1 < depths[1] < depths[2]
