"""Rules of Minesweeper over tensors: N games on any device, and a pool of games drawn in advance.

When mines are laid, each connected region of zeros gets a label. A reveal is then one comparison with the label of its
cell and one dilation by a cell, however large its cascade is:

    mines          code, Z = ZERO + label     a reveal of any Z
    . . . . *      Z Z Z 1 *                  # # # # .
    . . . . .      1 1 Z 1 1                  # # # # #
    * . . . .      * 1 Z Z Z                  . # # # #
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from .variant import FLAGGED, HIDDEN, MINE, Variant

ZERO = MINE + 1  # the smallest label of a region in `code`


class Games(NamedTuple):
    """N games, in play or in the pool, one per row."""

    code: Tensor  # (N, H, W) int16, int32 if huge: 1..8, MINE, or the label of a zero's region; 0 until mines are laid
    visible: Tensor  # (N, H, W) int8: what the player sees
    mines: Tensor  # (N,) int32
    safe_left: Tensor  # (N,) int32: safe cells still to reveal
    laid: Tensor  # (N,) bool: the mines are on the board
    steps: Tensor  # (N,) int32
    invalid_steps: Tensor  # (N,) int32
    flags_worth: Tensor  # (N,) float64: reward of the flags on the board


class StepResult(NamedTuple):
    """The effects of an action."""

    valid: Tensor  # (N,) bool
    opened: Tensor  # (N,) int32: safe cells revealed
    lost: Tensor  # (N,) bool: a mine exploded


def blank_games(variant: Variant, count: int, device: torch.device) -> Games:
    """Return games without mines or revealed cells."""
    shape, zeros = (count, variant.rows, variant.cols), torch.zeros(count, dtype=torch.int32, device=device)
    small = ZERO + variant.cells <= torch.iinfo(torch.int16).max
    return Games(
        code=torch.zeros(shape, dtype=torch.int16 if small else torch.int32, device=device),
        visible=torch.full(shape, HIDDEN, dtype=torch.int8, device=device),
        mines=zeros,
        safe_left=zeros.clone(),
        laid=zeros.bool(),
        steps=zeros.clone(),
        invalid_steps=zeros.clone(),
        flags_worth=zeros.double(),
    )


def act(games: Games, cell: Tensor, reveals: Tensor) -> tuple[Games, StepResult]:
    """Reveal a cell (N,) where `reveals` (N,) bool is set, elsewhere toggle its flag."""
    before = pick(games.visible, cell)
    valid = before < 0
    lost = valid & reveals & (pick(games.code, cell) == MINE)
    opens = valid & reveals & ~lost
    opened = cells_opened(games.code, cell) & (games.visible < 0) & opens.view(-1, 1, 1)
    visible = torch.where(opened, numbers(games.code), games.visible)
    touched = torch.where(lost, HIDDEN, HIDDEN + FLAGGED - before)  # a mine loses its flag, a flag is toggled
    touched = torch.where(valid & ~opens, touched, pick(visible, cell))
    count = opened.sum((1, 2), dtype=torch.int32)
    after = games._replace(
        visible=visible.flatten(1).scatter(1, cell[:, None], touched[:, None]).view_as(visible),
        safe_left=games.safe_left - count,
        steps=games.steps + 1,
        invalid_steps=games.invalid_steps + ~valid,
    )
    return after, StepResult(valid, count, lost)


def reveal_all(games: Games, cells: Tensor) -> tuple[Games, StepResult]:
    """Reveal these cells (N, H, W) bool at once; if one is a mine, the game is lost and none is opened."""
    cells = cells & (games.visible < 0)
    lost = (cells & (games.code == MINE)).flatten(1).any(1)
    code = games.code.flatten(1).long()
    regions = torch.zeros((len(code), ZERO + code.shape[1]), dtype=torch.int8, device=code.device)
    regions.scatter_reduce_(1, code, cells.flatten(1).to(torch.int8), "amax")  # the codes of the cells
    zeros = (regions.gather(1, code).bool() & (code >= ZERO)).view_as(cells)
    opened = (spread(zeros, torch.logical_or) & (games.visible < 0) | cells) & ~lost.view(-1, 1, 1)
    count = opened.sum((1, 2), dtype=torch.int32)
    after = games._replace(
        visible=torch.where(opened, numbers(games.code), games.visible),
        safe_left=games.safe_left - count,
        steps=games.steps + 1,
    )
    return after, StepResult(torch.ones_like(lost), count, lost)


def started(games: Games, mines: Tensor, first: Tensor | None) -> Games:
    """Return the games with mines (N, H, W) bool laid and, if given, their first reveal (N,) played."""
    code, count = lay(mines, games.code.dtype), mines.sum((1, 2), dtype=torch.int32)
    visible = games.visible if first is None else torch.where(cells_opened(code, first), numbers(code), games.visible)
    safe_left = (visible < 0).sum((1, 2), dtype=torch.int32) - count
    laid = torch.ones_like(games.laid)
    return games._replace(code=code, visible=visible, mines=count, safe_left=safe_left, laid=laid)


def lay(mines: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the codes of boards with these mines, (N, H, W)."""
    around = spread(mines.to(dtype), torch.add)
    zero = (around == 0).to(dtype)
    cell = torch.arange(ZERO, ZERO + mines[0].numel(), dtype=dtype, device=mines.device).view_as(mines[0])
    return torch.where(mines, MINE, around + _label_regions(zero, zero * cell))


def _label_regions(zero: Tensor, labels: Tensor) -> Tensor:
    """Propagate the largest label of each region over it; both (N, H, W), 0 outside of the zeros."""
    rimmed = pad(labels, (1, 1, 1, 1))
    for _ in range(8):  # enough for most boards; continue with the others
        labels = zero * fold_blocks(rimmed, torch.maximum)
        rimmed[:, 1:-1, 1:-1] = labels
    unfinished = (zero * fold_blocks(rimmed, torch.maximum) != labels).flatten(1).any(1).nonzero().squeeze(1)
    if len(unfinished):
        labels[unfinished] = _label_regions(zero[unfinished], labels[unfinished])
    return labels


def cells_opened(code: Tensor, cell: Tensor) -> Tensor:
    """Return the cells opened by revealing these safe cells (N,), (N, H, W) bool."""
    here = torch.arange(code[0].numel(), device=cell.device).view_as(code[0]) == cell.view(-1, 1, 1)
    clicked = pick(code, cell).view(-1, 1, 1)
    return spread((code == clicked) & (clicked >= ZERO), torch.logical_or) | here


def spread(board: Tensor, fold: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Combine each cell of (N, H, W) with its neighbors."""
    return fold_blocks(pad(board, (1, 1, 1, 1)), fold)


def fold_blocks(board: Tensor, fold: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Combine each block of 3x3 cells into one: (N, H + 2, W + 2) to (N, H, W)."""
    flat = fold(fold(board[:, :-2], board[:, 2:]), board[:, 1:-1])
    return fold(fold(flat[:, :, :-2], flat[:, :, 2:]), flat[:, :, 1:-1])


def numbers(code: Tensor) -> Tensor:
    """Return the numbers shown by safe cells, (N, H, W) int8."""
    return (code * (code < ZERO)).to(torch.int8)


def frontier(visible: Tensor) -> Tensor:
    """Return the unrevealed cells next to a revealed one, (N, H, W) bool."""
    return (visible < 0) & spread(visible >= 0, torch.logical_or)


def pick(board: Tensor, cell: Tensor) -> Tensor:
    """Return one cell of each board (N, H, W), (N,)."""
    return board.flatten(1).gather(1, cell[:, None]).squeeze(1)


def replaced(games: Games, which: Tensor, others: Games) -> Games:
    """Return the games, with those selected by `which` (N,) bool taken from `others`."""
    pairs = zip(games, others, strict=True)
    return Games(*(torch.where(which.view(-1, *[1] * (old.dim() - 1)), new, old) for old, new in pairs))


class BoardPool:
    """Games drawn in advance in blocks of `num_envs`; each is used once, in this order."""

    def __init__(self, variant: Variant, num_envs: int, blocks: int, device: torch.device) -> None:
        self.variant, self.num_envs, self.blocks, self.device = variant, num_envs, blocks, device
        self.generator = torch.Generator(device)
        self.games = blank_games(variant, blocks * num_envs, device)
        self.drawn_from = [self.generator.get_state()] * blocks  # generator state before each block was drawn
        self.drawn = 0  # total number of games drawn
        self.enough_for = 0  # number of calls of `take` that are certainly possible

    def take(self, games: Games, taken: Tensor, ended: Tensor) -> tuple[Games, Tensor]:
        """Replace the games that ended (N,) by the next ones; return them and the count of games taken."""
        count = taken + ended.cumsum(0)
        places = (count - 1) % len(self.games.mines)
        return replaced(games, ended, Games(*(field[places] for field in self.games))), count[-1]

    def refill(self, taken: Tensor) -> None:
        """Ensure enough games for one more call of `take`, even if all games end; usually there is nothing to do."""
        if self.enough_for == 0:
            room = len(self.games.mines) - self.drawn + int(taken)
            for _ in range(room // self.num_envs):
                self.fill(self.drawn // self.num_envs % self.blocks)
                self.drawn += self.num_envs
            self.enough_for = self.blocks - 1
        self.enough_for -= 1

    def fill(self, block: int) -> None:
        self.drawn_from[block] = self.generator.get_state()
        games = self._draw()
        if self.variant.first_click == "uniform":
            while bool((over := games.safe_left == 0).any()):  # won by the first reveal: draw another
                games = replaced(games, over, self._draw())
        for field, new in zip(self.games, games, strict=True):
            field[block * self.num_envs : (block + 1) * self.num_envs] = new

    def _draw(self) -> Games:
        fewest, most = self.variant.mine_range
        mines, games = fewest + self._below(most - fewest + 1), blank_games(self.variant, self.num_envs, self.device)
        if self.variant.first_click == "uniform":
            first = self._below(self.variant.cells)
            return started(games, self.draw_mines(first, mines), first)
        return games._replace(mines=mines.int(), safe_left=(self.variant.cells - mines).int())

    def _below(self, bound: int) -> Tensor:
        return torch.randint(bound, (self.num_envs,), generator=self.generator, device=self.device)

    def draw_mines(self, first: Tensor, mines: Tensor) -> Tensor:
        """Draw uniformly distributed mines, (M, H, W) bool: `mines` (M,) per board, none at its first reveal."""
        rows, cols, reach = self.variant.rows, self.variant.cols, int(self.variant.safe_neighborhood)
        row, col = (torch.arange(size, device=self.device) for size in (rows, cols))
        beside = ((row[None] - (first // cols)[:, None]).abs() <= reach)[:, :, None]
        beside = (beside & ((col[None] - (first % cols)[:, None]).abs() <= reach)[:, None]).flatten(1)
        # 63 bits: equal keys, which would bias the draw, occur on one 16x16 board in 10^14.
        keys = torch.empty(beside.shape, dtype=torch.int64, device=self.device).random_(generator=self.generator)
        keys.masked_fill_(beside, torch.iinfo(torch.int64).max)
        chosen = keys.topk(self.variant.mine_range[1], largest=False).indices
        wanted = torch.arange(chosen.shape[1], device=self.device)[None] < mines[:, None]
        return torch.zeros_like(beside).scatter(1, chosen, wanted).view(-1, rows, cols)
