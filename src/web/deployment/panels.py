"""Rosters, the log, the dialog for a new game, and the help for keys."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nicegui import ui

from ...envs.deployment.rules.deployment import why_not_undeploy
from ...envs.deployment.rules.state import GameState, Unit
from ...envs.deployment.step_report import StepReport
from ..event_loop import Busy
from ..services import Services
from .board import badge
from .descriptions import Voice, log_entry, weapons
from .match_setup import CHOICES, OWN, RUN, MatchSetup, runs

LOG_CHUNK = 20  # log lines per element
KEYS = {
    "↑ ↓": "choose a unit, or a legal hex in battle",
    "← →": "choose a legal hex; on the board all arrows move the cursor",
    "Enter": "act on the chosen hex, or confirm the deployment",
    "U": "take the latest placement or step back, as long as no dice were rolled since",
    "W": "wait, or let the first unit to choose from wait",
    "A": "show or hide the advice of a network",
    "Space": "let an agent take a step",
    "P": "play or pause",
    "[ ]": "go a step back or forward",
    "+ - 0": "zoom in or out, or fit the board",
}


class Roster:
    """The units of a player, to place or take back."""

    def __init__(
        self, player: int, units: list[Unit], choose: Callable[[str], Any], take_back: Callable[[str], Any]
    ) -> None:
        self.player = player
        self._rows: dict[str, tuple[ui.element, ui.label]] = {}
        self.box = ui.expansion(value=True).props(f'data-part="roster-{player}"').classes(f"w-full p{player}")
        with self.box, ui.element("div").classes("dp-roster w-full"):
            for unit in units:
                with ui.element("div").props(f'data-row="{unit.id}"') as row:
                    with ui.element("button").classes("pick").props("type=button") as pick:
                        pick.on("click", partial(choose, unit.id)).tooltip(weapons(unit))
                        ui.html(badge(unit.player, unit.profile), sanitize=False)
                        ui.label(f"{unit.id} {unit.profile.name}")
                        with ui.element("small"):
                            label = ui.label()
                    undo = ui.element("button").classes("undo").props(f'type=button aria-label="take {unit.id} back"')
                    with undo.on("click", partial(take_back, unit.id)):
                        ui.icon("undo")
                self._rows[unit.id] = row, label

    def show(self, state: GameState, chosen: str | None, open_to_undo: bool) -> None:
        left = state.deployment_state.deployable_units_by_player[self.player]
        self.box.set_text(f"Player {self.player}: {len(left)} of {len(self._rows)} to deploy")
        for one, (row, label) in self._rows.items():
            unit = state.units[one]
            classes = ["dp-row"] + ["chosen"] * (one == chosen) + ["placed"] * (one not in left)
            classes += ["can-undo"] * (open_to_undo and why_not_undeploy(state, one) is None)
            row.classes(replace=" ".join(classes))
            label.set_text("" if one in left else f"{unit.col}, {unit.row}" if unit.col >= 0 else "fallen")


class Log:
    """The steps of the match, the latest on top; a click calls `jump` with the number of a step."""

    def __init__(self, jump: Callable[[int], None]) -> None:
        def clicked(message: object) -> None:
            if isinstance(message, str) and message.isascii() and message.isdigit() and len(message) < 6:
                jump(int(message))

        ui.label("Log").classes("font-bold")
        self.pieces: list[ui.html] = []  # of LOG_CHUNK lines each, so that full ones are not sent again
        self._box = ui.element("div").classes("dp-log").props('data-part="log"')
        script = "(e) => { const one = e.target.closest('[data-moment]'); if (one) emit(one.dataset.moment); }"
        self._box.on("click", lambda event: clicked(event.args), js_handler=script)

    def show(self, reports: Sequence[StepReport], named: tuple[Voice, Voice]) -> None:
        count = -(-len(reports) // LOG_CHUNK)
        while len(self.pieces) > count:  # steps were taken back
            self.pieces.pop().delete()
        for number in range(max(len(self.pieces) - 1, 0), count):
            if number == len(self.pieces):
                with self._box:
                    self.pieces.append(ui.html(sanitize=False))
                self.pieces[number].move(target_index=0)
            lines = enumerate(reports[number * LOG_CHUNK : (number + 1) * LOG_CHUNK], number * LOG_CHUNK + 1)
            entries = [log_entry(moment, report, named) for moment, report in lines]
            self.pieces[number].set_content("".join(reversed(entries)))


class NewGame:
    """A dialog that opens the URL of another game."""

    def __init__(self, services: Services, current: MatchSetup) -> None:
        self._services, self.current = services, current
        with ui.dialog() as self._dialog, ui.card().classes("w-96"):
            ui.label("New game").classes("headline")
            self._fields: dict[str, Any] = {
                key: ui.select(_options(key, getattr(current, key)), value=getattr(current, key))
                .props(f'label="{label}" outlined dense data-field="{key}"')
                .classes("w-full")
                for key, (label, _) in CHOICES.items()
            }
            seed = ui.input("Seed of the dice, random if empty", value=current.seed).classes("w-full")
            self._fields["seed"] = seed.props('outlined dense data-field="seed"')
            with ui.row().classes("w-full justify-end"):
                self._busy = Busy()
                ui.button("Cancel", on_click=self._dialog.close).props("flat")
                ui.button("Start", on_click=self._start).props('data-part="start"')

    async def open(self) -> None:
        self._dialog.open()
        found = await self._busy.do(runs, self._services)
        trained = {f"{RUN}{run.name}": f"{RUN}{run.name} · {run.env}" for run in found}
        for key in ("player_1", "player_2"):
            field = self._fields[key]
            field.set_options(_options(key, field.value) | trained)

    def again(self) -> None:
        ui.navigate.to(self.current.address)

    def _start(self) -> None:
        ui.navigate.to(MatchSetup(**{key: field.value or "" for key, field in self._fields.items()}).address)


def _options(key: str, current: str) -> dict[str, str]:
    """Return the options of a choice, including the current one, which may be a run named in the URL."""
    options = dict.fromkeys((*CHOICES[key][1], current))
    words = {OWN: "its own", "choice": "your choice", "by_id": "by order"}
    return {one: words.get(one, one if one.startswith(RUN) else one.replace("_", " ")) for one in options}
