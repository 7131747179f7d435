"""A search opponent: it tries the best actions of a bot in rollouts, in which the bot plays on for both sides.

Rollouts are divided among the candidates by sequential halving (Karnin, Koren & Somekh 2013): all candidates get
equally many, the better half of them the next ones, until one is left. Rollout r has the same dice for each candidate.
"""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from ....core.errors import require
from ....core.kernels import by_reference, jit
from ....core.parallel import run_in_spans
from ....core.play.agent import Agent, Decision, Line
from ....core.play.game import Game, Trait
from ....core.ranges import Bounds, Fraction, NonNegative, checked
from ...splitmix import hash_word
from .. import rules
from ..game import DeploymentGame
from ..observation import copy_values
from ..rules.battle import max_victory_points, points_per_score, take_objectives
from ..rules.dice import kernel
from ..rules.state import NOBODY, UNDECIDED, Games, GameState
from ..rules.world import World
from .bot import Bot
from .policy import RNG, Policy, action_value, choose

CANDIDATE = np.dtype(
    [
        ("action", np.int64),
        ("score", np.float64),  # by the bot; orders the candidates before the first rollout
        ("total", np.float64),  # over its rollouts
        ("squares", np.float64),  # the same of their squares
        ("rollouts", np.int64),
    ],
    align=True,
)


@by_reference
class Search(NamedTuple):
    games: Games  # one game, overwritten by every rollout
    candidates: np.ndarray  # (K,) CANDIDATE
    rng: np.ndarray  # (1,) RNG: the generator of a bot that explores
    policy: Policy
    objectives: float  # weight of victory points; surviving units have the rest
    confidence: float  # standard errors
    rollouts: int
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
        search = Search(
            games=game.games(1),
            candidates=np.zeros(self.candidates, CANDIDATE),
            rng=np.zeros(1, RNG),
            policy=self.policy.policy(game),
            objectives=self.objectives,
            confidence=self.confidence,
            rollouts=self.rollouts,
            turns=2 * game.world.rounds if self.turns is None else self.turns,
            seed=seed,
        )
        return search.candidates[: find_best(game.world, view.games, view.i, search)]


def _mean(candidate: Any) -> float:
    return float(candidate["total"] / max(candidate["rollouts"], 1))


@jit(nogil=True, _nrt=False)
def find_best(world: World, games: Games, i: int, search: Search) -> int:
    """Order the candidates, best first; return their number."""
    candidates, count = search.candidates, _find_candidates(world, games, i, search)
    stages, left = 0, count
    while left > 1:
        stages += 1
        left = (left + 1) // 2
    left, played = count, 0
    while left > 1:
        more = max(search.rollouts // (stages * left), 1)
        for k in range(left):
            for rollout in range(played, played + more):
                value = _rollout(world, games, i, search, k, search.seed + np.uint64(rollout))
                candidates[k].total += value
                candidates[k].squares += value * value
            candidates[k].rollouts += more
        played += more
        for k in range(1, left):  # a stable sort, so that ties keep the bot's order
            at = k
            while at > 0 and candidates[at].total > candidates[at - 1].total:
                _swap(candidates, at, at - 1)
                at -= 1
        kept = (left + 1) // 2
        for k in range(kept, left if left > 2 else 0):  # keep the bot's choice, as the last one if it is worse
            if candidates[k].score == np.inf:
                _swap(candidates, kept - 1, k)
        left = kept
    if count > 1 and candidates[0].score != np.inf:  # better than the bot's choice, but by enough standard errors?
        best, other = candidates[0], candidates[1]
        spread = best.squares + other.squares - (best.total**2 + other.total**2) / best.rollouts
        if best.total - other.total <= search.confidence * np.sqrt(max(spread, 0.0)):
            _swap(candidates, 0, 1)
    return count


@kernel
def _swap(candidates: np.ndarray, one: int, other: int) -> None:
    first, second = candidates[one], candidates[other]
    first.action, second.action = second.action, first.action
    first.score, second.score = second.score, first.score
    first.total, second.total = second.total, first.total
    first.squares, second.squares = second.squares, first.squares
    first.rollouts, second.rollouts = second.rollouts, first.rollouts


@kernel
def _find_candidates(world: World, games: Games, i: int, search: Search) -> int:
    """Write the bot's choice and the legal actions with the next highest scores; return their number."""
    candidates, count, choice = search.candidates, 0, choose(world, games, i, search.policy, search.rng[0])
    for action in range(world.first_move, games.mask.shape[1]):
        if not games.mask[i, action]:
            continue
        score = np.inf if action == choice else 0.0
        if action != choice and games.games[i].active != NOBODY:
            score = action_value(world, games, i, action, search.policy)
        if count == candidates.size:  # the worst one is dropped
            if score <= candidates[count - 1].score:
                continue
            count -= 1
        candidates[count].action = action
        candidates[count].score = score
        candidates[count].total = 0.0
        candidates[count].squares = 0.0
        candidates[count].rollouts = 0
        at = count
        while at > 0 and candidates[at].score > candidates[at - 1].score:
            _swap(candidates, at, at - 1)
            at -= 1
        count += 1
    return count


@kernel
def _rollout(world: World, games: Games, i: int, search: Search, k: int, seed: Any) -> float:
    """Play candidate k, then the bot for both sides up to the horizon, with the dice of `seed`; return the result."""
    scratch, seat = search.games, games.games[i].to_move
    _copy(games, i, scratch)
    scratch.games[0].random = hash_word(seed)
    search.rng[0].random = hash_word(scratch.games[0].random)
    horizon = turn_number(games, i) + search.turns
    rules.play(world, scratch, 0, search.candidates[k].action)
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
    left = world.rounds - game.round  # times that it will score
    if seat != game.first and ((game.turn == game.first and game.round > 1) or game.round == world.rounds):
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


@kernel
def _copy(games: Games, i: int, scratch: Games) -> None:
    """Copy all that the rules read of game i. `random` is replaced: the search must not know the dice to come."""
    scratch.games[0] = games.games[i]
    copy_values(games.units[i], scratch.units[0])
    copy_values(games.occupants[i], scratch.occupants[0])
    copy_values(games.sides[i], scratch.sides[0])
    copy_values(games.control[i], scratch.control[0])
    copy_values(games.mask[i], scratch.mask[0])
