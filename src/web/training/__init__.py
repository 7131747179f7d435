"""The Train page: start, watch, stop and continue runs on this machine."""

from ..pages import PageEntry, card_picture

_SCREEN = (
    '<rect x="20" y="18" width="120" height="64" rx="8" fill="none" stroke="var(--faint)" stroke-width="2"/>',
    '<path d="M34 68C60 66 62 40 84 36S112 30 126 28" stroke="var(--blue)" stroke-width="4" fill="none"/>',
    '<path d="M70 44V60L86 52Z" fill="var(--orange)" transform="translate(34 14)"/>',
)
PAGE = PageEntry(
    package=__name__,
    title="Train",
    path="/training",
    icon="model_training",
    order=95,
    summary="Start a training run from a form, watch it, stop it and continue it.",
    picture=card_picture(_SCREEN),
)
