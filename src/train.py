"""Learn: compose, check, fit, evaluate, return the metric."""

import logging
import os
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from src.core.cli import launch
from src.core.errors import require

log = logging.getLogger(__name__)


@hydra.main(version_base="1.3", config_path="../conf", config_name="train")
def main(cfg: DictConfig) -> float:
    # Imported here, so that --help answers without them.
    from src import compose
    from src.core import report
    from src.core.run import Run

    directory = Path(os.path.relpath(HydraConfig.get().runtime.output_dir))
    with compose.discard_if_refused(directory):
        if cfg.resume is not None:
            cfg = compose.load_config(directory)
        cfg.composition.sweep = cfg.composition.sweep or sweep_name()
        compose.refuse_missing_keys(cfg)
        require(cfg.seed >= 0, f"seed={cfg.seed}: a seed is a whole number from 0 upwards")
        require(cfg.evaluation.episodes >= 1, "evaluation.episodes: a score needs at least one game")
        env = compose.build(cfg.env)
        compose.require_algorithm_fits(cfg, env.game)
        report.require_measured(cfg.optimized_metric, env)
        algo, curriculum, tracker = (compose.build(node) for node in (cfg.algo, cfg.curriculum, cfg.logger.tracker))

    with Run(directory, compose.resolved(cfg), tracker) as run:
        log.info("training in %s", directory)
        agent = algo.fit(env, curriculum, run)
        scores = report.score_against_baselines(env, agent, cfg.evaluation.episodes, cfg.seed)
        metrics = report.score_metrics(scores)
        run.finish(metrics, report.scores_as_dict(env.game, agent, scores))
    report.show(f"{cfg.composition.algo} on {cfg.composition.env}", env.game, agent, scores)
    log.info("everything is in %s", directory)
    return metrics[cfg.optimized_metric]


def sweep_name() -> str | None:
    hydra_config = HydraConfig.get()
    return Path(hydra_config.sweep.dir).name if hydra_config.mode == RunMode.MULTIRUN else None


def continue_run(arguments: list[str]) -> list[str]:
    """Point Hydra at the directory of the run to resume, which brings its own configuration along."""
    resumed = [argument for argument in arguments if argument.startswith("resume=") and argument != "resume=null"]
    if not resumed:
        return arguments
    others = [argument for argument in arguments if argument not in resumed]
    require(not others, f"resume goes on with a run just as it was composed: leave out {' '.join(others)}")
    directory = resumed[0].removeprefix("resume=").strip("'\"")
    require(Path(directory, "config.yaml").is_file(), f"{directory} is not a run directory: it has no config.yaml")
    return [f"resume='{directory}'", f"hydra.run.dir='{directory}'", "hydra.output_subdir=null"]


if __name__ == "__main__":
    launch(main, continue_run)
