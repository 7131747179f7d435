import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from src.core import files
from src.core.errors import UserError
from src.core.files import read_regular, require_closed, require_replaceable, require_writable, write_atomic

SPECIAL = ["/dev/full", ".", "..", "/", "a\0b", "x" * 300]


def device_names() -> set[str]:
    return {path.name for path in Path("/dev").iterdir()}


@pytest.mark.parametrize("name", SPECIAL)
def test_nothing_is_written_over_but_regular_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.chdir(tmp_path)
    before = device_names()
    with pytest.raises((UserError, OSError)):
        write_atomic(Path(name), "x")
    assert device_names() == before
    assert Path("/dev/full").is_char_device()
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_and_not_waited_for(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    require_writable(pipe)
    with pytest.raises(UserError, match="pipe cannot be written"):
        write_atomic(pipe, "x")
    with pytest.raises(UserError, match="not a regular file"):
        read_regular(pipe, 10)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomic(pipe, "x")
    assert os.read(reader, 10) == b"x"
    os.close(reader)
    assert list(tmp_path.iterdir()) == [pipe]
    assert pipe.is_fifo()


def test_a_device_is_written(tmp_path: Path):
    (tmp_path / "link").symlink_to("/dev/null")
    require_writable(tmp_path / "link")
    write_atomic(tmp_path / "link", "x")
    assert (tmp_path / "link").readlink() == Path("/dev/null")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("redirected", [True, False])
def test_standard_output_keeps_its_order(tmp_path: Path, redirected: bool):
    """A link to it stands for /dev/stdout, which a failing test would replace."""
    (tmp_path / "link").symlink_to("/proc/self/fd/1")
    code = "; ".join(
        [
            "import sys, pathlib, src.core.files as files",
            "path = pathlib.Path(sys.argv[1])",
            "files.require_writable(path)",
            "print(1)",
            "files.write_atomic(path, '2\\n')",
            "print(3)",
        ]
    )
    command = [sys.executable, "-c", code, str(tmp_path / "link")]
    if redirected:
        with (tmp_path / "out").open("wb") as out:
            subprocess.run(command, stdout=out, check=True)
        assert (tmp_path / "out").read_text() == "1\n2\n3\n"
    else:
        assert subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout == b"1\n2\n3\n"
    assert (tmp_path / "link").is_symlink()


def test_new_names_and_old_files_are_written(tmp_path: Path):
    path = tmp_path / "new" / "a.txt"
    require_replaceable(path)
    write_atomic(path, "1")
    write_atomic(path, b"2")
    assert path.read_text() == "2"
    assert path.stat().st_mode & 0o777 == 0o666 & ~current_umask()
    assert list(path.parent.iterdir()) == [path]


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_target_is_written(tmp_path: Path, exists: bool):
    target = tmp_path / "folder" / "target"
    target.parent.mkdir()
    if exists:
        target.write_text("old")
    (tmp_path / "link").symlink_to("folder/target")
    require_writable(tmp_path / "link")
    write_atomic(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_two_writers_do_not_collide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, fsync = tmp_path / "a[1].txt", os.fsync

    def write_meanwhile(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        write_atomic(path, "second")
        assert path.read_text() == "second"
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", write_meanwhile)
    write_atomic(path, "first")
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_partial_file_removed_before_its_lock_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, flock = tmp_path / "a.txt", fcntl.flock

    def lock_late(file: int, kind: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        files._remove_abandoned(path)
        assert list(tmp_path.iterdir()) == []
        flock(file, kind)

    monkeypatch.setattr(fcntl, "flock", lock_late)
    write_atomic(path, "x")
    assert path.read_text() == "x"
    assert list(tmp_path.iterdir()) == [path]


def test_partial_files_do_not_accumulate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a[1].txt"
    code = (
        "import os, sys, pathlib, src.core.files as files; os.fsync = lambda _: os.kill(os.getpid(), 9); "
        "files.write_atomic(pathlib.Path(sys.argv[1]), 'x')"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)]).returncode == -9
    (partial,) = tmp_path.iterdir()
    assert partial.name.endswith(".partial")
    write_atomic(path, "y")
    assert list(tmp_path.iterdir()) == [path]

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomic(path, "z")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "y"


@pytest.mark.parametrize(
    ("name", "put"),
    [
        ("wandb", lambda path: path.symlink_to("..")),
        ("tensorboard", lambda path: path.symlink_to("..")),
        ("train.log", lambda path: path.symlink_to("metrics.csv")),
        ("wandb/run/files/x", lambda path: path.symlink_to("/etc/passwd")),
        ("wandb/latest-run", lambda path: path.symlink_to("../..")),
        ("wandb/loop", lambda path: path.symlink_to("../../loop")),
        ("a/b/c", os.mkfifo),
    ],
)
def test_a_run_directory_has_no_links_and_pipes(tmp_path: Path, name: str, put: Callable[[Path], None]):
    run = tmp_path / "run"
    require_closed(run)
    own = run / "wandb" / "offline-run-1"
    own.mkdir(parents=True)
    (run / "wandb" / "latest-run").symlink_to(own.name)
    (run / "wandb" / "debug.log").symlink_to(f"{own.name}/logs/debug.log")  # deleted meanwhile
    (own / "logs").mkdir()
    (own / "logs" / "debug-core.log").symlink_to("/elsewhere/core-debug.log")
    (tmp_path / ".submitit").mkdir()
    (tmp_path / ".submitit" / "submission.sh").symlink_to("1/1_submission.sh")
    require_closed(run)
    require_closed(tmp_path)  # as a sweep has runs
    path = run / name
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        path.rename(tmp_path / "moved")
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path)
    with pytest.raises(UserError, match=f"{path} is (a symlink|not a regular file).*remove it"):
        require_closed(run)


def test_the_check_of_a_run_directory_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    monkeypatch.setattr(files, "MAX_ENTRIES", 3)
    require_closed(tmp_path)
    (tmp_path / "a" / "d").mkdir()
    with pytest.raises(UserError, match="more than 3 files"):
        require_closed(tmp_path)


def test_reading_has_a_limit(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x" * 10)
    assert read_regular(tmp_path / "a", 10) == b"x" * 10
    for name, most, message in (("a", 9, "larger than 9 bytes"), ("b", 9, "No such file"), (".", 9, "director")):
        with pytest.raises(UserError, match=message):
            read_regular(tmp_path / name, most)
    for name in ("/dev/zero", "a\0b"):
        with pytest.raises(UserError, match="cannot be read"):
            read_regular(Path(name), 9)
