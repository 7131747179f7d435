"""Positions labeled by a bot, as training data for networks: its action, and who won the game.

Batch n of a seed does not depend on where or in which order batches are made.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ....core.errors import require
from ....core.kernels import by_reference
from ....core.play.game import Game
from ....core.ranges import Fraction, checked
from ....core.seeding import generator
from ...splitmix import below
from .. import observation, rules
from ..game import DeploymentGame
from ..observation import StaticFeatures
from ..rules.kernels import UNDECIDED, copy_values, released
from ..rules.world import Games, World
from .bot import Bot, require_action
from .policy import NO_ACTION, RNG, Policy, any_action, choose

UNKNOWN_VALUE = -1.0  # of games that a deadlock has ended


class LabeledBatch(NamedTuple):
    observation: np.ndarray  # (rows, D) float32
    good_actions: np.ndarray  # (rows, A) bool: the action of the teacher
    legal_actions: np.ndarray  # (rows, A) bool
    aux_target: np.ndarray  # (rows, 0) float32: there is no auxiliary task
    win_probability: np.ndarray  # (rows,) float32: 1 if the player to move won, 0.5 for a draw, or UNKNOWN_VALUE


class BotTeacher:
    """Labels the positions of games with the actions of the bot `teacher`.

    It plays one or both sides, and one of the `others` the other side; their positions are labeled as well, so that the
    data covers more than the teacher's own games. For the same reason a fraction `explore` of all actions is random.
    """

    @checked
    def __init__(self, teacher: Bot, others: Mapping[str, Bot], explore: Fraction) -> None:
        require(bool(others), "teacher.others is empty: name at least one bot, such as the teacher itself")
        require(teacher.explore == 0, f"teacher.teacher.explore={teacher.explore} must be 0: labels are not random")
        ties = teacher.placement.ties
        require(ties == "first", f"teacher.teacher.placement.ties={ties} must be first: labels are not random")
        self.teacher, self.others, self.explore = teacher, list(others.values()), float(explore)

    def check(self, game: Game) -> None:
        wargame = isinstance(game, DeploymentGame)
        require(wargame, "this teacher plays the wargame only: choose another, such as agent@algo.teacher=mcts")
        for bot in (self.teacher, *self.others):
            bot.check(game)

    def labeled_batch(self, game: Game, seed: int, number: int, rows: int) -> LabeledBatch:
        """Return batch `number` of a seed."""
        assert isinstance(game, DeploymentGame)
        actions = (rows, game.num_actions)
        batch = LabeledBatch(
            np.empty((rows, game.observation_size), np.float32),
            np.zeros(actions, np.bool_),
            np.empty(actions, np.bool_),
            np.zeros((rows, 0), np.float32),
            np.full(rows, UNKNOWN_VALUE, np.float32),
        )
        random, rng, used = generator(seed, "labels", number), np.zeros(1, RNG), 0
        rng["random"] = random.integers(2**64, dtype=np.uint64)
        games, other = game.games(1), self.others[int(random.integers(len(self.others)))]
        policies = self.teacher.policy(game), other.policy(game)
        match = Match(game.world, game.static_features, games, rng, *policies, self.explore)
        while used < rows:
            games.games[0]["random"] = random.integers(2**64, dtype=np.uint64)
            rules.start(game.world, games, 0)
            used = play_game(match, batch, used)
            require_action(used)
        return batch


@by_reference
class Match(NamedTuple):
    world: World
    static: StaticFeatures
    games: Games  # one game
    rng: np.ndarray  # (1,) RNG
    teacher: Policy
    other: Policy
    explore: float


@released
def play_game(match: Match, batch: LabeledBatch, used: int) -> int:
    """Play a game and label its positions until the rows are full; return the number of used rows, or NO_ACTION."""
    world, games, rng, game = match.world, match.games, match.rng[0], match.games.games[0]
    first, taught = used, below(rng, 3)  # the seat of the teacher, or 2 for both
    while not rules.is_over(games, 0):
        seat = game.to_move
        action = choose(world, games, 0, match.teacher, rng)
        if action == NO_ACTION:
            return NO_ACTION
        if used < batch.observation.shape[0]:
            observation.observe(world, match.static, games, 0, seat, batch.observation[used])
            copy_values(games.mask[0], batch.legal_actions[used])
            batch.good_actions[used, action] = True
            batch.win_probability[used] = seat  # until the game is over
            used += 1
        if taught != 2 and taught != seat:
            action = choose(world, games, 0, match.other, rng)
        if below(rng, 1_000_000) < 1_000_000 * match.explore:
            action = any_action(games, 0, rng)
        if action == NO_ACTION:
            return NO_ACTION
        rules.play(world, games, 0, action)
    for row in range(first, used):
        own = game.outcome if batch.win_probability[row] == 0 else -game.outcome
        batch.win_probability[row] = UNKNOWN_VALUE if game.outcome == UNDECIDED else 0.5 + 0.5 * own
    return used
