"""The form of a new training run: options of config groups and overrides, checked before anything is started."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple
from urllib.parse import urlencode

from nicegui import events, ui

from ...core.errors import UserError, require
from ...core.package import command
from .. import shell
from ..services import Services
from . import PAGE

DEFAULT = ""  # the option of a group that leaves the choice to the configuration
REFUSED_KEYS = {  # which belong to other commands, and what to do instead
    "resume": "choose the run under Continue",
    "launcher": "a sweep trains one run after the other here; start others in a terminal",
    **dict.fromkeys(("hparams_search", "sampler", "pruner"), "start a search in a terminal"),
}
MAX_CHARACTERS = 4000
HINT = "key=value, separated by spaces; several values, such as seed=1,2,3, are a sweep"
CHECK_AFTER = 0.3  # seconds without a change before the form is checked

Start = Callable[[list[str], Mapping[str, str]], Awaitable[None]]


def parse_overrides(text: str) -> list[str]:
    """Return the overrides of a text, which is untrusted: settings only, no flags and nothing that names code."""
    require(len(text) <= MAX_CHARACTERS, f"overrides have at most {MAX_CHARACTERS:,} characters")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError("a quotation mark in the overrides is not closed") from error
    for word in words:
        key = word.lstrip("+~").partition("=")[0]
        flag = f"{word} is a flag: write settings such as algo.lr=0.001; several values, seed=1,2, are a sweep"
        require(not word.startswith("-"), flag)
        require("=" in word or word.startswith("~"), f"{word} is not an override: write key=value")
        require(not key.startswith("hydra"), f"{word} changes Hydra itself: use a terminal for it")
        require("_target_" not in word, f"{word} names code to run: choose an option of a config group instead")
        # Hydra unescapes words, so that an interpolation, which can name code, need not look like one.
        require(not {"$", "\\"} & set(word), f"{word} has a $ or a backslash: write the value itself")
        require("\0" not in word, "overrides must not contain a null character")
        advice = REFUSED_KEYS.get(key.partition("@")[0].partition("/")[0])
        require(advice is None, f"{word} is not for this form: {advice}")
    return words


def train_arguments(options: Mapping[str, str], overrides: str) -> list[str]:
    """Return the arguments of `src.train` for the options of config groups and a text with overrides."""
    return [f"{group}={name}" for group, name in options.items() if name != DEFAULT] + parse_overrides(overrides)


class Preset(NamedTuple):
    title: str
    minutes: int  # on two cores of a CPU, with the final evaluation
    options: Mapping[str, str]


PRESETS = (
    Preset("Tic-tac-toe", 1, {"env": "tictactoe", "algo": "qlearning"}),
    Preset("Minesweeper 9x9", 2, {"env": "minesweeper_9x9", "algo": "ppo"}),
    Preset("Quoridor", 3, {"env": "quoridor", "algo": "ppo"}),
    Preset("Wargame", 4, {"env": "deployment", "algo": "ppo"}),
    Preset("Minesweeper 16x16", 6, {"env": "minesweeper_16x16", "algo": "ppo"}),
)


class TrainingForm:
    """The fields, the command and what is wrong with it.

    `given` are the values in the URL; `on_start` is called with the arguments and the options they lead to.
    """

    def __init__(self, services: Services, given: Mapping[str, str], on_start: Start) -> None:
        self._services, self._on_start, self._groups = services, on_start, services.training_groups()
        self._options = {group: given.get(group, DEFAULT) for group in self._groups}
        self._options = {g: name if name in self._groups[g] else DEFAULT for g, name in self._options.items()}
        self._overrides = given.get("overrides", "")
        self._checks = 0  # number of the latest check, which ends those before it
        self._selects: dict[str, ui.select] = {}
        with ui.element("div").classes("t-presets").props('role=group aria-label="presets"'):
            for preset in PRESETS:
                title = f"{preset.title} · {preset.minutes} min"
                button = ui.button(title, on_click=partial(self._choose_preset, preset)).props("outline no-caps")
                button.tooltip(f"{preset.minutes} minutes on two cores of a CPU")
        for group, names in self._groups.items():
            select = ui.select(_titles(names), value=self._options[group], label=group, with_input=True)
            select.on_value_change(lambda event, group=group: self._on_option(group, event))
            self._selects[group] = select.props("outlined dense options-dense hide-bottom-space").classes(f"t-{group}")
        self._text = ui.textarea("overrides", value=self._overrides, placeholder="algo.lr=0.001 seed=1,2,3")
        self._text.on_value_change(self._on_overrides).props("outlined dense autogrow debounce=200")
        self._text.classes("t-overrides").props(f'hint="{HINT}"')
        self._status = ui.label().classes("t-checked faint").props("role=status")
        self._command = shell.command_line()
        self._button = ui.button("Start training", icon="play_arrow", on_click=self._start)
        self._button.props("no-caps").classes("t-start")

    async def _choose_preset(self, preset: Preset) -> None:
        self._overrides = self._text.value = ""
        for group, select in self._selects.items():
            name = self._options[group] = preset.options.get(group, DEFAULT)
            select.set_options(_titles(self._groups[group]), value=name)
        await self._changed()

    async def check(self) -> tuple[list[str], Mapping[str, str]] | None:
        """Compose the configurations of the form and show what is wrong with them, at the field concerned.

        Return the arguments and the options they lead to, or None if they are invalid or were changed meanwhile.
        """
        self._checks = number = self._checks + 1
        arguments, jobs, chosen, error = list[str](), list[list[str]](), dict[str, str](), ""
        try:
            await self._offer_fitting()
            arguments = train_arguments(self._options, self._overrides)
            jobs = await asyncio.to_thread(self._services.training_jobs, arguments)
            for job in jobs:
                if number == self._checks:
                    chosen = dict(await asyncio.to_thread(self._services.check_training, job))
        except UserError as found:
            error = str(found)
        if number != self._checks or self._status.is_deleted:
            return None
        several = f"valid: a sweep of {len(jobs)} runs, one after the other"
        self._status.text = error or (several if len(jobs) > 1 else "valid")
        self._status.classes(add="r-fault" if error else "", remove="" if error else "r-fault")
        self._button.set_enabled(not error)
        if error:
            named = error.partition("=")[0]
            (self._selects[named] if self._options.get(named, DEFAULT) != DEFAULT else self._text).props(add="error")
            return None
        arguments = ["-m", *arguments] if len(jobs) > 1 else arguments
        self._command.text = command("train", *arguments)
        for group in self._groups:
            default = chosen.get(group) if self._options[group] == DEFAULT else None
            offered = list(self._selects[group].options)
            self._offer(group, [name for name in offered if name != DEFAULT], default, DEFAULT not in offered)
        return arguments, chosen

    async def _offer_fitting(self) -> None:
        """Offer the algorithms that can play the chosen game; choose one of them if the present one cannot."""
        if self._options["experiment"] != DEFAULT:  # which chooses the algorithm, and often the game
            self._offer("algo", self._groups["algo"], None)
            return
        usual, fitting = await asyncio.to_thread(self._services.fitting_algorithms, self._options["env"] or None)
        if (self._options["algo"] or usual) not in fitting:
            self._options["algo"] = next((name for name in ("ppo", *fitting) if name in fitting), DEFAULT)
        self._offer("algo", fitting, usual, must_choose=usual not in fitting)

    def _offer(self, group: str, names: Sequence[str], default: str | None, must_choose: bool = False) -> None:
        titles = _titles(names, default if default != "None" else None)
        if must_choose:
            titles.pop(DEFAULT)
        if self._selects[group].options != titles or self._selects[group].value != self._options[group]:
            self._selects[group].set_options(titles, value=self._options[group])

    async def _on_option(self, group: str, event: events.ValueChangeEventArguments) -> None:
        self._options[group] = shell.checked(event.value or DEFAULT, (DEFAULT, *self._groups[group]))
        await self._changed()

    async def _on_overrides(self, event: events.ValueChangeEventArguments) -> None:
        self._overrides = str(event.value or "")
        await self._changed()

    async def _changed(self) -> None:
        values = {name: text for name, text in (*self._options.items(), ("overrides", self._overrides)) if text}
        shell.set_address(f"{PAGE.path}?{urlencode(values)}" if values else PAGE.path)
        self._checks = number = self._checks + 1
        self._command.text, self._status.text = "", "checking"  # nothing of an earlier state is shown or started
        self._button.disable()
        for field in (*self._selects.values(), self._text):
            field.props(remove="error")
        await asyncio.sleep(CHECK_AFTER)
        if number == self._checks:
            await self.check()

    async def _start(self) -> None:
        valid = await self.check()
        if valid is None:
            raise UserError("this training cannot be started: see the message in the form")
        await self._on_start(*valid)


def _titles(names: Sequence[str], default: str | None = None) -> dict[str, str]:
    """Return the titles of the options of a group, of which the configuration chooses `default`."""
    return {DEFAULT: f"{default} (default)" if default else "default"} | {name: name for name in names}
