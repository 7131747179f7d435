"""Work in threads, which compiled kernels let run in parallel because they release the GIL, and in processes."""

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import islice, pairwise
from typing import Any, TypeVar

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


def ordered_results(
    task: Callable[[int], Result], numbers: Iterable[int], workers: int
) -> Generator[Result, None, None]:
    """Yield the results of a task in the order of the numbers; the caller closes the generator when it has enough.

    Each process is spawned and gets the task once, so it must be picklable. Without workers this process does the work.
    """
    if workers == 0:
        yield from map(task, numbers)
        return
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_worker, (task,))
    try:
        futures = (pool.submit(_run_task, number) for number in numbers)
        waiting = deque(islice(futures, AHEAD * workers))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(islice(futures, 1))
    except BrokenProcessPool as error:
        raise UserError(
            f"one of {workers} worker processes ended before its task was done: choose fewer if memory is short"
        ) from error
    finally:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()  # instead of waiting for results that are not needed any more
        pool.shutdown()


_task: list[Callable[[int], Any]] = []  # of a worker process


def _start_worker(task: Callable[[int], Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops its workers
    exit_with_parent()
    _task.append(task)


def _run_task(number: int) -> Any:
    return _task[0](number)


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
