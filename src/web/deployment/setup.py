"""Which game is played and by whom. A set-up is the query of the page's address, so a refresh shows the same one."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from src.core.agent import NOTHING, Agent
from src.core.errors import LabError, require
from src.core.seeding import generator
from src.envs.deployment.bots import Redeployed
from src.envs.deployment.deployment import ORDER_MODES
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.placement import BackLine, Deterministic, FrontLine, Placement, Scripted
from src.web.deployment.match import Match, Player
from src.web.lab import Lab, finished_runs

PATH = "/deployment"
SCENARIOS = {"skirmish": "deployment", "mirror": "deployment_mirror", "siege": "deployment_siege"}
ZONES = ("hammer", "trench", "corners", "pincer")
HUMAN = "human"
AGENTS = ("random", "greedy", "defensive", "tactical", "erratic")
RUN = "run:"  # before the path of a finished run, whose agent plays
PLACEMENTS: Mapping[str, type[Placement]] = {
    "deterministic": Deterministic,
    "front_line": FrontLine,
    "back_line": BackLine,
    "scripted": Scripted,
}
OWN = "own"  # the zones of the scenario, the placement that an agent has of itself
ZONE_HEXES = 176  # of the largest zone, where one is chosen that is not the scenario's
MOST_SEED = 2**32


class Setup(NamedTuple):
    scenario: str = "skirmish"
    order: str = "player_by_player"
    zones: str = OWN
    player_1: str = HUMAN
    placement_1: str = OWN
    player_2: str = "tactical"
    placement_2: str = OWN
    seed: str = ""  # drawn if empty

    @property
    def address(self) -> str:
        default = Setup()
        given = {key: value for key, value in self._asdict().items() if value != getattr(default, key)}
        return f"{PATH}?{urlencode(given)}" if given else PATH


CHOICES: Mapping[str, tuple[str, ...]] = {
    "scenario": tuple(SCENARIOS),
    "order": ORDER_MODES,
    "zones": (OWN, *ZONES),
    "player_1": (HUMAN, *AGENTS),
    "placement_1": (OWN, *PLACEMENTS),
    "player_2": (HUMAN, *AGENTS),
    "placement_2": (OWN, *PLACEMENTS),
}


def read(query: Mapping[str, str]) -> Setup:
    """The set-up that an address names; anything unknown in it raises `LabError`."""
    for key, value in query.items():
        require(key in Setup._fields, f"{key}={value} is unknown: there are {', '.join(Setup._fields)}")
        if key in CHOICES and not (key.startswith("player") and value.startswith(RUN)):
            require(value in CHOICES[key], f"{key}={value} is unknown: choose one of {', '.join(CHOICES[key])}")
    setup = Setup(**query)
    if setup.seed:
        whole = setup.seed.isascii() and setup.seed.isdigit() and len(setup.seed) < 12 and int(setup.seed) < MOST_SEED
        require(whole, f"seed={setup.seed}: expected a whole number from 0 to {MOST_SEED - 1}, or nothing")
    return setup


def game_of(lab: Lab, scenario: str, order: str, zones: str) -> DeploymentGame:
    changes: dict[str, object] = {"game.deployment_order_mode": order}
    choices = NOTHING
    if zones != OWN:
        changes["game.deployment_max_hex_slots"] = ZONE_HEXES
        choices = {"env/deployment/zones@env.game.zones": zones}
    game = lab.game(SCENARIOS[scenario], changes, choices)
    assert isinstance(game, DeploymentGame)
    return game


def match_of(lab: Lab, game: DeploymentGame, setup: Setup) -> Match:
    """A new match. Its agents take a while, so it is not for the event loop."""
    seed = int(setup.seed) if setup.seed else int(lab.rng().integers(MOST_SEED))
    seats = ((setup.player_1, setup.placement_1), (setup.player_2, setup.placement_2))
    first, second = (
        Player(name, _agent(lab, game, name, placement), generator(seed, "player", number))
        for number, (name, placement) in enumerate(seats, 1)
    )
    return Match(game, (first, second), seed)


def _agent(lab: Lab, game: DeploymentGame, name: str, placement: str) -> Agent | None:
    if name == HUMAN:
        require(placement == OWN, f"placement={placement}: a human places by hand, so leave it at {OWN}")
        return None
    try:
        if name.startswith(RUN):
            agent = lab.agent("trained", game, {"run": str(_run(lab, name.removeprefix(RUN)))})
        else:
            agent = lab.agent(name, game)
        if placement != OWN:
            agent = Redeployed(PLACEMENTS[placement](), agent)
            agent.check(game)
    except LabError as error:
        raise LabError(f"{name} cannot play here: {error}") from error
    return agent


def runs(lab: Lab) -> list[str]:
    """The runs of this game, by the names they have on the page."""
    return [run.name for run in finished_runs(lab.folders) if run.env.startswith(SCENARIOS["skirmish"])]


def _run(lab: Lab, name: str) -> Path:
    """A run that is found below the folders, never any other path that a browser may send."""
    for run in finished_runs(lab.folders):
        if run.name == name:
            return run.path
    raise LabError(f"there is no finished run {name!r}: choose one of the list")
