"""The timed search and its player."""

import threading
import time
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings

from src.api import make_agent
from src.core.errors import UserError
from src.core.play.agent import RandomAgent
from src.core.play.arena import evaluate
from src.core.play.search_interface import DECIDED, WIN, DepthResult
from src.envs.quoridor.agents import MasterAgent
from src.envs.quoridor.game import Quoridor
from src.envs.quoridor.rules import distance, load_position, new_board
from src.envs.quoridor.rules import turned as turned_move
from src.envs.quoridor.search.deepening import SearchFeatures, SearchOptions, TimedSearch
from src.envs.quoridor.search.nnue import PATH_WORDS, SHIPPED, load_network, trace
from src.envs.quoridor.search.timed_search import AGE, ALL, NARROW, NODES, WIDE, list_moves
from tests.envs.quoridor.making import GAME, START, make_game, positions, random_position, turned

NETWORK = load_network(SHIPPED)
RNG = np.random.default_rng(0)
BOARD = new_board(9, 200)


def make_search(game: Quoridor = GAME, threads: int = 1, **options) -> TimedSearch:
    return TimedSearch(NETWORK, game.ply_limit, SearchOptions(**{"table_bits": 14, **options}), threads=threads)


def make_master(nodes: int | None = 2000, seconds: float | None = None, threads: int = 1) -> MasterAgent:
    return MasterAgent(None, seconds, nodes, threads, SearchOptions(table_bits=14), SearchFeatures())


def two_moves(search: TimedSearch, seed: int, plies: int) -> list[tuple]:
    """Return depth, score, nodes and line of two moves of a game from a random position, 20,000 nodes each."""
    state, found = random_position(GAME, seed, plies), []
    for _ in range(2):
        *_, result = search.deepen(state, nodes=20_000)
        found.append((*result[:2], result.nodes, result.line))
        after = GAME.play(state, result.line[0])
        search.remember(after)
        state = GAME.play(after, GAME.candidates(after, True)[0])
    return found


@settings(max_examples=60, deadline=None)
@given(positions(sizes=(9,), plies=60))
def test_the_moves_are_legal_and_gain_what_they_say(drawn):
    game, state = drawn
    me, paths, lengths = state.ply % 2, np.zeros((2, PATH_WORDS), np.uint64), np.zeros(2, np.int64)
    load_position(BOARD, state)
    for player in range(2):
        lengths[player] = trace(BOARD, player, True, paths[player])
    moves, gains = np.zeros((2, 256), np.int64)
    found = {}
    for width, corridors in ((NARROW, False), (WIDE, False), (WIDE, True), (ALL, False)):
        count = list_moves(BOARD, paths, lengths, width, corridors, moves, gains)
        actions = [turned_move(9, state.ply, move) for move in moves[:count].tolist()]
        found[width, corridors] = dict(zip(actions, gains[:count].tolist(), strict=True))
    narrow, wide, wider, widest = found.values()
    legal = game.legal_actions(state)
    assert set(narrow) <= set(wide) <= set(wider) <= set(widest) == set(legal)
    assert {action for action in legal if action < 81} <= set(narrow)
    for action in legal:
        if action >= 81:
            load_position(BOARD, game.play(state, action))
            gain = distance(BOARD, 1 - me) - lengths[1 - me] - (distance(BOARD, me) - lengths[me])
            if lengths[1 - me] == 1 and distance(BOARD, 1 - me) > 1:
                gain = max(gain, 1)  # the opponent is about to win
            if distance(BOARD, 1 - me) > lengths[1 - me] and gain > 0:
                assert narrow[action] == gain, "every wall that gains is searched"
            assert widest[action] == wider.get(action, gain) == wide.get(action, gain) == gain


# What `two_moves` returns, by seed and plies.
KNOWN_SEARCHES: dict[tuple[int, int], list[tuple]] = {
    (0, 0): [(7, 15, 14718, (13, 13, 22, 22, 31, 31, 40)), (7, 11, 16163, (22, 22, 31, 31, 101, 92, 40))],
    (1, 6): [(7, -99, 20003, (3, 21, 12, 110, 21, 20, 111)), (6, -107, 10989, (12, 20, 21, 110, 22, 29))],
    (3, 24): [(8, 175, 19645, (112, 144, 2, 2, 3, 3, 4, 4)), (8, 124, 14432, (10, 3, 146, 4, 19, 5, 28, 6))],
    (5, 30): [
        (9, -224, 20003, (2, 120, 94, 3, 11, 135, 2, 2, 1)),
        (9, -194, 20001, (11, 135, 103, 4, 2, 5, 1, 6, 0)),
    ],
    (11, 50): [
        (15, -721, 14290, (22, 13, 31, 22, 32, 31, 31, 40, 22, 49, 13, 58, 14, 67)),
        (16, -999984, 15755, (31, 22, 32, 31, 31, 40, 49, 92, 58)),
    ],
}

# ... of agent=reference2
REFERENCE_SEARCHES = {
    (0, 0): [(7, 2, 14094, (13, 13, 22, 14, 31, 23, 32)), (7, 2, 11081, (22, 22, 21, 13, 30, 14, 92))],
    (1, 6): [(6, -54, 20002, (13, 21, 12, 30, 103, 31)), (6, -54, 13630, (12, 118, 198, 30, 182, 31))],
    (3, 24): [
        (8, 204, 20001, (10, 120, 112, 2, 11, 134, 131, 3)),
        (8, 247, 20001, (112, 11, 143, 120, 11, 126, 20, 197)),
    ],
    (5, 30): [(8, -132, 14165, (2, 120, 94, 3, 11, 135, 206, 90)), (8, -152, 19535, (11, 2, 20, 120, 94, 11, 21, 82))],
}


@pytest.mark.parametrize(("seed", "plies"), KNOWN_SEARCHES)
def test_one_thread_searches_the_known_trees(seed, plies):
    """Whoever changes the search on purpose, or its network, replaces these numbers."""
    assert two_moves(make_search(), seed, plies) == KNOWN_SEARCHES[seed, plies]


@pytest.mark.parametrize("feature", fields(SearchFeatures), ids=lambda feature: feature.name)
def test_every_feature_can_be_switched(feature):
    features = SearchFeatures(**{feature.name: not feature.default})
    search = TimedSearch(NETWORK, GAME.ply_limit, SearchOptions(table_bits=14), features)
    assert two_moves(search, 11, 50) != KNOWN_SEARCHES[11, 50], "another tree is searched"


@pytest.mark.parametrize(("seed", "plies"), REFERENCE_SEARCHES)
def test_the_reference_searches_as_it_did(seed, plies):
    """These numbers stay, whatever the master learns: progress is measured against it."""
    agent = make_agent("reference2", "agent.search.table_bits=14")
    assert isinstance(agent, MasterAgent)
    assert two_moves(agent.new_search(GAME), seed, plies) == REFERENCE_SEARCHES[seed, plies]


def test_an_entry_with_words_of_two_positions_is_not_used():
    search, expected = make_search(), KNOWN_SEARCHES[5, 30][0]
    state = random_position(GAME, 5, 30)
    list(search.deepen(state, nodes=20_000))
    search.table[:, 1] = np.roll(search.table[:, 1], 1)
    search.main.start_game()
    *_, result = search.deepen(state, nodes=20_000)
    assert (result.depth, result.score, result.nodes, result.line) == expected


def helper_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "_help" in thread.name]


def test_several_threads_search_together_and_stop_together():
    search, state = make_search(threads=3), random_position(GAME, 1, 6)
    results = []
    for result in search.deepen(state, depth=9):
        results.append(result)
        assert len(helper_threads()) <= 2
    assert [result.depth for result in results] == list(range(1, 10))
    assert helper_threads() == []
    own, *others = (int(worker.tree.settings[NODES]) for worker in (search.main, *search.helpers))
    assert own < results[-1].nodes <= own + sum(others), "the nodes of the helpers are counted"
    assert all(search.main.tree.settings[AGE] == helper.tree.settings[AGE] for helper in search.helpers)
    GAME.line_names(state, results[-1].line)  # which is legal


def test_helpers_end_with_a_search_that_is_abandoned():
    running = make_search(threads=2).deepen(START, seconds=1000)
    assert [next(running).depth, next(running).depth] == [1, 2]
    assert len(helper_threads()) == 1
    running.close()
    assert helper_threads() == []


def test_impossible_games_threads_and_budgets_are_refused():
    for threads in (0, -1, 257, 1.5):
        with pytest.raises(UserError, match="threads"):
            make_master(nodes=None, seconds=1.0, threads=threads)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"agent.nodes=2000 limits a search of one thread: set agent.threads=1"):
        make_master(threads=2)
    for nodes, seconds in ((None, None), (10, 1.0)):
        with pytest.raises(UserError, match="set one of"):
            make_master(nodes, seconds)
    with pytest.raises(UserError, match="9x9 with at most 10 walls"):
        make_master().check(make_game(size=5))
    make_master().check(GAME)


@pytest.mark.parametrize("threads", [1, 3])
def test_it_wins_as_soon_as_it_can_and_stops_then(threads):
    state, search = GAME.read_position("e6 a9 0 0 0 -"), make_search(threads=threads)
    *_, result = search.deepen(state, seconds=1000)
    assert result.score == WIN - 5
    assert result.seconds < 100, "a deeper search cannot change the result"
    assert GAME.line_names(state, result.line)[0] == "e7"


def test_a_win_is_claimed_only_if_all_legal_walls_lose():
    """Without proofs a win in 11 plies is claimed, which a wall of player 1 refutes that the search does not list."""
    walls = "a3v,a8h,b1v,b2h,b4h,b5h,b6v,c7h,d2h,d3v,e7h,f2h,g6v,g7h,h2h,h5h"
    state, claims = GAME.read_position(f"a7 b5 3 1 43 {walls}"), {}
    for proofs in (True, False):
        features = SearchFeatures(corridor_walls=False, proofs=proofs)
        *_, result = TimedSearch(NETWORK, GAME.ply_limit, SearchOptions(), features).deepen(state, nodes=50_000)
        claims[proofs] = result.score > DECIDED
    assert claims == {True: False, False: True}


def test_it_stops_a_runner_who_is_about_to_win():
    state = GAME.read_position("e2 a2 5 0 0 -")
    *_, result = make_search().deepen(state, nodes=3000)
    load_position(BOARD, GAME.play(state, result.line[0]))
    assert distance(BOARD, 1) > 1


@pytest.mark.parametrize(("limit", "decided"), [(200, True), (4, False)])
def test_the_ply_limit_is_a_draw(limit, decided):
    game = make_game(ply_limit=limit)
    *_, result = make_search(game).deepen(game.read_position("e6 a4 0 0 0 -"), depth=6)
    assert (abs(result.score) > DECIDED) == decided
    assert decided or result.score == 0


@settings(max_examples=8, deadline=None)
@given(positions(sizes=(9,), plies=30))
def test_both_players_search_alike_and_the_line_is_legal(drawn):
    game, state = drawn
    results = []
    for position in (state, turned(game, state)):
        *_, result = make_search().deepen(position, depth=1)
        names = game.line_names(position, result.line)
        assert len(names) == len(result.line) > 0
        results.append(result.score)
    assert results[0] == results[1]


def test_the_time_is_used_up_and_not_exceeded():
    search = make_search()
    list(search.deepen(START, nodes=10))
    began = time.perf_counter()
    results = list(search.deepen(START, seconds=0.3))
    assert 0.28 < time.perf_counter() - began < 0.6
    assert [result.depth for result in results] == list(range(1, len(results) + 1))
    assert results[-1].nodes > results[0].nodes


def test_a_search_can_be_stopped_from_another_thread():
    search = make_search()
    list(search.deepen(START, nodes=10))
    threading.Timer(0.1, search.stop).start()
    *_, result = search.deepen(START, seconds=30)
    assert result.seconds < 5
    assert result.line


@pytest.mark.parametrize("budget", [{"nodes": 1}, {"seconds": 1e-9}])
def test_the_first_depth_is_searched_with_any_budget(budget):
    first, *_ = make_search().deepen(random_position(GAME, 1, 10), **budget)
    assert first.depth == 1
    assert first.line


def test_it_does_not_return_to_a_position_of_the_game():
    state = GAME.read_position("e4 d6 0 5 20 -")
    *_, result = make_search().deepen(state, depth=1)
    after = GAME.play(state, result.line[0])
    search = make_search(contempt=10_000)
    search.remember(after._replace(ply=19))  # it was on the board before
    *_, other = search.deepen(state, depth=1)
    assert other.line[0] != result.line[0]


def test_the_player_reports_what_it_found_and_beats_a_random_player():
    decision = make_master(nodes=3000).decide(GAME, START, RNG)
    assert decision.action in GAME.legal_actions(START)
    assert set(decision.info) == {"score", "depth", "nodes", "nodes_per_second", "line"}
    assert decision.info["nodes"] <= 3001
    assert decision.info["nodes_per_second"] > 1000
    assert evaluate(GAME, make_master(nodes=300), RandomAgent(), 4, 3).total.wins == 4


def test_an_analysis_begins_with_the_move_that_is_played():
    state = GAME.read_position("e8 a5 3 3 20 -")
    best, *others = make_master(nodes=3000).analyze(GAME, state, 4)
    assert (best.score, GAME.line_names(state, best.actions)) == ("win-in-1", ["e9"])
    assert len(others) == 3
    for line in others:
        assert GAME.line_names(state, line.actions)[0] != "e9"
    assert others[0].score != "win-in-1", "it cannot be better than the first"


def test_an_analysis_reports_every_depth_and_ends_when_stopped():
    agent, depths = make_master(nodes=None, seconds=10**6), []

    def report(result: DepthResult) -> None:
        depths.append(result.depth)
        if result.depth == 3:
            agent.stop()

    (only,) = agent.analyze(GAME, START, 5, report)
    assert depths[:3] == [1, 2, 3]
    assert GAME.line_names(START, only.actions)
    agent.stop()  # nothing runs any more
    assert len(make_master(nodes=3000).analyze(GAME, START, 5)) == 5


def test_a_game_does_not_depend_on_those_before():
    agent, alone = make_master(nodes=4000), make_master(nodes=4000)
    for seed in range(3):
        agent.decide(GAME, random_position(GAME, seed, 12), RNG)
    after, fresh = (one.decide(GAME, START, RNG).info for one in (agent, alone))
    assert {**after, "nodes_per_second": 0} == {**fresh, "nodes_per_second": 0}


def before_search(monkeypatch: pytest.MonkeyPatch, action) -> TimedSearch:
    """Return a search that calls `action(search, depth)` before it searches a depth."""
    plain = TimedSearch._search

    def search(self, state, depth):
        action(self, depth)
        return plain(self, state, depth)

    monkeypatch.setattr(TimedSearch, "_search", search)
    return make_search()


def test_a_stop_before_the_first_depth_still_gives_a_move(monkeypatch: pytest.MonkeyPatch):
    search = before_search(monkeypatch, lambda search, depth: search.stop())
    (only,) = search.deepen(START, seconds=60)
    assert only.depth == 1
    assert only.line[0] in GAME.legal_actions(START)


def test_loading_the_kernels_takes_none_of_the_time(monkeypatch: pytest.MonkeyPatch):
    search = before_search(monkeypatch, lambda search, depth: time.sleep(0.3 if depth == 1 else 0))
    *_, last = search.deepen(START, seconds=0.2)
    assert last.depth > 1


def test_two_searches_of_one_object_take_turns():
    search, done = make_search(), threading.Event()
    first = search.deepen(START, nodes=10_000)
    next(first)

    def search_again() -> None:
        list(search.deepen(START, nodes=1000))
        done.set()

    other = threading.Thread(target=search_again)
    other.start()
    assert not done.wait(0.2), "the board belongs to the first search"
    list(first)
    other.join()
    assert done.is_set()
