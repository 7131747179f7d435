"""Status, results, dice and unit tables as HTML text."""

from html import escape

from ...envs.deployment.deployment import why_not_undeploy
from ...envs.deployment.dice import NEVER
from ...envs.deployment.state import GameState, Unit
from ...envs.deployment.step_report import Dice, StepReport
from ...envs.deployment.world import PHASES
from .glyphs import badge, side
from .match import DeploymentMatch

STAGES = ("hit", "wound", "save")
PROMPTS = {
    "move": "choose a hex to move to, or wait",
    "shoot": "choose a target to shoot, or wait",
    "charge": "choose a target to charge, or wait",
    "fight": "choose a target to fight, or wait",
}


def status(match: DeploymentMatch, state: GameState) -> str:
    """Return the status line: both scores, round and phase."""
    chips = "".join(f'<span class="chip{" on" * (phase == state.phase)}">{phase}</span>' for phase in PHASES)
    when = f"round {state.round} of {state.world.rounds}" if state.round else "before round 1"
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
        f'<div class="score p{player}{turn}">{side(player)}<div><b>Player {player}</b>'
        f"<small>{kind} · {alive} units</small></div>"
        f'<output aria-label="points of player {player}">{state.victory_points[player]}</output></div>'
    )


def headline(match: DeploymentMatch, state: GameState, unit: str | None) -> str:
    """Return the next action, or the result."""
    if match.game.outcome(state) is not None:
        return ending(match, state)
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
    asked = f": {PROMPTS[state.phase]}" if agent is None else ""
    return f"Player {player}, {state.active_unit_id}{asked}"


def ending(match: DeploymentMatch, state: GameState) -> str:
    outcome, points = match.game.outcome(state), state.victory_points
    if state.game["deadlocked"]:
        return "The deployment is deadlocked: nobody wins"
    if outcome == 0:
        return f"A draw, {points[1]} to {points[2]}"
    winner = 1 if outcome == 1 else 2
    score = f"{points[winner]} to {points[3 - winner]}"
    left = any(unit.hp > 0 for unit in state.units.values() if unit.player != winner)
    return f"Player {winner} wins, {score}" + ("" if left else f": player {3 - winner} has no units left")


def entry(number: int, report: StepReport) -> str:
    """Return a line of the log."""
    when = f"R{report.round} {report.phase}" if report.round else report.phase
    events = "".join(f"<li>{escape(event)}</li>" for event in report.events)
    return (
        f'<div class="dp-entry p{report.player}" data-moment="{number}"><small>{number} · {when}</small>'
        f"<b>{escape(report.action)}</b>{dice(report.dice)}{f'<ul>{events}</ul>' if events else ''}</div>"
    )


def dice(thrown: Dice | None) -> str:
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
    """Return the `UnitStatusTable` of a player."""
    heads = ("unit", "", "hp", "M", "T", "Sv", "OC", "hex", "")
    rows = "".join(_row(state, unit) for unit in state.units.values() if unit.player == player)
    cells = "".join(f"<th>{head}</th>" for head in heads)
    return (
        f'<table class="dp-table p{player}" aria-label="UnitStatusTable player {player}">'
        f"<thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(state: GameState, unit: Unit) -> str:
    profile = unit.profile
    save = f"{profile.save}+" + (f"/{profile.invulnerable}+" if profile.invulnerable else "")
    where = f"{unit.col}, {unit.row}" if unit.col >= 0 else "-"
    pips = f'<span class="pips">{"●" * unit.hp}{"○" * (profile.hp - unit.hp)}</span>'
    values = (pips, profile.move, profile.toughness, save, profile.control, where, _condition(state, unit))
    cells = "".join(f"<td>{value}</td>" for value in values)
    kind = _condition(state, unit).replace(" ", "-")
    return (
        f'<tr class="{kind}" data-status="{escape(unit.id)}" title="{escape(weapons(unit))}">'
        f"<td>{badge(unit.player, profile)} {escape(unit.id)}</td><td>{escape(profile.name)}</td>{cells}</tr>"
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
    """Return the weapons of a unit on one line."""
    words = [f"{unit.profile.name}, {unit.profile.points} points"]
    for kind, arm in (("range", unit.profile.ranged), ("melee", unit.profile.melee)):
        if arm is not None:
            reach = f" {arm.reach}" if kind == "range" else ""
            words.append(f"{kind}{reach}: {arm.attacks} attacks, {arm.hit}+ S{arm.strength} AP-{arm.ap} D{arm.damage}")
    return " · ".join(words)
