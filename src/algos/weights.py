"""Networks and their weights: built for an environment, checked, and stored in checkpoints."""

import re
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from ..core.errors import UserError, require
from ..core.runs import checkpoint
from ..core.runs.run import Environment, checkpoint_path
from ..core.runs.zoo import find_run
from .compute import Compute


@runtime_checkable
class Architecture(Protocol):
    """The hyperparameters of a network, which is built for the spaces of an environment."""

    def build(self, observation_shape: tuple[int, ...], num_actions: int, aux: bool = False) -> nn.Module:
        """`aux` adds a head for the auxiliary task of the game, if the architecture supports it."""


def build_net(architecture: Architecture, env: Environment, init_from: str | None, aux: bool = True) -> nn.Module:
    """Build a network for an environment, with the best weights of the run `init_from` if given.

    It predicts the auxiliary task of the game if there is one, unless `aux` is False.
    """
    game = env.game
    net = architecture.build(env.observation_space.shape, game.num_actions, aux and game.aux_task is not None)
    require(
        not (game.has_coded_cells and getattr(net, "encoder", game) is None),
        "the observation holds codes, which this network would read as quantities: set net_defaults.encoder, or "
        "env.config.compact=false",
    )
    if init_from is not None:
        saved = checkpoint.load(checkpoint_path(find_run(init_from), "best"))["learner"]
        load_weights(
            net,
            saved,
            f"algo.init_from={init_from} has another network than algo.net (compare net_defaults with that run's)",
        )
    return net


def load_network(architecture: Architecture, saved: dict[str, Any], compute: Compute) -> nn.Module:
    """Build the network of `export_weights`."""
    aux = any(name.startswith("aux_head.") for name in _weights(saved))
    with torch.random.fork_rng(devices=[]):  # initial weights, which are replaced; a run may sample from that generator
        net = architecture.build(tuple(saved["observation_shape"]), saved["num_actions"], aux)
    load_weights(net, saved, "the saved weights are of another network than algo.net describes")
    return compute.prepare(net)


def load_weights(net: nn.Module, saved: dict[str, Any], message: str) -> None:
    """Load saved weights; raise `UserError` with `message` if they do not fit."""
    try:
        weights = {name: weight.float() for name, weight in _weights(saved).items()}
        if getattr(net, "aux_head", None) is None:  # networks of earlier versions always have one
            weights = {name: weight for name, weight in weights.items() if not name.startswith("aux_head.")}
        net.load_state_dict(weights)
    except (KeyError, AttributeError, RuntimeError) as error:
        raise UserError(f"{message}: {error}") from error


def _weights(saved: dict[str, Any]) -> dict[str, Tensor]:
    """Return the weights by their current names."""
    return {re.sub(r"^mine_", "aux_", name): weight for name, weight in saved["weights"].items()}


def export_weights(net: nn.Module, env: Environment, dtype: torch.dtype = torch.float32) -> dict[str, Any]:
    """Return a copy of what `load_network` needs. For inference float16 is enough and halves the size."""
    weights = {name: weight.to(dtype, copy=True) for name, weight in net.state_dict().items()}
    shape, actions = env.observation_space.shape, env.game.num_actions
    return {"weights": weights, "observation_shape": list(shape), "num_actions": actions}


def require_finite(net: nn.Module, step: int) -> None:
    """Raise `UserError` if training diverged, before the weights are saved."""
    finite = torch.stack([torch.isfinite(weight).all() for weight in net.parameters()])  # one device transfer
    if bool(finite.all()):
        return
    broken = [name for name, weight in net.named_parameters() if not bool(torch.isfinite(weight).all())]
    require(
        not broken,
        f"training diverged at step {step}: weights ({', '.join(broken[:3])}) are NaN or infinite; earlier checkpoints "
        "are intact, try a smaller algo.lr",
    )
