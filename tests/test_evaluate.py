import shutil
from pathlib import Path

import pytest

from src.core.runs import checkpoint
from tests.lab import ROOT, Lab, read_json
from tests.marks import mostly_slow

SHIPPED = ROOT / "experiments" / "tictactoe_qlearning"
QUICK = ("algo.episodes=1000", "evaluation.episodes=40", "logger=csv")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Lab(tmp_path_factory.mktemp("trained")).train(*QUICK)


def test_a_table_and_the_run_it_came_from_score_alike(lab: Lab, run: Path):
    common = ("env=tictactoe", "opponent=random", "episodes=101", "seed=3")
    for agent in (("agent=qtable", f"agent.path={run}/qtable.json"), ("agent=trained", f"agent.run={run}")):
        done = lab.run("evaluate", *common, *agent, f"json={agent[0].split('=')[1]}.json")
        assert done.returncode == 0, done.stderr
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
    done = lab.run("evaluate", "agent=minimax", "opponent=minimax", "episodes=20")
    assert done.returncode == 0
    assert "minimax on tictactoe" in done.stdout
    assert "0/20/0" in done.stdout
    assert list(lab.folder.iterdir()) == [], "scoring leaves nothing behind"


def test_the_long_spelling_of_opponent_and_self_work_too(lab: Lab):
    done = lab.run("evaluate", "agent=minimax", "agent@opponent=self", "episodes=10")
    assert done.returncode == 0, done.stderr
    assert "0/10/0" in done.stdout


@pytest.mark.parametrize(
    ("overrides", "message"),
    mostly_slow(
        [
            (("agent=qtable",), "required and not set: agent.path"),
            (("opponent=qtable",), "required and not set: opponent.path"),
            (("agent=qtable", "agent.path=nowhere.json"), "no table at nowhere.json"),
            (("agent=trained", "agent.run=."), "not a run directory"),
            (("opponent=nobody",), "minimax"),
            (("episodes=0",), "episodes=0"),
            (("boards=some.json",), "no fixed starting positions"),
            (("seed=-1",), "seed=-1"),
            (("shortcuts=true",), "shortcuts"),
            (("+shortcuts=true",), "shortcuts"),
            (("episodes=1.5",), "episodes"),
            (("agent=self",), "for training only"),
            (("opponent=past_selves",), "opponent=past_selves is for training only"),
            (("-m", "seed=1,2"), "does not support -m"),
            (("agent=trained", f"agent.run={SHIPPED}", "opponent=trained", f"opponent.run={SHIPPED}"), "opening_plies"),
            (("agent=trained", f"agent.run={SHIPPED}", "env.game.symmetric=false"), "its table is of another game"),
        ],
        fast=3,
    ),
)
def test_user_errors_are_one_sentence(lab: Lab, overrides, message: str):
    done = lab.run("evaluate", *overrides, "json=out.json")
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (lab.folder / "out.json").exists()


def test_the_shipped_table_never_loses(lab: Lab):
    done = lab.run("evaluate", "agent=trained", f"agent.run={SHIPPED}", "opponent=minimax", "json=out.json")
    assert done.returncode == 0, done.stderr
    result = read_json(lab.folder / "out.json")
    assert result["losses"] == 0
    assert [result["every_reply"][seat]["losses"] for seat in ("first", "second")] == [0, 0]


def test_players_that_always_decide_alike_meet_after_random_openings(lab: Lab):
    players = ("agent=trained", f"agent.run={SHIPPED}", "opponent=trained", f"opponent.run={SHIPPED}")
    done = lab.run("evaluate", *players, "opening_plies=2", "episodes=20", "json=out.json")
    assert done.returncode == 0, done.stderr
    result = read_json(lab.folder / "out.json")
    assert result["wins"] == result["losses"], "each opening was played from both seats"


@pytest.mark.parametrize("fill", [float("nan"), float("inf")])
def test_a_network_of_no_numbers_is_refused_and_not_scored(lab: Lab, fill: float):
    run = Path(shutil.copytree(ROOT / "experiments/minesweeper_8x8", lab.folder / "run"))
    best = run / "checkpoints/best.safetensors"
    saved = checkpoint.load(best)
    for weight in saved["learner"]["weights"].values():
        weight.fill_(fill)
    checkpoint.save(best, saved)
    done = lab.run("evaluate", "env=minesweeper_8x8", "agent=trained", "agent.run=run", "episodes=4", "json=out.json")
    assert done.returncode != 0
    assert "holds NaN or infinite values" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (lab.folder / "out.json").exists()


def test_a_damaged_checkpoint_is_named(lab: Lab, run: Path):
    damaged = Path(shutil.copytree(run, lab.folder / "damaged"))
    best = damaged / "checkpoints/best.safetensors"
    best.write_bytes(best.read_bytes().replace(b"learner", b"lfarner", 1))
    done = lab.run("evaluate", "agent=trained", f"agent.run={damaged}", "episodes=4")
    assert "best.safetensors is damaged: its contents do not match its checksum" in done.stderr
