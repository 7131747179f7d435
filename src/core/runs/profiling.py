"""Profile some updates of a training with torch's profiler (`profile=true`)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from .console import Advance

TRACE = "profile.json.gz"  # in the run directory
SKIPPED, WARM_UP, RECORDED = 2, 1, 3  # updates: kernels are compiled in the first, the profiler starts in the next
TOP = 10  # operators shown


@contextmanager
def profiled(progress: AbstractContextManager[Advance], directory: Path) -> Iterator[Advance]:
    """Profile updates of the loop that a progress bar shows: the function that it yields is called after each.

    The trace is written, and the operators that took most time are printed, as soon as the updates are recorded.
    """
    import torch  # a slow import, which training without a profile leaves to the algorithm
    from torch.profiler import ProfilerActivity, profile, schedule

    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()
    written: list[Path] = []

    def report(found: profile) -> None:
        if found.step_num <= SKIPPED + WARM_UP:  # training ended before an update was recorded
            return
        path = directory / TRACE
        found.export_chrome_trace(str(path))
        written.append(path)
        print(f"profile: {path}, to be opened in https://ui.perfetto.dev or chrome://tracing")
        print(top_operators(found.key_averages()), flush=True)

    plan = schedule(skip_first=SKIPPED, wait=0, warmup=WARM_UP, active=RECORDED, repeat=1)
    with progress as advance, profile(activities=activities, schedule=plan, on_trace_ready=report) as profiler:

        def advance_and_step(done: float, phase: str = "", speed: float = 0.0, /) -> None:
            advance(done, phase, speed)
            if not phase:
                profiler.step()

        yield advance_and_step
    if not written:
        print(f"profile: none, because fewer than {SKIPPED + WARM_UP + 1} updates were left: train for more steps")


def top_operators(averages: Sequence[Any]) -> str:
    """Return a table of the operators with most time of their own, by that on the GPU if one was used."""
    operators = [one for one in averages if not one.key.startswith("ProfilerStep")]  # those are whole updates
    columns: dict[str, Callable[[Any], float]] = {"CPU ms": lambda one: one.self_cpu_time_total / 1000}
    if any(one.self_device_time_total for one in operators):
        columns = {"GPU ms": lambda one: one.self_device_time_total / 1000, **columns}
    times = [([of(one) for of in columns.values()], one.count, one.key) for one in operators]
    lines = ["".join(f"{name:>12}" for name in columns) + f"{'calls':>10}  operator, without those that it calls"]
    for values, calls, name in sorted(times, reverse=True)[:TOP]:
        lines.append("".join(f"{value:12,.1f}" for value in values) + f"{calls:10,}  {name[:80]}")
    return "\n".join(lines)
