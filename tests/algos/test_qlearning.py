import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from src.algos.qlearning import (
    QLearning,
    QTableAgent,
    RankingStore,
    Turn,
    action_values,
    blocking_move,
    lost_lines,
    update_q,
    winning_move,
)
from src.core.errors import UserError
from src.core.play.agent import RandomAgent, SelfPlay
from src.core.play.curriculum import Curriculum
from src.core.runs.run import Run
from src.envs.tictactoe.game import TicTacToe
from src.envs.two_player_env import OutcomeReward
from tests.envs.tictactoe.test_rules import STATES
from tests.marks import mostly_slow

GAME = TicTacToe(symmetric=True)
RNG = np.random.default_rng(0)
OPEN_STATES = [state for state in STATES if GAME.outcome(state) is None]
SETTINGS: dict[str, Any] = {
    "episodes": 6000,
    "lr": 1.0,
    "gamma": 1.0,
    "epsilon": 0.3,
    "untried_first": True,
    "shortcuts": True,
    "eval_every": 1000,
}


def environment(opponent):
    reward, baselines = OutcomeReward(1, 0, -1), {"random": RandomAgent()}
    return SimpleNamespace(game=GAME, opponent=opponent, reward=reward, seats=(0, 1), baselines=baselines)


def fit(directory, seed, opponent=None, **changes):
    config = {"seed": seed, "checkpoint_seconds": 1e9, "composition": {}}
    with Run(directory, config, None) as run:
        return QLearning(**(SETTINGS | changes)).fit(environment(opponent or SelfPlay()), Curriculum({}, None), run)


def decide(state, rows=(), shortcuts=True):
    store = RankingStore(GAME.table_format)
    for row in rows:
        store.set(*row)
    return QTableAgent(store, shortcuts).decide(GAME, state, RNG)


@pytest.mark.parametrize("seed", mostly_slow(range(3), fast=1))
def test_no_line_is_lost_in_either_seat(tmp_path, seed):
    agent = fit(tmp_path, seed)
    assert lost_lines(GAME, agent.store)["eval/lost_lines"] == 0


def test_an_untrained_table_does_lose_lines():
    lost = lost_lines(GAME, RankingStore(GAME.table_format))
    assert lost["eval/lost_lines_table_first"] > 0
    assert lost["eval/lost_lines_table_second"] > lost["eval/lost_lines_shortcuts_second"] > 0


def test_learning_from_a_random_opponent_beats_not_learning(tmp_path):
    untrained = lost_lines(GAME, RankingStore(GAME.table_format))["eval/lost_lines"]
    agent = fit(tmp_path, 0, RandomAgent(), episodes=3000, lr=0.2)
    assert lost_lines(GAME, agent.store)["eval/lost_lines"] < untrained / 2


@given(st.sampled_from(OPEN_STATES), st.data())
def test_update_q_files_mirror_images_together(state, data):
    move = data.draw(st.sampled_from(GAME.legal_actions(state)))
    store = RankingStore(GAME.table_format)
    canonical = GAME.canonical(state)
    assert update_q(store, GAME, state, move, target=1.0, lr=0.5) == 1.0
    assert list(store) == [(canonical.key, canonical.moves[move], 0.5)]
    assert update_q(store, GAME, canonical.key, canonical.moves[move], target=1.0, lr=0.5) == 0.5
    assert action_values(store, GAME, state)[move] == 0.75


def test_a_missing_value_is_none_in_the_store_and_zero_at_run_time():
    store = RankingStore(GAME.table_format)
    assert store.get(".........", 0) is None
    assert set(action_values(store, GAME, "." * 9).values()) == {0.0}
    assert decide("." * 9, shortcuts=False).action == 0


def test_targets_change_sign_between_the_players():
    learner, store, env = QLearning(**SETTINGS), RankingStore(GAME.table_format), environment(SelfPlay())
    # X: 0 1 2, O: 3 4. X wins with the last move, so the move of O before it lost.
    state, turns = "." * 9, []
    for move in (0, 3, 1, 4, 2):
        turns.append(Turn(state, GAME.to_move(state), move))
        state = GAME.play(state, move)
    assert GAME.outcome(state) == 1
    learner.learn_from(turns, 1, env, store)
    assert action_values(store, GAME, turns[4].state)[2] == 1.0
    assert action_values(store, GAME, turns[3].state)[4] == -1.0
    # Other replies of O count as 0 while unknown, so the one known loss reaches no further back.
    assert action_values(store, GAME, turns[2].state)[1] == 0.0


def test_win_in_one_takes_the_lowest_winning_move():
    two_ways = ".OXO..XOX"  # X wins at 4 and at 5
    assert winning_move(GAME, two_ways) == 4
    assert (decide(two_ways).action, decide(two_ways).info["rule"]) == (4, "win_in_1")
    assert winning_move(GAME, "X...O....") is None


def test_block_in_one_fires_only_against_a_threat():
    assert blocking_move(GAME, "X...O....") is None
    assert decide("X...O....").info["rule"] == "greedy"
    threatened = "XX..O...."  # O to move, X threatens 2
    assert blocking_move(GAME, threatened) == 2
    assert (decide(threatened).action, decide(threatened).info["rule"]) == (2, "block_in_1")


def test_against_two_threats_the_table_decides():
    fork = "XO...OX.X"  # O to move; X threatens 3, 4 and 7
    assert blocking_move(GAME, fork) is None
    canonical = GAME.canonical(fork)
    decision = decide(fork, [(canonical.key, canonical.moves[7], 0.5)])
    assert (decision.action, decision.info["rule"], decision.info["best_q"]) == (7, "greedy", 0.5)


def test_winning_comes_before_blocking():
    assert decide("XX.OO....").action == 2
    assert decide("XX.OO..X.").info["rule"] == "win_in_1"  # O to move wins at 5 instead of blocking 2
    assert decide("XX.OO..X.").action == 5


@given(st.sampled_from(OPEN_STATES))
def test_ties_go_to_the_lowest_move_on_the_board(state):
    canonical = GAME.canonical(state)
    rows = [(canonical.key, canonical.moves[action], 0.5) for action in GAME.legal_actions(state)]
    assert decide(state, rows, shortcuts=False).action == GAME.legal_actions(state)[0]


@given(st.sampled_from(OPEN_STATES))
def test_telemetry_tells_how_the_table_was_read(state):
    why = decide(state).info
    assert why["transform"] == GAME.canonical(state).transform
    assert why["move"] == decide(state).action
    assert why["rule"] in {"win_in_1", "block_in_1", "greedy"}
    assert why["best_q"] == 0.0


def test_json_round_trip(tmp_path):
    agent = fit(tmp_path, 0, episodes=300)
    exported = tmp_path / "qtable.json"
    assert list(RankingStore.import_json(exported)) == list(agent.store)
    for row in json.loads(exported.read_text())["rankings"]:
        assert GAME.canonical(row["state"]).key == row["state"], "exported states are canonical"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a table in JSON"),
        ("[" * 100000, "not a table in JSON"),
        ("[]", "not a table"),
        ('{"version": 2, "format": "f", "rankings": []}', "version 2"),
        ('{"version": 1, "rankings": []}', "format"),
        ('{"version": 1, "format": "f"}', "rankings"),
        ('{"version": 1, "format": "f", "rankings": [{"state": "...", "move": 1}]}', r"rankings\[0\]"),
        ('{"version": 1, "format": "f", "rankings": [{"state": "", "move": "1", "value": 0}]}', r"rankings\[0\]"),
        ('{"version": 1, "format": "f", "rankings": [{"state": "", "move": true, "value": 0}]}', r"rankings\[0\]"),
        ('{"version": 1, "format": "f", "rankings": [{"state": "", "move": 1, "value": NaN}]}', r"rankings\[0\]"),
        (f'{{"version": 1, "format": "f", "rankings": [{{"state": "", "move": 1, "value": 1{"0" * 400}}}]}}', "finite"),
    ],
)
def test_a_malformed_table_is_refused(tmp_path, content, message):
    path = tmp_path / "table.json"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        RankingStore.import_json(path)


@pytest.mark.parametrize("row", [["...", 1, "x"], ["...", 1, None], ["...", True, 1.0], [7, 1, 1.0], ["...", 1], "x"])
def test_a_checkpoint_with_other_rows_is_refused(row):
    with pytest.raises(ValueError, match=r"finite value|unpack"):
        QLearning(**SETTINGS).load_agent({"format": "f", "table": [["...", 1, 0.5], row]})


def test_a_refused_row_is_not_repeated_whole(tmp_path):
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"version": 1, "format": "f", "rankings": [{"state": "x" * 100_000}]}))
    with pytest.raises(UserError) as refusal:
        RankingStore.import_json(path)
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize("change", [{"episodes": 0}, {"lr": 0}, {"gamma": 2}, {"epsilon": -0.1}, {"eval_every": 0}])
def test_impossible_settings_are_refused_by_name(change):
    with pytest.raises(UserError, match=next(iter(change))):
        QLearning(**(SETTINGS | change))


def test_a_table_of_another_format_is_refused():
    plain = TicTacToe(symmetric=False)
    agent = QTableAgent(RankingStore(plain.table_format), shortcuts=True)
    agent.check(plain)
    with pytest.raises(UserError, match="every position by itself"):
        agent.check(GAME)


@pytest.mark.parametrize("reward", [(1, 0, -2), (1, 0.5, -1), (2, 0, 2)])
def test_self_play_refuses_a_reward_that_is_not_zero_sum(reward):
    learner, fair, unfair = QLearning(**SETTINGS), environment(SelfPlay()), environment(SelfPlay())
    unfair.reward = OutcomeReward(*reward)
    learner.check(fair, Curriculum({}, None))
    for env, curriculum in ((unfair, Curriculum({}, None)), (fair, Curriculum({"first": unfair}, 0.5))):
        with pytest.raises(UserError, match=r"reward\.win"):
            learner.check(env, curriculum)
    unfair.opponent = RandomAgent()
    learner.check(unfair, Curriculum({}, None))
