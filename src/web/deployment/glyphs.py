"""Unit symbols: the body shows the side, the sign the profile."""

from html import escape

from ...envs.deployment.scenario import Profile

LINE = 'fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"'
SOLID = 'fill="currentColor"'

# Signs in a box from -12 to 12, in currentColor.
SIGNS = {
    "rifleman": f'<path {LINE} d="M0 -11V-5M0 5V11M-11 0H-5M5 0H11"/><circle r="6.5" {LINE}/>',
    "sergeant": f'<path {LINE} stroke-width="4" d="M-9 1L0 -8L9 1M-9 10L0 1L9 10"/>',
    "bulwark": f'<path {SOLID} d="M0 -11L9 -7V1C9 6 5 9 0 12C-5 9 -9 6 -9 1V-7Z"/>',
    "skitterer": f'<path {LINE} d="M-9 9L-4 -9M-1 11L4 -11M7 9L11 -7"/>',
    "spitter": f'<path {SOLID} d="M0 -12C4 -5 8 -1 8 4A8 8 0 0 1 -8 4C-8 -1 -4 -5 0 -12Z"/>',
    "brute": f'<path {SOLID} d="M-11 -11C-10 -2 -6 2 0 2C6 2 10 -2 11 -11C7 -7 5 -6 0 -6C-5 -6 -7 -7 -11 -11Z'
    'M-6 4H6L3 12H-3Z"/>',
    "stalker": f'<path {SOLID} d="M0 -13L3.5 3H8V6H2V12H-2V6H-8V3H-3.5Z"/>',
    "behemoth": f'<path {SOLID} d="M-13 10L-8 -4L-4 0L1 -12L13 10Z"/>',
}

BODIES = {
    1: '<circle class="body" r="15.5"/>',
    2: '<rect class="body" x="-14" y="-14" width="28" height="28" rx="4"/>',
}


def sign(profile: Profile) -> str:
    """Return the sign of a profile, by default its first two letters."""
    letters = f'<text class="letters" y="5">{escape(profile.name[:2])}</text>'
    return SIGNS.get(profile.name, letters)


def badge(player: int, profile: Profile) -> str:
    """Return a small picture of a unit for lists and tables."""
    return (
        f'<svg class="dp-badge p{player}" viewBox="-18 -18 36 36" aria-hidden="true">{BODIES[player]}'
        f'<g transform="scale(.8)">{sign(profile)}</g></svg>'
    )


def side(player: int) -> str:
    """Return the body of a side without a sign."""
    return f'<svg class="dp-badge p{player}" viewBox="-18 -18 36 36" aria-hidden="true">{BODIES[player]}</svg>'
