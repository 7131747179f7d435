"""Networks of algorithms: device and precision, their weights in files, and a network as an agent."""

import contextlib
import copy
import logging
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from ..core.errors import UserError, require
from ..core.parallel import CORES
from ..core.play.agent import Agent, Decision
from ..core.play.capabilities import AuxTask, Strategy
from ..core.play.game import Game
from ..core.ranges import Threads, check_fields
from ..core.runs import checkpoint
from ..core.runs.run import Environment, checkpoint_path
from ..nets.boards import Heads, ResidualBlock
from ..nets.exported import ExportedNetwork
from ..nets.masked import MaskedCategorical
from ..nets.symmetry import averaged
from .threads import torch_threads

log = logging.getLogger(__name__)

MAX_BATCH = 4096  # positions per forward pass

Precision = Literal["auto", "bfloat16", "float16", "float32"]
PRECISIONS: dict[Precision, torch.dtype] = {
    "auto": torch.bfloat16,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float32": torch.float32,
}


@runtime_checkable
class Architecture(Protocol):
    """The hyperparameters of a network, which is built for the spaces of an environment."""

    def build(self, observation_shape: tuple[int, ...], num_actions: int, aux: bool = False) -> nn.Module:
        """`aux` adds a head for the auxiliary task of the game, if the architecture supports it."""


@dataclass(frozen=True)
class Compute:
    device: str  # auto: the GPU if there is one
    precision: Precision  # of the network; auto and bfloat16: bfloat16 if the hardware supports it natively
    compile: bool  # compile the residual blocks, on a GPU
    threads: Threads | None = None  # of the CPU; None, as in earlier versions: all cores

    def __post_init__(self) -> None:
        check_fields(self)
        known = re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device) is not None
        require(known, f"compute.device={self.device} must be auto, cpu, cuda or a device such as cuda:1")
        if self.device.startswith("cuda"):
            require(torch.cuda.is_available(), f"compute.device={self.device}, but torch finds no GPU: use auto or cpu")

    @property
    def torch_device(self) -> str:
        return ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device

    @property
    def on_gpu(self) -> bool:
        return self.torch_device.startswith("cuda")

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of autocast; float32 without native support, where a smaller type would be slower."""
        dtype = PRECISIONS[self.precision]
        native = native_bfloat16(self.on_gpu) if dtype == torch.bfloat16 else self.on_gpu
        return dtype if native else torch.float32

    def fixed_threads(self) -> AbstractContextManager[None]:
        """Fix the number of threads, so that results do not depend on the number of cores."""
        return torch_threads(self.threads)

    def report_idle_cores(self) -> None:
        if self.threads is not None and self.threads < CORES and not self.on_gpu:
            log.info(
                "the network uses %d threads on %d cores: algo.compute.threads=%d is faster if they are idle, with "
                "different rounding",
                *(self.threads, CORES, CORES),
            )

    def prepare(self, net: nn.Module) -> nn.Module:
        net = net.to(self.torch_device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if self.on_gpu:
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
            torch.backends.cudnn.benchmark = True
        return net

    def compiled(self, net: nn.Module) -> Any:
        """Return a network with shared weights and compiled blocks, if configured.

        All blocks have the same code, so one compilation serves all: far faster than compiling the whole network.
        """
        if not (self.compile and self.on_gpu):
            return net
        shared = {id(weight): weight for weight in (*net.parameters(), *net.buffers())}
        compiled = copy.deepcopy(net, shared)
        for module in compiled.modules():
            if isinstance(module, ResidualBlock):
                module.compile(dynamic=False)
        return compiled

    def autocast(self) -> AbstractContextManager[Any]:
        if self.dtype == torch.float32:
            return contextlib.nullcontext()
        return torch.autocast(self.torch_device.split(":")[0], self.dtype)

    def scaler(self) -> torch.amp.GradScaler:
        """Return a gradient scaler, enabled for float16 only."""
        return torch.amp.GradScaler(self.torch_device, enabled=self.dtype == torch.float16)


@cache
def native_bfloat16(on_gpu: bool) -> bool:
    """Return whether the hardware supports bfloat16: GPUs since Ampere, CPUs with AMX or AVX-512 BF16."""
    if on_gpu:
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return False
    return bool(flags & {"amx_bf16", "avx512_bf16"})


@dataclass(frozen=True)
class InferenceConfig:
    """Settings of a trained network as an agent."""

    symmetries: bool  # average over the symmetries of the board
    strategy: Strategy | None = None  # of a game that may play several actions at once; PPO also trains with it

    def __post_init__(self) -> None:
        check_fields(self)


class NetworkAgent(Agent):
    """Play the most probable action; `info` has the probabilities of actions and auxiliary task, and the value."""

    games_in_step = 512

    def __init__(self, net: nn.Module, compute: Compute, play: InferenceConfig, *, greedy: bool = True) -> None:
        """If not `greedy`, sample actions from the policy."""
        self.net, self.compute, self.play, self.greedy = net.eval(), compute, play, greedy
        self.deterministic = greedy

    def check(self, game: Game) -> None:
        require(
            game.mirrored or not self.play.symmetries,
            "play.symmetries=true averages over mirror images, but this game is not symmetric: set it to false",
        )
        if self.play.strategy is not None:
            self.play.strategy.check(game)
        view = game.view(game.initial(np.random.default_rng(0)))
        observation = game.observe(view)
        try:
            known = self.heads(observation[None]).policy.shape[1]
        except RuntimeError as error:
            raise UserError(f"this network was trained for another kind of board: {error}") from error
        # A network may know only the first kinds of action of a game with several kinds per cell.
        cells = int(np.prod(observation.shape[-2:]))
        fewer_kinds = observation.ndim >= 2 and known < game.num_actions and known % cells == 0
        require(
            known == game.num_actions or fewer_kinds,
            f"this network has {known} actions here, but the game has {game.num_actions}: "
            "use the environment settings of its training",
        )

    def require_aux_head(self, env: Environment, advice: str) -> None:
        """Raise `UserError` with `advice` if the network does not predict the auxiliary task for every cell."""
        space = env.observation_space
        aux = self.heads(np.zeros((1, *space.shape), space.dtype)).aux
        has_head = tuple(aux.shape[1:]) == tuple(space.shape[-2:])
        require(has_head, f"this network has no auxiliary head: choose net@algo.net=cnn or residual{advice}")

    def decide(self, game: Game, view: Any, rng: np.random.Generator) -> Decision:
        return self.decide_batch(game, [view], [rng])[0]

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        observations = np.stack([game.observe(view) for view in views])
        with self.compute.fixed_threads():
            heads = self.heads(observations)
            masks = np.stack([game.sensible_mask(view)[: heads.policy.shape[1]] for view in views])
            probability = MaskedCategorical(heads.policy, torch.from_numpy(masks).to(heads.policy.device)).probs
            parts = (probability, heads.aux.sigmoid(), heads.value)
        rows = zip(rngs, masks, *(part.float().cpu().numpy() for part in parts), strict=True)
        return [self._decision(game.aux_task, *row) for row in rows]

    def choose_actions(
        self, observations: np.ndarray, masks: np.ndarray, rngs: Sequence[np.random.Generator]
    ) -> np.ndarray:
        """Return the actions that `decide` chooses without a plan, (N,)."""
        with self.compute.fixed_threads():
            heads = self.heads(observations)
            legal = torch.from_numpy(masks[:, : heads.policy.shape[1]]).to(heads.policy.device)
            probability = MaskedCategorical(heads.policy, legal).probs
            chosen = probability.argmax(dim=1) if self.greedy else sampled(probability, rngs)
        actions: np.ndarray = chosen.cpu().numpy()
        return actions

    def _decision(
        self,
        task: AuxTask | None,
        rng: np.random.Generator,
        mask: np.ndarray,
        probability: np.ndarray,
        aux: np.ndarray,
        value: float,
    ) -> Decision:
        info = {"action_probability": probability, "value": float(value)}
        if task is not None and aux.size:
            info[f"{task.name}_probability"] = aux
            plan = [] if self.play.strategy is None else self.play.strategy.plan(mask, aux)
            if plan:
                return Decision(plan[0], info, plan[1:])
        if self.greedy:
            return Decision(int(probability.argmax()), info)
        return Decision(int(sampled(torch.from_numpy(probability[None]), [rng])), info)

    def values(self, observations: np.ndarray) -> np.ndarray:
        """Return the value of each position, (B,)."""
        parts = np.array_split(observations, -(-len(observations) // MAX_BATCH))
        return np.concatenate([self.heads(part).value.float().cpu().numpy() for part in parts])

    @torch.inference_mode()
    def heads(self, observations: np.ndarray) -> Heads:
        batch = torch.from_numpy(observations).to(self.compute.torch_device)
        # No cuDNN benchmarking: games end one by one, so nearly every batch has a new size.
        no_benchmark = torch.backends.cudnn.flags(enabled=True, benchmark=False)
        with self.compute.fixed_threads(), self.compute.autocast(), no_benchmark:
            return averaged(self.net, batch) if self.play.symmetries else self.net(batch)

    def exported_network(self, game: Game) -> nn.Module:
        """Return a copy of the network on the CPU, averaged over symmetries if this agent does that."""
        has_aux = game.aux_task is not None and getattr(self.net, "aux_head", None) is not None
        return ExportedNetwork(copy.deepcopy(self.net).cpu(), symmetries=self.play.symmetries, aux=has_aux)


def sampled(probability: Tensor, rngs: Sequence[np.random.Generator]) -> Tensor:
    """Return a random action (N,) for each row of probabilities (N, A), by one number of its generator."""
    cumulative = probability.double().cumsum(dim=1)
    numbers = torch.tensor([rng.random() for rng in rngs], dtype=torch.float64, device=probability.device)
    # The quotient is 1 from the last possible action on, so that rounding never leads beyond it.
    return (cumulative / cumulative[:, -1:] <= numbers[:, None]).sum(dim=1)


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


def build_net(architecture: Architecture, env: Environment, init_from: str | None) -> nn.Module:
    """Build a network for an environment, with the best weights of the run `init_from` if given."""
    game = env.game
    net = architecture.build(env.observation_space.shape, game.num_actions, game.aux_task is not None)
    require(
        not (game.has_coded_cells and getattr(net, "encoder", game) is None),
        "the observation holds codes, which this network would read as quantities: set net_defaults.encoder, or "
        "env.config.compact=false",
    )
    if init_from is not None:
        saved = checkpoint.load(checkpoint_path(Path(init_from), "best"))["learner"]
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


def export_snapshot(net: nn.Module, env: Environment) -> dict[str, Any]:
    """Return `export_weights` for a past self, small and on the CPU."""
    saved = export_weights(net, env, torch.float16)
    return {**saved, "weights": {name: weight.cpu() for name, weight in saved["weights"].items()}}


def as_device(array: np.ndarray | Tensor, device: str) -> Tensor:
    return torch.as_tensor(array).to(device, non_blocking=True)
