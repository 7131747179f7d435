"""Export the network of a run to ONNX."""

import logging
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from .config.cli import hydra_command, refuse_multirun
from .core.errors import UserError, require
from .core.package import command, install_command

POSITIONS = 64  # on which the exported network is compared with torch
TOLERANCE = 1e-3  # of that comparison, relative and absolute: float32 sums in another order
OUTPUTS = ("policy", "value", "aux")  # the last one if the network has it
EXTRA = f"{command('export')} needs an extra: {install_command('onnx')}"


@hydra_command("export", refuse_multirun)
def run(cfg: DictConfig) -> None:
    from importlib.util import find_spec

    from .config import schema
    from .config.build import build
    from .config.compose import validate
    from .config.load import load_agent, load_config
    from .core.files import require_writable, write_atomic
    from .core.play.capabilities import SupportsExport
    from .core.runs.console import printable
    from .core.runs.zoo import find_run

    cfg = validate(cfg, schema.Export)
    run = find_run(cfg.run)
    path = Path(cfg.onnx or run / "network.onnx")
    saved = load_config(run)
    agent = load_agent(cfg.run, cfg.checkpoint)
    if not isinstance(agent, SupportsExport):
        raise UserError(f"run={cfg.run} has no network: export a run of ppo, imitation or maskable_ppo")
    require(all(find_spec(name) for name in ("onnx", "onnxruntime", "onnxscript")), EXTRA)
    require_writable(path)  # before the minute that an export may take
    game = build(saved.env, "env").game
    agent.check(game)
    names = {key: str(saved.composition[key]) for key in ("env", "algo")} if "composition" in saved else {}
    observations = random_observations(game, POSITIONS)
    model = to_onnx(agent.exported_network(game), observations, names | {"checkpoint": cfg.checkpoint})
    difference = compare(model, agent.exported_network(game), observations)
    write_atomic(path, model)
    print(printable(f"{path}: {signature(model)}"))
    print(f"largest difference from torch: {difference:.1e}, on {POSITIONS} positions of random games")


def random_observations(game: Any, count: int, seed: int = 0) -> Any:
    """Return observations (count, ...) of consecutive positions in random games."""
    import numpy as np

    from .core.seeding import draw, generator

    rng = generator(seed, "export")
    found: list[np.ndarray] = []
    state = game.initial(rng)
    while len(found) < count:
        view = game.view(state)
        found.append(np.array(game.observe(view)))
        state = game.play(state, draw(rng, game.random_actions(view)))
        if game.outcome(state) is not None:
            state = game.initial(rng)
    return np.stack(found)


def to_onnx(network: Any, observations: Any, metadata: Mapping[str, str]) -> bytes:
    """Return the network as an ONNX model with a dynamic batch size; `observations` (B, ...) give shape and type."""
    import torch
    from onnx_ir.passes.common import ClearMetadataAndDocStringPass

    batch = torch.from_numpy(observations)
    with torch.inference_mode():
        outputs = OUTPUTS[: len(network(batch))]
    # It warns about torchvision, which is not used here, and about its own use of torch.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        program = torch.onnx.export(
            network.eval(),
            (batch,),
            dynamo=True,
            input_names=["observation"],
            output_names=list(outputs),
            dynamic_shapes=({0: torch.export.Dim("batch", min=1)},),
            verbose=False,
        )
    assert program is not None  # which it is without dynamo
    ClearMetadataAndDocStringPass()(program.model)  # stack traces, with the paths of this machine
    program.model.metadata_props.update(metadata)
    return program.model_proto.SerializeToString()


def compare(model: bytes, network: Any, observations: Any) -> float:
    """Return the largest difference between the outputs of the model in ONNX Runtime and of the network in torch.

    It is also run on a single observation, which a model that was exported for one batch size would refuse.
    """
    import numpy as np
    import onnxruntime
    import torch

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    largest = 0.0
    for batch in (observations, observations[:1]):
        with torch.inference_mode():
            expected = [output.numpy() for output in network(torch.from_numpy(batch))]
        for found, right in zip(session.run(None, {"observation": batch}), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=TOLERANCE, atol=TOLERANCE)
            largest = max(largest, float(np.abs(found - right).max()))
    return largest


def signature(model: bytes) -> str:
    """Return the inputs and outputs of a model with their types and shapes, as one line."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    sides = (session.get_inputs(), session.get_outputs())
    texts = (
        ", ".join(f"{one.name} {one.type[7:-1]} ({', '.join(map(str, one.shape))})" for one in side) for side in sides
    )
    return " -> ".join(texts)


if __name__ == "__main__":
    run()
