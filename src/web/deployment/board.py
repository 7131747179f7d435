"""The board as SVG text: a static drawing of the scenario, and one of the units on top of it.

A unit has a body, which shows its side, and a sign, which shows its profile.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from math import hypot, sqrt
from typing import NamedTuple

from ...envs.deployment.odds import Odds, Range
from ...envs.deployment.rules.hexgrid import neighbors
from ...envs.deployment.rules.scenario import Board, Hex, Profile, Scenario
from ...envs.deployment.rules.state import GameState, Unit
from ...envs.deployment.step_report import StepReport
from .advice import Choice

SIZE = 20.0  # circumradius of a hex
HALF = SIZE * sqrt(3) / 2  # inradius
MARGIN = 16.0  # for column and row numbers
#   4___5
#  3/   \0    corners; edge k, toward neighbor k, ends at the corners EDGES[k]
#   \___/
#   2   1
CORNERS = ((SIZE, 0.0), (SIZE / 2, HALF), (-SIZE / 2, HALF), (-SIZE, 0.0), (-SIZE / 2, -HALF), (SIZE / 2, -HALF))
EDGES = ((4, 5), (5, 0), (0, 1), (1, 2), (2, 3), (3, 4))
# path data of a hex, starting at corner 3
HEX_PATH = f"l{SIZE / 2:.2f} {-HALF:.2f}h{SIZE:.0f}l{SIZE / 2:.2f} {HALF:.2f}l{-SIZE / 2:.2f} {HALF:.2f}h{-SIZE:.0f}z"
AROUND = 1.5 * SIZE  # what is visible around the center of a hex that is looked at
SMALLEST_LABEL = 0.01  # probability; smaller ones are colored only
FIELDS = {  # CSS class and meaning
    **{"zone-1": "zone of player 1", "zone-2": "zone of player 2", "goal": "objective", "wall": "wall"},
    "cover": "cover: better saves against shooting, no sight through it",
}
STAR = "M0 -9L2.6 -3.6L8.6 -2.8L4.3 1.4L5.3 7.3L0 4.5L-5.3 7.3L-4.3 1.4L-8.6 -2.8L-2.6 -3.6Z"

LINE = 'fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"'
THIN = LINE.replace('"3"', '"2.4"')
SOLID = 'fill="currentColor"'

# Signs in a box from -12 to 12, in currentColor. A profile has the sign of its name, or else of its role.
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
BODIES = {1: '<circle class="body" r="16.5"/>', 2: '<rect class="body" x="-15" y="-15" width="30" height="30" rx="4"/>'}


class Marks(NamedTuple):
    candidates: Collection[Hex] = ()  # legal hexes of the unit
    unit: str | None = None  # the unit that acts
    cursor: Hex | None = None
    last: StepReport | None = None  # the latest step
    is_new: bool = False  # animate the latest step
    range: Range = Range([], [])  # of the unit that acts or is looked at
    odds: Mapping[str, Odds | float] = {}  # against each target
    heat: Mapping[Hex, float] = {}  # advice in deployment: the probability of each hex
    choices: Sequence[Choice] = ()  # advice in battle, best first


def center(one: Hex) -> tuple[float, float]:
    col, row = one
    return MARGIN + SIZE * (1.5 * col + 1), MARGIN + HALF * (2 * row + 1 + col % 2)


def _svg(board: Board, name: str, label: str, content: str) -> str:
    width, height = MARGIN + SIZE * (1.5 * board.cols + 0.5) + 2, MARGIN + 2 * HALF * board.rows + 2
    return (
        f'<svg class="{name}" viewBox="0 0 {width:.1f} {height:.1f}" role="img" aria-label="{escape(label)}" '
        f'xmlns="http://www.w3.org/2000/svg">{content}</svg>'
    )


def _path(one: Hex) -> str:
    x, y = center(one)
    return f"M{x - SIZE:.1f} {y:.1f}{HEX_PATH}"


def outline(hexes: Iterable[Hex]) -> str:
    """Return the border of a set of hexes, as path data."""
    inside, path = set(hexes), []
    for one in sorted(inside):
        x, y = center(one)
        for beside, (a, b) in zip(neighbors(*one), EDGES, strict=True):
            if beside not in inside:
                (ax, ay), (bx, by) = CORNERS[a], CORNERS[b]
                path.append(f"M{x + ax:.1f} {y + ay:.1f}L{x + bx:.1f} {y + by:.1f}")
    return "".join(path)


def ground(scenario: Scenario) -> str:
    """Draw the static parts: clickable hexes, walls, cover, zones, objectives and coordinates."""
    board, kinds = scenario.board, defaultdict[tuple[str, str], list[Hex]](list)  # by CSS classes and description
    goals = {one for at in board.objectives for one in board.objective_hexes(at)}
    for cell in range(board.cols * board.rows):
        one = (cell % board.cols, cell // board.cols)
        pools = enumerate(scenario.pools, 1)
        traits = [f"zone-{player}" for player, pool in pools if one in pool]
        traits += ["goal"] * (one in goals) + ["cover"] * (one in board.cover)
        if one in board.walls:
            traits = ["wall"]
        if one not in board.forbidden:
            kinds[" ".join(traits), ", ".join(FIELDS[kind] for kind in traits)].append(one)
    parts = []
    for (kind, words), hexes in kinds.items():  # in groups, because classes on every hex slow down each update
        drawn = "".join(f'<path d="{_path(one)}" data-id="hex-{one[1] * board.cols + one[0]}"/>' for one in hexes)
        title = f"<title>{words}</title>" if words else ""
        parts.append(f'<g class="field {kind}">{title}{drawn}</g>')
    for player, pool in enumerate(scenario.pools, 1):
        parts.append(f'<path class="border zone-{player}" d="{outline(pool)}"/>')
    parts += [f'<path class="border goal" d="{outline(board.objective_hexes(at))}"/>' for at in board.objectives]
    for col in range(board.cols):
        parts.append(f'<text class="number" x="{center((col, 0))[0]:.1f}" y="11">{col}</text>')
    for row in range(board.rows):
        parts.append(f'<text class="number" x="7" y="{center((0, row))[1] + 3:.1f}">{row}</text>')
    return _svg(board, "dp-ground", "the board", "".join(parts))


def pieces(state: GameState, marks: Marks) -> str:
    """Draw the changing parts: objective holders, legal hexes, the latest step, units."""
    board = state.scenario.board
    kind = "candidate outlined" if marks.heat else "candidate"
    parts = [f'<path class="{kind}" d="{"".join(map(_path, marks.candidates))}"/>', *_heat(marks.heat)]
    if marks.range.within:
        parts.append(f'<path class="in-sight" d="{"".join(map(_path, marks.range.seen))}"/>')
        parts.append(f'<path class="range" d="{outline(marks.range.within)}"/>')
    for at, holder in state.objectives.items():
        if holder:
            parts.append(f'<path class="hold p{holder}" d="{outline(board.objective_hexes(at))}"/>')
        (x, y), owner = center(at), f" held-{holder}" if holder else ""
        parts.append(f'<path class="star{owner}" transform="translate({x:.1f} {y:.1f})" d="{STAR}"/>')
    if marks.cursor is not None:
        parts.append(f'<path class="cursor" d="{_path(marks.cursor)}"/>')
    units, last = [unit for unit in state.units.values() if unit.col >= 0], marks.last
    if last is not None and last.start is not None and last.end is not None:  # a line along the latest step
        (from_x, from_y), (x, y) = center(last.start), center(last.end)
        kind = "aimed" if last.dice else "walked"
        parts.append(f'<path class="trace {kind} p{last.player}" d="M{from_x:.1f} {from_y:.1f}L{x:.1f} {y:.1f}"/>')
    parts += [_token(unit, marks) for unit in units]
    for unit in units:
        if state.phase != "move" and (unit.col, unit.row) in marks.candidates:
            x, y = center((unit.col, unit.row))
            lines = '<circle r="18"/><path d="M0 -22V-14M0 14V22M-22 0H-14M14 0H22"/>'
            parts.append(f'<g class="reticle" transform="translate({x:.1f} {y:.1f})">{lines}</g>')
    parts += _loss(state, marks)
    for unit in units:
        if (odds := marks.odds.get(unit.id)) is not None:  # to kill a target, or to reach it by a charge
            x, y = center((unit.col, unit.row))
            chance = odds.kill if isinstance(odds, Odds) else odds
            parts.append(f'<text class="odds" x="{x:.1f}" y="{y - 21:.1f}">{chance:.0%}</text>')
    acting = next(((unit.col, unit.row) for unit in units if unit.id == marks.unit), None)
    parts += _choices(marks.choices, acting, {(unit.col, unit.row) for unit in units})
    if around := focus(state, marks):  # an invisible rectangle, to which the browser scrolls
        xs, ys = zip(*map(center, around), strict=True)
        left, top = min(xs) - AROUND, min(ys) - AROUND
        size = f'width="{max(xs) + AROUND - left:.1f}" height="{max(ys) + AROUND - top:.1f}"'
        parts.append(f'<rect class="focus" x="{left:.1f}" y="{top:.1f}" {size}/>')
    return _svg(board, "dp-pieces", "the units", "".join(parts))


def focus(state: GameState, marks: Marks) -> list[Hex]:
    """Return the hexes to look at: the cursor, the unit of a person or its zone, or else the latest step."""
    if marks.cursor is not None:
        return [marks.cursor]
    unit = state.units.get(marks.unit or "")
    acting = [(unit.col, unit.row)] if unit is not None and unit.col >= 0 else []
    if marks.candidates:
        return acting or list(marks.candidates)
    step = (marks.last.start, marks.last.end) if marks.last is not None else ()
    return [one for one in step if one is not None] or acting


def _token(unit: Unit, marks: Marks) -> str:
    x, y = center((unit.col, unit.row))
    classes = ["token", f"p{unit.player}"] + ["acted"] * unit.acted + ["active"] * (unit.id == marks.unit)
    flags, motion, last = "⚑" * unit.fled + "➤" * unit.charged, "", marks.last
    if marks.is_new and last is not None and last.start is not None and last.action.startswith(f"{unit.id} "):
        from_x, from_y = center(last.start)
        motion = f' class="moving" style="--dx:{from_x - x:.1f}px;--dy:{from_y - y:.1f}px"'
    most, width = unit.profile.hp, 28.0  # of the bar, which has one segment per hit point, filled if it is left
    each, gap = width / most, min(1.2, 6 / most)
    segments = "".join(
        f'<rect class="hp{" lost" * (k >= unit.hp)}" x="{k * each - width / 2 + gap / 2:.2f}" y="13.5" '
        f'width="{each - gap:.2f}" height="4"/>'
        for k in range(most)
    )
    return (
        f'<g class="{" ".join(classes)}" transform="translate({x:.1f} {y:.1f})" data-unit="{escape(unit.id)}" '
        f'data-at="{unit.col} {unit.row}">'
        f'<g{motion}><circle class="halo" r="19"/>{BODIES[unit.player]}'
        f'<g class="sign">{sign(unit.profile)}</g><text class="name" y="10.3">{escape(unit.id)}</text>'
        f'<text class="mark" x="12" y="-9">{flags}</text>'
        f'<rect class="hp-bar" x="-15.5" y="12" width="31" height="7" rx="2"/>{segments}</g></g>'
    )


def _heat(heat: Mapping[Hex, float]) -> list[str]:
    """Color hexes by their probability, with numbers where it is not negligible, and ring the best one."""
    if not heat:
        return []
    best = max(heat, key=lambda one: heat[one])
    parts = [
        f'<path class="heat" fill-opacity="{0.85 * sqrt(chance / heat[best]):.2f}" d="{_path(one)}"/>'
        for one, chance in heat.items()
        if heat[best] > 0
    ]
    parts.append(f'<path class="best" data-hex="{best[0]} {best[1]}" d="{_path(best)}"/>')
    for one, chance in heat.items():
        if chance >= SMALLEST_LABEL:
            x, y = center(one)
            parts.append(f'<text class="chance" x="{x:.1f}" y="{y + 4:.1f}">{chance:.0%}</text>')
    return parts


def _choices(choices: Sequence[Choice], acting: Hex | None, taken: Collection[Hex]) -> list[str]:
    """Draw the actions that are advised, the best one on top: lines from the unit that acts, then ranks and numbers.

    A line goes from edge to edge. Rank and probability are written in the hex, above the unit if one stands there, or
    below the unit that would wait.
    """
    lines, labels = [], []
    for rank, choice in [*enumerate(choices, 1)][::-1]:
        at = choice.at or acting
        if at is None:
            continue
        x, y = center(at)
        if choice.at is None:
            rank_x, rank_y, text_x, text_y = x - 15, y + 22, x + 8, y + 27
        elif choice.at in taken:
            rank_x, rank_y, text_x, text_y = x - 15, y - 14, x + 8, y - 17
        else:
            rank_x, rank_y, text_x, text_y = x, y - 7, x, y + 13
        labels.append(
            f'<g class="choice" data-choice="{rank}"><circle class="rank" cx="{rank_x:.1f}" cy="{rank_y:.1f}" r="8"/>'
            f'<text class="rank-text" x="{rank_x:.1f}" y="{rank_y + 4:.1f}">{rank}</text>'
            f'<text class="chance" x="{text_x:.1f}" y="{text_y:.1f}">{choice.probability:.0%}</text></g>'
        )
        if acting is not None and at != acting:
            from_x, from_y = center(acting)
            part = HALF / hypot(x - from_x, y - from_y)
            across, down = part * (x - from_x), part * (y - from_y)
            line = f"M{from_x + across:.1f} {from_y + down:.1f}L{x - across:.1f} {y - down:.1f}"
            lines.append(f'<g class="choice rank-{rank}"><path d="{line}"/><path d="{_path(at)}"/></g>')
    return lines + labels


def _loss(state: GameState, marks: Marks) -> list[str]:
    """Draw the damage of the latest attack, and a cross if its target fell."""
    if marks.last is None or marks.last.end is None or marks.last.dice is None:
        return []
    x, y = center(marks.last.end)
    if marks.last.phase == "charge":
        words = "too far" if marks.last.dice.falls_short else ""
    else:
        words = f"-{marks.last.damage}" if marks.last.damage else "miss"
    parts = [f'<text class="loss{" new" * marks.is_new}" x="{x:.1f}" y="{y - 20:.1f}">{words}</text>']
    if all((unit.col, unit.row) != marks.last.end for unit in state.units.values()):
        parts.append(f'<path class="fallen" transform="translate({x:.1f} {y:.1f})" d="M-9 -9L9 9M-9 9L9 -9"/>')
    return parts


def sign(profile: Profile) -> str:
    """Return the sign of a profile, by its name or else by what it does: massive, swift, a shooter, or a fighter."""
    if profile.name in SIGNS:
        return SIGNS[profile.name]
    if profile.toughness >= MASSIVE:
        return SIGNS["behemoth"]
    if profile.move >= SWIFT:
        return SIGNS["mounted"]
    return SIGNS["rifleman" if profile.ranged is not None else "stalker"]


def badge(player: int, profile: Profile | None = None) -> str:
    """Return a small picture of a unit for lists and tables, or only the body of a side."""
    inside = "" if profile is None else f'<g transform="scale(.8)">{sign(profile)}</g>'
    return f'<svg class="dp-badge p{player}" viewBox="-18 -18 36 36" aria-hidden="true">{BODIES[player]}{inside}</svg>'
