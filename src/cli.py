"""The outermost layer of a command: mistakes become a sentence, bugs keep their traceback."""

import functools
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from hydra._internal import utils as hydra_utils
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from src.core import ranks
from src.core.errors import UserError, require
from src.core.files import require_no_links
from src.core.runs.config_file import CONFIG
from src.hydra_errors import hydra_message

SWEEP_DIRECTORY = "hydra.sweep.dir="  # as the command line has it
NOTHING_WRITTEN = ("hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=none")
MULTIRUN = {"-m", "--multirun"}
SHOWS = {"--cfg", "-c", "--info", "-i"}  # flags by which Hydra tells what would run
NO_MEMORY = re.compile("can't allocate memory|out of memory", re.IGNORECASE)  # as torch reports it
OWN_GROUPS = {  # Hydra's words for what conf/ sets up with values of its own
    "hydra/sweeper=optuna": "hparams_search=optuna",
    "hydra/launcher=joblib": "launcher=joblib",
    "hydra/launcher=ray": "launcher=ray",
    "hydra/launcher=submitit_local": "launcher=submitit_local",
    "hydra/launcher=submitit_slurm": "launcher=slurm",
}


class Refused(BaseException):
    """Passes through Hydra, which reports an `Exception` in its own way."""


def launch(main: Callable[[], object], rewrite: Callable[[list[str]], list[str]] = lambda arguments: arguments) -> None:
    """Run a Hydra entry point over the rewritten command line."""
    wants_traceback = os.environ.setdefault("HYDRA_FULL_ERROR", "") == "1"
    os.environ["HYDRA_FULL_ERROR"] = "1"  # else Hydra prints the traceback itself and exits
    try:
        sys.argv[1:] = rewrite(sys.argv[1:])
        _check_flags(sys.argv[1:])
        main()
    except KeyboardInterrupt:
        sys.exit("stopped")
    except (Exception, Refused) as error:
        sentence = str(error) if isinstance(error, Refused) else user_message(error)
        if sentence is None or wants_traceback:
            raise
        sys.exit(f"error: {sentence}" if ranks.rank() == 0 else f"error in rank {ranks.rank()}: {sentence}")


def in_one_sentence(task: Callable[[DictConfig], Any]) -> Callable[[DictConfig], Any]:
    """Exit with the sentence for a mistake, below `hydra.main`, which would print lines of its own before it.

    The jobs of a sweep raise it: Hydra collects what became of each.
    """

    @functools.wraps(task)
    def wrapper(cfg: DictConfig) -> Any:
        try:
            return task(cfg)
        except Exception as error:
            sentence = user_message(error)
            if sentence is None or HydraConfig.get().mode == RunMode.MULTIRUN:
                raise
            raise Refused(sentence) from error

    return wrapper


def _check_flags(arguments: list[str]) -> None:
    """Let the parser of Hydra refuse unknown flags in one sentence, where it would print its usage as well."""
    parser = hydra_utils.get_args_parser()

    def refuse(message: str) -> NoReturn:
        raise UserError(f"{message}: --help shows what there is")

    parser.error = refuse  # type: ignore[method-assign]
    parser.parse_args(arguments)


def user_message(error: BaseException) -> str | None:
    """What the user got wrong or the machine lacks, in one sentence, or None where the error is a bug of ours."""
    found = list(causes(error))
    message = next((str(cause) for cause in found if isinstance(cause, UserError)), None)
    if message is None and type(found[-1]).__module__.startswith(("hydra.", "omegaconf.", "antlr4.")):
        message = hydra_message(found)
    if message is None and _in_composition(error):
        message = f"{' '.join(sys.argv[1:])} cannot be composed: {error}"
    if message is None and "No trials are completed yet" in str(found[0]):  # as Optuna has it
        message = "every job of the search failed: the table tells why"
    if message is None and isinstance(found[0], OSError) and found[0].errno is not None:
        message = f"{found[0].strerror}{f': {found[0].filename}' if found[0].filename else ''}"
    if message is None and (isinstance(found[0], MemoryError) or NO_MEMORY.search(str(found[0]))):
        message = "not enough memory: choose smaller sizes, such as algo.num_envs or the network's"
    return None if message is None else " ".join(message.split())


def _in_composition(error: BaseException) -> bool:
    """Whether it was raised by Hydra itself while it read the command line, in whatever way."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename).parent == Path(hydra_utils.__file__).parent


def quoted(text: str) -> str:
    """A value as Hydra's command line takes it, whatever is in it."""
    return "'" + text.replace("'", "\\'") + "'"


def refuse_multirun(arguments: list[str]) -> list[str]:
    require(
        not MULTIRUN & set(arguments), "this command does one thing at a time: leave out -m and call it once for each"
    )
    return arguments


def refuse_showing_many(arguments: list[str]) -> None:
    shows = [flag for flag in (argument.split("=")[0] for argument in arguments) if flag in SHOWS]
    one = not shows or not MULTIRUN & set(arguments)
    require(one, f"{' '.join(shows)} tells of one run: leave out -m, and give one value where several are tried")


def use_own_groups(arguments: list[str]) -> list[str]:
    """Hydra's own sweeper would minimise and its launchers know nothing of our jobs, so both spellings mean ours."""
    groups = {argument.split("=")[0] for argument in arguments}
    meant = ((argument, OWN_GROUPS.get(argument, argument)) for argument in arguments)
    return [given if ours.split("=")[0] in groups else ours for given, ours in meant]


def causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


@contextmanager
def stop_with_advice(directory: Path) -> Iterator[None]:
    """On Ctrl-C say how to go on with the run, once it has begun; a sweep says it for all its jobs."""
    try:
        yield
    except KeyboardInterrupt:
        if sweep_name() is None and (directory / CONFIG).exists():
            sys.exit(f"stopped: go on with python -m src.train {shlex.quote(f'resume={directory}')}")
        raise


def sweep_name() -> str | None:
    hydra_config = HydraConfig.get()
    return Path(hydra_config.sweep.dir).name if hydra_config.mode == RunMode.MULTIRUN else None


def continue_run(arguments: list[str]) -> list[str]:
    """Point Hydra at the directory of the run to resume, which brings its own configuration along."""
    resumed = [argument for argument in arguments if argument.lstrip("+").startswith("resume=")]
    if not resumed or resumed == ["resume=null"]:
        return arguments
    loggers = [argument for argument in arguments if argument.startswith(("logger=", "logger."))]
    others = [argument for argument in arguments if argument not in [resumed[0], *loggers]]
    require(not others, f"resume goes on with one run just as it was composed: leave out {' '.join(others)}")
    directory = resumed[0].split("=", 1)[1].strip("'\"")
    require(Path(directory, "config.yaml").is_file(), f"{directory!r} is not a run directory: it has no config.yaml")
    require_no_links(Path(directory), (".lock", "metrics.csv", "train.log"))
    return [*loggers, f"resume={quoted(directory)}", f"hydra.run.dir={quoted(directory)}", "hydra.output_subdir=null"]


def arrange(arguments: list[str]) -> list[str]:
    """What Hydra is given for a training. Of several ranks only the first has a directory of its own."""
    refuse_showing_many(arguments)
    arguments = use_own_groups(arguments)
    for word in arguments:
        if word.startswith(SWEEP_DIRECTORY):
            from src.core.runs.sweep import (
                require_same_jobs,  # here, so that --help answers without what it brings along
            )

            require_same_jobs(word.removeprefix(SWEEP_DIRECTORY).strip("'\""), arguments)
    arguments = continue_run(arguments)
    # The other ranks write nothing.
    return arguments if ranks.rank() == 0 else [*(a for a in arguments if not a.startswith("hydra.")), *NOTHING_WRITTEN]
