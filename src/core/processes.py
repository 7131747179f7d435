"""Numbered tasks in several processes."""

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Any, TypeVar

from .errors import UserError

Result = TypeVar("Result")

AHEAD = 8  # tasks per process that are begun or wait while an earlier one is carried out


def ordered_results(
    task: Callable[[int], Result],
    numbers: Iterable[int],
    workers: int,
    start: Callable[..., None],
    arguments: tuple[Any, ...],
) -> Generator[Result, None, None]:
    """Yield the results of a task in the order of the numbers; the caller closes the generator when it has enough.

    Every process calls `start(*arguments)` first. Processes are spawned, so functions and arguments must be picklable.
    """
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_worker, (start, arguments))
    try:
        futures = (pool.submit(task, number) for number in numbers)
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


def _start_worker(start: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops its workers
    exit_with_parent()
    start(*arguments)


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
