"""The timed search and its player."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings

from src.core.errors import UserError
from src.core.play.agent import RandomAgent
from src.core.play.arena import evaluate
from src.core.play.search import DECIDED, WIN
from src.envs.quoridor.board import new_board, place
from src.envs.quoridor.board import turned as turned_move
from src.envs.quoridor.features import PATH_WORDS, trace
from src.envs.quoridor.master import MasterAgent
from src.envs.quoridor.nnue import SHIPPED, load_network
from src.envs.quoridor.ordering import list_moves
from src.envs.quoridor.paths import distance
from src.envs.quoridor.rules import Quoridor
from src.envs.quoridor.thinker import SearchOptions, Thinker
from tests.envs.quoridor.making import GAME, START, make_game, positions, random_position, turned

NETWORK = load_network(SHIPPED)
RNG = np.random.default_rng(0)
BOARD = new_board(9, 200)


def thinker(game: Quoridor = GAME, **options) -> Thinker:
    return Thinker(NETWORK, game.ply_limit, SearchOptions(**{"table_bits": 14, **options}))


def make_master(nodes: int | None = 2000, seconds: float | None = None) -> MasterAgent:
    return MasterAgent(None, seconds, nodes, SearchOptions(table_bits=14))


@settings(max_examples=60, deadline=None)
@given(positions(sizes=(9,), plies=60))
def test_the_moves_are_legal_and_gain_what_they_say(drawn):
    game, state = drawn
    me, paths, lengths = state.ply % 2, np.zeros((2, PATH_WORDS), np.uint64), np.zeros(2, np.int64)
    place(BOARD, state)
    for player in range(2):
        lengths[player] = trace(BOARD, player, True, paths[player])
    moves, gains = np.zeros((2, 256), np.int64)
    found = {}
    for wide in (True, False):
        count = list_moves(BOARD, paths, lengths, wide, moves, gains)
        actions = [turned_move(9, state.ply, move) for move in moves[:count].tolist()]
        found[wide] = dict(zip(actions, gains[:count].tolist(), strict=True))
    legal = game.legal_actions(state)
    assert set(found[False]) <= set(found[True]) <= set(legal)
    assert {action for action in legal if action < 81} <= set(found[False])
    for action in legal:
        if action >= 81:
            place(BOARD, game.play(state, action))
            gain = distance(BOARD, 1 - me) - lengths[1 - me] - (distance(BOARD, me) - lengths[me])
            if lengths[1 - me] == 1 and distance(BOARD, 1 - me) > 1:
                gain = max(gain, 1)  # the opponent is about to win
            if distance(BOARD, 1 - me) > lengths[1 - me] and gain > 0:
                assert found[False][action] == gain, "every wall that gains is searched"
            assert found[True].get(action, gain) == gain


def test_it_wins_as_soon_as_it_can_and_stops_then():
    state, search = GAME.read_position("e6 a9 0 0 0 -"), thinker()
    list(search.think(START, nodes=10))  # compiles
    *_, thought = search.think(state, seconds=5)
    assert thought.score == WIN - 5
    assert thought.seconds < 1, "a deeper search cannot change the result"
    assert GAME.line_names(state, thought.line)[0] == "e7"


def test_it_stops_a_runner_who_is_about_to_win():
    state = GAME.read_position("e2 a2 5 0 0 -")
    *_, thought = thinker().think(state, nodes=3000)
    after = GAME.play(state, thought.line[0])
    place(BOARD, after)
    assert distance(BOARD, 1) > 1


@pytest.mark.parametrize(("limit", "decided"), [(200, True), (4, False)])
def test_the_ply_limit_is_a_draw(limit, decided):
    game = make_game(ply_limit=limit)
    *_, thought = thinker(game).think(game.read_position("e6 a4 0 0 0 -"), depth=6)
    assert (abs(thought.score) > DECIDED) == decided
    assert decided or thought.score == 0


@settings(max_examples=8, deadline=None)
@given(positions(sizes=(9,), plies=30))
def test_both_players_search_alike_and_the_line_is_legal(drawn):
    game, state = drawn
    results = []
    for position in (state, turned(game, state)):
        *_, thought = thinker().think(position, depth=1)
        names = game.line_names(position, thought.line)
        assert len(names) == len(thought.line) > 0
        results.append(thought.score)
    assert results[0] == results[1]


def test_the_time_is_used_up_and_not_exceeded():
    search = thinker()
    list(search.think(START, nodes=10))
    began = time.perf_counter()
    thoughts = list(search.think(START, seconds=0.3))
    assert 0.28 < time.perf_counter() - began < 0.6
    assert [thought.depth for thought in thoughts] == list(range(1, len(thoughts) + 1))
    assert thoughts[-1].nodes > thoughts[0].nodes


def test_a_search_can_be_stopped_from_another_thread():
    search = thinker()
    list(search.think(START, nodes=10))
    threading.Timer(0.1, search.stop).start()
    began = time.perf_counter()
    *_, thought = search.think(START, seconds=30)
    assert time.perf_counter() - began < 5
    assert thought.line


def test_the_first_depth_is_searched_with_any_budget():
    for budget in ({"nodes": 1}, {"seconds": 1e-9}):
        thoughts = list(thinker().think(random_position(GAME, 1, 10), **budget))
        assert thoughts[0].depth == 1
        assert thoughts[0].line


def test_it_does_not_return_to_a_position_of_the_game():
    state = GAME.read_position("e4 d6 0 5 20 -")
    *_, thought = thinker().think(state, depth=1)
    after = GAME.play(state, thought.line[0])
    search = thinker(contempt=10_000)
    search.remember(after._replace(ply=19))  # it was on the board before
    *_, other = search.think(state, depth=1)
    assert other.line[0] != thought.line[0]


def test_a_new_game_is_recognised():
    search = thinker()
    search.remember(START)
    second = GAME.play(START, GAME.legal_actions(START)[0])
    search.remember(second)
    assert search._past == [START, second]
    search.remember(START)
    assert search._past == [START]


def test_the_player_reports_what_it_found():
    decision = make_master(nodes=3000).decide(GAME, START, RNG)
    assert decision.action in GAME.legal_actions(START)
    assert set(decision.info) == {"score", "depth", "nodes", "nodes_per_second", "line"}
    assert decision.info["nodes"] <= 3001
    assert decision.info["nodes_per_second"] > 1000


def test_an_analysis_begins_with_the_move_that_is_played():
    state = GAME.read_position("e8 a5 3 3 20 -")
    best, *others = make_master(nodes=3000).analyse(GAME, state, 4)
    assert (best.score, GAME.line_names(state, best.actions)) == ("win-in-1", ["e9"])
    assert len(others) == 3
    for line in others:
        assert GAME.line_names(state, line.actions)[0] != "e9"
    assert others[0].score != "win-in-1", "it cannot be better than the first"


def test_it_beats_a_random_player():
    assert evaluate(GAME, make_master(nodes=300), RandomAgent(), 4, 3).total.wins == 4


def test_it_refuses_other_boards_and_two_budgets():
    with pytest.raises(UserError, match="9x9 with at most 10 walls"):
        make_master().check(make_game(size=5))
    make_master().check(GAME)
    for nodes, seconds in ((None, None), (10, 1.0)):
        with pytest.raises(UserError, match="set one of"):
            make_master(nodes, seconds)


def test_a_game_does_not_depend_on_those_before():
    agent, alone = make_master(nodes=4000), make_master(nodes=4000)
    for seed in range(3):
        agent.decide(GAME, random_position(GAME, seed, 12), RNG)
    after, fresh = (one.decide(GAME, START, RNG).info for one in (agent, alone))
    assert {**after, "nodes_per_second": 0} == {**fresh, "nodes_per_second": 0}


def test_a_stop_before_the_first_depth_still_gives_a_move(monkeypatch: pytest.MonkeyPatch):
    search, plain = thinker(), Thinker._search

    def stopped(self, state, depth, last):
        self.stop()
        return plain(self, state, depth, last)

    monkeypatch.setattr(Thinker, "_search", stopped)
    (only,) = search.think(START, seconds=60)
    assert only.depth == 1
    assert only.line[0] in GAME.legal_actions(START)


def test_two_searches_of_one_thinker_take_turns():
    search, done = thinker(), threading.Event()
    first = search.think(START, nodes=10_000)
    next(first)

    def search_again() -> None:
        list(search.think(START, nodes=1000))
        done.set()

    other = threading.Thread(target=search_again)
    other.start()
    assert not done.wait(0.2), "the board belongs to the first search"
    list(first)
    other.join()
    assert done.is_set()


def test_loading_the_kernels_takes_none_of_the_time(monkeypatch: pytest.MonkeyPatch):
    search, plain = thinker(), Thinker._search

    def slow(self, state, depth, last):
        if depth == 1:
            time.sleep(0.3)
        return plain(self, state, depth, last)

    monkeypatch.setattr(Thinker, "_search", slow)
    *_, last = search.think(START, seconds=0.2)
    assert last.depth > 1
