"""A search opponent: it tries the best actions of a bot in rollouts, in which the bot plays on for both sides.

Rollouts are divided among the candidates by sequential halving (Karnin, Koren & Somekh 2013): all candidates get
equally many, the better half of them the next ones, until one is left. Rollout r has the same dice for each candidate.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from ....core.errors import require
from ....core.kernels import by_reference
from ....core.parallel import run_in_spans
from ....core.play.agent import Agent, Decision, Line
from ....core.play.game import Game, Trait
from ....core.ranges import Bounds, Fraction, NonNegative, checked
from ...splitmix import hash_word
from .. import rules
from ..game import DeploymentGame
from ..rules.battle import max_victory_points, points_per_score, take_objectives
from ..rules.kernels import UNDECIDED, kernel, record, released
from ..rules.state import GameState
from ..rules.world import Games, World, copy_game
from .bot import Bot
from .policy import RNG, Policy, choose, score_actions

CANDIDATE = record(
    ("action", np.int64),
    ("score", np.float64),  # by the bot; orders the candidates before the first rollout; infinite for its choice
    ("total", np.float64),  # over its rollouts
    ("squares", np.float64),  # the same of their squares
    ("rollouts", np.int64),
)


@by_reference
class Search(NamedTuple):
    games: Games  # one game, overwritten by every rollout
    rng: np.ndarray  # (1,) RNG: the generator of a bot that explores
    policy: Policy
    objectives: float  # weight of victory points; surviving units have the rest
    turns: int
    seed: np.uint64  # of the dice


class Planner(Agent):
    """Chooses the action with the best mean result in rollouts; its units are placed by the bot `policy`.

    A rollout begins with one of the `candidates` best actions by the score of the bot and ends `turns` player turns
    after the current one, or with the game if `turns` is None. Noise must not replace the bot's choice: another action
    has to be better by `confidence` standard errors.
    """

    needs = frozenset({Trait.TWO_PLAYER})
    games_in_step = 32  # split over threads: the search releases the GIL

    @checked
    def __init__(
        self,
        policy: Bot,
        candidates: Annotated[int, Bounds(ge=1, le=10_000)],
        rollouts: Annotated[int, Bounds(ge=1, le=10**9)],
        turns: Annotated[int, Bounds(ge=0, le=1000)] | None,
        objectives: Fraction,
        confidence: NonNegative,
    ) -> None:
        self.policy, self.objectives, self.confidence = policy, float(objectives), float(confidence)
        self.candidates, self.rollouts, self.turns = candidates, rollouts, turns

    def check(self, game: Game) -> None:
        self.policy.check(game)

    def decide(self, game: Game, view: GameState, rng: np.random.Generator) -> Decision:
        return self.decide_batch(game, [view], [rng])[0]

    def decide_batch(self, game: Game, views: Sequence[Any], rngs: Sequence[np.random.Generator]) -> list[Decision]:
        def decide_span(first: int, end: int) -> list[Decision]:
            decisions = []
            for view, rng in zip(views[first:end], rngs[first:end], strict=True):
                if view.phase == "deployment":
                    decisions.append(self.policy.decide(game, view, rng))
                else:
                    best = self.search(game, view, rng.integers(2**64, dtype=np.uint64))[0]
                    decisions.append(Decision(int(best["action"]), {"value": _mean(best)}))
            return decisions

        return [decision for span in run_in_spans(decide_span, len(views), 1) for decision in span]

    def analyze(self, game: Game, view: GameState, count: int) -> list[Line]:
        """Return the candidates with their mean results, from -2 to 2."""
        require(view.phase != "deployment", "it does not search the deployment: its units are placed by its bot")
        found = self.search(game, view, np.uint64(0))
        return [Line(f"{_mean(one):+.3f}", (int(one["action"]),)) for one in found[:count]]

    def search(self, game: Game, view: GameState, seed: np.uint64) -> np.ndarray:
        """Return the candidates (K,) CANDIDATE of a position in battle, best first."""
        assert isinstance(game, DeploymentGame)
        turns = 2 * game.world.settings.rounds if self.turns is None else self.turns
        search = Search(game.games(1), np.zeros(1, RNG), self.policy.policy(game), self.objectives, turns, seed)
        scores = np.full(game.num_actions, -np.inf)
        score_actions(game.world, view.games, view.i, search.policy, search.rng[0], scores)
        count = min(self.candidates, int(np.count_nonzero(scores > -np.inf)))
        found = np.zeros(count, CANDIDATE)
        found["action"] = np.argsort(-scores, kind="stable")[:count]
        found["score"] = scores[found["action"]]
        left, played, stages = count, 0, (count - 1).bit_length()
        while left > 1:
            more, kept = max(self.rollouts // (stages * left), 1), (left + 1) // 2
            for candidate in found[:left]:
                play_rollouts(game.world, view.games, view.i, search, candidate, played, played + more)
            played += more
            found[:left] = found[np.argsort(-found["total"][:left], kind="stable")]  # ties keep the bot's order
            bots = int(found["score"].argmax())
            if left > 2 and bots >= kept:  # keep the bot's choice, as the last one if it is worse
                found[[kept - 1, bots]] = found[[bots, kept - 1]]
            left = kept
        if count > 1 and found[0]["score"] != np.inf:  # better than the bot's choice, but by enough standard errors?
            best, other = found[:2]
            spread = best["squares"] + other["squares"] - (best["total"] ** 2 + other["total"] ** 2) / best["rollouts"]
            if best["total"] - other["total"] <= self.confidence * np.sqrt(max(spread, 0.0)):
                found[:2] = found[1::-1].copy()
        return found


def _mean(candidate: Any) -> float:
    return float(candidate["total"] / max(candidate["rollouts"], 1))


@released
def play_rollouts(world: World, games: Games, i: int, search: Search, candidate: Any, first: int, end: int) -> None:
    """Add rollouts with the numbers from `first` to before `end` to a candidate."""
    for number in range(first, end):
        value = _rollout(world, games, i, search, candidate.action, search.seed + np.uint64(number))
        candidate.total += value
        candidate.squares += value * value
    candidate.rollouts += end - first


@kernel
def _rollout(world: World, games: Games, i: int, search: Search, action: int, seed: Any) -> float:
    """Play an action, then the bot for both sides up to the horizon, with the dice of `seed`; return the result."""
    scratch, seat = search.games, games.games[i].to_move
    copy_game(games, i, scratch, 0)
    scratch.games[0].random = hash_word(seed)  # the search must not know the dice to come
    search.rng[0].random = hash_word(scratch.games[0].random)
    horizon = turn_number(games, i) + search.turns
    rules.play(world, scratch, 0, action)
    while not rules.is_over(scratch, 0) and turn_number(scratch, 0) <= horizon:
        rules.play(world, scratch, 0, choose(world, scratch, 0, search.policy, search.rng[0]))
    take_objectives(world, scratch, 0)
    lead = final_points(world, scratch, 0, seat) - final_points(world, scratch, 0, 1 - seat)
    value = search.objectives * lead / max_victory_points(world)
    value += (1.0 - search.objectives) * (_strength(world, scratch, seat) - _strength(world, scratch, 1 - seat))
    if scratch.games[0].outcome == UNDECIDED:
        return value
    return value + (scratch.games[0].outcome if seat == 0 else -scratch.games[0].outcome)


@kernel
def turn_number(games: Games, i: int) -> int:
    """Return the number of player turns since the beginning of the battle."""
    return 2 * games.games[i].round + (games.games[i].turn != games.games[i].first)


@kernel
def final_points(world: World, games: Games, i: int, seat: int) -> int:
    """Return the victory points of a seat at the end of a battle in which the control of objectives stays the same."""
    game, points = games.games[i], games.sides[i, seat].victory_points
    if game.outcome != UNDECIDED:
        return points
    left = world.settings.rounds - game.round  # times that it will score
    if seat != game.first and ((game.turn == game.first and game.round > 1) or game.round == world.settings.rounds):
        left += 1
    return points + left * points_per_score(world, games, i, seat)


@kernel
def _strength(world: World, games: Games, seat: int) -> float:
    """Return the fraction of a seat's points that is left, units with fewer hit points counted in part."""
    left, total = 0.0, 0
    for u in range(seat * world.slots, (seat + 1) * world.slots):
        if world.units[u].exists:
            left += world.units[u].points * games.units[0, u].hp / world.units[u].hp
            total += world.units[u].points
    return left / max(total, 1)
