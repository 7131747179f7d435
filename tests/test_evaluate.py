from src import api
from src.config.load import load_agent
from tests.lab import ROOT, Lab, read_json

SHIPPED = ROOT / "experiments" / "tictactoe_qlearning"


def test_a_table_and_the_run_it_came_from_score_alike(lab: Lab):
    run = lab.train("algo.episodes=1000", "evaluation.episodes=40", "logger=csv")
    common = ("env=tictactoe", "opponent=random", "episodes=101", "seed=3")
    for agent in (("agent=qtable", f"agent.path={run}/qtable.json"), ("agent=trained", f"agent.run={run}")):
        lab.succeed("evaluate", *common, *agent, f"json={agent[0].split('=')[1]}.json")
    table, trained = (read_json(lab.folder / name) for name in ("qtable.json", "trained.json"))
    for result in (table, trained):
        assert result.pop("seconds") > 0
        assert result.pop("agent") in ("qtable", "trained")
    assert table == trained
    assert table["episodes"] == table["wins"] + table["draws"] + table["losses"] == 101
    assert table["win_rate"] == table["wins"] / 101
    low, high = table["win_rate_ci95"]
    assert 0 <= low < table["win_rate"] < high <= 1
    assert (table["seats"]["first"]["episodes"], table["seats"]["second"]["episodes"]) == (51, 50)
    assert table["every_reply"]["second"]["losses"] >= 0


def test_the_result_is_a_table_on_the_screen(lab: Lab):
    done = lab.succeed("evaluate", "agent=minimax", "opponent=minimax", "episodes=20")
    assert "minimax on tictactoe" in done.stdout
    assert "0/20/0" in done.stdout
    assert list(lab.folder.iterdir()) == [], "scoring leaves nothing behind"


def test_the_long_spelling_of_opponent_and_self_work_too(lab: Lab):
    done = lab.succeed("evaluate", "agent=minimax", "agent@opponent=self", "episodes=10")
    assert "0/10/0" in done.stdout


def test_the_shipped_table_never_loses(lab: Lab):
    lab.succeed("evaluate", "agent=trained", f"agent.run={SHIPPED}", "opponent=minimax", "json=out.json")
    result = read_json(lab.folder / "out.json")
    assert result["losses"] == 0
    assert [result["every_reply"][seat]["losses"] for seat in ("first", "second")] == [0, 0]


def test_deterministic_players_meet_after_random_openings():
    table = load_agent(str(SHIPPED), "best")
    score = api.evaluate(table, "tictactoe", table, episodes=20, opening_plies=2).total
    assert score.wins == score.losses, "each opening was played from both seats"


def test_a_run_plays_in_the_environment_of_its_training(lab: Lab):
    run = ("agent=trained", f"agent.run={ROOT}/experiments/minesweeper_8x8")
    lab.succeed("evaluate", *run, "episodes=2", "env.config.mine_count=1", "json=easy.json")
    assert read_json(lab.folder / "easy.json")["env"] == "minesweeper_8x8"
    assert read_json(lab.folder / "easy.json")["win_rate"] == 1.0, "with a single mine"
    lines = "position startpos\nwrite\nquit\n"
    assert "position seed" in lab.succeed("engine", *run, stdin=lines).stdout
    assert "10 mines" in lab.succeed("play_local", *run, stdin="q\n").stdout
    refused = lab.refuse("evaluate", *run, "env=tictactoe")
    assert "leave out env=... to play in the environment of its training, minesweeper_8x8" in refused.stderr


def test_settings_of_a_run_are_those_of_its_evaluation(lab: Lab):
    few = ("algo.episodes=20", "algo.eval_every=20", "evaluation.episodes=2", "logger=csv")
    run = lab.train("env.game.symmetric=false", *few)
    other = lab.train("env.seat=first", *few)
    for words in (("agent=trained", f"agent.run={run}"), ("opponent=trained", f"opponent.run={run}")):
        lab.succeed("evaluate", *words, "episodes=2", "opening_plies=1")
    refused = lab.refuse("evaluate", "env=tictactoe", "agent=trained", f"agent.run={run}")
    assert "leave out env=..." in refused.stderr
    lab.succeed("evaluate", "env=tictactoe", "agent=trained", f"agent.run={other}", "episodes=2")
