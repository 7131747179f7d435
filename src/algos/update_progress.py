"""Progress and estimated time of an update (a rollout and training), which may take minutes."""

import math
from collections.abc import Callable
from time import monotonic

from torch import Tensor

from ..core.runs.console import Advance

MEASURED_SECONDS = 0.7  # after which no larger batch is measured


class UpdateProgress:
    """Show how much of the estimated time of an update has passed."""

    def __init__(self, steps: int, batches: int) -> None:
        """`steps` and `batches` are the steps of a rollout and the minibatches of an update."""
        self.training_seconds = 0.0  # per update: estimated before the first one, then measured in the last one
        self._steps, self._batches = steps, batches

    def start(self, advance: Advance, done: int, size: int) -> None:
        """Start an update of `size` units of progress after `done`."""
        self._advance, self._done, self._size = advance, done, size
        self._began, self._step, self._batch = monotonic(), 0, 0
        self._first_seconds = self._rollout_seconds = 0.0  # of the first step, which is slower, and of all steps so far

    def end_step(self) -> None:
        """Show that a step of the environments is done."""
        self._step += 1
        passed = self._rollout_seconds = monotonic() - self._began
        if self._step == 1:
            self._first_seconds = passed
        mean = (passed - self._first_seconds) / (self._step - 1) if self._step > 1 else passed
        whole = passed + mean * (self._steps - self._step) + self.training_seconds
        self._show(passed / whole, whole, f"rollout {self._step}/{self._steps}")

    def end_batch(self) -> None:
        """Show that a minibatch is done."""
        self._batch += 1
        passed = monotonic() - self._began
        self.training_seconds = (passed - self._rollout_seconds) * self._batches / self._batch
        whole = self._rollout_seconds + self.training_seconds
        self._show(passed / whole, whole, f"minibatch {self._batch}/{self._batches}")

    def _show(self, part: float, seconds: float, phase: str) -> None:
        self._advance(self._done + part * self._size, phase, self._size / seconds)


def seconds_per_row(loss: Callable[[int], Tensor], most: int) -> float:
    """Measure how long the loss of a batch of up to `most` rows and its gradients take, per row.

    `loss` takes the number of rows. The gradients are left for the caller to clear.
    """
    rows, began, best = min(64, most), monotonic(), math.inf
    loss(rows).backward()  # type: ignore[no-untyped-call]  # the first one takes longer
    while True:
        before = monotonic()
        loss(rows).backward()  # type: ignore[no-untyped-call]
        now = monotonic()
        best = min(best, (now - before) / rows)  # a small batch mostly takes the time of its calls
        if rows == most or now - began >= MEASURED_SECONDS:
            return best
        rows = min(2 * rows, most)
