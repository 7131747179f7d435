"""Compare settings over their seeds: which runs belong to which setting, and the statistics of each.

A setting is the values of some keys, such as `algo.lr`; runs that differ in others, such as the seed, repeat it. If
there are several environments, each setting has runs in all of them, and its scores are aggregated over them.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UserError, require
from ..files import require_closed
from . import statistics
from .config_file import CONFIG, OVERRIDES, read_config
from .metrics import CURVES
from .runlog import LoggedMetrics
from .sweep_jobs import FINISHED, final_metric, short_names, status_of

CHOICES = ("algo", "reward", "curriculum", "experiment", "tuned", "device")  # names of options, before their values
NO_SETTING = (  # what makes no setting: names, and what does not change results
    *("seed", "resume", "logger", "profile", "checkpoint_seconds", "optimized_metric", "composition", "algo.compute"),
)
MISSING = "-"

LearningCurve = tuple[np.ndarray, np.ndarray]  # steps in ascending order, and values
Band = tuple[np.ndarray, np.ndarray, np.ndarray]  # steps, the IQM at each, and its 95% interval (2, steps)


@dataclass(frozen=True)
class FinishedRun:
    directory: Path
    config: Mapping[str, Any]
    score: float
    curve: LearningCurve | None

    @property
    def env(self) -> str:
        return value_of(self.config, "env")

    @property
    def seed(self) -> int:
        return int(self.config["seed"])


@dataclass(frozen=True)
class Setting:
    values: Mapping[str, str]  # by key of the group
    runs: Mapping[str, list[FinishedRun]]  # by environment

    @property
    def label(self) -> str:
        names = short_names(list(self.values))
        words = [
            one if key in CHOICES else f"{name}={one}"
            for name, (key, one) in zip(names, self.values.items(), strict=True)
        ]
        return ", ".join(words) or "all runs"

    @property
    def seeds(self) -> int:
        return min(len(runs) for runs in self.runs.values())

    @property
    def scores(self) -> list[np.ndarray]:
        return [np.array([run.score for run in runs]) for runs in self.runs.values()]

    @cached_property
    def mean(self) -> float:
        return float(statistics.mean(self.scores))

    @cached_property
    def iqm(self) -> float:
        return float(statistics.iqm(self.scores))

    @cached_property
    def mean_interval(self) -> tuple[float, float] | None:
        """The 95% interval of the mean; None with a single seed."""
        return self._interval(statistics.mean)

    @cached_property
    def iqm_interval(self) -> tuple[float, float] | None:
        """The 95% interval of the IQM; None with a single seed."""
        return self._interval(statistics.iqm)

    def _interval(self, statistic: statistics.Statistic) -> tuple[float, float] | None:
        if self.seeds == 1:
            return None
        low, high = statistics.interval(self.scores, statistic)
        return float(low), float(high)

    def curve(self, env: str) -> Band | None:
        """Return the IQM over the runs at each step; None without curves. Slow with many points."""
        found = [run.curve for run in self.runs.get(env, ()) if run.curve is not None]
        if not found:
            return None
        steps, values = statistics.align(found)
        if not len(steps):
            return None
        band = statistics.interval([values], statistics.iqm, statistics.CURVE_SAMPLES)
        return steps, statistics.iqm([values]), band


@dataclass(frozen=True)
class Improvement:
    """The probability that a run of a setting scores higher than one of another."""

    probability: float
    interval: tuple[float, float] | None  # 95%; None if one of them has a single seed


@dataclass(frozen=True)
class Comparison:
    metric: str  # of the final evaluation
    curve_metric: str
    group: list[str]  # the keys that make a setting
    settings: list[Setting]
    left_out: dict[Path, str] = field(default_factory=dict)  # the runs that are not compared, and why

    @property
    def envs(self) -> list[str]:
        return list(dict.fromkeys(env for setting in self.settings for env in setting.runs))

    @cached_property
    def improvements(self) -> dict[tuple[int, int], Improvement]:
        """Each pair of settings with the same environments, by their numbers."""
        found = {}
        for one, setting in enumerate(self.settings):
            for other, rival in enumerate(self.settings):
                if one != other and list(setting.runs) == list(rival.runs):
                    pair = setting.scores, rival.scores
                    alone = setting.seeds == 1 or rival.seeds == 1
                    interval = None if alone else statistics.improvement_interval(*pair)
                    found[one, other] = Improvement(statistics.improvement(*pair), interval)
        return found


def compare(
    runs: Sequence[Path], group: Sequence[str] | None = None, metric: str | None = None, curve: str | None = None
) -> Comparison:
    """Compare runs, and the runs in sweep directories or other folders, of which those not finished are left out.

    `group` are the keys that make a setting, by default those in which the runs differ other than the seed. `metric` is
    by default the one that the first run optimizes, and `curve` the same in evaluations during training, or, if that is
    not logged, the one that selects checkpoints.
    """
    left_out: dict[Path, str] = {}
    configs: dict[Path, dict[str, Any]] = {}
    for directory in find_runs(runs):
        if (status := status_of(directory)) == FINISHED:
            configs[directory] = read_config(directory)
        else:
            left_out[directory] = status
    require(bool(configs), f"there is no finished run to compare in {', '.join(map(str, runs))}")
    metric = metric or str(next(iter(configs.values())).get("optimized_metric") or "final/win_rate")
    candidates = [metric.replace("final/", "eval/", 1), *CURVES] if curve is None else [curve]
    curves: dict[Path, dict[str, LearningCurve]] = {}  # of the candidates that a run has logged
    finished = []
    for directory, config in configs.items():
        try:
            log = LoggedMetrics(directory)
            curves[directory] = {name: found for name in candidates if (found := _curve(log, name)) is not None}
            finished.append(_finished_run(log, config, metric))
        except UserError as error:
            left_out[directory] = str(error)
    require(bool(finished), f"no run has {metric}: choose another metric, such as metric=final/win_rate")
    logged = (name for name in candidates if any(name in found for found in curves.values()))
    curve = next(logged, candidates[-1])
    finished = [replace(run, curve=curves[run.directory].get(curve)) for run in finished]
    finished = _without_repeated(finished, left_out)
    keys = differing_keys([run.config for run in finished]) if group is None else list(group)
    _require_known(keys, finished)
    settings: dict[tuple[str, ...], dict[str, list[FinishedRun]]] = {}
    for run in finished:
        values = tuple(value_of(run.config, key) for key in keys)
        settings.setdefault(values, {}).setdefault(run.env, []).append(run)
    if "env" not in keys:
        _keep_common_envs(settings, keys, left_out)
    return Comparison(
        metric.replace("eval/", "final/", 1),
        curve,
        keys,
        [Setting(dict(zip(keys, values, strict=True)), members) for values, members in settings.items()],
        left_out,
    )


def find_runs(folders: Sequence[Path]) -> list[Path]:
    """Return the run directories among these folders and below them, each once, in the order of their numbers."""
    found: dict[Path, Path] = {}
    for folder in folders:
        require(folder.is_dir(), f"{folder} is not a directory of runs")
        require_closed(folder)
        jobs = {path.parent.parent for path in folder.rglob(OVERRIDES)}  # some failed before they began
        configs = (path.parent for path in folder.rglob(CONFIG))  # wandb and Hydra have one of this name, too
        below = jobs | {path for path in configs if {".hydra", "wandb"}.isdisjoint(path.relative_to(folder).parts)}
        require(bool(below), f"{folder} has no runs: it is neither a run directory nor a sweep")
        for directory in sorted(below, key=lambda path: [(len(part), part) for part in path.parts]):
            found.setdefault(directory.resolve(), directory)
    return list(found.values())


def _finished_run(log: LoggedMetrics, config: dict[str, Any], metric: str) -> FinishedRun:
    """Return the run of a log, without a curve; raise `UserError` if it does not have the metric."""
    directory, score = log.path.parent, final_metric(log, metric)
    require(math.isfinite(score), f"{metric}={score} is not a number that can be compared")
    seed = config.get("seed")
    require(isinstance(seed, int), f"{directory / CONFIG}: seed={seed} must be a whole number")
    return FinishedRun(directory, config, score, None)


def _curve(log: LoggedMetrics, name: str) -> LearningCurve | None:
    steps, values = log.column(name)
    last = dict(zip(steps, values, strict=True))  # a resumed run or a final evaluation may log a step again
    pairs = sorted((step, value) for step, value in last.items() if math.isfinite(value))
    return (np.array(pairs)[:, 0], np.array(pairs)[:, 1]) if pairs else None


def value_of(config: Mapping[str, Any], key: str) -> str:
    """Return the name of the option of a config group, the value at a key, or what an override has set, as text."""
    names = config.get("composition") or {}
    if key in names and key not in ("overrides", "sweep"):
        return _text(names[key])
    node: Any = config
    for part in key.split("."):
        node = node.get(part, MISSING) if isinstance(node, Mapping) else MISSING
    return _overrides(config).get(key, MISSING) if node is MISSING or isinstance(node, Mapping) else _text(node)


def _overrides(config: Mapping[str, Any]) -> dict[str, str]:
    words = (config.get("composition") or {}).get("overrides") or ()
    return {key: value for key, _, value in (str(word).lstrip("+~").partition("=") for word in words)}


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else json.dumps(value)


def _settings(node: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every key of a configuration that makes a setting, with its value."""
    if path in NO_SETTING:
        return
    if isinstance(node, Mapping) and node:
        for key, child in node.items():
            yield from _settings(child, f"{path}.{key}" if path else str(key))
    else:
        yield path, _text(node)


def differing_keys(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a few keys that tell these configurations apart, other than seed and env.

    Options and what was typed come first; a key other than algo is left out if those before it, and env, tell as much:
    `reward.gamma` follows `algo.gamma`, and `algo=dqn` brings keys of its own.
    """
    whole = [dict(_settings(config)) for config in configs]
    same = [frozenset(settings.items()) for settings in whole]
    typed = [key for config in configs for key in _overrides(config)]
    candidates = [*CHOICES, *typed, *(key for settings in whole for key in settings)]
    chosen: list[str] = []
    parts: list[Any] = [value_of(config, "env") for config in configs]
    for key in dict.fromkeys(candidates):
        values = [value_of(config, key) for config in configs]
        finer = list(zip(parts, values, strict=True))
        tells_more = len(set(values)) > 1 if key == "algo" else len(set(finer)) > len(set(parts))
        only_names = len(set(zip(same, values, strict=True))) > len(set(same))  # of equal values
        if tells_more and not only_names and key not in NO_SETTING:
            chosen.append(key)
            parts = finer
    return chosen


def _require_known(keys: Sequence[str], runs: Sequence[FinishedRun]) -> None:
    for key in keys:
        if all(value_of(run.config, key) == MISSING for run in runs):
            differing = ", ".join(differing_keys([run.config for run in runs])) or "none but the seed"
            raise UserError(f"group={key} is not a setting of these runs: they differ in {differing}")


def _without_repeated(runs: Sequence[FinishedRun], left_out: dict[Path, str]) -> list[FinishedRun]:
    """Leave out runs with the settings and the seed of another: they are not independent samples."""
    found: dict[Any, FinishedRun] = {}
    for run in runs:
        first = found.setdefault((frozenset(_settings(run.config)), run.env, run.seed), run)
        if first is not run:
            left_out[run.directory] = f"it repeats {first.directory}, with the same settings and seed={run.seed}"
    return list(found.values())


def _keep_common_envs(
    settings: dict[tuple[str, ...], dict[str, list[FinishedRun]]], keys: Sequence[str], left_out: dict[Path, str]
) -> None:
    """Leave out the runs in environments in which a setting has none: scores are aggregated over the same ones."""
    envs = dict.fromkeys(env for members in settings.values() for env in members)
    common = [env for env in envs if all(env in members for members in settings.values())]
    require(
        bool(common),
        f"no environment has runs of every setting ({', '.join(keys)}), but only some of {', '.join(envs)}: "
        f"choose runs in the same ones, or group=[{','.join(['env', *keys])}]",
    )
    for values, members in settings.items():
        for env in [env for env in members if env not in common]:
            for run in members.pop(env):
                left_out[run.directory] = f"env={env} has no runs of another setting to compare it with"
        settings[values] = {env: members[env] for env in common}
