"""A stream of labeled batches, generated ahead by threads and sampled from a window on the device."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from ...core.machine import CORES
from ...core.play.game import Game
from ...core.seeding import generator


@runtime_checkable
class Teacher(Protocol):
    def check(self, game: Game) -> None:
        """Raise `UserError` if the teacher does not support the game."""

    def labeled_batch(self, game: Game, seed: int, number: int, rows: int) -> Any:
        """Return labeled batch `number`, a named tuple of arrays that depends on the arguments only:

        observation (rows, ...), good_actions and legal_actions (rows, A) bool, aux_target (rows, H, W): probability
        that the auxiliary task is true of a cell, negative if unknown, or (rows, 0) in games without such a task,
        win_probability (rows,) of the player to move, negative if unknown.
        """


class LabeledBatchStream:
    """Sample training batch b from `window` consecutive labeled batches.

    After `repeats` times the rows of one labeled batch, a new one replaces the oldest. Batch b depends on the
    seed only, not on the number of threads or where the stream starts.
    """

    def __init__(
        self,
        make: Callable[[int], Any],
        seed: int,
        *,
        rows: int,
        batch_size: int,
        window: int,
        repeats: int,
        device: str,
    ) -> None:
        """`make(n)` returns labeled batch n."""
        self._make, self._seed = make, seed
        self._rows, self._batch_size, self._window, self._device = rows, batch_size, window, device
        self._draws_per_batch = rows * repeats // batch_size
        self._threads = ThreadPoolExecutor(CORES)
        self._pending: dict[int, Future[Any]] = {}
        self._fields: list[Tensor] = []  # one tensor per field, `window` batches long; batch n is in slot n % window
        self._newest = -1
        self._random = torch.Generator(device)

    def __enter__(self) -> "LabeledBatchStream":
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(cancel_futures=True)

    def batch(self, number: int) -> list[Tensor]:
        """Return batch `number`; numbers must not decrease."""
        last = number // self._draws_per_batch + self._window - 1
        while self._newest < last:
            self._take(max(self._newest + 1, last - self._window + 1))
        self._random.manual_seed(int(generator(self._seed, "batch", number).integers(2**62)))
        size = (self._batch_size,)
        rows = torch.randint(self._window * self._rows, size, device=self._device, generator=self._random)
        return [field[rows] for field in self._fields]

    def _take(self, number: int) -> None:
        for ahead in range(number, number + self._window + 2 * CORES):
            if ahead not in self._pending:
                self._pending[ahead] = self._threads.submit(self._make, ahead)
        labeled = [torch.from_numpy(array) for array in self._pending.pop(number).result()]
        if not self._fields:
            shapes = [(self._window * self._rows, *field.shape[1:]) for field in labeled]
            self._fields = [
                torch.zeros(shape, dtype=field.dtype, device=self._device)
                for shape, field in zip(shapes, labeled, strict=True)
            ]
        first = number % self._window * self._rows
        for stored, field in zip(self._fields, labeled, strict=True):
            stored[first : first + self._rows] = field.to(self._device, non_blocking=True)
        self._newest = number
