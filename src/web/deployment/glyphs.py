"""Unit symbols: the body shows the side, the sign the profile."""

from ...envs.deployment.rules.scenario import Profile

LINE = 'fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"'
THIN = LINE.replace('"3"', '"2.4"')
SOLID = 'fill="currentColor"'

# Signs in a box from -12 to 12, in currentColor. A profile has the sign of its name, or else that of its role.
SIGNS = {
    "rifleman": f'<circle {SOLID} cx="-3" cy="-7" r="4.6"/><path {SOLID} d="M-11 12V7A8 8 0 0 1 5 7V12Z"/>'
    f'<path {LINE} d="M8 9V-11"/>',
    "sergeant": f'<path {SOLID} d="M-11 6L-12 -8L-5.5 -2L0 -12L5.5 -2L12 -8L11 6Z"/><path {LINE} d="M-9.5 10.5H9.5"/>',
    "bulwark": f'<path {SOLID} fill-rule="evenodd" d="M0 -12L10 -8V1C10 6 6 10 0 12C-6 10 -10 6 -10 1V-8Z'
    'M-2 -7V-2H-6V2H-2V7H2V2H6V-2H2V-7Z"/>',
    "skitterer": f'<ellipse {SOLID} cy="2" rx="5" ry="9"/><circle {SOLID} cy="-8.5" r="3.2"/>'
    f'<path {THIN} d="M-4 -2L-11 -7M-5 3H-12M-4 7L-10 12M4 -2L11 -7M5 3H12M4 7L10 12"/>',
    "spitter": f'<path {SOLID} d="M0 -12C4 -5 9 -1 9 4A9 8 0 0 1 -9 4C-9 -1 -4 -5 0 -12Z"/>',
    "thornback": f'<path {SOLID} d="M-12 10L-10 0L-6 -4L-8 -11L-2 -6L0 -13L2 -6L8 -11L6 -4L10 0L12 10Z"/>',
    "brute": f'<path {SOLID} d="M-12 -11C-12 -4 -9 -2 -7 -2V3C-7 9 -4 12 0 12C4 12 7 9 7 3V-2C9 -2 12 -4 12 -11'
    'C9 -8 7 -7 4 -7H-4C-7 -7 -9 -8 -12 -11Z"/>',
    "stalker": f'<path {SOLID} d="M0 -13L3.5 3H9V6.5H2V12.5H-2V6.5H-9V3H-3.5Z"/>',
    "behemoth": f'<path {SOLID} d="M-11 12V7L-8 5V-3L-11 -5V-12H-6V-8.5H-2.5V-12H2.5V-8.5H6V-12H11V-5'
    'L8 -3V5L11 7V12Z"/>',
    "mounted": f'<path {SOLID} d="M-7 12H10C10 2 8 -6 0 -12L-1 -8.5L-4 -9.5C-6 -5 -11 -2 -11 2L-8 5L-3 2'
    'C-2 6 -7 7 -7 12Z"/>',
}
SWIFT, MASSIVE = 8, 5  # movement and toughness of the roles below


def role(profile: Profile) -> str:
    """Return the sign of a profile by what it does: massive, swift, or a shooter, else it fights hand to hand."""
    if profile.toughness >= MASSIVE:
        return "behemoth"
    if profile.move >= SWIFT:
        return "mounted"
    return "rifleman" if profile.ranged is not None else "stalker"


BODIES = {
    1: '<circle class="body" r="16.5"/>',
    2: '<rect class="body" x="-15" y="-15" width="30" height="30" rx="4"/>',
}


def sign(profile: Profile) -> str:
    return SIGNS.get(profile.name) or SIGNS[role(profile)]


def badge(player: int, profile: Profile) -> str:
    """Return a small picture of a unit for lists and tables."""
    return (
        f'<svg class="dp-badge p{player}" viewBox="-18 -18 36 36" aria-hidden="true">{BODIES[player]}'
        f'<g transform="scale(.8)">{sign(profile)}</g></svg>'
    )


def side(player: int) -> str:
    """Return the body of a side without a sign."""
    return f'<svg class="dp-badge p{player}" viewBox="-18 -18 36 36" aria-hidden="true">{BODIES[player]}</svg>'
