"""Reads the records of an offline wandb run: a log of checksummed chunks in 32 KiB blocks, as LevelDB writes them."""

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
    """The logged rows, each value as the JSON text wandb keeps."""
    return [
        {item.key or ".".join(item.nested_key): item.value_json for item in record.history.item}
        for record in records(path)
        if record.WhichOneof("record_type") == "history"
    ]


def run_record(path: Path) -> Any:
    return next(record.run for record in records(path) if record.WhichOneof("record_type") == "run")
