"""Compare the throughput of our PPO with sb3-contrib's MaskablePPO: same network, same games, one run.

    python -m experiments.bench.ppo_throughput                          # on the CPU
    python -m experiments.bench.ppo_throughput --device cuda --many 8192
    python -m experiments.bench.ppo_throughput --env deployment --net units --envs 64 --steps 16 --parts

Four ways to the same algorithm: sb3-contrib over single environments, as it is usually run; sb3-contrib over our batch;
`algo=maskable_ppo`, which adds our rollout buffer and precision to that; and `algo=ppo`. On a GPU the latter two
compute in bfloat16, compiled, and `algo=ppo` may play `--many` games at once. `--parts` shows where the time goes, on a
CPU.
"""

import argparse
import cProfile
import pstats
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import sb3_contrib
import torch
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from torch.utils.flop_counter import FlopCounterMode

from experiments.bench.speed import Row
from experiments.composition import composed
from src.algos.compute import Compute
from src.algos.maskable_ppo import MaskedVecEnv
from src.algos.maskable_ppo.model import Model, NetworkPolicy
from src.algos.ppo import LossWeights, Rollouts, normalized, ppo_losses
from src.algos.trainer import Optimizer, OptimizerConfig
from src.algos.weights import Architecture
from src.config.build import build
from src.envs.minesweeper.config import EnvConfig
from src.envs.minesweeper.env import Backend, MinesweeperEnv
from src.envs.minesweeper.net import CellCodes
from src.nets.boards import CNN, Residual

NETS: dict[str, Architecture] = {  # for Minesweeper
    "cnn": CNN(64, encoder=CellCodes(), value_pool="mean_max"),
    "residual": Residual(64, 6, 3, encoder=CellCodes(), value_pool="mean_max"),
}
MINI_BATCHES, EPOCHS = 8, 3
WEIGHTS = LossWeights(
    clip_range=0.2,
    clip_range_vf=None,
    vf_coef=0.5,
    ent_coef=0.003,
    aux_coef=0.0,
    aux_cells="labeled",
    normalize_advantages=True,
)
PARTS = {  # of an update: functions, by the end of their file's name
    "games": (
        *("maskable_ppo/adapter.py step_wait", "maskable_ppo/adapter.py env_method", "algos/ppo.py _step"),
        *("dummy_vec_env.py step_wait", "dummy_vec_env.py env_method"),
    ),
    "rollout buffer": (
        *(f"maskable/buffers.py {name}" for name in ("reset", "add", "get")),
        *(f"maskable_ppo/adapter.py {name}" for name in ("add", "get")),
        *("common/buffers.py compute_returns_and_advantage",),
        *(f"algos/ppo.py {name}" for name in ("_keep", "minibatches", "gae")),
    ),
    "network, forward": ("deployment/net.py forward", "nets/boards.py forward", "nets/flat.py forward"),
    "distribution": (
        *(f"maskable/distributions.py {name}" for name in ("__init__", "proba_distribution", "apply_masking")),
        *(f"maskable/distributions.py {name}" for name in ("get_actions", "sample", "log_prob", "entropy")),
        *(f"nets/masked.py {name}" for name in ("__init__", "sample", "log_prob", "entropy")),
    ),
    "network, backward": ("torch/_tensor.py backward",),
    "optimizer": ("torch/optim/optimizer.py wrapper", "utils/clip_grad.py clip_grad_norm_"),
}
Update = Callable[[], int]  # collect one rollout and train on it; return the number of steps


class Task(NamedTuple):
    single: Callable[[], Any]  # an environment for sb3-contrib
    ours: Any  # the same for algo=ppo, whose observations may be more compact
    net: Architecture
    steps: int  # of each environment in a rollout

    def settings(self, count: int) -> dict[str, Any]:
        batch = count * self.steps // MINI_BATCHES
        return {"n_steps": self.steps, "batch_size": batch, "n_epochs": EPOCHS, "gamma": 0.995}


def sb3_update(model: sb3_contrib.MaskablePPO) -> Update:
    steps = model.n_steps * model.n_envs

    def update() -> int:
        model.learn(steps, reset_num_timesteps=False)
        return steps

    return update


def peer(task: Task, envs: VecEnv, device: str) -> Update:
    """sb3-contrib as it is, with our network."""
    network = {"architecture": task.net, "compute": Compute(device, "float32", compile=False)}
    settings = task.settings(envs.num_envs)
    return sb3_update(sb3_contrib.MaskablePPO(NetworkPolicy, envs, device=device, policy_kwargs=network, **settings))


def maskable_ppo(task: Task, count: int, device: str) -> Update:
    compute = Compute(device, "bfloat16", compile=True)
    games = MaskedVecEnv(task.single().vectorize(count), pinned=compute.on_gpu)
    return sb3_update(Model(games, task.net, compute, lr=3e-4, max_grad_norm=0.5, **task.settings(count)))


def ppo(task: Task, count: int, device: str) -> Update:
    compute, env = Compute(device, "bfloat16", compile=True), task.ours
    net = compute.prepare(build_net(task.net, env))
    compiled, random = compute.compiled(net), torch.Generator(device)
    config = OptimizerConfig(compute=compute, lr=3e-4, lr_warmup=0, weight_decay=0.01, max_grad_norm=0.5)
    optimizer, rollouts = Optimizer(net, config), Rollouts(env.vectorize(count, device), task.steps, compute, seed=0)

    def update() -> int:
        rollouts.collect(compiled, net, 0.995, 0.95, random)
        for _ in range(EPOCHS):
            for batch in rollouts.minibatches(MINI_BATCHES, random):
                optimizer.step(ppo_losses(compiled, normalized(batch), WEIGHTS, compute)["loss"])
        return count * task.steps

    return update


def build_net(architecture: Architecture, env: Any) -> torch.nn.Module:
    return architecture.build(env.observation_space.shape, env.game.num_actions, env.game.aux_task is not None)


def speed(update: Update, device: str, seconds: float) -> float:
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


def parts(update: Update) -> Counter[str]:
    """Return the seconds of one update by part; the profiler makes Python itself look slower than it is."""
    profile = cProfile.Profile()
    began = time.perf_counter()
    profile.runcall(update)
    left = time.perf_counter() - began
    seconds: Counter[str] = Counter()
    for function, (*_, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        part = part_of(function)
        inside = sum(cumulative for caller, (*_, cumulative) in callers.items() if part_of(caller) != part)
        if part is not None:
            seconds[part] += inside
            left -= inside
    return seconds + Counter({"Python and other operations": left})


def part_of(function: tuple[str, int, str]) -> str | None:
    file, _, name = function
    return next((part for part, names in PARTS.items() if f"{file} {name}".endswith(names)), None)


def flops_a_step(task: Task) -> float:
    """Return the FLOPs per step: a forward pass to act, and per epoch a forward and a backward pass, which counts
    twice.
    """
    env = task.single()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        build_net(task.net, env)(torch.zeros(1, *env.observation_space.shape))
    return counter.get_total_flops() * (1 + 3 * EPOCHS)


def minesweeper(board: str, net: Architecture, steps: int, device: str) -> Task:
    height, width, mines = map(int, board.split("x"))
    settings: dict[str, Any] = {"H": height, "W": width, "mine_count": mines, "max_steps": 2 * height * width}
    settings |= {"first_click": "uniform", "flag_actions": False}
    backend: Backend = "numpy" if device == "cpu" else "torch"
    compact = MinesweeperEnv(EnvConfig(**settings, compact=True), backend=backend)
    return Task(lambda: MinesweeperEnv(EnvConfig(**settings)), compact, net, steps)


def configured(env: str, net: str, steps: int) -> Task:
    """A game of conf/env with a network of conf/net."""
    cfg = composed("train", f"env={env}", "algo=ppo", f"net@algo.net={net}")
    return Task(lambda: build(cfg.env, "env"), build(cfg.env, "env"), build(cfg.algo.net, "algo.net"), steps)


def ways_to_learn(task: Task, envs: int, many: int | None, device: str) -> dict[str, Callable[[], Update]]:
    """Return functions that set up each variant, called in turn."""
    ways: dict[str, Callable[[], Update]] = {
        "sb3, single envs": lambda: peer(task, DummyVecEnv([task.single] * envs), device),
        "sb3, our batch": lambda: peer(task, MaskedVecEnv(task.single().vectorize(envs)), device),
        "algo=maskable_ppo": lambda: maskable_ppo(task, envs, device),
        "algo=ppo": lambda: ppo(task, envs, device),
    }
    if many is not None:
        ways[f"algo=ppo, {many} envs"] = lambda: ppo(task, many, device)
    return ways


def rows(seconds: float) -> list[Row]:
    """Return the best of a few updates of each variant in turn, on one core, which is least sensitive to other load.

    Few games and a small network, so that an update takes a second or two.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    task = minesweeper("8x8x10", CNN(16, encoder=CellCodes(), value_pool="mean_max"), 128, "cpu")
    updates = {name: make() for name, make in ways_to_learn(task, 16, None, "cpu").items()}
    best = dict.fromkeys(updates, 0.0)
    for _ in range(4):
        for name, update in updates.items():
            began = time.perf_counter()
            best[name] = max(best[name], update() / (time.perf_counter() - began))
    torch.set_num_threads(threads)
    own = best.pop("algo=ppo")
    return [Row(f"PPO on Minesweeper 8x8: {name}", own, "steps/s", "sb3-contrib", best[name]) for name in best]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="minesweeper", help="minesweeper, or an option of conf/env such as deployment")
    parser.add_argument("--board", default="8x8x10", help="of minesweeper: rows x cols x mines")
    parser.add_argument("--net", default="cnn", help="an option of conf/net: cnn, residual, mlp or units")
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--steps", type=int, default=128, help="of each environment in a rollout")
    parser.add_argument("--many", type=int, default=None, help="games at once for a further row of algo=ppo")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--peak", type=float, default=989e12, help="floating point operations a second of the chip")
    parser.add_argument("--seconds", type=float, default=20, help="for each row")
    parser.add_argument("--parts", action="store_true", help="profile one more update of each row")
    args = parser.parse_args()
    device = args.device
    if args.env == "minesweeper":
        task = minesweeper(args.board, NETS[args.net], args.steps, device)
    else:
        task = configured(args.env, args.net, args.steps)
    game = f"{args.env} {args.board}" if args.env == "minesweeper" else args.env
    print(f"{game}, {args.net}, {args.envs} envs, {args.steps} steps, {EPOCHS} epochs of {MINI_BATCHES} on {device}")
    base, cost = None, flops_a_step(task)
    for name, make in ways_to_learn(task, args.envs, args.many, device).items():
        update = make()
        rate = speed(update, device, args.seconds)
        base = base or rate
        share = f"  {rate * cost / args.peak:6.2%} of the chip's peak" if device != "cpu" else ""
        print(
            f"{name:>20} {rate:>12,.0f} steps/s {rate / base:>7.1f}x {rate * cost / 1e9:>9.1f} GFLOP/s{share}",
            flush=True,
        )
        if args.parts:
            seconds = parts(update)
            for part in (*PARTS, "Python and other operations"):
                print(f"{part:>33} {seconds[part]:>7.2f} s {seconds[part] / seconds.total():>6.1%}", flush=True)


if __name__ == "__main__":
    main()
