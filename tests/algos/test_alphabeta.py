from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from src.algos import alphabeta
from src.algos.alphabeta import AlphaBetaAgent, DifficultyConfig, PlainSearch, SearchBudget
from src.algos.minimax import MinimaxAgent
from src.core.errors import UserError
from src.core.play.arena import walk_replies
from src.core.play.search_interface import (
    DECIDED,
    UNLIMITED_PLIES,
    WIN,
    Searcher,
    SearcherConfig,
    SearchResult,
    noise_at,
    parent_score,
    score_text,
)
from src.envs.minesweeper.game import Minesweeper
from src.envs.quoridor.game import Quoridor
from src.envs.quoridor.rules import NO_PATH, distance, distance_map
from src.envs.tictactoe.game import TicTacToe
from tests.envs.quoridor.making import GAME, GAMES, START, WEIGHTS, make_game, positions, random_position, turned
from tests.envs.tictactoe.test_rules import STATES

RNG = np.random.default_rng(0)
TICTACTOE = TicTacToe(symmetric=True)


def make_agent(
    depth: int,
    noise: int = 0,
    selective: bool = False,
    nodes=None,
    seconds=None,
    weights=WEIGHTS,
    waiting_plies: int | None = None,
):
    level = DifficultyConfig(depth, noise, selective, waiting_plies, fastest_win=True)
    return AlphaBetaAgent("level", {"level": level}, weights, nodes, seconds)


def evaluation(
    noise: int = 0,
    selective: bool = False,
    seed: int = 0,
    waiting_plies: int = UNLIMITED_PLIES,
    fastest_win: bool = True,
) -> SearcherConfig:
    return SearcherConfig(WEIGHTS, noise, seed, selective, waiting_plies, fastest_win)


def plain_minimax(game, state, depth: int, rules: SearcherConfig) -> int:
    """Return the value of a position by full search, which pruning, tables and windows must not change."""
    outcome = game.outcome(state)
    if outcome is not None:
        return WIN * outcome * (1 if game.to_move(state) == 0 else -1)
    if depth == 0:
        score = sum(rules.weights[name] * value for name, value in game.factors(state).items())
        return score + (noise_at(game.position_key(state), rules.noise, rules.seed) if rules.noise else 0)
    after = [game.play(state, action) for action in game.candidates(state, rules.selective)]
    return max(parent_score(plain_minimax(game, position, depth - 1, rules)) for position in after)


@settings(max_examples=40, deadline=None)
@given(positions(sizes=(3, 4, 5), plies=30), st.integers(0, 30), st.integers(1, 3))
def test_pruning_changes_no_value(drawn, noise, depth):
    game, state = drawn
    found = PlainSearch(game, evaluation(noise)).search(state, depth, None, 10**9)
    assert found is not None
    assert found.score == plain_minimax(game, state, depth, evaluation(noise))


@settings(max_examples=40, deadline=None)
@given(
    positions(sizes=(3, 4, 5, 9), plies=40),
    st.sampled_from([0, 7]),
    st.sampled_from([(False, False), (False, True), (True, True)]),
    st.integers(0, 3),
    st.sampled_from([0, 20, UNLIMITED_PLIES]),
)
def test_the_compiled_search_agrees_move_for_move_with_the_plain_one(drawn, noise, kind, seed, waiting_plies):
    game, state = drawn
    selective, fastest_win = kind
    rules = evaluation(noise, selective, seed, waiting_plies, fastest_win)
    compiled, plain, first = game.searcher(rules), PlainSearch(game, rules), None
    for depth in range(1, 4 if game.size == 9 else 5):
        ours, theirs = (searcher.search(state, depth, first, 10**9) for searcher in (compiled, plain))
        assert ours is not None
        assert theirs is not None
        assert (ours.score, ours.line[0]) == (theirs.score, theirs.line[0])
        first = ours.line[0]


@settings(max_examples=25, deadline=None)
@given(positions(sizes=(5, 9)))
def test_the_best_line_is_legal_and_leads_to_the_score(drawn):
    game, state = drawn
    found = game.searcher(evaluation()).search(state, 4, None, 10**9)
    assert found is not None
    for action in found.line:
        state = game.play(state, action)
    assert game.outcome(state) is not None or len(found.line) == 4
    score = plain_minimax(game, state, 0, evaluation())
    for _ in found.line:
        score = parent_score(score)
    assert score == found.score


@settings(max_examples=25, deadline=None)
@given(positions(sizes=(5, 9)), st.booleans())
def test_both_players_search_alike(drawn, selective):
    game, state = drawn
    ours, theirs = (
        make_agent(3, selective=selective).decide(game, position, RNG) for position in (state, turned(game, state))
    )
    assert ours.action == theirs.action
    assert ours.info["score"] == theirs.info["score"]


def test_an_impatient_player_makes_the_shortest_moves_only():
    state = GAME.read_position("e4 a5 5 5 0 -")
    for ply, names in ((58, ["d4", "e5", "f4"]), (59, ["a4", "b5"]), (60, ["e5"]), (61, ["a4"])):
        position = state._replace(ply=ply)
        actions = GAME.candidates(position, selective=True, waiting_plies=60)
        assert sorted(GAME.move_name(position, action) for action in actions if action < GAME.cells) == names


def test_a_late_wall_need_only_cost_one_step():
    state = GAME.read_position("e4 d6 5 5 0 -")
    walls = {
        (ply, limit): {
            GAME.move_name(state, action)
            for action in GAME.candidates(state._replace(ply=ply), selective=True, waiting_plies=limit)
            if action >= GAME.cells
        }
        for ply, limit in ((35, 60), (36, 60), (37, 60), (36, UNLIMITED_PLIES), (37, UNLIMITED_PLIES))
    }
    assert "c5h" in walls[36, 60], "it costs the opponent one step"
    assert "d4h" in walls[37, 60]
    assert walls[35, 60] == walls[36, UNLIMITED_PLIES] == walls[37, UNLIMITED_PLIES] == set()


def self_play(agent: AlphaBetaAgent, seed: int) -> tuple[list[int], int]:
    """Return the actions and the outcome of a game of an agent against itself."""
    rng, state, actions = np.random.default_rng(seed), START, []
    while (outcome := GAME.outcome(state)) is None:
        action = agent.decide(GAME, state, rng).action
        assert action is not None
        actions.append(action)
        state = GAME.play(state, action)
    return actions, outcome


def test_noisy_games_differ_do_not_cycle_and_are_repeated_by_their_seed():
    easy = make_agent(1, noise=40)
    games = [self_play(easy, seed) for seed in range(12)]
    assert len({tuple(actions) for actions, _ in games}) == 12
    assert all(outcome != 0 for _, outcome in games), "two players who repeat themselves draw by the ply limit"
    assert self_play(easy, 5) == games[5]


def test_every_decision_draws_its_noise_and_only_then_from_the_generator():
    state, rng = random_position(GAME, seed=3, plies=14), np.random.default_rng(0)
    scores = [make_agent(2, noise=40).decide(GAME, state, rng).info["score"] for _ in range(4)]
    assert len(set(scores)) > 1
    before = rng.bit_generator.state
    quiet = make_agent(2)
    assert quiet.decide(GAME, state, rng) == quiet.decide(GAME, state, np.random.default_rng(9))
    assert rng.bit_generator.state == before
    assert (quiet.deterministic, make_agent(2, noise=1).deterministic) == (True, False)


def test_noise_is_one_number_for_a_position_during_a_search():
    state = random_position(GAME, seed=3, plies=14)
    counts = Counter(noise_at(key, 3, seed=5) for key in range(7000))
    assert set(counts) == {-3, -2, -1, 0, 1, 2, 3}
    assert 900 < min(counts.values()) <= max(counts.values()) < 1100, "uniform"
    assert GAME.position_key(state) == GAME.position_key(state._replace(ply=state.ply + 2)), "however it came about"
    changed = [state._replace(ply=state.ply + 1), state._replace(left=(1, 1)), state._replace(horizontal=0)]
    assert len({GAME.position_key(position) for position in [state, *changed]}) == 4


def test_noise_leaves_won_and_lost_positions_alone():
    state = GAME.read_position("e8 a5 3 3 0 -")
    decision = make_agent(1, noise=10**5).decide(GAME, state, RNG)
    assert GAME.move_name(state, decision.action) == "e9"
    assert decision.info["score"] == "win-in-1"


def test_it_wins_as_soon_as_it_can():
    race = GAME.read_position("e6 a9 0 0 0 -")
    assert make_agent(5).decide(GAME, race, RNG).info["score"] == "win-in-5"
    assert (
        make_agent(1, selective=True).decide(GAME, GAME.read_position("e5 a9 0 0 0 -"), RNG).info["score"] == "win-in-7"
    )


def test_a_blocked_path_scores_one_less_than_a_won_game():
    state = GAME.read_position("e5 a8 5 5 0 -")
    walled_in = state._replace(horizontal=1 << 48 | 1 << 56, vertical=1 << 56)  # a8 with b8 and no way out
    found = GAME.searcher(evaluation()).search(walled_in, 0, None, 10**9)
    assert found is not None
    assert found.score == WIN - 1


@pytest.mark.parametrize(("limit", "score"), [(200, "win-in-5"), (5, "win-in-5"), (4, "0")])
def test_the_ply_limit_is_seen(limit, score):
    game = make_game(ply_limit=limit)
    for selective in (False, True):
        state = game.read_position("e6 a4 0 0 0 -")
        assert make_agent(5, selective=selective).decide(game, state, RNG).info["score"] == score


def test_tictactoe_is_played_perfectly_to_the_end():
    agent, oracle = make_agent(9, weights={}), MinimaxAgent()
    for state in STATES[::23]:
        if TICTACTOE.outcome(state) is None:
            assert agent.decide(TICTACTOE, state, RNG).action in oracle.best_actions(TICTACTOE, state)
    assert walk_replies(TICTACTOE, make_agent(9, weights={}, nodes=20_000), seat=1).losses == 0


def test_budgets():
    state = random_position(GAME, seed=1, plies=16)
    shallow, deep = (make_agent(1, nodes=nodes).decide(GAME, state, RNG) for nodes in (500, 50_000))
    assert shallow.info["depth"] < deep.info["depth"]
    assert 500 < deep.info["nodes"] <= 50_000
    assert make_agent(1, nodes=1).decide(GAME, state, RNG).info["depth"] == 1
    assert make_agent(1, nodes=500).deterministic
    timed = make_agent(1, seconds=0.3)
    assert not timed.deterministic
    assert timed.decide(GAME, state, RNG).info["depth"] > 1
    assert make_agent(1, weights={}, nodes=10**6).decide(TICTACTOE, "XX.OO....", RNG).action == 2


def test_a_budget_is_used_up_while_positions_are_undecided():
    state = GAME.read_position("g3 f9 6 3 20 a1v,a6h,b2h,b5h,c3v,c7v,e3h,e6v,f5v,f8h,h7h")
    assert make_agent(1, selective=True, nodes=50_000).decide(GAME, state, RNG).info["depth"] > 6

    class AlwaysAsMany:
        def search(self, state, depth, first, node_limit):
            return SearchResult(0, (0,), 10, depth >= 7)

    agent = make_agent(1, nodes=1000)
    assert agent._deepen(AlwaysAsMany(), None, SearchBudget(1000, None))[1] == 7
    assert make_agent(4)._deepen(AlwaysAsMany(), None, SearchBudget(None, None))[1] == 4


def test_a_player_who_is_lost_searches_on_and_one_who_has_won_does_not():
    """The loser looks for the line that takes longest, and the winner has found the shortest."""

    class Decided:
        def __init__(self, sign: int) -> None:
            self.sign = sign

        def search(self, state, depth, first, node_limit):
            return SearchResult(self.sign * (WIN - depth) if depth > 1 else 0, (depth,), 10, False)

    reached = [make_agent(5)._deepen(Decided(sign), None, SearchBudget(None, None)) for sign in (1, -1)]
    assert [(found.line[0], depth) for found, depth in reached] == [(2, 2), (5, 5)]


def test_a_search_by_the_clock_goes_on_until_nine_tenths_of_its_time(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("src.algos.alphabeta.time.perf_counter", lambda: now[0])

    class Slow:
        """Takes as long as it is told to, and does not finish the third depth within its nodes."""

        def search(self, state, depth, first, node_limit):
            now[0] += 4.0 if depth < 3 else 0.5
            return SearchResult(0, (0,), 10, False) if depth < 3 else None

    agent = make_agent(1, seconds=10.0)
    assert agent._deepen(Slow(), None, SearchBudget(None, 10.0))[1] == 2
    assert now[0] == 9.5, "8.5 and 9 seconds are not over 90%"


def test_no_nodes_are_left_when_the_time_is_up(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("src.algos.alphabeta.time.perf_counter", lambda: now[0])
    budget = SearchBudget(None, 10.0)
    now[0], budget.nodes = 10.0, 1000
    assert budget.nodes_left() == 0, "not the fewest nodes of a search either"


@pytest.mark.parametrize(
    ("position", "plies_left", "depth"),
    [("b1 b3 4 4 0 -", 4, 3), ("b1 b3 3 4 1 b1v", 3, 2), ("a1 b3 4 4 1 -", 3, 2), ("a1 a3 4 3 5 b1v", 4, 3)],
)
def test_near_the_ply_limit_a_position_is_not_mistaken_for_the_same_at_an_earlier_ply(position, plies_left, depth):
    """Searches share a table, and the later position has two plies less until the game is a draw."""
    state = GAMES[3].read_position(position)
    game = make_game(3, walls=4, ply_limit=state.ply + 2 + plies_left)
    used, later = game.searcher(evaluation(selective=True)), state._replace(ply=state.ply + 2)
    for plies in range(2, depth + 1):
        used.search(state, plies, None, 10**9)
        found = used.search(later, plies, None, 10**9)
    fresh = game.searcher(evaluation(selective=True)).search(later, depth, None, 10**9)
    assert found is not None
    assert fresh is not None
    assert (found.score, found.line) == (fresh.score, fresh.line)


def test_a_search_is_settled_where_every_line_ends():
    lost = GAMES[3].read_position("a1 c3 0 0 0 -")
    cases: list[tuple[Searcher, Any, int]] = [
        (PlainSearch(TICTACTOE, evaluation()), "XX.OO....", 5),
        (PlainSearch(GAMES[3], evaluation()), lost, 8),
        (GAMES[3].searcher(evaluation()), lost, 8),
    ]
    for searcher, state, depth in cases:
        found = [searcher.search(state, plies, None, 10**9) for plies in (1, depth)]
        assert [one is not None and one.settled for one in found] == [False, True]


@pytest.mark.parametrize(
    ("depth", "waiting_plies", "expected"),
    [  # hell, and the player that progress is measured by
        (6, 60, [("g3", "10", 2185), ("e2", "-36", 909), ("b2", "40", 6416), ("c3", "45", 31)]),
        (4, None, [("g3", "17", 413), ("e2", "-52", 186), ("b2", "44", 980), ("c3", "48", 14)]),
    ],
)
def test_levels_without_noise_search_the_same_trees_as_ever(depth, waiting_plies, expected):
    agent = make_agent(depth, selective=True, waiting_plies=waiting_plies)
    states = [random_position(GAME, seed, plies) for seed, plies in ((1, 16), (2, 30), (3, 8), (4, 50))]
    decisions = [agent.decide(GAME, state, RNG) for state in states]
    found = [
        (GAME.move_name(state, decision.action), decision.info["score"], decision.info["nodes"])
        for state, decision in zip(states, decisions, strict=True)
    ]
    assert found == expected


def test_nodes_are_those_looked_at():
    state = random_position(GAME, seed=1, plies=16)
    once = make_agent(1).decide(GAME, state, RNG).info["nodes"]
    assert once > 1
    assert make_agent(4, nodes=1).decide(GAME, state, RNG).info["nodes"] == once


def test_an_aborted_search_returns_none():
    state = random_position(GAME, seed=1, plies=16)
    for searcher in (GAME.searcher(evaluation()), PlainSearch(GAME, evaluation())):
        assert searcher.search(state, 4, None, 10) is None
        assert searcher.search(state, 2, None, 10**6) is not None


def test_why_adds_up():
    state = random_position(GAME, seed=5, plies=20)
    info = make_agent(2).decide(GAME, state, RNG).info
    factors = GAME.factors(state)
    assert list(factors) == list(WEIGHTS)
    assert {name: info[name] for name in WEIGHTS} == {name: WEIGHTS[name] * factors[name] for name in WEIGHTS}
    assert info["static"] == sum(info[name] for name in WEIGHTS)


@pytest.mark.parametrize(
    ("position", "factors"),
    [
        ("e1 e9 10 10 0 -", [0, 0, 0, 0, 0]),
        ("e2 e9 10 10 1 -", [-1, 0, 0, -1, 0]),  # player 2 stands at the edge
        ("e7 e9 8 10 1 -", [-6, -4, 2, -1, 0]),
        ("e5 e4 10 9 0 e5h", [-2, -1, 1, -1, -1]),
        ("e8 b2 1 3 0 a1h", [1, 5, -2, 1, 1]),
    ],
)
def test_factors_by_hand(position, factors):
    assert list(GAME.factors(GAME.read_position(position)).values()) == factors


def test_candidates():
    state = GAME.read_position("e2 e8 5 5 0 -")
    names = [GAME.move_name(state, action) for action in GAME.candidates(state, selective=False)]
    assert names[:4] == ["e3", "f2", "d2", "e1"], "pawn moves first, forward ones leading"
    path = {f"{column}{row}h" for row in range(1, 8) for column in "de"}
    box = {f"{column}{row}{kind}" for column in "de" for row in (7, 8) for kind in "hv"}
    assert set(names[4:]) == path | box
    assert len(names) == len(set(names))
    assert [GAME.move_name(state, action) for action in GAME.candidates(state, selective=True)] == ["e3", "f2", "d2"]


@settings(max_examples=40, deadline=None)
@given(positions())
def test_candidates_are_legal_and_sharp_ones_gain(drawn):
    game, state = drawn
    legal, candidates = game.legal_actions(state), game.candidates(state, selective=False)
    assert set(candidates) <= set(legal)
    assert {action for action in legal if action < game.cells} <= set(candidates)
    selective, threats = game.candidates(state, selective=True), game.threats(state)
    assert selective
    assert set(selective) <= set(candidates)
    assert set(threats) <= set(selective)
    board, other = game.board_of(state), 1 - game.to_move(state)
    steps = distance(board, other)
    for action in threats:
        before, after = game.factors(state)["path"], -game.factors(game.play(state, action))["path"]
        assert after - before >= 2 or (steps == 1 < distance(game.board_of(game.play(state, action)), other))
    if steps == 1:
        stopping = {
            action
            for action in candidates
            if action >= game.cells and distance(game.board_of(game.play(state, action)), other) > 1
        }
        assert stopping == {action for action in selective if action >= game.cells} == set(threats)


def test_a_wall_that_saves_the_game_is_a_candidate_at_any_cost():
    """After e8 player 1 wins unless d8h stops it, which costs player 2 more steps than player 1."""
    state = GAME.read_position("e7 h4 1 9 34 e1v,e3v,e5v,e7v,f3h,f8h,g4h,g5v,g7v,h3h")
    after = GAME.play(state, GAME.parse_move(state, "e8"))
    wall = GAME.parse_move(after, "d8h")
    assert wall in GAME.candidates(after, selective=True)
    assert wall in GAME.threats(after)
    for depth in range(1, 5):
        assert not make_agent(depth, selective=True).decide(GAME, state, RNG).info["score"].startswith("win")


def races(game: Quoridor, state) -> dict:
    """Return the plies to the end of every position with these walls and none in hand, for the player to move."""
    empty = state._replace(left=(0, 0))
    cells = range(game.cells)
    walks = [np.zeros(game.cells, np.int64) for _ in (0, 1)]
    for player in (0, 1):
        distance_map(game.board_of(empty), player, walks[player])
    roads = [[cell for cell in cells if walks[player][cell] != NO_PATH] for player in (0, 1)]
    every = [empty._replace(pawns=(a, b), ply=ply) for a in roads[0] for b in roads[1] if a != b for ply in (0, 1)]
    over = {position: -1 for position in every if game.outcome(position) is not None}
    after = {
        position: [
            game.play(position, action)._replace(ply=1 - position.ply) for action in game.legal_actions(position)
        ]
        for position in every
        if position not in over
    }
    value = dict.fromkeys(over, 0)
    lost = set(over)
    for plies in range(1, 60):
        for position, following in after.items():
            if position not in value and plies % 2 == 1 and any(p in lost and value[p] > -plies for p in following):
                value[position] = plies
        fresh = {
            position
            for position, following in after.items()
            if position not in value and all(value.get(p, 0) > 0 for p in following)
        }
        if plies % 2 == 0:
            value |= dict.fromkeys(fresh, -plies)
            lost |= fresh
    return value


@pytest.mark.parametrize("seed", range(6))
def test_a_race_that_is_called_decided_is_won_by_force(seed):
    game = GAMES[5]
    state = random_position(game, seed, plies=24)
    exact, called = races(game, state), 0
    for position, plies in exact.items():
        if game.outcome(position) is None and (claim := game.solved(position)) is not None:
            called += 1
            assert np.sign(claim) == np.sign(plies)
            assert abs(plies) <= abs(claim)
    assert called > 100


def test_a_race_is_open_while_the_loser_holds_walls():
    for text, plies in (("e5 a9 0 0 0 -", 7), ("e5 a9 3 0 0 -", 7), ("e5 a9 0 1 0 -", None), ("i2 a6 0 0 0 -", -10)):
        assert GAME.solved(GAME.read_position(text)) == plies
    assert GAME.solved(GAME.read_position("e4 e6 0 0 0 -")) is None, "the pawns are about to meet"


def test_analysis_ranks_the_moves():
    state = random_position(GAME, seed=2, plies=18)
    agent = make_agent(3)
    lines = agent.analyze(GAME, state, 4)
    assert len(lines) == 4
    best = agent.decide(GAME, state, RNG)
    assert lines[0].score == best.info["score"]
    scores = [int(line.score) for line in lines]
    assert scores == sorted(scores, reverse=True)
    for line in lines:
        after = GAME.play(state, line.actions[0])
        assert int(line.score) == parent_score(plain_minimax(GAME, after, 2, evaluation()))
    assert make_agent(3, noise=40).analyze(GAME, state, 4) == lines, "an analysis is without noise"
    won = make_agent(2, selective=True).analyze(GAME, GAME.read_position("e8 a5 3 0 0 -"), 99)
    assert won[0].score == "win-in-1"
    assert len(make_agent(1).analyze(TICTACTOE, "." * 9, 20)) == 9


@pytest.mark.parametrize("budget", [{}, {"nodes": 400}, {"nodes": 1}])
@pytest.mark.parametrize("selective", [False, True])
def test_the_best_move_of_an_analysis_is_the_one_that_is_played(budget, selective, monkeypatch):
    budgets: list[SearchBudget] = []

    class Watched(SearchBudget):
        def __init__(self, *budget):
            super().__init__(*budget)
            budgets.append(self)

    agent = make_agent(3, selective=selective, **budget)
    for seed in range(12):
        state = random_position(GAME, seed, plies=20)
        played = agent.decide(GAME, state, RNG)
        with monkeypatch.context() as patch:
            patch.setattr(alphabeta, "SearchBudget", Watched)
            budgets.clear()
            lines = agent.analyze(GAME, state, 500)
        assert (lines[0].actions[0], lines[0].score) == (played.action, played.info["score"])
        assert sorted(line.actions[0] for line in lines) == sorted(GAME.candidates(state, selective))
        assert len(budgets) == 1, "one budget for all"
        if budget == {"nodes": 400}:
            assert budgets[0].nodes <= 400


def test_other_moves_are_looked_at_as_deep_where_the_game_is_won():
    state = GAME.read_position("e8 a5 3 3 0 -")
    lines = make_agent(3).analyze(GAME, state, 5)
    assert lines[0].score == "win-in-1"
    for line in lines[1:]:
        value = parent_score(plain_minimax(GAME, GAME.play(state, line.actions[0]), 2, evaluation()))
        assert line.score == score_text(value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"depth": 65}, "depth=65"),
        ({"noise": True}, "noise=true must be a whole number"),
        ({"noise": 900_001}, "mean a proven win"),
        ({"weights": WEIGHTS | {"path": 2.5}}, r"weights\.path=2\.5 must be a whole number"),
        ({"weights": WEIGHTS | {"path": -9000}}, "a score could reach 902500"),
        (
            {"weights": WEIGHTS | {"path": 900_001}},
            r"weights\.path=900001 must be a whole number in \[-900000, 900000\]",
        ),
        ({"weights": WEIGHTS | {"path": -900_001}}, r"weights\.path=-900001 must be a whole number in"),
        ({"nodes": 5, "seconds": 1.0}, "exclude each other"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong, message):
    with pytest.raises(UserError, match=message):
        make_agent(**({"depth": 1} | wrong))


def test_who_it_cannot_play():
    with pytest.raises(UserError, match="no weight for mobility, efficiency"):
        make_agent(1, weights={"path": 1, "endgame": 1, "walls": 1}).check(GAME)
    with pytest.raises(UserError, match="is unknown: choose one of easy"):
        AlphaBetaAgent("brutal", {"easy": DifficultyConfig(1, 0, False, None, True)}, {}, None, None)
    assert not make_agent(1).needs <= Minesweeper.traits
    make_agent(1).check(TICTACTOE)


def test_scores_beyond_doubt_lose_a_point_with_every_ply():
    assert parent_score(-WIN) == WIN - 1
    assert parent_score(WIN - 1) == -WIN + 2
    assert parent_score(DECIDED - 1) == 1 - DECIDED


def test_a_limit_of_waiting_plies_without_selective_search_is_refused():
    with pytest.raises(UserError, match="waiting_plies=60 has no effect without selective=true"):
        DifficultyConfig(depth=1, noise=0, selective=False, waiting_plies=60, fastest_win=True)
    assert DifficultyConfig(depth=1, noise=0, selective=True, waiting_plies=60, fastest_win=True).waiting_plies == 60
