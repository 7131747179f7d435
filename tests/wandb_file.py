"""Read the records of an offline wandb run: a log of checksummed chunks in 32 KiB blocks, as in LevelDB."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2

BLOCK, HEADER, FILE_HEADER = 32768, 7, 7
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


def records(path: Path) -> Iterator[Any]:
    data, position, parts = path.read_bytes(), FILE_HEADER, b""
    while position + HEADER <= len(data):
        if BLOCK - position % BLOCK < HEADER:
            position += BLOCK - position % BLOCK
            continue
        length = int.from_bytes(data[position + 4 : position + 6], "little")
        kind = data[position + 6]
        assert kind in (FULL, FIRST, MIDDLE, LAST), f"unknown chunk at byte {position}"
        parts = (b"" if kind in (FULL, FIRST) else parts) + data[position + HEADER : position + HEADER + length]
        position += HEADER + length
        if kind in (FULL, LAST):
            record = wandb_internal_pb2.Record()  # type: ignore[attr-defined]
            record.ParseFromString(parts)
            yield record


def offline_file(run_directory: Path) -> Path:
    (path,) = run_directory.glob("wandb/offline-run-*/run-*.wandb")
    return path


def history(path: Path) -> list[dict[str, str]]:
    """Return the logged rows; values are the JSON texts that wandb stores."""
    rows = of_kind(path, "history")
    return [{item.key or ".".join(item.nested_key): item.value_json for item in row.item} for row in rows]


def of_kind(path: Path, kind: str) -> list[Any]:
    """Yield the records of a kind such as "metric", "artifact" or "run"."""
    return [getattr(record, kind) for record in records(path) if record.WhichOneof("record_type") == kind]


def run_record(path: Path) -> Any:
    return of_kind(path, "run")[0]


def summary(path: Path) -> dict[str, Any]:
    """Return the summary metrics of the finished run."""
    updates = [item for record in of_kind(path, "summary") for item in record.update]
    return {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in updates}
