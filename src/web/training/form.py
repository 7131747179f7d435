"""What a form means: the overrides of `src.train`, checked before anything is started."""

import shlex
from collections.abc import Mapping
from typing import NamedTuple

from ...core.errors import UserError, require
from ...core.package import command

USUAL = ""  # the option of a group that leaves the choice to the configuration
NOT_HERE = {  # keys that belong to other commands, and what to do instead
    "resume": "choose the run under Continue",
    "launcher": "start a sweep in a terminal",
    "hparams_search": "start a search in a terminal",
    "sampler": "start a search in a terminal",
    "pruner": "start a search in a terminal",
}
MAX_CHARACTERS = 4000


class Choices(NamedTuple):
    """The values of the form; `groups` are options by config group."""

    groups: Mapping[str, str]
    overrides: str = ""

    def arguments(self) -> list[str]:
        """Return the overrides; raise `UserError` for words that are none."""
        return [f"{group}={name}" for group, name in self.groups.items() if name != USUAL] + words_of(self.overrides)


def words_of(text: str) -> list[str]:
    """Return the overrides of a text, which is untrusted: settings only, no flags and nothing that names code."""
    require(len(text) <= MAX_CHARACTERS, f"overrides have at most {MAX_CHARACTERS:,} characters")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError("a quotation mark in the overrides is not closed") from error
    for word in words:
        key = word.lstrip("+~").partition("=")[0]
        require(not word.startswith("-"), f"{word} is a flag: only settings such as algo.lr=0.001 are allowed here")
        require("=" in word or word.startswith("~"), f"{word} is not an override: write key=value")
        require(not key.startswith("hydra"), f"{word} changes Hydra itself: use a terminal for it")
        require("_target_" not in word, f"{word} names code to run: choose an option of a config group instead")
        # Hydra unescapes words, so that an interpolation, which can name code, need not look like one.
        require(not {"$", "\\"} & set(word), f"{word} has a $ or a backslash: write the value itself")
        require("\0" not in word, "overrides must not contain a null character")
        advice = NOT_HERE.get(key.partition("@")[0].partition("/")[0])
        require(advice is None, f"{word} is not for a single run: {advice}")
    return words


def shown(arguments: list[str]) -> str:
    """Return the equivalent command to type in a terminal."""
    return " ".join([command("train"), *map(shlex.quote, arguments)])
