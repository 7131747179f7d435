"""Compare settings over their seeds: statistics, learning curves and a figure of finished runs."""

from pathlib import Path

from omegaconf import DictConfig

from .config.cli import hydra_command, refuse_multirun
from .core.errors import require


@hydra_command("compare", refuse_multirun)
def run(cfg: DictConfig) -> None:
    from .config import schema
    from .config.compose import validate
    from .core.files import require_writable
    from .core.runs import comparison_report
    from .core.runs.comparison import compare
    from .core.runs.console import printable

    cfg = validate(cfg, schema.Compare)
    require(len(cfg.runs) > 0, "runs=[] must name a run or a sweep: runs=[outputs/sweeps/...]")
    if cfg.output is not None:
        require_writable(Path(cfg.output) / comparison_report.TABLE)
    group = [cfg.group] if isinstance(cfg.group, str) else cfg.group
    found = compare([Path(name) for name in cfg.runs], group, cfg.metric, cfg.curve)
    comparison_report.show(found)
    if cfg.output is not None:
        comparison_report.write(found, Path(cfg.output))
        print(printable(f"tables and figure are in {cfg.output}"))


if __name__ == "__main__":
    run()
