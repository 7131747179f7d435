"""The choices of a match, saved in the URL so that they survive a refresh, and the match they make."""

from collections.abc import Mapping
from typing import NamedTuple, get_args
from urllib.parse import urlencode

from ...core.errors import UserError, require
from ...core.play.agent import NOTHING, Agent
from ...core.runs.config_file import read_config
from ...core.runs.index.playable import FinishedRun, finished_runs
from ...core.seeding import generator
from ...envs.deployment.bots import FirstUnit, Redeployed
from ...envs.deployment.bots.placement import BackLine, Deterministic, FrontLine, Placement, Scripted
from ...envs.deployment.game import DeploymentGame
from ...envs.deployment.rules.deployment import Activation, OrderMode
from ...envs.deployment.rules.scenario import Scenario
from ..services import Services
from . import PAGE
from .match import DeploymentMatch, Seat

SCENARIOS = {
    "skirmish": "deployment",
    "mirror": "deployment_mirror",
    "siege": "deployment_siege",
    "classic": "deployment_classic",
    "classic_mirror": "deployment_classic_mirror",
}
SCENARIO_BY_ENV = {env: scenario for scenario, env in SCENARIOS.items()} | {"deployment_alternated": "skirmish"}
ZONES = ("hammer", "trench", "redoubt", "corners", "pincer")
HUMAN = "human"
AGENTS = ("random", "greedy", "defensive", "tactical", "balanced", "erratic", "planner")
RUN = "run:"  # prefix of the name of a finished run
PLACEMENTS: Mapping[str, Placement] = {
    "deterministic": Deterministic(),
    "front_line": FrontLine("first"),
    "back_line": BackLine("first"),
    "scripted": Scripted(),
}
OWN = "own"  # the zones of the scenario, the placement of the agent
ZONE_HEXES = 176  # size of the largest zone
SEED_LIMIT = 2**32
SCENARIO_PARTS = ("board", "zones", "profiles", "scenario")  # of the configuration of a game


class MatchSetup(NamedTuple):
    scenario: str = "skirmish"
    order: str = "player_by_player"
    activation: str = "choice"
    zones: str = OWN
    player_1: str = HUMAN
    placement_1: str = OWN
    player_2: str = "tactical"
    placement_2: str = OWN
    seed: str = ""  # random if empty

    @property
    def people(self) -> tuple[int, ...]:
        return tuple(number for number, name in enumerate((self.player_1, self.player_2), 1) if name == HUMAN)

    @property
    def address(self) -> str:
        default = MatchSetup()
        given = {key: value for key, value in self._asdict().items() if value != getattr(default, key)}
        return f"{PAGE.path}?{urlencode(given)}" if given else PAGE.path


CHOICES: Mapping[str, tuple[str, tuple[str, ...]]] = {  # labels and options
    "scenario": ("Scenario", tuple(SCENARIOS)),
    "order": ("Order of deployment", get_args(OrderMode)),
    "activation": ("Which unit acts", get_args(Activation)),
    "zones": ("Zones", (OWN, *ZONES)),
    "player_1": ("Player 1", (HUMAN, *AGENTS)),
    "placement_1": ("Placement of player 1", (OWN, *PLACEMENTS)),
    "player_2": ("Player 2", (HUMAN, *AGENTS)),
    "placement_2": ("Placement of player 2", (OWN, *PLACEMENTS)),
}


def read(query: Mapping[str, str]) -> MatchSetup:
    """Parse a query; raise `UserError` for unknown keys and values."""
    for key, value in query.items():
        require(key in MatchSetup._fields, f"{key}={value} is unknown: there are {', '.join(MatchSetup._fields)}")
        if key in CHOICES and not (key.startswith("player") and value.startswith(RUN)):
            options = CHOICES[key][1]
            require(value in options, f"{key}={value} is unknown: choose one of {', '.join(options)}")
    setup = MatchSetup(**query)
    if setup.seed:
        whole = setup.seed.isascii() and setup.seed.isdigit() and len(setup.seed) < 12 and int(setup.seed) < SEED_LIMIT
        require(whole, f"seed={setup.seed}: expected a whole number from 0 to {SEED_LIMIT - 1}, or an empty text")
    return setup


def game_of(
    services: Services, scenario: str, order: str, activation: str, zones: str, people: tuple[int, ...] = ()
) -> DeploymentGame:
    """Return the game of these choices; `people` (1, 2) end their deployment by confirming it."""
    changes: dict[str, object] = {
        "game.deployment_order_mode": order,
        "game.activation": activation,
        "game.confirming_players": list(people),
    }
    choices = NOTHING
    if zones != OWN:
        changes["game.deployment_max_hex_slots"] = ZONE_HEXES
        choices = {"env/deployment/zones@env.game.zones": zones}
    game = services.game(SCENARIOS[scenario], changes, choices)
    assert isinstance(game, DeploymentGame)
    return game


def match_of(services: Services, game: DeploymentGame, setup: MatchSetup) -> DeploymentMatch:
    """Start a match; loading its agents is slow, so call it off the event loop."""
    seed = int(setup.seed) if setup.seed else int(services.rng().integers(SEED_LIMIT))
    chosen = ((setup.player_1, setup.placement_1), (setup.player_2, setup.placement_2))
    first, second = (
        Seat(name, _agent(services, game, setup.scenario, name, placement), generator(seed, "player", number))
        for number, (name, placement) in enumerate(chosen, 1)
    )
    return DeploymentMatch(game, (first, second), seed)


def _agent(services: Services, game: DeploymentGame, scenario: str, name: str, placement: str) -> Agent | None:
    if name == HUMAN:
        require(placement == OWN, f"placement={placement}: a human places by hand: choose {OWN}")
        return None
    try:
        run = name.removeprefix(RUN)
        agent = services.agent(name, game) if run == name else trained_agent(services, game, scenario, run)
        if placement != OWN:
            agent = Redeployed(PLACEMENTS[placement], agent)
            agent.check(game)
    except UserError as error:
        raise UserError(f"{name} cannot play here: {error}") from error
    return agent


def is_trained_on(run: FinishedRun, game: DeploymentGame, scenario: str) -> bool:
    """Whether a run was trained on a scenario, or in a mixture with its board and armies."""
    if SCENARIO_BY_ENV[run.env] == scenario:
        return True
    try:
        others = read_config(run.path).get("curriculum", {}).get("others", {}).values()
        trained = [Scenario.load(*(env["game"][key] for key in SCENARIO_PARTS)) for env in others]
    except (UserError, KeyError, TypeError, AttributeError):  # anything may be in a run directory
        return False
    return any((one.board, one.rosters) == (game.scenario.board, game.scenario.rosters) for one in trained)


def trained_agent(services: Services, game: DeploymentGame, scenario: str, name: str) -> Agent:
    """Load the agent of a known run; names are untrusted, so they are not used as paths."""
    run = next((run for run in runs(services) if run.name == name), None)
    if run is None:
        raise UserError(f"{name!r} is not a finished run of this game: choose one of the list")
    trained_on = SCENARIO_BY_ENV[run.env]
    require(is_trained_on(run, game, scenario), f"it was trained on env={run.env}: choose that scenario, {trained_on}")
    try:
        if game.can_play(read_config(run.path).get("env")):
            return services.agent("trained", game, {"run": str(run.path)})
        return FirstUnit(services.agent("trained", game.by_id(), {"run": str(run.path)}))
    except UserError as error:
        if isinstance(error.__cause__, RuntimeError):  # torch reports tensor shapes
            raise UserError(f"it was trained for zones or rosters of another size: choose zones={OWN}") from error
        raise


def runs(services: Services) -> list[FinishedRun]:
    """Return the runs trained on a scenario of this page."""
    return [run for run in finished_runs(services.folders) if run.env in SCENARIO_BY_ENV]
