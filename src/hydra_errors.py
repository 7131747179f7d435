"""One-line messages for errors of Hydra and OmegaConf: what is wrong, what is allowed, what to type."""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException

from .core.package import install_command
from .core.runs.config_file import REPLACED, current_key

MAX_LISTED = 40
MISSING_KEY = re.compile(r"Interpolation key '(.+)' not found")
EXTRAS = f"launchers and sweepers come with extras: {install_command('sweep', 'ray', 'slurm')}"


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
            current = current_key(str(error.key), parent)
            if current != error.key:
                return f"{name} has a new name: {str(name).removesuffix(str(error.key))}{current}"
            replaced = REPLACED.get(error.parent_node.get("_target_"), {})
            if error.key in replaced:
                return f"{name} was replaced: set {replaced[error.key]}"
            if not keys and parent is not None:  # the parent is an interpolation, as env.reward is of reward
                return f"{name} is not a setting: try {parent}.{error.key}"
            return f"{name} is not a setting: {_alternatives(str(error.key), keys)}"
    text = _first_line(causes[0])
    if text.startswith("Ambiguous value"):
        return f"{text.split(chr(39))[1]} has several values: add -m to run each, or write a list as [a,b]"
    if text.startswith("Could not override") and "defaults list" in text:
        return f"{text.split(chr(39))[1]} is not a config group here: --help lists them"
    inner = _first_line(causes[-1])
    return text.removeprefix("In 'train': ") + ("" if inner in text else f": {inner}")


def _unknown_option(error: MissingConfigException) -> str:
    """Return a message for an unknown option of a config group, or an unknown --config-name."""
    name, options = str(error.missing_cfg_file), [option for option in error.options or () if option]
    group, _, option = name.rpartition("/")
    if not group:
        return _first_line(error).replace(" Check that it's in your config search path.", "")
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
