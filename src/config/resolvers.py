"""OmegaConf resolvers for the configuration files, registered on import."""

import os
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from omegaconf import OmegaConf

from ..core.package import ROOT, config_dirs
from . import CONF

DEFAULTS_BY_OTHERS = re.compile(r"^ +- .*\$\{", re.MULTILINE)  # entries of a defaults list


def accelerator(device: str) -> str:
    """Return "cpu" or "gpu", which selects the tuned settings, for an option of the group `device`."""
    return "gpu" if device == "cuda" or (device == "auto" and gpu_usable()) else "cpu"


def tuned(env: str, algo: str) -> str:
    """Return the option of the group `tuned` for a pair: of this env, of its game, or of any other game."""
    return _of_variant("tuned", env, f"_{algo}", f"other_{algo}")


def defer_tuned(words: list[str]) -> list[str]:
    """Write `tuned=<name>` as an interpolation where its file refers to the device or env.

    Hydra reads an option that is named directly before it knows the others, one by interpolation after them.
    """
    return [_deferred(word) for word in words]


def _deferred(word: str) -> str:
    group, _, names = word.partition("=")
    folders = [folder / "tuned" for folder in (CONF, *config_dirs())]

    def needs_others(name: str) -> bool:
        files = (path for folder in folders if (path := folder / f"{name}.yaml").is_file())
        return any(DEFAULTS_BY_OTHERS.search(path.read_text()) for path in files)

    if group != "tuned" or not any(map(needs_others, names.split(","))):
        return word
    return "tuned=" + ",".join(f"${{option:{name}}}" for name in names.split(","))


def open_parameters(words: list[str]) -> list[str]:
    """Let `env.game.parameters.x=1` add a key: only the library of the game knows which there are."""
    return [f"++{word}" if word.startswith("env.game.parameters.") else word for word in words]


def teacher_of(env: str) -> str:
    """Return the option of the group `agent` that is the teacher in an env, or in the game that it is a variant of."""
    return f"teacher_of/{_of_variant('agent/teacher_of', env)}"


def file_options(group: str) -> list[str]:
    """Return the options of a config group in conf/ and in the folders of extensions."""
    return sorted({path.stem for folder in (CONF, *config_dirs()) for path in (folder / group).glob("*.yaml")})


def is_option(group: str, name: str) -> bool:
    """Return whether conf/ or an extension has an option."""
    return any((folder / group / f"{name}.yaml").is_file() for folder in (CONF, *config_dirs()))


def _of_variant(group: str, env: str, suffix: str = "", other: str = "") -> str:
    """Return the option that is named after an env, or after the first words of its name, or `other`."""
    words = env.split("_")
    names = ["_".join(words[:count]) + suffix for count in range(len(words), 0, -1)]
    return next((name for name in (*names, other) if name and is_option(group, name)), names[0])


def gpu_usable() -> bool:
    """Whether the installed torch can use an NVIDIA GPU, checked without the slow import of torch."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.strip() in ("", "-1"):
        return False
    try:
        cpu_build = version("torch").endswith("+cpu")
    except PackageNotFoundError:
        cpu_build = True
    return not cpu_build and any(Path("/dev").glob("nvidia[0-9]*"))


OmegaConf.register_new_resolver("accelerator", accelerator, replace=True)
OmegaConf.register_new_resolver("tuned", tuned, replace=True)
OmegaConf.register_new_resolver("teacher_of", teacher_of, replace=True)
OmegaConf.register_new_resolver("option", lambda name: name, replace=True)
OmegaConf.register_new_resolver("package", lambda name: f"{ROOT}.{name}", replace=True)  # of a module or class here
