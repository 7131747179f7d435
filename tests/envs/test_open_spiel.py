"""Games of OpenSpiel: against our own rules, what every game must support, and what is refused."""

# ruff: noqa: E402  (without the extra, the module is skipped before the other imports)

import copy
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests.lab import need

need("openspiel", "pyspiel")

import pyspiel

from src.algos.alphabeta import PlainSearch
from src.algos.mcts import MctsAgent
from src.api import make
from src.config.build import build
from src.core.errors import UserError
from src.core.play.game import TwoPlayerGame, outcome_for_seat
from src.core.play.search_interface import WIN, SearcherConfig
from src.envs.connect_four.game import ConnectFour
from src.envs.open_spiel.game import OpenSpiel, obstacles
from src.envs.othello.game import Othello
from src.envs.tictactoe.game import TicTacToe
from tests.envs.library_games import assert_consistent, assert_same_games
from tests.test_compositions import composed, train_small

OURS: dict[str, TwoPlayerGame] = {
    "tic_tac_toe": TicTacToe(symmetric=True),
    "connect_four": ConnectFour(rows=6, cols=7, length=4),
    "othello": Othello(8),
}
PLAYABLE = [kind.short_name for kind in pyspiel.registered_games() if not obstacles(kind)]
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", OURS)
def test_random_games_are_those_of_our_rules(name: str):
    assert_same_games(OURS[name], OpenSpiel(name, {}), games=200 if name == "tic_tac_toe" else 30)


@pytest.mark.parametrize("name", PLAYABLE)
def test_every_game_can_be_searched_learned_and_shown(name: str):
    assert_consistent(OpenSpiel(name, {}), plies=30)


def test_a_game_and_its_positions_are_copied_to_other_processes():
    game = OpenSpiel("hex", {"board_size": 3})
    state = game.play(game.initial(RNG), 4)
    other, copied = copy.deepcopy((game, state))
    assert copied == state
    assert other.legal_actions(copied) == game.legal_actions(state) == [0, 1, 2, 3, 5, 6, 7, 8]
    assert game.parse_move(state, "a1") == 0


@cache
def value(game: OpenSpiel, state: Any) -> int:
    """Return the outcome for the player to move with best play, by looking at all moves."""
    seat, outcome = game.to_move(state), game.outcome(state)
    if outcome is not None:
        return outcome_for_seat(seat, outcome)
    after = (game.play(state, action) for action in game.legal_actions(state))
    return max(value(game, one) * (1 if game.to_move(one) == seat else -1) for one in after)


def test_the_search_knows_who_has_another_turn():
    """Who closes a box moves again."""
    game, rng = OpenSpiel("dots_and_boxes", {"num_rows": 2, "num_cols": 2}), np.random.default_rng(1)
    search, values = PlainSearch(game, SearcherConfig({}, 0, 0, False, 0, False)), []
    for _ in range(40):
        state = game.initial(rng)
        for _ in range(6):
            state = game.play(state, int(rng.choice(game.legal_actions(state))))
        found = search.search(state, 6, None, 10**6)
        assert found is not None
        values.append(value(game, state))
        assert found.score == WIN * values[-1]
    assert {1, -1} <= set(values)


def test_a_random_playout_ends_and_changes_nothing():
    game = OpenSpiel("hex", {"board_size": 3})
    state = game.initial(RNG)
    assert {game.playout(state, RNG) for _ in range(20)} == {1, -1}
    assert game.legal_actions(state) == list(range(9))
    row = OpenSpiel("tic_tac_toe", {})
    assert MctsAgent(simulations=200, exploration=0.5).decide(row, row.read_position("0,3,1,4"), RNG).action == 2


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("hexx", {}, "hexx is not a game of OpenSpiel: did you mean hex[?] There are amazons, "),
        ("xyzzy", {}, "xyzzy is not a game of OpenSpiel: choose one of amazons, "),
        ("pig", {}, "because it has chance.*: choose one of amazons, "),
        ("phantom_ttt", {}, "because it has hidden information: choose one of"),
        ("goofspiel", {}, "because it has simultaneous moves"),
        ("cliff_walking", {}, "rewards before its end and not two players"),
        ("chinese_checkers", {"players": 3}, "a game for 3 players: it must be 2"),
        ("hex", {"size": 5}, "parameters.size is not a parameter of hex: with their defaults, there are board_size=11"),
        ("hex", {"board_size": "a"}, "parameters.board_size=a must be a whole number >= 1"),
        ("connect_four", {"rows": 0}, "parameters.rows=0 must be a whole number >= 1"),
        ("amazons", {"board_size": 5}, "is refused by amazons: .*board_size_ == 6"),
        ("mnk", {"m": True}, "parameters.m=true must be a whole number"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_sentence(name: str, parameters: dict, message: str):
    with pytest.raises(UserError, match=message):
        OpenSpiel(name, parameters)


def test_bad_moves_and_positions_are_refused_in_one_sentence():
    game = OpenSpiel("hex", {"board_size": 3})
    state = game.play(game.initial(RNG), 4)
    with pytest.raises(UserError, match=r"action 4 is not legal here: legal are \[0, 1"):
        game.play(state, 4)
    with pytest.raises(UserError, match="b2 is not a legal move here: legal are a1 b1 c1 a2"):
        game.parse_move(state, "b2")
    with pytest.raises(UserError, match="'4 4' is not a position: write the numbers of all actions"):
        game.read_position("4 4")
    with pytest.raises(UserError, match="action 4 is not legal"):
        game.read_position("4,4")


def test_a_missing_library_is_reported_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch):
    import src.envs.open_spiel

    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.delitem(sys.modules, "src.envs.open_spiel.game")
    monkeypatch.delattr(src.envs.open_spiel, "game")
    with pytest.raises(UserError, match=r"pyspiel.*: pip install .*\[openspiel\]"):
        build(composed("env=open_spiel").env, "env")


def test_gymnasium_accepts_the_environment():
    env = make("open_spiel", game={"name": "hex", "parameters": {"board_size": 3}})
    assert env.game.num_actions == 9
    env.action_space.seed(0)
    check_env(env)


@pytest.mark.parametrize("algo", ["ppo", pytest.param("maskable_ppo", marks=pytest.mark.slow)])
def test_a_network_is_trained(tmp_path: Path, algo: str):
    assert "eval/win_rate" in train_small("open_spiel", algo, tmp_path)
