"""Build the object of a config node, after checking every value below it against the signatures of the classes."""

import contextlib
import inspect
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hydra.utils import instantiate
from omegaconf import DictConfig, ListConfig, OmegaConf

from ..core import ranges
from ..core.errors import UserError, require
from ..core.package import CHECKOUT, ROOT, config_dirs, install_command, locate, rename_targets
from ..core.play.agent import Agent
from ..core.play.curriculum import Curriculum
from ..core.play.game import Game
from ..core.runs.run import Algorithm, Environment
from ..core.runs.trackers import Tracker
from . import CONF

EXTRAS = {  # of optional packages, by the name that is imported
    **dict.fromkeys(("torch", "sb3_contrib", "stable_baselines3", "wandb"), "train"),
    **{"pyspiel": "openspiel", "pgx": "pgx", "jax": "pgx"},
}
ROLES: dict[str, type] = {  # what a configuration builds, by its key
    "env": Environment,
    "env.game": Game,
    "algo": Algorithm,
    "agent": Agent,
    "opponent": Agent,
    "curriculum": Curriculum,
    "logger.trackers.*": Tracker,
}


class WrongClassError(UserError):
    """The object at `path` of a configuration is of a class that is not accepted there."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message)
        self.path = path


def build(node: Any, path: str) -> Any:
    """Instantiate the object of a config node; `path` is its key, for error messages."""
    require_class(node, path)
    _check_arguments(node, path)
    if ROOT != CHECKOUT:  # configurations name classes as in a checkout
        node = OmegaConf.create(rename_targets(OmegaConf.to_container(node, resolve=True), locate))
    return instantiate(node)


def require_class(node: Any, path: str) -> Any:
    """Return the class or function that a config node names; raise `UserError` if none, or one that does not fit."""
    if not _has_target(node):
        raise UserError(f"{path}={ranges.shown(node)} must be a config of a class: {_suggestion(node, path)}")
    _check_class(node, ROLES.get(path) or ROLES.get(f"{path.rpartition('.')[0]}.*", Any), path)
    return get_object(node._target_, path)


def get_object(name: Any, path: str) -> Any:
    """Return the class or function of the `_target_` at `path`; raise `UserError` if there is none."""
    require(isinstance(name, str), f"{path}._target_={ranges.shown(name)} must be the name of a class")
    try:
        return resolve_name(locate(name))
    except Exception as failed:  # whatever the module does when it is imported
        error = _import_error(locate(name)) or failed
        missing = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else None
        folders = [f"; --config-dir={one} imports from {one.parent}" for one in config_dirs() or [Path("mine/conf")]]
        advice = "" if missing is None else "".join(folders)
        if missing in EXTRAS:
            advice = f": {install_command(EXTRAS[missing])}"
        reason = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        raise UserError(f"{path}._target_={ranges.shown(name)} cannot be imported: {reason}{advice}") from error


def _import_error(name: str) -> ImportError | None:
    """Return why the module of a class cannot be imported, which `resolve_name` hides, if another module is missing."""
    try:
        import_module(name.rpartition(".")[0])
    except ImportError as error:
        return None if name.startswith(f"{error.name}.") else error
    except Exception:  # which `resolve_name` has raised, too
        return None
    return None


def _check_arguments(node: DictConfig, path: str) -> None:
    """Check the arguments of a node against the signature of its target, so that an error names its key."""
    target = get_object(node._target_, path)
    arguments = {str(key): node[key] for key in node if key != "_target_"}
    try:
        signature = inspect.signature(target, eval_str=True)
        signature.bind(**arguments)
    except (TypeError, ValueError) as error:  # ValueError: it has no signature
        raise UserError(f"{path} does not fit {node._target_}: {error}") from error
    declared = signature.parameters.items()
    hints = {name: one.annotation for name, one in declared if one.annotation is not one.empty}
    for key, value in arguments.items():
        _check_value(value, hints.get(key, Any), f"{path}.{key}")


def _check_value(value: Any, hint: Any, path: str) -> None:
    """Check an argument and all below it: an object of an expected class, a mapping of such objects, or a value."""
    if _has_target(value):
        _check_class(value, hint, path)
        _check_arguments(value, path)
        return
    is_mapping = isinstance(value, DictConfig)
    of_objects = is_mapping and get_origin(hint) is Mapping and bool(_expected_classes(get_args(hint)[1]))
    for key in value if is_mapping else ():
        _check_value(value[key], get_args(hint)[1] if of_objects else Any, f"{path}.{key!s}")
    for number, child in enumerate(value if isinstance(value, ListConfig) else ()):
        _check_value(child, Any, f"{path}[{number}]")
    if hint is Any or of_objects:
        return
    expected = _expected_classes(hint)
    if expected and not (value is None and NoneType in get_args(hint)):
        names = " or ".join(one.__name__ for one in expected)
        raise UserError(f"{path}={ranges.shown(value)} must be a config of {names}: {_suggestion(value, path)}")
    ranges.check(plain(value), hint, path)


def _check_class(node: DictConfig, hint: Any, path: str) -> None:
    """Raise `UserError` if a node names no class that its place accepts, or a function that returns none."""
    target, expected = get_object(node._target_, path), _expected_classes(hint)
    require(bool(expected) or hint is Any, f"{path} must be {ranges.describe(hint)}, not a {node._target_}")
    made, is_class = target, inspect.isclass(target)
    if not is_class:
        made = None
        with contextlib.suppress(Exception):  # not a function, or its hints cannot be read
            made = get_type_hints(target)["return"]
    if not inspect.isclass(made) or (expected and not any(_fits(made, one, is_class) for one in expected)):
        names = " or ".join(f"{one.__module__}.{one.__name__}" for one in expected) or "class"
        wrong = f"{path} is a {node._target_}, but must be a {names}: {_suggestion(None, path)}"
        raise WrongClassError(wrong, path)


def _fits(made: type, expected: type, is_exact: bool) -> bool:
    """Whether objects of a class, or of its subclasses unless `is_exact`, are of another class or have its methods."""
    if getattr(expected, "_is_protocol", False):
        names = [name for name, member in vars(expected).items() if inspect.isfunction(member)]
        return not is_exact or all(hasattr(made, name) for name in names)
    return issubclass(made, expected) or (not is_exact and issubclass(expected, made))


def _expected_classes(hint: Any) -> tuple[type, ...]:
    """Return the classes allowed by a type hint, or () if it allows plain values only."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    simple = (int, float, bool, str, NoneType, dict, Any)
    return tuple(one for one in options if inspect.isclass(one) and one not in simple and not get_origin(one))


def _suggestion(value: Any, path: str) -> str:
    """Return what to type instead of an invalid value."""
    files = CONF.rglob(f"{value}.yaml") if isinstance(value, str) and value.isidentifier() else ()
    groups = [file.parent.relative_to(CONF).as_posix() for file in files]
    if groups:
        return f"type {groups[0]}@{path}={value}"
    group = {"opponent": "agent"}.get(path.rpartition(".")[2], path.rpartition(".")[2])
    options = ", ".join(sorted(file.stem for file in (CONF / group).glob("*.yaml")))
    return f"choose one of {options}" if options else "keep its default, and override the keys below it"


def _has_target(node: Any) -> bool:
    return isinstance(node, DictConfig) and "_target_" in node


def plain(value: Any) -> Any:
    """Return a value of a configuration without OmegaConf's containers."""
    return OmegaConf.to_container(value, resolve=True) if isinstance(value, DictConfig | ListConfig) else value
