"""Work in threads, which compiled kernels let run in parallel because they release the GIL, and in processes."""

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache, partial
from itertools import islice, pairwise
from typing import Any, Generic, TypeVar

from .errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")

# Available to this process; in a container fewer than the machine has.
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
MIN_ITEMS = 8  # with fewer items threads cost more than they save
AHEAD = 8  # tasks per process that are begun or wait while an earlier one is carried out


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the pool of a process: threads do not survive a fork. It is cached because each thread keeps buffers.

    All calls share it, so they must not be nested.
    """
    return ThreadPoolExecutor(CORES)


def map_in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the results in the order of the items; thread i computes items i, i + `CORES`, ..."""
    if len(items) < MIN_ITEMS:
        return [function(item) for item in items]

    def share(first: int) -> list[Result]:
        return [function(item) for item in items[first::CORES]]

    results: list[Any] = [None] * len(items)
    for first, done in enumerate(_pool(os.getpid()).map(share, range(CORES))):
        results[first::CORES] = done
    return results


def run_in_spans(function: Callable[[int, int], Result], count: int, min_size: int) -> list[Result]:
    """Call `function(first, end)` for spans that cover 0..count-1: one per core, of at least `min_size` each.

    The calling thread takes the first span: waking another one for it would take longer than many steps.
    """
    spans = min(CORES, max(1, count // min_size))
    if spans == 1:
        return [function(0, count)]
    edges = [count * k // spans for k in range(spans + 1)]
    others = [_pool(os.getpid()).submit(function, first, end) for first, end in pairwise(edges[1:])]
    try:
        result = function(0, edges[1])
    finally:
        wait(others)  # they write to the caller's arrays
    return [result, *(other.result() for other in others)]


class TaskPool(Generic[Item, Result]):
    """Carries out a task in `workers` processes: each is spawned and gets the task once, so it must be picklable.

    If `workers` is None, threads of this process do the work, with 0, `submit` carries out the task itself.
    """

    def __init__(self, task: Callable[[Item], Result], workers: int | None) -> None:
        self._task, self._workers = task, workers
        self._pool: ThreadPoolExecutor | ProcessPoolExecutor | None = None
        if workers is None:
            self._pool = ThreadPoolExecutor(CORES)
        elif workers > 0:
            self._pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_worker, (task,))

    def __enter__(self) -> "TaskPool[Item, Result]":
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self._pool, ProcessPoolExecutor):
            for process in list((self._pool._processes or {}).values()):
                process.terminate()  # instead of waiting for results that are not needed any more
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    @property
    def size(self) -> int:
        """The number of tasks that are carried out at once besides the work of the caller."""
        return CORES if self._workers is None else self._workers

    def submit(self, item: Item) -> Callable[[], Result]:
        """Return a function that waits for the result and returns it."""
        if self._pool is None:
            result = self._task(item)
            return lambda: result
        try:
            is_thread = isinstance(self._pool, ThreadPoolExecutor)
            future = self._pool.submit(self._task if is_thread else _run_task, item)
        except BrokenProcessPool as error:
            raise self._broken() from error
        return partial(self._result, future)

    def _result(self, future: Future[Result]) -> Result:
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise self._broken() from error

    def _broken(self) -> UserError:
        return UserError(
            f"one of {self._workers} worker processes ended before its task was done: choose fewer if memory is short"
        )


def ordered_results(
    task: Callable[[int], Result], numbers: Iterable[int], workers: int
) -> Generator[Result, None, None]:
    """Yield the results of a task in the order of the numbers; the caller closes the generator when it has enough."""
    with TaskPool(task, workers) as pool:
        results = map(pool.submit, numbers)
        waiting = deque(islice(results, max(1, AHEAD * workers)))
        while waiting:
            yield waiting.popleft()()
            waiting.extend(islice(results, 1))


_task: list[Callable[[Any], Any]] = []  # of a worker process


def _start_worker(task: Callable[[Any], Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops its workers
    exit_with_parent()
    _task.append(task)


def _run_task(item: Any) -> Any:
    return _task[0](item)


def exit_with_parent() -> None:
    """End this process once its parent has ended, which cannot stop it if it is killed."""
    parent, number = multiprocessing.parent_process(), os.getppid()

    def watch() -> None:
        if parent is not None:
            parent.join()
        else:  # it is not of `multiprocessing`, such as torchrun
            while os.getppid() == number != 1:
                time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
