"""The rules of a game in pictures: one click away, and offered on the first visit."""

import json

from nicegui import ui

from .pages import PageEntry

# The browser remembers that the rules of a page were offered.
_OFFER = """
(() => { const box = document.querySelector('.lab-offer'), key = 'rules:' + %s;
  if (box && !localStorage.getItem(key)) box.classList.add('on');
  document.addEventListener('click', e => { if (e.target.closest('.lab-offer button, .lab-rules')) {
    localStorage.setItem(key, 'seen'); box?.classList.remove('on'); } }); })()
"""


def add_button(page: PageEntry) -> ui.dialog:
    """Add a button that opens the rules."""
    with ui.dialog() as dialog, ui.card().classes("lab-rules-card"):
        with ui.row().classes("w-full items-center no-wrap"):
            ui.label(f"{page.title} in three pictures").classes("headline grow").props("role=heading aria-level=2")
            ui.button(icon="close", on_click=dialog.close).props('flat round aria-label="close"')
        with ui.element("div").classes("lab-rules-pictures"):
            for rule in page.rules:
                with ui.element("figure"):
                    ui.html(rule.svg, sanitize=False)
                    with ui.element("figcaption"):
                        ui.label(rule.text)
    dialog.props(f'aria-label="rules of {page.title}"')
    button = ui.button("Rules", icon="help_outline", on_click=dialog.open).props('flat no-caps aria-label="Rules"')
    button.classes("lab-rules")
    return dialog


def add_offer(page: PageEntry, dialog: ui.dialog) -> None:
    """Add the offer to read the rules, which is shown on the first visit only."""
    with ui.element("div").classes("lab-offer").props('role=region aria-label="rules"'):
        ui.label(f"New to {page.title}?")
        ui.button("See the rules in three pictures", on_click=dialog.open).props("unelevated no-caps").classes("see")
        ui.button("No, thanks").props("flat no-caps").classes("decline")
    ui.context.client.on_connect(lambda: ui.run_javascript(_OFFER % json.dumps(page.path)))
