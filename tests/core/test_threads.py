"""Spans of work in threads."""

import threading
import time

import pytest

from src.core import parallel
from src.core.parallel import run_in_spans


@pytest.mark.parametrize(("count", "min_size", "spans"), [(100, 16, 3), (47, 16, 2), (15, 16, 1), (1, 16, 1)])
def test_spans_cover_everything_in_order(monkeypatch: pytest.MonkeyPatch, count: int, min_size: int, spans: int):
    monkeypatch.setattr(parallel, "CORES", 3)
    found = run_in_spans(lambda first, end: (first, end), count, min_size)
    assert len(found) == spans
    assert [item for first, end in found for item in range(first, end)] == list(range(count))
    assert all(end - first >= min(min_size, count) for first, end in found)


def test_the_calling_thread_takes_the_first_span(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parallel, "CORES", 2)
    first, second = run_in_spans(lambda *span: threading.get_ident(), 32, 16)
    assert first == threading.get_ident() != second


@pytest.mark.parametrize("failing", [0, 16])
def test_an_error_is_raised_after_all_spans_have_ended(monkeypatch: pytest.MonkeyPatch, failing: int):
    monkeypatch.setattr(parallel, "CORES", 2)
    ended = []

    def work(first: int, end: int) -> None:
        if first == failing:
            raise ValueError("broken")
        time.sleep(0.05)
        ended.append(first)

    with pytest.raises(ValueError, match="broken"):
        run_in_spans(work, 32, 16)
    assert ended == [16 - failing]
