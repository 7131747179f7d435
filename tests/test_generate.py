"""The command that writes labeled positions, and a training on them."""

import signal

import numpy as np
import pytest

from src.envs.quoridor.learned_evaluation import RECORD
from tests.lab import Lab, read_json
from tests.test_engine import wait_until_computed

LEVEL = "algo.first_player.difficulty=normal"
SHORT = ("algo.total_steps=2000", "algo.batch_size=100", "algo.eval_episodes=2", "evaluation.episodes=2", "logger=csv")


@pytest.mark.slow
def test_positions_are_written_and_trained_on(lab: Lab):
    done = lab.succeed("generate", LEVEL, "algo.games=3", "algo.workers=0", "output=a.npy", "seed=1")
    records = np.load(lab.folder / "a.npy")
    assert records.dtype == RECORD
    assert done.stdout.startswith(f"{len(records):,} positions of 3 games in a.npy")
    run = lab.train("env=quoridor", "algo=nnue", "algo.positions=[a.npy]", "algo.play.nodes=20", *SHORT)
    assert read_json(run / "eval.json")["scores"].keys() == {"runner", "random"}

    words = ("env=quoridor", "agent=trained", f"agent.run={run}", "agent.changes={play: {nodes: 1}}")
    lab.succeed("evaluate", *words, "episodes=2", "opening_plies=2", "json=out.json")
    assert read_json(lab.folder / "out.json")["episodes"] == 2
    players = f"agents=[{run},master:network={run}/network.safetensors:seconds=null:nodes=20]"
    lab.succeed("tournament", "env=quoridor", players, "games=2", "opening_plies=4")

    lab.succeed("generate", f"algo.init_from={run}", "algo.games=2", "algo.workers=0", "algo.self_play.nodes=10")
    assert len(np.load(lab.folder / "positions.npy")) > 0


@pytest.mark.slow
def test_processes_write_the_same_file_and_a_time_limit_ends_it(lab: Lab):
    for workers in (0, 2):
        lab.succeed("generate", LEVEL, "algo.games=4", f"algo.workers={workers}", f"output={workers}.npy", fresh=True)
    assert (lab.folder / "0.npy").read_bytes() == (lab.folder / "2.npy").read_bytes()
    done = lab.run("generate", LEVEL, "minutes=1e-9", "algo.workers=0", "output=deep/short.npy")
    assert " of 1 games in deep/short.npy" in done.stdout


@pytest.mark.slow
def test_ctrl_c_keeps_the_games_so_far(lab: Lab):
    process = lab.start("generate", LEVEL, "algo.games=1000000", "algo.workers=0", "output=a.npy")
    wait_until_computed(process, 3.0)  # some games
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 0
    assert "stopped: the games so far are kept" in out
    assert f"{len(np.load(lab.folder / 'a.npy')):,} positions of " in out
