"""Search for settings with Optuna: sample trials, run them as jobs of a Hydra launcher, record their results."""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, RangeSweep, Transformer
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from ..core.errors import UserError, require
from ..core.ranges import Count, Fraction, check
from ..core.runs import trials
from ..core.runs.run import Observer, is_training

log = logging.getLogger(__name__)

Launch = Callable[[Sequence[Sequence[str]], int], Sequence[JobReturn]]  # overrides of each job, number of the first
SPACE = "space"  # attribute of the study: the search space
EXAMPLE = "'algo.lr=tag(log, interval(1e-4, 1e-2))'"
SAMPLES = 8  # of the space, one of which must be accepted before a search starts
COUNTING = "QMCSampler"  # needs the same seed for all trials, which it counts in the study
GRID = "GridSampler"


@dataclass(frozen=True)
class Settings:
    """The values of hydra.sweeper."""

    n_trials: int
    n_jobs: int
    max_failure_rate: float
    sampler: DictConfig
    pruner: DictConfig
    params: DictConfig | None
    trial: int | None = None

    def __post_init__(self) -> None:
        for name, hint in (("n_trials", Count), ("n_jobs", Count), ("max_failure_rate", Fraction)):
            check(getattr(self, name), hint, f"hydra.sweeper.{name}")


class Search:
    """Runs the trials that are missing in the study of a sweep directory.

    A trial and its job have the same number, so that an interrupted trial is resumed in the directory of its job.
    """

    def __init__(self, directory: str, settings: Settings, launch: Launch, check: Callable[[Any], None]) -> None:
        """`check` raises an error if the configuration of a job cannot be composed."""
        self.directory, self.settings = Path(directory), settings
        self._launch, self._check = launch, check
        self._fixed: list[str] = []
        self._space: dict[str, Any] = {}
        self._study: Any = None

    def run(self, arguments: Sequence[str]) -> None:
        self._space, self._fixed = parse_space(self.settings.params, arguments)
        require(
            not str(self.settings.sampler.get("_target_")).endswith(GRID),
            "GridSampler tries every combination, as a plain sweep does without a search: -m algo.lr=0.001,0.01",
        )
        pruner = build("pruner", self.settings.pruner)
        self.directory.mkdir(parents=True, exist_ok=True)
        trials.drop_partial_line(self.directory)
        self._study = trials.open_study(self.directory, build("sampler", self.settings.sampler), pruner)
        self._require_same_space()
        orphans = [str(number) for number in self._running() if is_training(self.directory / str(number))]
        require(  # launched again, they would fail
            not orphans,
            f"jobs {', '.join(orphans)} of the search in {self.directory} still run, although the search was stopped: "
            "wait for them or stop them, then repeat the command",
        )
        self._complete_round()
        for numbers in self._interrupted():
            self._run_round(numbers)
        while (missing := self.settings.n_trials - len(self._trials())) > 0:
            self._run_round(self._sample(min(missing, self.settings.n_jobs)))
        complete = any(trial.state.name == "COMPLETE" for trial in self._trials())
        require(complete, "no job of the search was finished: see the table for the reasons")

    def _trials(self) -> list[Any]:
        """Return all trials but those whose sampling was interrupted."""
        return [trial for trial in self._study.get_trials(deepcopy=False) if self._space.keys() <= trial.params.keys()]

    def _require_same_space(self) -> None:
        """Save the search space with the study; raise `UserError` if the study or one of its trials has another one."""
        space = {name: repr(distribution) for name, distribution in self._space.items()}
        saved = self._study.user_attrs.get(SPACE)
        if saved is None:
            self._study.set_user_attr(SPACE, space)
        same = all(trial.distributions == self._space for trial in self._trials())
        require(
            saved in (None, space) and same,
            f"{self.directory} is a search of other ranges: restore them, or leave out hydra.sweep.dir for another",
        )

    def _running(self) -> list[int]:
        """Return the numbers of the trials that a killed search has left."""
        return [trial.number for trial in self._trials() if trial.state.name == "RUNNING"]

    def _complete_round(self) -> None:
        """Sample what is missing of a round that was killed while it was sampled, before results of others are known.

        A trial without all of its settings never ran; it is marked as failed, and sampled again under another number.
        """
        whole = {trial.number for trial in self._trials()}
        for trial in self._study.get_trials(deepcopy=False):
            if trial.number not in whole and trial.state.name == "RUNNING":
                self._tell(trial.number, "FAIL")
        running = self._running()
        if running and not any((self.directory / str(number)).exists() for number in running):
            self._sample(min(self.settings.n_trials - len(whole), self.settings.n_jobs - len(running)))

    def _interrupted(self) -> Iterator[list[int]]:
        """Yield the trials that a killed search has left, in rounds of consecutive numbers."""
        current: list[int] = []
        for number in self._running():
            if current and (number != current[-1] + 1 or len(current) == self.settings.n_jobs):
                yield current
                current = []
            current.append(number)
        if current:
            yield current

    def _sample(self, count: int) -> list[int]:
        """Sample new trials and return their numbers.

        The seed of each depends on the number of trials before it, so that a search that was killed samples what an
        uninterrupted one would; even if it was killed in here, unless the sampler uses trial numbers, as CMA-ES does.
        """
        config, numbers = self.settings.sampler, []
        seeded = config.get("seed") is not None and not str(config.get("_target_")).endswith(COUNTING)
        for _ in range(count):
            changes = {"seed": config.seed + len(self._trials())} if seeded else {}
            self._study.sampler = build("sampler", config, changes)
            numbers.append(self._study.ask(self._space).number)
        return numbers

    def _run_round(self, numbers: list[int]) -> None:
        params = [self._study.get_trials(deepcopy=False)[number].params for number in numbers]
        jobs = [
            [*_as_overrides(one), *self._fixed, f"hydra.sweeper.trial={number}"]
            for number, one in zip(numbers, params, strict=True)
        ]
        for number, overrides in zip(numbers, jobs, strict=True):
            try:
                self._check([overrides])
            except Exception:
                self._tell(number, "FAIL")  # otherwise the resumed search would stop here again
                raise
        returns = self._launch(jobs, numbers[0])
        for number, job in zip(numbers, returns, strict=True):
            self._record(number, job)
        states = [trial.state.name for trial in self._trials()]
        failed = [job for job in returns if job.status != JobStatus.COMPLETED]
        if failed and states.count("FAIL") / len(states) > self.settings.max_failure_rate:
            _ = failed[0].return_value  # raises its error

    def _record(self, number: int, job: JobReturn) -> None:
        """Record the result of a job: the value that it returned, or None if it was pruned."""
        if job.status != JobStatus.COMPLETED:
            self._tell(number, "FAIL")
        elif job.return_value is None:
            self._tell(number, "PRUNED")
        elif math.isfinite(value := float(job.return_value)):
            self._tell(number, "COMPLETE", value)
        else:
            log.warning("trial %d failed: its result is %s", number, value)
            self._tell(number, "FAIL")

    def _tell(self, number: int, state: str, value: float | None = None) -> None:
        from optuna.trial import TrialState

        self._study.tell(number, value, TrialState[state], skip_if_finished=True)


def sample_jobs(config: DictConfig) -> list[list[str]]:
    """Return the overrides of some jobs from the space of a search, to try before it writes anything."""
    optuna = trials.import_optuna()
    space, fixed = parse_space(config.hydra.sweeper.params, config.hydra.overrides.task)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    return [[*_as_overrides(study.ask(space).params), *fixed] for _ in range(SAMPLES)]


def parse_space(params: DictConfig | None, arguments: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the distribution of each setting with a range, and the other overrides as they were typed.

    Of several values of a setting the last is used, so that the command line overrides `params`.
    """
    trials.import_optuna()
    found: dict[str, tuple[str, Any]] = {}
    for override in OverridesParser.create().parse_overrides([*_as_overrides(params or {}), *arguments]):
        key = override.get_key_element()
        found.pop(key.lstrip("+"), None)
        value = distribution(override) if override.is_sweep_override() else str(override.input_line)
        found[key.lstrip("+")] = key, value
    space = {key: value for key, value in found.values() if not isinstance(value, str)}
    require(bool(space), f"the search has no ranges: type some, such as {EXAMPLE}")
    return space, [value for _, value in found.values() if isinstance(value, str)]


def distribution(override: Override) -> Any:
    """Return the Optuna distribution of a range: choice(...), interval(...) or range(...), both ends included."""
    from optuna.distributions import CategoricalDistribution

    value = override.value()
    try:
        if isinstance(value, IntervalSweep):
            require(value.start is not None and value.end is not None, f"{override.input_line} needs two ends")
            return _numeric(value.start, value.end, None, "log" in value.tags)
        if isinstance(value, RangeSweep) and not value.shuffle:
            require(value.stop is not None, f"{override.input_line} needs an end")
            return _numeric(value.start or 0, value.stop, value.step, "log" in value.tags)
        supported = isinstance(value, ChoiceSweep | RangeSweep)
        require(supported, f"{override.input_line} is not supported in a search: use choice, interval or range")
        return CategoricalDistribution(list(override.sweep_iterator(transformer=Transformer.encode)))
    except ValueError as error:
        raise UserError(f"{override.input_line} is not a valid range: {error}") from error


def _numeric(low: Any, high: Any, step: Any, is_log: bool) -> Any:
    from optuna.distributions import FloatDistribution, IntDistribution

    if all(isinstance(value, int) for value in (low, high, step or 1)):
        return IntDistribution(low, high, log=is_log, step=step or 1)
    return FloatDistribution(low, high, log=is_log, step=step)


def _as_overrides(settings: Mapping[Any, Any]) -> list[str]:
    """Return settings as they are typed: null, true, false."""
    return [
        f"{key}={'null' if value is None else str(value).lower() if isinstance(value, bool) else value}"
        for key, value in settings.items()
    ]


def build(name: str, config: DictConfig | None, changes: dict[str, Any] | None = None) -> Any:
    """Build the sampler or the pruner from its config."""
    require(config is not None and "_target_" in config, f"the search has no {name}: type {name}= and an option")
    try:
        return instantiate(config, **(changes or {}))
    except InstantiationException as error:
        reason = " ".join(str(error.__cause__ or error).split())
        raise UserError(f"hydra.sweeper.{name} cannot be built: {reason}") from error


def trial_observer() -> Observer | None:
    """Return the observer of this job if it is a trial of a search."""
    config = HydraConfig.get()
    number = OmegaConf.select(config.sweeper, "trial")
    if number is None:
        return None
    directory = Path(config.runtime.cwd, config.sweep.dir)
    return trials.TrialObserver(directory, number, build("pruner", config.sweeper.pruner))
