"""Status, dice and units as HTML text, and steps as sentences for the person who plays, or for those who watch."""

import re
from collections.abc import Collection, Mapping
from html import escape
from typing import NamedTuple

from ...envs.deployment.odds import Odds
from ...envs.deployment.rules.deployment import why_not_undeploy
from ...envs.deployment.rules.dice import NEVER
from ...envs.deployment.rules.state import GameState, Unit
from ...envs.deployment.rules.world import PHASES
from ...envs.deployment.step_report import Dice, StepReport
from .board import FIELDS, HEX_PATH, badge
from .match import DeploymentMatch

STAGES = ("hit", "wound", "save")
HEADS = ("unit", "", "hp", "M", "T", "Sv", "OC", "hex", "")
ABBREVIATIONS = {
    "hp": "hit points: a unit without any is lost",
    "M": "movement: hexes in one turn",
    "T": "toughness: compared with the strength of a weapon, it decides the roll to wound",
    "Sv": "save: what the die must show to undo a wound; after the slash, a save that armor penetration cannot lower",
    "OC": "objective control: the side with more of it on an objective holds it",
}


class Voice(NamedTuple):
    name: str
    owner: str
    s: str  # ending of its verbs

    def does(self, verb: str, rest: str) -> str:
        return f"{self.name} {verb}{self.s} {rest}"


NEUTRAL = Voice("Player 1", "Player 1's", "s"), Voice("Player 2", "Player 2's", "s")
YOU = Voice("You", "Your", "")
OPPONENT = Voice("The opponent", "The opponent's", "s")
AT = r"\((\d+), (\d+)\)"


def status(match: DeploymentMatch, state: GameState) -> str:
    chips = "".join(f'<span class="chip{" on" * (phase == state.phase)}">{phase}</span>' for phase in PHASES)
    when = f"round {state.round} of {state.world.settings.rounds}" if state.round else "before round 1"
    return (
        f'<div class="dp-status">{_score(match, state, 1)}'
        f'<div class="middle"><div class="when">{when}</div><div class="chips">{chips}</div></div>'
        f"{_score(match, state, 2)}</div>"
    )


def _score(match: DeploymentMatch, state: GameState, player: int) -> str:
    turn = " turn" * (match.game.outcome(state) is None and match.game.to_move(state) + 1 == player)
    alive = sum(unit.hp > 0 for unit in state.units.values() if unit.player == player)
    kind = escape(match.seats[player - 1].name.rpartition("/")[2])
    return (
        f'<div class="score p{player}{turn}">{badge(player)}<div><b>Player {player}</b>'
        f"<small>{kind} · {alive} units</small></div>"
        f'<output aria-label="points of player {player}">{state.victory_points[player]}</output></div>'
    )


def headline(match: DeploymentMatch, state: GameState, unit: str | None) -> str:
    """Return the next action, or the result."""
    if match.game.outcome(state) is not None:
        return result_text(match, state)
    player = match.game.to_move(state) + 1
    agent = match.seats[player - 1].agent
    if state.deployment_state.unconfirmed_player is not None:
        own = state.scenario.rosters[player - 1]
        can_take_back = any(why_not_undeploy(state, unit.id) is None for unit in own)
        return f"Player {player} has placed every unit: confirm" + (", or take units back" if can_take_back else "")
    if state.phase == "deployment":
        asked = f"place {unit} on a marked hex" if unit else "choose a unit in the roster"
        return f"Player {player} deploys" + (f": {asked}" if agent is None else "")
    if state.active_unit_id is None:
        return f"Player {player}" + (": choose one of your units on a marked hex" if agent is None else "")
    choice = "a hex to move to" if state.phase == "move" else f"a target to {state.phase}"
    return f"Player {player}, {state.active_unit_id}" + (f": choose {choice}, or wait" if agent is None else "")


def result_text(match: DeploymentMatch, state: GameState) -> str:
    outcome, points = match.game.outcome(state), state.victory_points
    if state.game["deadlocked"]:
        return "The deployment is deadlocked: nobody wins"
    if outcome == 0:
        return f"A draw, {points[1]} to {points[2]}"
    winner = 1 if outcome == 1 else 2
    score = f"{points[winner]} to {points[3 - winner]}"
    left = any(unit.hp > 0 for unit in state.units.values() if unit.player != winner)
    return f"Player {winner} wins, {score}" + ("" if left else f": player {3 - winner} has no units left")


def legend() -> str:
    hexagon = (
        '<svg class="dp-badge dp-ground" viewBox="-22 -20 44 40"><g class="field {}"><path d="M-20 0{}"/></g></svg>'
    )
    rows = [(badge(player), f"unit of player {player}; the bar shows its hit points") for player in (1, 2)]
    rows += [(hexagon.format(kind, HEX_PATH), words) for kind, words in FIELDS.items()]
    return "".join(f'<div class="dp-key">{picture} {words}</div>' for picture, words in rows)


def log_entry(number: int, report: StepReport, named: tuple[Voice, Voice] = NEUTRAL) -> str:
    """Return a line of the log; `named`: what the players are called."""
    when = f"round {report.round}, {report.phase}" if report.round else report.phase
    items = "".join(f"<li>{escape(describe_event(event, named))}</li>" for event in report.events)
    events = f"<ul>{items}</ul>" if items else ""
    return (
        f'<div class="dp-entry p{report.player}" data-moment="{number}"><small>{number} · {when}</small>'
        f"<b>{escape(describe_action(report, named))}</b>{_dice(report.dice)}{events}</div>"
    )


def _dice(thrown: Dice | None) -> str:
    if thrown is None:
        return ""
    if len(thrown.needed) == 1:
        faces = "".join(_die(die, not thrown.falls_short) for die in thrown.rolled[0])
        return f'<span class="dice"><i>charge {thrown.needed[0]}+</i>{faces}</span>'
    shown = []
    for stage, (name, needed) in enumerate(zip(STAGES, thrown.needed, strict=True)):
        faces = "".join(_die(attack[stage], attack[stage] >= needed) for attack in thrown.rolled if len(attack) > stage)
        if faces:
            label = f"{name} {needed}+" if needed < NEVER else f"no {name}"
            shown.append(f'<span class="dice"><i>{label}</i>{faces}</span>')
    return "".join(shown)


def _die(value: int, good: bool) -> str:
    return f'<span class="die{" good" * good}">{value}</span>'


def unit_table(state: GameState, player: int) -> str:
    rows = []
    for unit in state.units.values():
        if unit.player != player:
            continue
        profile, condition = unit.profile, _condition(state, unit)
        save = f"{profile.save}+" + (f"/{profile.invulnerable}+" if profile.invulnerable else "")
        where = f"{unit.col}, {unit.row}" if unit.col >= 0 else "-"
        pips = f'<span class="pips">{"●" * unit.hp}{"○" * (profile.hp - unit.hp)}</span>'
        values = (pips, profile.move, profile.toughness, save, profile.control, where, condition)
        cells = "".join(f"<td>{value}</td>" for value in values)
        rows.append(
            f'<tr class="{condition.replace(" ", "-")}" data-status="{escape(unit.id)}" '
            f'title="{escape(weapons(unit))}"><td>{badge(unit.player, profile)} {escape(unit.id)}</td>'
            f"<td>{escape(profile.name)}</td>{cells}</tr>"
        )
    meanings = {head: f'<abbr title="{meaning}">{head}</abbr>' for head, meaning in ABBREVIATIONS.items()}
    heads = "".join(f"<th>{meanings.get(head, head)}</th>" for head in HEADS)
    return (
        f'<table class="dp-table p{player}" aria-label="UnitStatusTable player {player}">'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _condition(state: GameState, unit: Unit) -> str:
    if unit.hp == 0:
        return "fallen"
    if unit.id not in state.deployment_state.deployed_units:
        return "to deploy"
    if unit.id == state.active_unit_id:
        return "active"
    return " ".join(name for name in ("acted", "fled", "charged") if getattr(unit, name))


def weapons(unit: Unit) -> str:
    words = [f"{unit.profile.name}, {unit.profile.points} points"]
    for kind, arm in (("range", unit.profile.ranged), ("melee", unit.profile.melee)):
        if arm is not None:
            reach = f" {arm.range}" if kind == "range" else ""
            words.append(f"{kind}{reach}: {arm.attacks} attacks, {arm.hit}+ S{arm.strength} AP-{arm.ap} D{arm.damage}")
    return " · ".join(words)


def unit_card(unit: Unit, owner: str) -> str:
    profile = unit.profile
    save = f"save {profile.save}+" + (f", invulnerable {profile.invulnerable}+" if profile.invulnerable else "")
    values = (f"moves {profile.move} hexes", f"toughness {profile.toughness}", save, f"control {profile.control}")
    arms = "".join(
        f"<li><b>{kind}</b> {arm.attacks} attack{'s' * (arm.attacks > 1)}"
        + (f" up to {arm.range} hexes" if kind == "Shoots" else "")
        + f", hits on {arm.hit}+, strength {arm.strength}, lowers armor by {arm.ap}, damage {arm.damage}</li>"
        for kind, arm in (("Shoots", profile.ranged), ("Fights", profile.melee))
        if arm is not None
    )
    return (
        f'<div class="dp-unit p{unit.player}" data-card="{escape(unit.id)}">{badge(unit.player, profile)} '
        f"<b>{escape(unit.id)}</b> {escape(profile.name)} · {escape(owner)} · "
        f'{unit.hp} of {profile.hp} hit points<div class="faint">{" · ".join(values)}</div><ul>{arms}</ul></div>'
    )


def odds_table(odds: Mapping[str, Odds | float]) -> str:
    """Return the odds of the active unit against each target."""
    if not odds:
        return ""
    if any(isinstance(one, Odds) for one in odds.values()):
        heads: tuple[str, ...] = ("target", "hits", "wounds", "not saved", "mean loss", "kills")
    else:
        heads = ("target", "arrives")
    rows = []
    for unit, one in odds.items():
        if isinstance(one, Odds):
            chances = "".join(f"<td>{chance:.0%}</td>" for chance in (one.hit, one.wound, one.unsaved))
            shown = f"{chances}<td>{one.mean:.2f}</td><td><b>{one.kill:.0%}</b></td>"
        else:
            shown = f"<td><b>{one:.0%}</b></td>"
        rows.append(f"<tr><td>{escape(unit)}</td>{shown}</tr>")
    cells = "".join(f"<th>{head}</th>" for head in heads)
    return f'<table class="dp-table dp-odds"><thead><tr>{cells}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def voices(human_seats: Collection[int]) -> tuple[Voice, Voice]:
    """Return the names of both players: you and the opponent, if one person plays."""
    if len(human_seats) != 1:
        return NEUTRAL
    return (YOU, OPPONENT) if 0 in human_seats else (OPPONENT, YOU)


def describe_action(report: StepReport, named: tuple[Voice, Voice]) -> str:
    """Return what a player did; an unknown description is returned as it is."""
    voice = named[report.player - 1]
    words = report.action.split()
    if report.action.startswith("deploy_unit"):
        at = re.search(AT, report.action)
        return voice.does("place", words[1] + (f" on column {at[1]}, row {at[2]}" if at else ""))
    if words[0] == "undeploy_unit":
        return voice.does("take", f"{words[1]} back")
    if words[0] == "confirm_deployment":
        return named[int(words[1]) - 1].does("confirm", "the deployment")
    if words[0] == "pass_deployment":
        return f"{voice.name} pass{'es' if voice.s else ''}"
    if words[0] == "player":
        return voice.does("choose", words[-1])
    said = re.sub(rf"goes to {AT}", r"moves to column \1, row \2", report.action)
    return f"{voice.owner} {said}"


def describe_event(text: str, named: tuple[Voice, Voice]) -> str:
    """Return a consequence in the same words as actions."""
    text = re.sub(r"\b(\d+) hp\b", lambda found: f"{found[1]} hit point{'s' * (found[1] != '1')}", text)
    text = re.sub(rf"objective {AT}", r"the objective on column \1, row \2", text)
    text = re.sub(r"scores (\d+)", r"scores \1 points", text)

    def name(found: re.Match[str]) -> str:
        voice = named[int(found[1]) - 1]
        if found[2]:
            return voice.owner[0].lower() + voice.owner[1:]
        name = voice.name[0].lower() + voice.name[1:]
        return f"{name} {found[3][:-1]}{voice.s}" if found[3] else name

    return re.sub(r"player ([12])('s)?(?: (takes|scores)\b)?", name, text)


def address_player(words: str, human_seats: Collection[int]) -> str:
    """Return a headline that speaks to the person who plays, if it is only one."""
    if len(human_seats) != 1:
        return words
    named = voices(human_seats)

    def name(found: re.Match[str]) -> str:
        voice, verb = named[int(found[2]) - 1], found[4] or ""
        if voice is YOU:
            verb = " have" if verb == " has" else verb.removesuffix("s")
        said = f"{voice.owner} " if found[3] else f"{voice.name}{verb}"
        return said if found[1] == "P" else said[0].lower() + said[1:]

    return re.sub(r"\b([Pp])layer ([12])(?:(, )(?=\w+\b)|( has| deploys| wins))?", name, words)
