"""One-line messages for user errors, of Hydra and OmegaConf too: what is wrong, what is allowed, what to type."""

import difflib
import functools
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException

from ..core import ranges
from ..core.errors import UserError
from ..core.package import install_command
from .resolvers import file_options

HYDRA = ("hydra.", "omegaconf.", "antlr4.")
MAX_LETTERS = 1000  # of a message
MAX_LISTED = 40
MISSING_KEY = re.compile(r"Interpolation key '(.+)' not found")
NO_OVERRIDE = re.compile(r"(?:In '(\w+/\w+)': )?Could not override '(.+?)'.*defaults list")
OUT_OF_MEMORY = re.compile("can't allocate memory|out of memory", re.IGNORECASE)  # as torch reports it
EXTRAS = f"launchers and sweepers come with extras: {install_command('sweep', 'ray', 'slurm')}"

# Our settings by the names that the source document of a game has for them.
DOCUMENT_KEYS: dict[str, str] = {}
for _path in sorted(Path(__file__).parents[1].glob("envs/*/document_keys.yaml")):
    DOCUMENT_KEYS |= yaml.safe_load(_path.read_text())


class UserExit(BaseException):
    """A user error; a `BaseException`, because Hydra catches and prints any `Exception`."""


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


def user_message(error: BaseException) -> str | None:
    """Return a one-line message for a user error or a lack of resources, or None for a bug."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__) is not None:
        causes.append(cause)
    message = next((str(cause) for cause in causes if isinstance(cause, UserError)), None)
    if message is None and isinstance(error, OSError) and error.errno is not None:
        message = f"{error.strerror}{f': {error.filename}' if error.filename else ''}"
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    # Before Hydra calls the task, only the command line can cause an error; `return_value` raises the error of a job.
    before = "_run_hydra" in names and "run_task" not in names and names[-1] != "return_value"
    if message is None and (before or "compose_config" in names or type(causes[-1]).__module__.startswith(HYDRA)):
        reason = hydra_message(causes)
        names_key = not before or isinstance(error, HydraException | OmegaConfBaseException)
        message = reason if names_key else f"{' '.join(sys.argv[1:])}: {reason}"
    if message is None and (isinstance(error, MemoryError) or OUT_OF_MEMORY.search(str(error))):
        message = "out of memory: reduce algo.num_envs (algo.batch_size for imitation) or the size of the network"
    return None if message is None else ranges.shown(message, MAX_LETTERS)


def hydra_message(causes: Sequence[BaseException]) -> str:
    """Return a message for an error and its causes, outermost first."""
    for error in causes:
        if isinstance(error, MissingConfigException):
            return _unknown_option(error)
        if isinstance(error, OverrideParseException):
            function = error.__cause__ is not None and len(lines := str(error).split("\n")) > 1
            reason = lines[1] if function else "expected key=value, with quotes around special characters"
            return f"{error.override} cannot be parsed: {reason}"
        if isinstance(error, InterpolationResolutionError) and error.full_key:
            missing = MISSING_KEY.fullmatch(_first_line(error))
            reason = f"it refers to {missing[1]}, which is not set" if missing else _first_line(error)
            return f"{error.full_key} cannot be resolved: {reason}"
        if isinstance(error, OmegaConfBaseException) and error.key is not None and hasattr(error.parent_node, "keys"):
            keys = list(error.parent_node.keys())  # beside the unknown one
            name, parent = error.full_key or error.key, error.parent_node._key()
            if error.key in keys:
                return f"{name}: {_first_line(error)}"
            ours, root = DOCUMENT_KEYS.get(str(error.key)), error.parent_node._get_root()
            if ours and OmegaConf.select(root, ours, default=keys, throw_on_resolution_failure=False) is not keys:
                return f"{name} is not a setting: type {ours}"
            if not keys and parent is not None:  # the parent is an interpolation, as env.reward is of reward
                return f"{name} is not a setting: try {parent}.{error.key}"
            return f"{name} is not a setting: {_alternatives(str(error.key), keys)}"
    text = _first_line(causes[0])
    if text.startswith("Ambiguous value"):
        return f"{text.split(chr(39))[1]} has several values: add -m to run each, or write a list as [a,b]"
    if (override := NO_OVERRIDE.match(text)) is not None:
        option, key = override.groups()
        if option is None:
            return f"{key} is not a config group here: --help lists them"
        owner = key.rpartition("@")[2].split(".")[0]
        return f"{option.replace('/', '=')} sets {key}, which is missing here: choose another {owner}"
    inner = _first_line(causes[-1])
    return text.removeprefix("In 'train': ") + ("" if inner in text else f": {inner}")


def _unknown_option(error: MissingConfigException) -> str:
    """Return a message for an unknown option of a config group, or an unknown --config-name."""
    group, _, option = str(error.missing_cfg_file).rpartition("/")
    if not group:
        return _first_line(error).replace(" Check that it's in your config search path.", "")
    options = [option for option in error.options or () if option]
    if not options:  # of a list, such as logger=[csv,nonsense]
        options = file_options(group)
    advice = f"; {EXTRAS}" if group.startswith("hydra/") else ""
    return f"{group}={option} is unknown: {_alternatives(option, options)}{advice}"


def _alternatives(name: str, names: Iterable[Any]) -> str:
    known = sorted(map(str, names))
    if not known:
        return "it has no options"
    close = difflib.get_close_matches(name, known, 1)
    listed = ", ".join(known) if len(known) <= MAX_LISTED else f"{', '.join(known[:MAX_LISTED])} ..."
    return f"did you mean {close[0]}? There are {listed}" if close else f"choose one of {listed}"


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
