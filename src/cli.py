"""Command-line handling: rewrite the arguments, report user errors in one line, show a traceback for bugs."""

import argparse
import functools
import io
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NoReturn

from hydra._internal import utils as hydra_utils
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from . import resolvers  # noqa: F401 (registers them)
from .core import ranges, ranks
from .core.errors import UserError, require
from .core.interrupt import handle_interrupts
from .core.package import command
from .core.runs.config_file import CONFIG
from .core.runs.console import printable
from .hydra_errors import hydra_message

SWEEP_DIRECTORY = "hydra.sweep.dir="  # as typed on the command line
NO_OUTPUT = ("hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=none")
MULTIRUN = {"-m", "--multirun"}
SHOW_FLAGS = {"--cfg", "-c", "--info", "-i"}  # Hydra flags that print the configuration instead of running
HYDRA = ("hydra.", "omegaconf.", "antlr4.")
MAX_LETTERS = 1000  # of a message
HYDRA_KEY = re.compile(r"[+~]*(hydra(?:\.\w+)*)(?=[.:=\[@]|$)")  # a setting of Hydra itself, not one of its groups
HYDRA_KEYS = ("hydra.searchpath", "hydra.verbose")  # that every command supports
SWEEP_KEYS = (
    "hydra.run.dir",
    "hydra.sweep.dir",
    "hydra.sweep.subdir",
    "hydra.mode",
    "hydra.sweeper.*",
    "hydra.launcher.*",
)
OUT_OF_MEMORY = re.compile("can't allocate memory|out of memory", re.IGNORECASE)  # as torch reports it
GROUP_ALIASES = {  # Hydra's names for groups that conf/ configures
    "hydra/sweeper=optuna": "hparams_search=optuna",
    "hydra/launcher=joblib": "launcher=joblib",
    "hydra/launcher=ray": "launcher=ray",
    "hydra/launcher=submitit_local": "launcher=submitit_local",
    "hydra/launcher=submitit_slurm": "launcher=slurm",
}


class UserExit(BaseException):
    """A user error; a `BaseException`, because Hydra catches and prints any `Exception`."""


def launch(main: Callable[[], object], rewrite: Callable[[list[str]], list[str]] = lambda arguments: arguments) -> None:
    """Run a Hydra entry point with the rewritten command-line arguments."""
    full_traceback = os.environ.setdefault("HYDRA_FULL_ERROR", "") == "1"
    os.environ["HYDRA_FULL_ERROR"] = "1"  # otherwise Hydra prints the traceback itself and exits
    share_config_store()
    try:
        sys.argv[1:] = rewrite(sys.argv[1:])
        flags = _check_flags(sys.argv[1:])
        require(flags.cfg or not flags.package, f"--package={flags.package} is a part of --cfg: add --cfg job")
        rerun = flags.experimental_rerun
        require(rerun is None, f"--experimental-rerun={rerun} reads a pickle, which can run code: use resume=<run dir>")
        with handle_interrupts():
            if flags.package:
                show_package(main, flags.package)
            else:
                main()
    except KeyboardInterrupt:
        sys.exit("stopped")
    except (Exception, UserExit) as error:
        message = str(error) if isinstance(error, UserExit) else user_message(error)
        if message is None or full_traceback:
            raise
        where = "error" if ranks.rank() == 0 else f"error in rank {ranks.rank()}"
        sys.exit(printable(f"{where}: {message}"))


def share_config_store() -> None:
    """Let Hydra use its store of structured configs where it copies it, for each composition and each group of --help.

    Hydra only reads it there. The copies took most of the time of --help.
    """
    ConfigStore.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined]


def exit_on_user_error(task: Callable[[DictConfig], Any]) -> Callable[[DictConfig], Any]:
    """Decorate a task below `hydra.main` to exit with a one-line message on a user error.

    Jobs of a sweep raise the original error instead, because Hydra records the result of each job.
    """

    @functools.wraps(task)
    def run_task(cfg: DictConfig) -> Any:
        try:
            return task(cfg)
        except Exception as error:
            message = user_message(error)
            if message is None or HydraConfig.get().mode == RunMode.MULTIRUN:
                raise
            raise UserExit(message) from error

    return run_task


def show_package(main: Callable[[], object], package: str) -> None:
    """Show a part of the configuration; Hydra writes a message of its own and exits if there is none."""
    output = io.StringIO()
    try:
        with redirect_stderr(output):
            main()
    except SystemExit as error:
        require(not error.code, f"--package={package}: {output.getvalue().strip()}; leave it out to show all of it")
        raise


def _check_flags(arguments: list[str]) -> argparse.Namespace:
    """Report unknown flags in one line, where Hydra's parser would also print its usage."""
    parser = hydra_utils.get_args_parser()

    def refuse(message: str) -> NoReturn:
        raise UserError(f"{message}: see --help, and write flags such as -m first")

    parser.error = refuse  # type: ignore[method-assign]
    return parser.parse_args(arguments)


def user_message(error: BaseException) -> str | None:
    """Return a one-line message for a user error or a lack of resources, or None for a bug."""
    found = list(causes(error))
    message = next((str(cause) for cause in found if isinstance(cause, UserError)), None)
    if message is None and isinstance(found[0], OSError) and found[0].errno is not None:
        message = f"{found[0].strerror}{f': {found[0].filename}' if found[0].filename else ''}"
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    # Only the command line causes errors before Hydra calls the task; the last name is that of a job's error elsewhere.
    before = "_run_hydra" in names and "run_task" not in names and names[-1] != "return_value"
    if message is None and (before or "compose_config" in names or type(found[-1]).__module__.startswith(HYDRA)):
        reason = hydra_message(found)
        names_key = not before or isinstance(found[0], HydraException | OmegaConfBaseException)
        message = reason if names_key else f"{' '.join(sys.argv[1:])}: {reason}"
    if message is None and (isinstance(found[0], MemoryError) or OUT_OF_MEMORY.search(str(found[0]))):
        message = "out of memory: reduce algo.num_envs (algo.batch_size for imitation) or the size of the network"
    return None if message is None else ranges.shown(message, MAX_LETTERS)


@contextmanager
def as_user_errors() -> Iterator[None]:
    """Raise errors of Hydra, and user errors wrapped by it, as `UserError`; other errors pass."""
    try:
        yield
    except Exception as error:
        message = user_message(error)
        if message is None:
            raise
        raise UserError(message) from error


def quote_value(text: str) -> str:
    """Quote a value for Hydra's override grammar."""
    return QuotedString(text, Quote.single).with_quotes()


def refuse_multirun(arguments: list[str]) -> list[str]:
    require(not MULTIRUN & set(arguments), "this command does not support -m: run it once for each value")
    require_hydra_keys(arguments, HYDRA_KEYS)
    return arguments


def require_hydra_keys(arguments: list[str], allowed: tuple[str, ...]) -> None:
    """Raise `UserError` for other settings of Hydra: some of them write or delete files anywhere."""
    for word in arguments:
        key = HYDRA_KEY.match(word)
        known = key is None or any(fnmatch(key[1], one) for one in allowed)
        require(known, f"{word} changes Hydra itself: of its settings you can set {', '.join(allowed)}")


def expand_opponent(arguments: list[str]) -> list[str]:
    """Expand `opponent=x` to Hydra's `agent@opponent=x`: both are options of the group `agent`."""
    refuse_multirun(arguments)
    return [f"agent@{argument}" if argument.startswith("opponent=") else argument for argument in arguments]


def refuse_show_with_multirun(arguments: list[str]) -> None:
    shows = [flag for flag in (argument.split("=")[0] for argument in arguments) if flag in SHOW_FLAGS]
    one = not shows or not MULTIRUN & set(arguments)
    require(one, f"{' '.join(shows)} shows a single run: leave out -m, and give one value for each setting")


def apply_group_aliases(arguments: list[str]) -> list[str]:
    """Replace the names of Hydra's plugins for a sweeper and for launchers by the options in conf/."""
    groups = {argument.split("=")[0] for argument in arguments}
    if "hparams_search" in groups:  # which sets the sweeper
        arguments = [argument for argument in arguments if argument != "hydra/sweeper=optuna"]
    pairs = ((argument, GROUP_ALIASES.get(argument, argument)) for argument in arguments)
    return [given if alias.split("=")[0] in groups else alias for given, alias in pairs]


def require_search(arguments: list[str]) -> None:
    """Raise `UserError` for a sampler or pruner without a search, which alone has them."""
    chosen = [word for word in arguments if word.startswith(("sampler=", "pruner="))]
    searches = any(word.startswith("hparams_search=") for word in arguments)
    require(
        searches or not chosen, f"{' '.join(chosen)} belongs to a search: add hparams_search=optuna, or leave it out"
    )


def causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


@contextmanager
def suggest_resume(directory: Path) -> Iterator[None]:
    """On Ctrl-C print the command that resumes the run; a sweep prints its own for all jobs."""
    try:
        yield
    except KeyboardInterrupt:
        if sweep_name() is None and (directory / CONFIG).exists():
            sys.exit(f"stopped: continue with {command('train')} {shlex.quote(f'resume={directory}')}")
        raise


def sweep_name() -> str | None:
    hydra_config = HydraConfig.get()
    return Path(hydra_config.sweep.dir).name if hydra_config.mode == RunMode.MULTIRUN else None


def resume_arguments(arguments: list[str]) -> list[str]:
    """Set Hydra's output directory to the run to resume, whose saved configuration is used."""
    resumed = [argument for argument in arguments if argument.lstrip("+").startswith("resume=")]
    if not resumed or resumed == ["resume=null"]:
        return arguments
    allowed = [argument for argument in arguments if argument.startswith(("logger=", "logger.", "profile="))]
    others = [argument for argument in arguments if argument not in [resumed[0], *allowed]]
    require(not others, f"resume uses the saved configuration of the run: leave out {' '.join(others)}")
    directory = resumed[0].split("=", 1)[1].strip("'\"")
    require(Path(directory, "config.yaml").is_file(), f"{directory!r} is not a run directory: it has no config.yaml")
    return [
        *allowed,
        f"resume={quote_value(directory)}",
        f"hydra.run.dir={quote_value(directory)}",
        "hydra.output_subdir=null",
    ]


def train_arguments(arguments: list[str]) -> list[str]:
    """Return the arguments for Hydra of `src.train`."""
    refuse_show_with_multirun(arguments)
    require_hydra_keys(arguments, (*SWEEP_KEYS, *HYDRA_KEYS))
    arguments = apply_group_aliases(arguments)
    require_search(arguments)
    for word in arguments:
        if word.startswith(SWEEP_DIRECTORY):
            # a slow import, which --help does not need
            from .core.runs.sweep_jobs import require_same_jobs

            require_same_jobs(word.removeprefix(SWEEP_DIRECTORY).strip("'\""), arguments)
    arguments = resume_arguments(arguments)
    # Only rank 0 has a run directory and writes to it.
    return arguments if ranks.rank() == 0 else [*(a for a in arguments if not a.startswith("hydra.")), *NO_OUTPUT]
