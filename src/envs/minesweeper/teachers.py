"""Positions labeled by a solver, as training data for networks.

A labeled batch has a fixed number of rows from games played by the teacher. Batch n of a seed does not depend on where
or in which order batches are made, so a stream can be produced by many threads, interrupted, and resumed.
"""

import threading
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from ...core.errors import require
from ...core.play.game import Game
from ...core.ranges import checked
from ...core.seeding import generator
from ..splitmix import below
from . import rules
from .game import Minesweeper
from .rules import PLAYING, WON, Boards
from .solver.engine import CONSISTENT, MINE, SAFE, Engine, kernel, make_engine
from .solver.exact import NOT_SEARCHED, take_risk
from .solver.guess import list_guesses
from .solver.probability import examine
from .solver.single_point import apply_rules_to_flags, deduce, safest
from .variant import BASE_PLANES, HIDDEN
from .variant import MINE as MINE_CODE

STATES = 1 << 16
UNKNOWN_VALUE = -1.0  # the game is unfinished or left the teacher's line of play
MAX_GAMES = 10_000  # in a row without a position to label
EARLY = 8  # one of the first EARLY guesses of a game may be random
PROMISING = 8  # number of best guesses to draw from

_cached = threading.local()


class LabeledBatch(NamedTuple):
    observation: np.ndarray  # (rows, H, W) int8: the player's view
    good_actions: np.ndarray  # (rows, A) bool: actions of the teacher
    legal_actions: np.ndarray  # (rows, A) bool: those on hidden cells
    aux_target: np.ndarray  # (rows, H, W) float16: probability of a mine, -1 on revealed cells
    win_probability: np.ndarray  # (rows,) float32: win probability, or UNKNOWN_VALUE


@kernel
def _play_exactly(
    boards: Boards, e: Engine, batch: LabeledBatch, used: int, fewest: int, most: int, uniform: bool, guesses: bool
) -> int:
    """Label all safe cells as good actions, or else the best guess, with exact probabilities for every cell.

    Without `guesses`, positions in which no cell is certain are played but not written, the blank board among them.

    In half of the games one of the first guesses is drawn among the promising ones, if there are that many, so that the
    data also covers other guesses.
    """
    game, visible, probability, moves = boards.games[0], boards.visible[0], e.probability, e.moves
    used = _start(boards, batch, used, fewest, most, guesses and not uniform)
    first = used  # the first row without a win probability
    random_guess = below(game, 2 * EARLY)  # its index among the guesses
    guess = 0
    while game.status == PLAYING and used < batch.win_probability.size:
        status, log_completions = examine(visible, game.mines, e)
        if status != CONSISTENT:  # too many states for the engine, which is rare: abandon the game
            break
        used = _write_row(batch, used, visible, probability)
        count = 0
        for cell in np.flatnonzero(batch.good_actions[used - 1]):
            moves[count] = cell
            count += 1
        if count > 0:
            if below(game, 2) == 0:  # a random number of them, so that rows cover intermediate positions
                wanted = 1 + below(game, count)
                for k in range(wanted):  # partial Fisher-Yates shuffle
                    other = k + below(game, count - k)
                    moves[k], moves[other] = moves[other], moves[k]
                count = wanted
            for k in range(count):
                if visible[moves[k]] < 0:
                    rules.reveal(boards, 0, moves[k])
            continue
        choice, chance = take_risk(visible, game.mines, e, log_completions)
        if guesses:
            batch.good_actions[used - 1, choice] = True
        else:
            used -= 1  # the next row overwrites it
        if chance != NOT_SEARCHED:
            batch.win_probability[first:used] = chance
            first = used
        if guess == random_guess:
            candidates = min(list_guesses(visible, e), PROMISING)
            choice = e.guess.shortlist[below(game, candidates)]
            first = used
        guess += 1
        if boards.number[0, choice] == 0 and used < batch.win_probability.size:
            visible[choice] = 0  # a row before the cascade, because search stops at the zero
            status, _ = examine(visible, game.mines, e)
            if status == CONSISTENT and np.any((visible < 0) & (probability == 0.0)):
                used = _write_row(batch, used, visible, probability)
            visible[choice] = HIDDEN
        rules.reveal(boards, 0, choice)
    if game.status != PLAYING:
        batch.win_probability[first:used] = game.status == WON
    return used


@kernel
def _start(boards: Boards, batch: LabeledBatch, used: int, fewest: int, most: int, write_blank: bool) -> int:
    """Start a game with a uniformly drawn reveal; the blank board before it is a row in which all cells are good, if
    asked for.
    """
    game, cells = boards.games[0], boards.visible.shape[1]
    rules.start_game(boards, 0, fewest, most)
    if write_blank:
        batch.observation[used], batch.aux_target[used] = boards.visible[0], game.mines / cells
        batch.good_actions[used, :cells] = True
        used += 1
    rules.reveal(boards, 0, below(game, cells))
    return used


@kernel
def _write_row(batch: LabeledBatch, used: int, visible: np.ndarray, probability: np.ndarray) -> int:
    """Write a row in which all certainly safe cells are good actions."""
    batch.observation[used], batch.aux_target[used] = visible, probability
    for cell in range(visible.size):
        batch.good_actions[used, cell] = visible[cell] < 0 and probability[cell] == 0.0
    return used + 1


@kernel
def _play_by_rules(
    boards: Boards, e: Engine, batch: LabeledBatch, used: int, fewest: int, most: int, flags_only: bool
) -> int:
    """Label one forced move, drawn at random; positions without one are guessed and not written."""
    game, visible, number, known = boards.games[0], boards.visible[0], boards.number[0], e.known
    moves = np.zeros(2 * visible.size, np.int32)
    flags = batch.good_actions.shape[1] > visible.size
    first = used
    used = _start(boards, batch, used, fewest, most, False)
    while game.status == PLAYING and used < batch.win_probability.size:
        if flags_only:
            apply_rules_to_flags(visible, e)
        elif not deduce(visible, game.mines, e):
            break
        count = 0
        for cell in range(visible.size):
            if visible[cell] < 0 and known[cell] == SAFE:
                moves[count] = cell
                count += 1
            elif flags and visible[cell] == HIDDEN and known[cell] == MINE:
                moves[count] = visible.size + cell
                count += 1
        if count == 0:
            guess = safest(visible, game.mines, e)
            if guess < 0:
                break
            rules.reveal(boards, 0, guess)
            continue
        move = moves[below(game, count)]
        batch.observation[used], batch.aux_target[used] = visible, number == MINE_CODE
        batch.good_actions[used] = False
        batch.good_actions[used, move] = True
        used += 1
        if move < visible.size:
            rules.reveal(boards, 0, move)
        else:
            rules.toggle_flag(boards, 0, move - visible.size)
    if game.status != PLAYING:
        batch.win_probability[first:used] = game.status == WON
    return used


class Teacher(ABC):
    """Plays games and labels the positions with its actions."""

    @abstractmethod
    def play(self, game: Minesweeper, boards: Boards, engine: Engine, batch: LabeledBatch, used: int) -> int:
        """Play one game, until its end or the rows are full; return the number of rows used."""

    def check(self, game: Game) -> None:
        require(
            isinstance(game, Minesweeper),
            "this teacher plays Minesweeper only: choose another, such as agent@algo.teacher=mcts",
        )
        assert isinstance(game, Minesweeper)
        require(
            game.encoding.planes <= BASE_PLANES,
            "labeled batches have no extra planes: leave out frontier, remaining_mines_ratio and progress",
        )

    def labeled_batch(self, game: Game, seed: int, number: int, rows: int) -> LabeledBatch:
        """Return batch `number` of a seed."""
        assert isinstance(game, Minesweeper)
        key = (game.rows, game.cols, game.safe_neighborhood)
        if getattr(_cached, "key", None) != key:  # allocating them is slow
            _cached.boards = rules.new_boards(1, *key)
            _cached.engine, _cached.key = make_engine(key[:2], STATES), key
        boards, engine = _cached.boards, _cached.engine
        # The name is part of the seed: with another one the same command would draw other games.
        boards.games[0]["random"] = generator(seed, "lesson", number).integers(2**64, dtype=np.uint64)
        board, flat = (rows, game.rows, game.cols), (rows, game.cells)
        batch = LabeledBatch(
            np.zeros(flat, np.int8),
            np.zeros((rows, game.num_actions), np.bool_),
            np.zeros((rows, 0), np.bool_),
            np.zeros(flat, np.float32),
            np.full(rows, UNKNOWN_VALUE, np.float32),
        )
        used = games = 0
        while used < rows:
            before, used = used, self.play(game, boards, engine, batch, used)
            games = 0 if used > before else games + 1
            require(
                games < MAX_GAMES,
                f"{MAX_GAMES:,} games on this {game.rows}x{game.cols} board had no position in which a move is "
                "certain: choose teacher@algo.teacher=exact, which also labels guesses, or another board",
            )
        hidden = batch.observation < 0
        target = np.where(hidden, batch.aux_target, -1).astype(np.float16)
        return batch._replace(
            observation=batch.observation.reshape(board),
            legal_actions=np.tile(hidden, game.num_actions // game.cells),
            aux_target=target.reshape(board),
        )


class ExactTeacher(Teacher):
    """Computes exact probabilities, searches for the best guess, and labels all safe cells."""

    guesses: ClassVar[bool] = True  # also label positions in which no cell is certain

    def play(self, game: Minesweeper, boards: Boards, engine: Engine, batch: LabeledBatch, used: int) -> int:
        uniform = game.first_click == "uniform"
        return _play_exactly(boards, engine, batch, used, *game.mine_range, uniform, self.guesses)


class NoGuessTeacher(ExactTeacher):
    """Leaves out the positions in which no cell is certain."""

    guesses = False


class RulesTeacher(Teacher):
    """Applies the two classic rules, labels one forced move at a time; its aux targets are the true mines."""

    @checked
    def __init__(self, flags_only: bool) -> None:
        """With `flags_only` the rules count the flags on the board, otherwise deduced mines and the mine count, too."""
        self.flags_only = flags_only

    def check(self, game: Game) -> None:
        super().check(game)
        assert isinstance(game, Minesweeper)
        playable = game.flag_actions or not self.flags_only
        require(playable, "algo.teacher.flags_only=true needs flags on the board: set env.config.flag_actions=true")

    def play(self, game: Minesweeper, boards: Boards, engine: Engine, batch: LabeledBatch, used: int) -> int:
        return _play_by_rules(boards, engine, batch, used, *game.mine_range, self.flags_only)
