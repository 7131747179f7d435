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
    QTableFile,
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
    "eval_episodes": 100,
}


def environment(opponent):
    reward, baselines = OutcomeReward(1, 0, -1, gamma=1.0), {"random": RandomAgent()}
    return SimpleNamespace(game=GAME, opponent=opponent, reward=reward, seats=(0, 1), baselines=baselines)


def fit(directory, seed, opponent=None, **changes):
    config = {"seed": seed, "checkpoint_seconds": 1e9, "composition": {}}
    with Run(directory, config, None) as run:
        return QLearning(**(SETTINGS | changes)).fit(environment(opponent or SelfPlay()), Curriculum({}, None), run)


def one_value(move, value):
    return RankingStore.from_rows(GAME.table_format, [("." * 9, move, value)])


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


def test_it_learns_from_as_many_games_as_asked_for(tmp_path, monkeypatch):
    played = []

    def play_episode(*arguments, play=QLearning.play_episode):
        played.append(play(*arguments))
        return played[-1]

    monkeypatch.setattr(QLearning, "play_episode", play_episode)
    fit(tmp_path, 0, episodes=7)
    assert len(played) == 7


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


def test_a_value_further_ahead_is_discounted():
    learner, store = QLearning(**(SETTINGS | {"gamma": 0.5})), RankingStore(GAME.table_format)
    turns = [Turn("XX.OO....", 0, 8), Turn("XX.OO...X", 1, 5)]  # X does not win at once, so O does
    error = learner.learn_from(turns, -1, environment(SelfPlay()), store)
    assert action_values(store, GAME, turns[1].state)[5] == 1.0
    assert action_values(store, GAME, turns[0].state)[8] == -0.5
    assert error == 0.75, "the mean of |1| and |-0.5|"


@pytest.mark.parametrize(("epsilon", "best_share"), [(0.0, 1.0), (0.25, 0.75 + 0.25 / 9), (1.0, 1 / 9)])
def test_a_share_epsilon_of_the_moves_is_drawn_from_all(epsilon, best_share):
    learner, store = QLearning(**(SETTINGS | {"epsilon": epsilon, "untried_first": False})), one_value(4, 1.0)
    rng = np.random.default_rng(0)
    moves = [learner.explore(GAME, store, "." * 9, rng) for _ in range(2000)]
    assert abs(moves.count(4) / 2000 - best_share) < 0.04
    assert set(moves) == ({4} if epsilon == 0 else set(range(9)))


@pytest.mark.parametrize(("untried_first", "expected"), [(True, set(range(9)) - {4}), (False, {4})])
def test_untried_moves_come_first_if_asked_for(untried_first, expected):
    learner, store = QLearning(**(SETTINGS | {"epsilon": 0, "untried_first": untried_first})), one_value(4, 1.0)
    rng = np.random.default_rng(0)
    assert {learner.explore(GAME, store, "." * 9, rng) for _ in range(200)} == expected


def test_analysis_ranks_the_best_move_first():
    lines = QTableAgent(one_value(4, 0.5), shortcuts=False).analyze(GAME, "." * 9, 3)
    assert [(line.actions, line.score) for line in lines] == [((4,), "0.50"), ((0,), "0.00"), ((1,), "0.00")]


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


@given(st.sampled_from(OPEN_STATES), st.integers(0, 2**32))
def test_the_same_position_and_table_give_the_same_move(state, seed):
    canonical = GAME.canonical(state)
    values = np.random.default_rng(seed).integers(0, 3, 9) / 2
    rows = [(canonical.key, move, values[move]) for move in range(9)]
    agent = QTableAgent(RankingStore.from_rows(GAME.table_format, rows), shortcuts=False)
    chosen = {agent.decide(GAME, state, np.random.default_rng(number)).action for number in range(5)}
    best = max(GAME.legal_actions(state), key=lambda move: (values[canonical.moves[move]], -move))
    assert chosen == {best}


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
    assert list(RankingStore.import_json(exported, GAME)) == list(agent.store)
    for row in json.loads(exported.read_text())["rankings"]:
        assert GAME.canonical(row["state"]).key == row["state"], "exported states are canonical"


def test_an_export_is_sorted_whatever_was_learned_first(tmp_path):
    store, path = RankingStore(GAME.table_format), tmp_path / "table.json"
    for row in (("....X....", 8, 0.5), ("....X....", 0, 0.25), (".........", 4, 1.0)):
        store.set(*row)
    store.export_json(path)
    assert [(row["state"], row["move"]) for row in json.loads(path.read_text())["rankings"]] == [
        (".........", 4),
        ("....X....", 0),
        ("....X....", 8),
    ]


def table(rows, version=1, table_format=GAME.table_format):
    return json.dumps({"version": version, "format": table_format, "rankings": rows})


def row(state=".........", move=0, value=0.5):
    return {"state": state, "move": move, "value": value}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a table in JSON"),
        ("[" * 100000, "not a table in JSON"),
        ("[]", "not a table"),
        (table([], version=2), "version 2"),
        (table([], version=0), "version 0"),
        (table([], table_format="chess"), "another game: chess"),
        ('{"version": 1, "rankings": []}', "format"),
        ('{"version": 1, "format": "f"}', "rankings"),
        (table([{"state": ".........", "move": 1}]), r"rankings\[0\].*needs a state"),
        (table([row(), row(move="1")]), r"rankings\[1\].*needs a state"),
        (table([row(move=True)]), r"rankings\[0\].*not numbers"),
        (table([row(value=True)]), r"rankings\[0\].*not numbers"),
        (table([row(value=float("nan"))]), r"rankings\[0\].*finite"),
        (table([row(value=10**400)]), r"rankings\[0\].*finite"),
        (table([row(state="hello", move=99)]), r"rankings\[0\].*nine cells"),
        (table([row(state="X........", move=1)]), r"rankings\[0\].*canonical, \.\.\.\.\.\.\.\.X"),
        (table([row(), row(state="....X....", move=4)]), r"rankings\[1\].*legal, one of \[0, 1, 2, 3, 5, 6, 7, 8\]"),
        (table([row(state="....OOXXX", move=0)]), r"rankings\[0\].*the game is over"),
        (table([row(), row(move=1), row(value=1)]), r"rankings\[2\].*already"),
        (table([row(state="x" * 100_000)]), r"rankings\[0\]"),
    ],
)
def test_a_malformed_table_is_refused_in_one_sentence(tmp_path, content, message):
    path = tmp_path / "table.json"
    path.write_text(content)
    with pytest.raises(UserError, match=message) as refusal:
        RankingStore.import_json(path, GAME)
    assert len(str(refusal.value)) < 500, "a row is not repeated whole"


def test_a_table_of_a_file_is_read_for_the_game(tmp_path):
    path = tmp_path / "table.json"
    path.write_text(table([row(move=7)]))
    agent = QTableFile(str(path), shortcuts=False)
    agent.check(GAME)
    assert agent.decide(GAME, "." * 9, RNG).action == 7
    assert QTableFile(str(path), shortcuts=False).decide(GAME, "." * 9, RNG).action == 7, "checked or not"
    with pytest.raises(UserError, match="another game"):
        agent.check(TicTacToe(symmetric=False))
    with pytest.raises(UserError, match="another game"):
        QTableFile(str(path), shortcuts=False).check(TicTacToe(symmetric=False))
    with pytest.raises(UserError, match="there is no table"):
        QTableFile(str(tmp_path / "nowhere.json"), shortcuts=False)


@pytest.mark.parametrize("row", [["...", 1, "x"], ["...", 1, None], ["...", True, 1.0], [7, 1, 1.0], ["...", 1], "x"])
def test_a_checkpoint_with_other_rows_is_refused(row):
    with pytest.raises(ValueError, match=r"finite value|unpack"):
        QLearning(**SETTINGS).load_agent({"format": "f", "table": [["...", 1, 0.5], row]})


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


@pytest.mark.parametrize(("win", "draw", "loss"), [(1, 0, -2), (1, 0.5, -1), (2, 0, 2)])
def test_self_play_refuses_a_reward_that_is_not_zero_sum(win, draw, loss):
    learner, fair, unfair = QLearning(**SETTINGS), environment(SelfPlay()), environment(SelfPlay())
    unfair.reward = OutcomeReward(win, draw, loss, gamma=1.0)
    learner.check(fair, Curriculum({}, None))
    for env, curriculum in ((unfair, Curriculum({}, None)), (fair, Curriculum({"first": unfair}, 0.5))):
        with pytest.raises(UserError, match=r"reward\.win"):
            learner.check(env, curriculum)
    unfair.opponent = RandomAgent()
    learner.check(unfair, Curriculum({}, None))
