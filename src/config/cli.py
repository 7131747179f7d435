"""Command-line handling: rewrite the arguments, report user errors in one line, show a traceback for bugs."""

import argparse
import io
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from fnmatch import fnmatch
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import hydra
from hydra._internal import utils as hydra_utils
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.types import RunMode
from omegaconf import DictConfig

from ..core import ranks
from ..core.errors import UserError, require
from ..core.files import remove_new_directories
from ..core.interrupt import handle_interrupts
from ..core.package import command
from ..core.runs.config_file import CONFIG
from ..core.runs.console import printable
from . import CONF, resolvers
from .errors import UserExit, exit_on_user_error, user_message
from .extensions import add_config_dir

Rewrite = Callable[[list[str]], list[str]]  # of the command-line arguments
Task = Callable[[DictConfig], Any]

SWEEP_DIRECTORY = "hydra.sweep.dir="  # as typed on the command line
NO_OUTPUT = ("hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=none")
MULTIRUN = {"-m", "--multirun"}
SHOW_FLAGS = {"--cfg", "-c", "--info", "-i"}  # Hydra flags that print the configuration instead of running
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
OF_RUN = "of_run"  # option of env and reward: what a saved run was trained in
GROUP_ALIASES = {  # Hydra's names for groups that conf/ configures
    "hydra/sweeper=optuna": "hparams_search=optuna",
    "hydra/launcher=joblib": "launcher=joblib",
    "hydra/launcher=ray": "launcher=ray",
    "hydra/launcher=submitit_local": "launcher=submitit_local",
    "hydra/launcher=submitit_slurm": "launcher=slurm",
}


def hydra_command(config_name: str, rewrite: Rewrite) -> Callable[[Task], Callable[[], None]]:
    """Decorate the task of a command with a configuration in conf/; calling the result runs the command."""

    def decorate(task: Task) -> Callable[[], None]:
        main = hydra.main(version_base="1.3", config_path=str(CONF), config_name=config_name)(exit_on_user_error(task))

        @wraps(task)
        def run() -> None:
            launch(main, rewrite)

        return run

    return decorate


def launch(main: Callable[[], object], rewrite: Rewrite = lambda arguments: arguments) -> None:
    """Run an entry point with the rewritten command-line arguments; report user errors in one line."""
    full_traceback = os.environ.setdefault("HYDRA_FULL_ERROR", "") == "1"
    os.environ["HYDRA_FULL_ERROR"] = "1"  # otherwise Hydra prints the traceback itself and exits
    share_config_store()
    try:
        sys.argv[1:] = resolvers.open_parameters(rewrite(add_extensions(sys.argv[1:])))
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
    parser.error = _refuse_flag  # type: ignore[method-assign]
    return parser.parse_args(arguments)


def _refuse_flag(message: str) -> NoReturn:
    raise UserError(f"{message}: see --help, and write flags such as -m first")


def add_extensions(arguments: list[str]) -> list[str]:
    """Add the folders given by --config-dir, for worker processes and hints too; return the other arguments."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config-dir", "-cd", action="append", default=[])
    parser.add_argument("-c", dest="cfg")  # else it would be read as the beginning of -cd
    parser.error = _refuse_flag  # type: ignore[method-assign]
    found, others = parser.parse_known_args(arguments)
    for folder in found.config_dir:
        add_config_dir(folder)
    return others if found.cfg is None else [f"--cfg={found.cfg}", *others]


def group_options(group: str) -> list[str]:
    """Return the options of a config group, with those in --config-dir if Hydra runs."""
    running = GlobalHydra.instance()
    if running.is_initialized():
        return sorted(running.config_loader().get_group_options(group))
    return resolvers.file_options(group)


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
        known = key is None or word == "hydra" or any(fnmatch(key[1], one) for one in allowed)
        require(known, f"{word} changes Hydra itself: of its settings you can set {', '.join(allowed)}")


def expand_opponent(arguments: list[str]) -> list[str]:
    """Expand `opponent=x` to Hydra's `agent@opponent=x`: both are options of the group `agent`."""
    words = [f"agent@{argument}" if argument.startswith("opponent=") else argument for argument in arguments]
    return use_env_of_run(words)


def zoo_arguments(arguments: list[str]) -> list[str]:
    """Let the first two words without a key be `action` and `model`."""
    refuse_multirun(arguments)
    words = [word for word in arguments if "=" not in word and not word.startswith("-")]
    require(len(words) <= 2, f"{' '.join(words)} has too many words: type list, pull NAME or push RUN")
    values = [f"{key}={quote_value(word)}" for key, word in zip(("action", "model"), words, strict=False)]
    return [*(word for word in arguments if word not in words), *values]


def use_env_of_run(arguments: list[str]) -> list[str]:
    """Play in the environment of the run that `agent=trained` or `opponent=trained` loads, unless `env=` is given.

    Its configuration is added to Hydra's store as options of env and reward, so that their settings can be overridden.
    """
    refuse_multirun(arguments)
    given = dict(word.split("=", 1) for word in arguments if "=" in word)
    keys = {"agent": "agent.run", "agent@opponent": "opponent.run"}
    trained = [key for group, key in keys.items() if given.get(group) == "trained" and key in given]
    if "env" in given or not trained:
        return arguments
    from ..core.runs.zoo import find_run  # slow imports
    from .load import load_config

    run = find_run(given[trained[0]].strip("'\""))
    if not (run / CONFIG).is_file():
        return arguments
    saved, words = load_config(run), []
    require("env" in saved, f"{run} is not a run of training: its config.yaml has no env")
    names = saved.get("composition", {})
    for group in ("reward", "env"):
        if group in saved and group not in given:
            node = saved[group]
            if group == "env" and "reward" in saved and node.get("reward") == saved.reward:
                node.reward = "${reward}"
            ConfigStore.instance().store(group=group, name=OF_RUN, node=node)
            words += [f"{group}={OF_RUN}", f"++composition.{group}={quote_value(str(names.get(group, OF_RUN)))}"]
    return [*arguments, *words]


def apply_group_aliases(arguments: list[str]) -> list[str]:
    """Replace the names of Hydra's plugins for a sweeper and for launchers by the options in conf/."""
    groups = {argument.split("=")[0] for argument in arguments}
    if "hparams_search" in groups:  # which sets the sweeper
        arguments = [argument for argument in arguments if argument != "hydra/sweeper=optuna"]
    pairs = ((argument, GROUP_ALIASES.get(argument, argument)) for argument in arguments)
    return [given if alias.split("=")[0] in groups else alias for given, alias in pairs]


@contextmanager
def suggest_resume(directory: Path) -> Iterator[None]:
    """On Ctrl-C print the command that resumes the run; a sweep prints its own for all jobs."""
    try:
        yield
    except KeyboardInterrupt:
        if sweep_name() is None and (directory / CONFIG).exists():
            sys.exit(f"stopped: continue with {command('train', f'resume={directory}')}")
        raise


@contextmanager
def discard_outputs_on_error(directory: Path) -> Iterator[None]:
    """On an error before the run has started, delete what Hydra has written and the directories created for it.

    A run that has saved its configuration can be resumed, so it is kept. So are the jobs of a sweep, with the error.
    """
    try:
        yield
    except BaseException:  # also Ctrl-C
        hydra_config = HydraConfig.get()
        refused = hydra_config.mode != RunMode.MULTIRUN and not (directory / CONFIG).exists()
        if refused and hydra_config.output_subdir is not None:
            shutil.rmtree(directory / hydra_config.output_subdir)
            remove_new_directories()
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
    shows = [flag for flag in (argument.split("=")[0] for argument in arguments) if flag in SHOW_FLAGS]
    require(
        not shows or not MULTIRUN & set(arguments),
        f"{' '.join(shows)} shows a single run: leave out -m, and give one value for each setting",
    )
    require_hydra_keys(arguments, (*SWEEP_KEYS, *HYDRA_KEYS))
    arguments = resolvers.defer_tuned(apply_group_aliases(arguments))
    chosen = [word for word in arguments if word.startswith(("sampler=", "pruner="))]
    require(
        not chosen or any(word.startswith("hparams_search=") for word in arguments),
        f"{' '.join(chosen)} belongs to a search: add hparams_search=optuna, or leave it out",
    )
    for word in arguments:
        if word.startswith(SWEEP_DIRECTORY):
            from ..core.runs.sweep_jobs import require_same_jobs  # a slow import, which --help does not need

            require_same_jobs(word.removeprefix(SWEEP_DIRECTORY).strip("'\""), arguments)
    arguments = resume_arguments(arguments)
    # Only rank 0 has a run directory and writes to it.
    return arguments if ranks.rank() == 0 else [*(a for a in arguments if not a.startswith("hydra.")), *NO_OUTPUT]
