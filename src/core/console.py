"""What a person sees while something runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from src.core import ranks


@contextmanager
def progress_bar(unit: str, total: int, done: int = 0) -> Iterator[Callable[[int], None]]:
    """A bar on standard error; yields the function that takes how much is done."""
    if ranks.rank() > 0:  # one bar for all
        yield lambda now: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(unit, total=total, completed=done)
        yield lambda now: bar.update(task, completed=now)
