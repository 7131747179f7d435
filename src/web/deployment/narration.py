"""Steps of a game as sentences for the person who plays, or for those who watch."""

import re
from collections.abc import Collection
from typing import NamedTuple

from ...envs.deployment.step_report import StepReport


class Voice(NamedTuple):
    """How a player is named."""

    name: str
    owner: str
    s: str  # ending of its verbs

    def does(self, verb: str, rest: str) -> str:
        return f"{self.name} {verb}{self.s} {rest}"


NEUTRAL = Voice("Player 1", "Player 1's", "s"), Voice("Player 2", "Player 2's", "s")
YOU = Voice("You", "Your", "")
OPPONENT = Voice("The opponent", "The opponent's", "s")
AT = r"\((\d+), (\d+)\)"


def voices(human_seats: Collection[int]) -> tuple[Voice, Voice]:
    """Return the names of both players: you and the opponent, if one person plays."""
    if len(human_seats) != 1:
        return NEUTRAL
    return (YOU, OPPONENT) if 0 in human_seats else (OPPONENT, YOU)


def action(report: StepReport, named: tuple[Voice, Voice]) -> str:
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


def event(text: str, named: tuple[Voice, Voice]) -> str:
    """Return a consequence in the same words as actions."""
    text = re.sub(r"\b(\d+) hp\b", lambda found: f"{found[1]} hit point{'s' * (found[1] != '1')}", text)
    text = re.sub(rf"objective {AT}", r"the objective on column \1, row \2", text)
    text = re.sub(r"scores (\d+)", r"scores \1 points", text)
    return re.sub(r"player ([12])('s)?(?: (takes|scores)\b)?", lambda found: _named(found, named), text)


def _named(found: re.Match[str], named: tuple[Voice, Voice]) -> str:
    voice = named[int(found[1]) - 1]
    if found[2]:
        return voice.owner[0].lower() + voice.owner[1:]
    name = voice.name[0].lower() + voice.name[1:]
    return f"{name} {found[3][:-1]}{voice.s}" if found[3] else name


def addressed(words: str, human_seats: Collection[int]) -> str:
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
