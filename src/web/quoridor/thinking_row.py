"""The line about an agent that thinks for long, with buttons to end it."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from .. import shell


class ThinkingRow:
    def __init__(
        self,
        move_now: Callable[[], None],
        cancel: Callable[[], Awaitable[None]],
        resume: Callable[[], Awaitable[None]],
    ) -> None:
        with ui.row(wrap=False).classes("w-full items-center") as self._row:
            self._words = ui.label().classes("faint grow qr-thinking").props("role=status")
            self._move_now = _button("move now", "fast_forward", move_now)
            self._cancel = _button("cancel", "close", cancel)
            self._resume = _button("continue", "play_arrow", resume).classes("qr-resume")
        self.hide()

    def show(self, words: str, has_move: bool) -> None:
        """Show what an agent is doing; `has_move`: it can be asked for its best move so far."""
        self._show(words, has_move=has_move, is_running=True)

    def show_cancelled(self, words: str) -> None:
        self._show(words, has_move=False, is_running=False)

    def hide(self) -> None:
        if not self._row.is_deleted:
            self._row.set_visibility(False)

    def _show(self, words: str, has_move: bool, is_running: bool) -> None:
        if self._row.is_deleted:
            return
        self._words.text = words
        self._move_now.set_visibility(has_move)
        self._cancel.set_visibility(is_running)
        self._resume.set_visibility(not is_running)
        self._row.set_visibility(True)


def _button(title: str, icon: str, work: Callable[[], Awaitable[None] | None]) -> ui.button:
    button = ui.button(title, icon=icon, on_click=shell.handler(work))
    return button.props("dense no-caps unelevated outline").classes(f"qr-do-{icon.replace('_', '-')}")
