"""Compare the throughput of our PPO with sb3-contrib's MaskablePPO: same network, same games, one run.

    python -m experiments.bench.ppo_throughput                          # on the CPU
    python -m experiments.bench.ppo_throughput --device cuda --many 8192

Three ways to the same algorithm: sb3-contrib over single environments, as it is usually run; sb3-contrib over our
batch; and ours. On a GPU ours computes in bfloat16, compiled, on boards of int8, and may play `--many` games at once.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import sb3_contrib
import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from experiments.bench.speed import Row
from src.algos.maskable_ppo import MaskedVecEnv
from src.algos.network import Compute
from src.algos.optimizer import Optimizer
from src.algos.ppo.rollout import Rollouts
from src.algos.ppo.update import LossWeights, normalised, ppo_update
from src.envs.minesweeper.config import EnvConfig
from src.envs.minesweeper.env import Backend, MinesweeperEnv
from src.nets.boards import CNN, Residual

NETS: dict[str, CNN | Residual] = {"cnn": CNN(64), "residual": Residual(64, 6, 3)}
STEPS, MINI_BATCHES, EPOCHS = 128, 8, 3
WEIGHTS = LossWeights(clip_range=0.2, clip_range_vf=None, vf_coef=0.5, ent_coef=0.003, aux_coef=0.0)


class SameNetwork(MaskableActorCriticPolicy):
    """Our network as a policy of sb3-contrib."""

    def __init__(self, *args: Any, architecture: CNN | Residual, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs, net_arch=[])  # type: ignore[misc]
        assert isinstance(self.action_space, spaces.Discrete)
        assert self.observation_space.shape is not None
        self.board = architecture.build(self.observation_space.shape, int(self.action_space.n))
        self.optimizer = torch.optim.AdamW(self.board.parameters(), lr=3e-4)

    def forward(self, obs: Any, deterministic: bool = False, action_masks: Any = None) -> tuple[Tensor, Tensor, Tensor]:
        distribution, values = self._look(obs, action_masks)
        actions = distribution.get_actions(deterministic=deterministic)
        return actions, values, distribution.log_prob(actions)

    def evaluate_actions(
        self, obs: Any, actions: Tensor, action_masks: Any = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        distribution, values = self._look(obs, action_masks)
        return values, distribution.log_prob(actions), distribution.entropy()

    def predict_values(self, obs: Any) -> Tensor:
        return self.board(obs).value.unsqueeze(1)

    def _look(self, obs: Tensor, action_masks: Any) -> tuple[Any, Tensor]:
        heads = self.board(obs)
        distribution = self.action_dist.proba_distribution(action_logits=heads.policy)
        distribution.apply_masking(action_masks)
        return distribution, heads.value.unsqueeze(1)


def peer(envs: VecEnv, architecture: CNN | Residual, device: str) -> Callable[[], int]:
    """Collect one rollout and train on it; return the number of steps."""
    steps = envs.num_envs * STEPS
    model = sb3_contrib.MaskablePPO(
        SameNetwork,
        envs,
        n_steps=STEPS,
        batch_size=steps // MINI_BATCHES,
        n_epochs=EPOCHS,
        gamma=0.995,
        device=device,
        policy_kwargs={"architecture": architecture},
    )

    def update() -> int:
        model.learn(steps, reset_num_timesteps=False)
        return steps

    return update


def ours(env: MinesweeperEnv, count: int, architecture: CNN | Residual, device: str) -> Callable[[], int]:
    compute = Compute(device, "bfloat16", compile=True)
    shape, actions = env.observation_space.shape, env.game.num_actions
    assert shape is not None
    net = compute.prepare(architecture.build(shape, actions, aux=True))
    compiled, random = compute.compiled(net), torch.Generator(device)
    optimizer = Optimizer(net, compute, lr=3e-4, weight_decay=0.01, max_grad_norm=0.5)
    rollouts = Rollouts(env.vectorize(count, device), STEPS, compute, seed=0, multi_action_below=0.0)  # type: ignore[arg-type]

    def update() -> int:
        rollouts.collect(compiled, net, 0.995, 0.95, random)
        for _ in range(EPOCHS):
            for batch in rollouts.buffer.minibatches(MINI_BATCHES, 1.0, random):
                ppo_update(compiled, optimizer, normalised(batch), WEIGHTS, compute)
        return count * STEPS

    return update


def speed(update: Callable[[], int], device: str, seconds: float) -> float:
    """Return steps per second, after one update to warm up."""

    def wait() -> None:
        if device != "cpu":
            torch.cuda.synchronize()

    update()
    wait()
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        steps += update()
        wait()
    return steps / (time.perf_counter() - began)


def flops_a_step(env: MinesweeperEnv, architecture: CNN | Residual) -> float:
    """Return the FLOPs per step: a forward pass to act, and per epoch a forward and a backward pass, which counts
    twice.
    """
    assert env.observation_space.shape is not None
    net = architecture.build(env.observation_space.shape, env.game.num_actions, aux=True)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        net(torch.zeros(1, *env.observation_space.shape))
    return counter.get_total_flops() * (1 + 3 * EPOCHS)


def settings(board: str) -> dict[str, Any]:
    height, width, mines = map(int, board.split("x"))
    sizes: dict[str, Any] = {"H": height, "W": width, "mine_count": mines, "max_steps": 2 * height * width}
    return {**sizes, "first_click": "uniform", "flag_actions": False}


def ways_to_learn(
    board: str, net: CNN | Residual, envs: int, many: int | None, device: str
) -> dict[str, Callable[[], Callable[[], int]]]:
    """Return functions that set up each variant, called in turn."""
    backend: Backend = "numpy" if device == "cpu" else "torch"
    single = MinesweeperEnv(EnvConfig(**settings(board)))
    env = MinesweeperEnv(EnvConfig(**settings(board), compact=True), backend=backend)
    ways: dict[str, Callable[[], Callable[[], int]]] = {
        "sb3, single envs": lambda: peer(
            DummyVecEnv([lambda: MinesweeperEnv(EnvConfig(**settings(board))) for _ in range(envs)]), net, device
        ),
        "sb3, our batch": lambda: peer(MaskedVecEnv(single.vectorize(envs)), net, device),
        "ours": lambda: ours(env, envs, net, device),
    }
    if many is not None:
        ways[f"ours, {many} envs"] = lambda: ours(env, many, net, device)
    return ways


def rows(seconds: float) -> list[Row]:
    """Return the best of a few updates of each variant in turn, on one core, which is least sensitive to other load.

    Few games and a small network, so that an update takes a second or two.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    updates = {name: make() for name, make in ways_to_learn("8x8x10", CNN(16), 16, None, "cpu").items()}
    best = dict.fromkeys(updates, 0.0)
    for _ in range(4):
        for name, update in updates.items():
            began = time.perf_counter()
            best[name] = max(best[name], update() / (time.perf_counter() - began))
    torch.set_num_threads(threads)
    own = best.pop("ours")
    return [Row(f"PPO on Minesweeper 8x8: {name}", own, "steps/s", "sb3-contrib", best[name]) for name in best]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--board", default="8x8x10", help="rows x cols x mines")
    parser.add_argument("--net", default="cnn", choices=list(NETS))
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--many", type=int, default=None, help="games at once for a further row of ours")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--peak", type=float, default=989e12, help="floating point operations a second of the chip")
    parser.add_argument("--seconds", type=float, default=20, help="for each row")
    args = parser.parse_args()
    net, device = NETS[args.net], args.device
    ways = ways_to_learn(args.board, net, args.envs, args.many, device)
    print(f"{args.board}, {args.net}, {args.envs} envs, {STEPS} steps, {EPOCHS} epochs of {MINI_BATCHES} on {device}")
    base, cost = None, flops_a_step(MinesweeperEnv(EnvConfig(**settings(args.board))), net)
    for name, make in ways.items():
        rate = speed(make(), device, args.seconds)
        base = base or rate
        share = f"  {rate * cost / args.peak:6.2%} of the chip's peak" if device != "cpu" else ""
        print(
            f"{name:>20} {rate:>12,.0f} steps/s {rate / base:>7.1f}x {rate * cost / 1e9:>9.1f} GFLOP/s{share}",
            flush=True,
        )


if __name__ == "__main__":
    main()
