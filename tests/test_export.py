"""The networks of every game in ONNX Runtime give what they give in torch."""

from importlib.util import find_spec

import numpy as np
import pytest
import torch

from src.algos.network_agent import NetworkAgent
from src.algos.weights import build_net
from src.config.build import build
from src.config.load import load_agent, load_config
from src.core.play.agent import Agent
from src.core.play.game import Game
from src.export import compare, random_observations, signature, to_onnx
from tests.lab import ROOT, Lab, need
from tests.test_compositions import composed

MINESWEEPER = ROOT / "experiments/minesweeper_8x8"
ONNX = ("onnx", "onnxruntime", "onnxscript")
SMALL = {  # small networks of each kind on each game
    "tictactoe, flat": ("env=tictactoe", "net@algo.net=mlp"),
    "minesweeper, convolutions": ("env=minesweeper_8x8", "net@algo.net=cnn"),
    "minesweeper, residual": ("env=minesweeper_8x8", "net@algo.net=residual", "algo.net.blocks=3"),
    "minesweeper, mirror images": ("env=minesweeper_9x9", "net@algo.net=cnn", "algo.play.symmetries=true"),
    "quoridor, planes of corners": ("env=quoridor", "net@algo.net=cnn", "algo.net.corner_planes=true"),
    "wargame, units": ("env=deployment", "net@algo.net=units", "algo.net.blocks=2"),
    "wargame, flat": ("env=deployment", "net@algo.net=mlp"),
}


def untrained(*overrides: str) -> tuple[NetworkAgent, Game]:
    """An agent with random weights, none of them zero as at the start of learning."""
    cfg = composed("algo=ppo", "device=cpu", *overrides)
    env, algo = build(cfg.env, "env"), build(cfg.algo, "algo")
    torch.manual_seed(0)
    net = build_net(algo.net, env, None)
    with torch.no_grad():
        for weight in net.parameters():
            weight.add_(0.05 * torch.randn(weight.shape))
    return NetworkAgent(net, algo.compute, algo.play), env.game


@pytest.mark.parametrize("overrides", SMALL.values(), ids=SMALL)
def test_the_exported_network_is_that_of_the_agent(overrides: tuple[str, ...]):
    agent, game = untrained(*overrides)
    observations = random_observations(game, 5)
    with torch.inference_mode():
        exported = agent.exported_network(game)(torch.from_numpy(observations))
    heads = [head for head in agent.heads(observations) if head.numel()]
    assert len(exported) == len(heads) == (3 if game.aux_task is not None else 2)
    for found, right in zip(exported, heads, strict=True):
        torch.testing.assert_close(found, right.float(), rtol=0.05, atol=0.05)  # the agent may compute in bfloat16


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tictactoe, flat", "minesweeper, mirror images", "quoridor, planes of corners"])
def test_a_network_is_the_same_in_onnx(kind: str):
    need("onnx", *ONNX)
    check(*untrained(*SMALL[kind]))


@pytest.mark.slow
def test_a_shipped_network_is_the_same_in_onnx():
    need("onnx", *ONNX)
    run = ROOT / "experiments/deployment_value/deployment_classic_mirror"
    check(load_agent(str(run), "best"), build(load_config(run).env, "env").game)


def check(agent: Agent, game: Game) -> None:
    """Compare the outputs on positions of the game, for several batch sizes."""
    observations, network = random_observations(game, 33), agent.exported_network(game)  # type: ignore[attr-defined]
    model = to_onnx(network, observations, {"env": "some"})
    assert compare(model, network, observations) < 1e-3
    assert compare(model, network, observations[:7]) < 1e-3
    assert str(ROOT).encode() not in model, "it names no file of this machine"
    shape = ", ".join(["batch", *map(str, observations.shape[1:])])
    assert f"({shape}) -> policy float (batch, {game.num_actions}), value float (batch)" in signature(model)
    predicts = isinstance(agent, NetworkAgent) and game.aux_task is not None
    assert (", aux float (batch, " in signature(model)) == predicts


@pytest.mark.slow
def test_the_command_writes_a_network(lab: Lab):
    need("onnx", *ONNX)
    done = lab.succeed("export", f"run={MINESWEEPER}", "onnx=network.onnx")
    assert done.stderr == ""
    assert "observation int8 (batch, 8, 8) -> policy float (batch, 64), value float (batch), aux" in done.stdout
    assert "largest difference from torch" in done.stdout
    import onnxruntime

    session = onnxruntime.InferenceSession(lab.folder / "network.onnx")
    properties = {"env": "minesweeper_8x8", "algo": "ppo", "checkpoint": "best"}
    assert session.get_modelmeta().custom_metadata_map == properties
    assert [path.name for path in lab.folder.iterdir()] == ["network.onnx"]


def test_a_missing_extra_is_named(lab: Lab):
    if all(map(find_spec, ONNX)):
        pytest.skip("the extra is installed")
    done = lab.run("export", f"run={MINESWEEPER}", "onnx=network.onnx")
    assert done.stderr == "error: python -m src.export needs an extra: pip install -c constraints.txt -e '.[onnx]'\n"


def test_observations_are_those_of_games_in_progress():
    game = build(composed("env=tictactoe").env, "env").game
    found = random_observations(game, 40)
    assert len(found) == 40
    assert len(np.unique(found, axis=0)) > 15
