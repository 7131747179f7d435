"""Train: compose, check, fit, evaluate, return the optimized metric."""

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from .config.cli import discard_outputs_on_error, hydra_command, suggest_resume, sweep_name, train_arguments
from .core import ranks

if TYPE_CHECKING:
    from .core.runs.run import Observer

log = logging.getLogger(__name__)


def train(cfg: DictConfig, directory: Path, on_evaluation: "Observer | None" = None) -> dict[str, float]:
    """Train in `directory`, or resume the run there, and return the metrics of the final evaluation.

    Invalid settings raise `UserError` before anything is written. `on_evaluation` may end the run by raising `Pruned`.
    """
    from .config import compose  # slow imports, which --help does not need
    from .core.runs import report
    from .core.runs.run import Run, WorkerRun

    env, algo, curriculum, tracker = compose.prepare(cfg, directory)
    compose.warn_on_device_mismatch(cfg.composition.get("device", "auto"), algo)
    with (WorkerRun if ranks.rank() > 0 else Run)(directory, compose.resolved(cfg), tracker, on_evaluation) as run:
        log.info("training in %s", directory)
        agent = algo.fit(env, curriculum, run)
        scores = report.score_against_baselines(env, agent, cfg.seed, **cfg.evaluation)
        metrics, lines = report.score_metrics(scores, env.game.players), report.every_reply(env.game, agent)
        run.finish(metrics, report.scores_as_dict(env.game, scores, lines))
    if ranks.rank() == 0:
        report.show(f"{cfg.composition.algo} on {cfg.composition.env}", env.game, scores, lines)
    log.info("results are in %s", directory)
    return metrics


@hydra_command("train", train_arguments)
def main(cfg: DictConfig) -> float | None:
    """Return the optimized metric, or None if a search has stopped the run early."""
    from .config import compose, schema
    from .config.hparams_search import trial_observer
    from .config.load import load_config
    from .core.runs.run import PRUNED, Pruned, is_finished
    from .core.runs.runlog import LoggedMetrics
    from .core.runs.sweep_jobs import final_metric

    directory, sweep = Path(os.path.relpath(cfg.resume or HydraConfig.get().runtime.output_dir)), sweep_name()
    with discard_outputs_on_error(directory), suggest_resume(directory):
        if cfg.resume is not None:  # these may change; everything else comes from the saved run
            cfg = DictConfig({**load_config(directory), "logger": cfg.logger, "profile": cfg.profile})
        cfg = compose.validate(cfg, schema.Train)
        cfg.composition.sweep = cfg.composition.get("sweep") or sweep
        cfg.composition.overrides = cfg.composition.get("overrides") or compose.task_overrides()
        if sweep is not None and is_finished(directory, compose.resolved(cfg)):
            log.info("%s is already finished", directory)
            return final_metric(LoggedMetrics(directory), cfg.optimized_metric)
        if sweep is not None and (directory / PRUNED).exists():
            log.info("%s is already pruned", directory)
            return None
        try:
            return train(cfg, directory, trial_observer())[cfg.optimized_metric]
        except Pruned as reason:
            log.info("pruned: %s", reason)
            return None


def run() -> None:
    with ranks.joined():
        main()


if __name__ == "__main__":
    run()
