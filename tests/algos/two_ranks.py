"""The script of test_ppo_ranks.py that torchrun starts for each of two ranks."""

import json
import sys
from pathlib import Path
from typing import Any

import torch

from src.algos.ppo import RolloutBatch, normalized, ppo_losses
from src.core import ranks
from src.core.play.agent import RandomAgent
from src.core.play.arena import Score, evaluate
from src.core.play.curriculum import Mixture
from src.core.runs import checkpoint
from src.core.runs.run import Run, WorkerRun
from src.nets.boards import CNN
from src.nets.flat import MLP
from tests.algos.making import CPU, WEIGHTS, minesweeper, no_curriculum, ppo
from tests.algos.test_ppo import optimizer_of
from tests.envs.deployment.making import bot, make_env

SIZE, CELLS = 24, 16
CONFIG = {"seed": 0, "checkpoint_seconds": 0}


def joined_batch() -> RolloutBatch:
    """Return a batch whose halves differ in means, deviations, and numbers of hidden cells and choices."""
    random = torch.Generator().manual_seed(3)
    second_half = torch.arange(SIZE) >= SIZE // 2
    masks = torch.rand(SIZE, CELLS, generator=random) < torch.where(second_half, 0.9, 0.3)[:, None]
    masks[:, 0] = True
    return RolloutBatch(
        observations=torch.randint(-1, 9, (SIZE, 1, 4, 4), generator=random).to(torch.int8),
        masks=masks,
        actions=torch.zeros(SIZE, dtype=torch.int64),
        log_probs=-torch.rand(SIZE, generator=random) - 1,
        values=torch.randn(SIZE, generator=random),
        advantages=torch.randn(SIZE, generator=random) * torch.where(second_half, 5.0, 1.0) + 3 * second_half,
        returns=torch.randn(SIZE, generator=random),
        aux_targets=torch.where(
            masks.view(-1, 4, 4), (torch.rand(SIZE, 4, 4, generator=random) < 0.2).to(torch.int8), -1
        ),
        chosen=torch.rand(SIZE, generator=random) < torch.where(second_half, 0.9, 0.3),
        aux_logits=torch.zeros(SIZE, 0),
    )


def learned_from(batch: RolloutBatch) -> dict[str, dict[str, torch.Tensor]]:
    """Return the weights after three updates, and the clipped gradients of the last."""
    torch.manual_seed(0)
    net = CNN(8, value_pool="mean_max").build((1, 4, 4), CELLS, aux=True)
    optimizer = optimizer_of(net, weight_decay=0.01, max_grad_norm=0.5)
    for _ in range(3):
        optimizer.step(ppo_losses(net, normalized(batch), WEIGHTS, CPU)["loss"])
    gradients = {name: weight.grad for name, weight in net.named_parameters() if weight.grad is not None}
    return {"weights": dict(net.state_dict()), "gradients": gradients}


def played() -> Score:
    return evaluate(minesweeper().game, RandomAgent(), None, 21, seed=5)


def fit(folder: Path, saves: int | None = None) -> None:
    """Train one run of both ranks; both stop right after the `saves`th save."""
    folder.mkdir(exist_ok=True)
    with (WorkerRun if ranks.rank() > 0 else Run)(folder, CONFIG, None) as run:
        due, done = run.save_when_due, 0

        def save_and_stop(learner: Any) -> None:
            nonlocal done
            due(learner)
            done += 1
            if done == saves:
                raise KeyboardInterrupt

        run.save_when_due = save_and_stop  # type: ignore[method-assign]
        ppo(total_steps=320).fit(minesweeper(), no_curriculum(), run)


def fit_wargame(folder: Path) -> None:
    """Train against two opponents with so few games that some rollouts finish none."""
    folder.mkdir(exist_ok=True)
    algo = ppo(net=MLP([8]), num_envs=4, steps_per_env=8, total_steps=320, eval_every=32, eval_episodes=2)
    others = Mixture({"other": make_env(opponent=bot(0.5))})
    with (WorkerRun if ranks.rank() > 0 else Run)(folder, CONFIG, None) as run:
        algo.fit(make_env(), others, run)


def main(folder: Path) -> None:
    part = slice(ranks.rank() * SIZE // 2, (ranks.rank() + 1) * SIZE // 2)
    learned = learned_from(RolloutBatch(*(field[part] for field in joined_batch())))
    score = played()
    report = {"outcomes": score.outcomes, "metrics": score.metrics, "first": ranks.broadcast(f"from {ranks.rank()}")}
    checkpoint.save(folder / f"learned{ranks.rank()}.safetensors", learned)
    (folder / f"report{ranks.rank()}.json").write_text(json.dumps(report))
    fit_wargame(folder / "wargame")
    fit(folder / "whole")
    try:
        fit(folder / "killed", saves=3)
    except KeyboardInterrupt:
        fit(folder / "killed")


if __name__ == "__main__":
    with ranks.joined():
        main(Path(sys.argv[1]))
