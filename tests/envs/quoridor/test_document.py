"""The levels: `agent=alphabeta_spec` plays as the source document says, `agent=alphabeta` has our own values."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from src.algos.alphabeta import INT_MAX, INT_MIN, INT_SCORES, AlphaBetaAgent, DifficultyConfig
from src.api import make_agent
from src.config import CONF
from src.core.errors import UserError
from src.core.play.arena import evaluate
from src.core.play.search_interface import WIN, noise_at
from src.envs.quoridor.game import Quoridor
from src.envs.quoridor.rules import Position
from tests.envs.quoridor import slow
from tests.envs.quoridor.making import GAME, WEIGHTS, make_game, positions, random_position
from tests.envs.quoridor.slow import SlowQuoridor, document_candidates, document_score, document_scores, name_of

DOCUMENT = {  # depth, noise
    "easy": DifficultyConfig(1, 40, selective=False, waiting_plies=None, fastest_win=False),
    "normal": DifficultyConfig(1, 8, selective=False, waiting_plies=None, fastest_win=False),
    "hard": DifficultyConfig(2, 3, selective=False, waiting_plies=None, fastest_win=False),
    "hell": DifficultyConfig(4, 0, selective=False, waiting_plies=None, fastest_win=False),
}
OURS = {
    "easy": DifficultyConfig(1, 40, selective=False, waiting_plies=None, fastest_win=True),
    "normal": DifficultyConfig(1, 8, selective=False, waiting_plies=None, fastest_win=True),
    "hard": DifficultyConfig(2, 3, selective=True, waiting_plies=60, fastest_win=True),
    "hell": DifficultyConfig(6, 0, selective=True, waiting_plies=60, fastest_win=True),
}
REFERENCE = {"hell": DifficultyConfig(4, 0, selective=True, waiting_plies=None, fastest_win=True)}


@cache
def level(name: str, difficulty: str) -> AlphaBetaAgent:
    agent = make_agent(name, f"agent.difficulty={difficulty}")
    assert isinstance(agent, AlphaBetaAgent)
    return agent


@pytest.mark.parametrize(
    ("name", "levels"), [("alphabeta", OURS), ("alphabeta_spec", DOCUMENT), ("reference", REFERENCE)]
)
def test_the_levels_have_their_depth_noise_and_weights(name: str, levels: dict[str, DifficultyConfig]):
    for difficulty, values in levels.items():
        agent = level(name, difficulty)
        assert agent.level == values
        assert agent.evaluation.weights == {"path": 10, "endgame": 15, "walls": 2, "mobility": 3, "efficiency": 5}
        assert (agent.nodes, agent.seconds) == (None, None)
    assert list(OmegaConf.load(CONF / "agent" / f"{name}.yaml").levels) == list(levels)


def expected_scores(game: Quoridor, state: Position, config: DifficultyConfig, seed: int) -> dict[str, int]:
    """Return the document's scores of the candidates, with the noise that a decision of this seed has drawn."""
    mover = game.to_move(state)

    def noise(line: slow.Line) -> int:
        position = state
        for move in line:
            position = game.play(position, game.parse_move(position, name_of(move)))
        drawn = noise_at(game.position_key(position), config.noise, seed)
        return drawn if game.to_move(position) == mover else -drawn

    return document_scores(SlowQuoridor(game.size, state), config.depth, noise)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(["easy", "normal"]), positions(sizes=(4, 9), plies=30), st.integers(0, 99))
def test_easy_and_normal_of_the_document_search_one_ply(difficulty: str, drawn: tuple[Quoridor, Position], seed: int):
    check_decision(*drawn, difficulty, seed)


@settings(max_examples=10, deadline=None)
@given(positions(sizes=(4, 5), plies=20), st.integers(0, 99))
def test_hard_of_the_document_searches_two_plies(drawn: tuple[Quoridor, Position], seed: int):
    check_decision(*drawn, "hard", seed)


@pytest.mark.parametrize("seed", range(6))
def test_hell_of_the_document_searches_four_plies(seed: int):
    game = make_game(4, walls=3)
    check_decision(game, random_position(game, seed, plies=2 * seed), "hell", seed)


def check_decision(game: Quoridor, state: Position, difficulty: str, seed: int) -> None:
    agent, config = level("alphabeta_spec", difficulty), DOCUMENT[difficulty]
    found = agent.decide(game, state, np.random.default_rng(seed))
    drawn = int(np.random.default_rng(seed).integers(1 << 63)) if config.noise else 0
    scores = expected_scores(game, state, config, drawn)
    names = [game.move_name(state, action) for action in game.candidates(state, selective=False)]
    assert set(names) == set(scores)
    best = max(scores.values())
    assert found.action is not None
    assert found.info["score"] == str(best)
    assert game.move_name(state, found.action) == next(name for name in names if scores[name] == best)
    alone = game.searcher(replace(agent.evaluation, seed=drawn)).search(state, config.depth, None, 10**9)
    assert alone is not None
    assert found.info["nodes"] == alone.nodes, "no shallower search before"


@settings(max_examples=60, deadline=None)
@given(positions(sizes=(3, 5, 9)))
def test_candidates_and_evaluation_are_those_of_the_document(drawn: tuple[Quoridor, Position]):
    game, state = drawn
    board = SlowQuoridor(game.size, state)
    names = [game.move_name(state, action) for action in game.candidates(state, selective=False)]
    assert sorted(names) == sorted(map(name_of, document_candidates(board)))
    parts = {name: WEIGHTS[name] * value for name, value in game.factors(state).items()}
    assert sum(parts.values()) == document_score(board, game.to_move(state))


@settings(max_examples=60, deadline=None)
@given(positions())
def test_pawn_moves_are_within_the_5x5_square_around_the_pawn(drawn: tuple[Quoridor, Position]):
    game, state = drawn
    row, col = divmod(state.pawns[game.to_move(state)], game.size)
    moves = [
        divmod(game.turned(state, action), game.size) for action in game.legal_actions(state) if action < game.cells
    ]
    assert all(abs(to_row - row) <= 2 and abs(to_col - col) <= 2 for to_row, to_col in moves)


def test_scores_of_the_document():
    assert (INT_MAX, INT_MIN) == (2_147_483_647, -2_147_483_648)
    assert {WIN: INT_MAX, WIN - 1: INT_MAX - 1, 1 - WIN: INT_MIN + 1, -WIN: INT_MIN} == INT_SCORES
    won, lost = GAME.read_position("e8 a5 3 3 0 -"), GAME.read_position("a5 e2 0 0 0 -")
    assert level("alphabeta_spec", "normal").decide(GAME, won, np.random.default_rng(0)).info["score"] == str(INT_MAX)
    assert level("alphabeta_spec", "hard").decide(GAME, lost, np.random.default_rng(0)).info["score"] == str(INT_MIN)
    # The legal moves never cut off a path; here a8 and b8 have no way out.
    walled_in = GAME.read_position("e5 a8 0 0 0 -")._replace(horizontal=1 << 48 | 1 << 56, vertical=1 << 57)
    for ply, score in ((0, INT_MAX - 1), (1, INT_MIN + 1)):
        state = walled_in._replace(ply=ply)
        assert level("alphabeta_spec", "easy").decide(GAME, state, np.random.default_rng(0)).info["score"] == str(score)
        assert document_score(SlowQuoridor(9, state), ply) == score


def test_all_wins_are_equal_to_the_document_s_player():
    state = GAME.read_position("e8 a9 0 0 0 -")
    found = {}
    for name, config in (
        ("document", DOCUMENT["hell"]),
        ("ours", DifficultyConfig(4, 0, selective=False, waiting_plies=None, fastest_win=True)),
    ):
        lines = AlphaBetaAgent(name, {name: config}, WEIGHTS, None, None).analyze(GAME, state, 3)
        found[name] = {GAME.move_name(state, line.actions[0]): line.score for line in lines}
    assert found["document"] == dict.fromkeys(("e9", "f8", "d8"), str(INT_MAX))
    assert found["ours"] == {"e9": "win-in-1", "f8": "win-in-3", "d8": "win-in-3"}


def test_where_every_move_loses_the_first_one_is_played():
    state = GAME.read_position("a5 e2 0 0 0 -")
    found = level("alphabeta_spec", "hard").decide(GAME, state, np.random.default_rng(0))
    assert (found.action, found.info["score"]) == (GAME.candidates(state, selective=False)[0], str(INT_MIN))


@pytest.mark.parametrize(
    ("difficulty", "least", "most"), [("easy", 0.5, 0.7), ("normal", 0.2, 0.4), ("hard", 0.01, 0.15), ("hell", 0, 0)]
)
def test_noise_spoils_about_half_of_the_moves_of_easy_some_of_normal_and_few_of_hard(difficulty, least, most):
    """A move is spoiled if a search of the same depth without noise finds a better one."""
    agent, rng = level("alphabeta", difficulty), np.random.default_rng(0)
    spoiled = []
    for seed in range(100):
        state = random_position(GAME, seed, plies=seed % 40)
        scores = {line.actions[0]: line.score for line in agent.analyze(GAME, state, 500)}
        action = agent.decide(GAME, state, rng).action
        assert action is not None
        spoiled.append(scores[action] != next(iter(scores.values())))
    assert least <= np.mean(spoiled) <= most


def test_weights_depth_and_noise_can_be_set():
    words = ("agent.weights.path=20", "agent.levels.easy.depth=3", "agent.levels.easy.noise=2", "agent.difficulty=easy")
    for name in ("alphabeta", "alphabeta_spec"):
        agent = make_agent(name, *words)
        assert isinstance(agent, AlphaBetaAgent)
        assert (agent.evaluation.weights["path"], agent.level.depth, agent.evaluation.noise) == (20, 3, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stronger", "weaker", "wins"), [("hell", "hard", 24), ("hard", "normal", 30), ("normal", "easy", 36)]
)
def test_each_level_beats_the_one_below(stronger, weaker, wins):
    """A smoke test; the page of the game has the matches with intervals."""
    score = evaluate(GAME, level("alphabeta", stronger), level("alphabeta", weaker), 40, seed=0, opening_plies=4)
    assert score.total.wins >= wins


def test_what_the_document_s_search_cannot_be_combined_with_is_refused():
    with pytest.raises(UserError, match="selective=true counts the plies of a race: set fastest_win=true"):
        DifficultyConfig(1, 0, selective=True, waiting_plies=None, fastest_win=False)
    for nodes, seconds in ((5, None), (None, 1.0)):
        with pytest.raises(UserError, match=r"agent\.nodes and agent\.seconds limit a search that becomes deeper"):
            AlphaBetaAgent("easy", DOCUMENT, WEIGHTS, nodes, seconds)
