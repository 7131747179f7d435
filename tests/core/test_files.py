import os
from pathlib import Path

import pytest

from src.core.errors import UserError
from src.core.files import read_regular, require_no_links, require_replaceable, write_atomic
from tests.lab import Lab

SPECIAL = ["/dev/full", "/dev/null", ".", "..", "/", "a\0b", "x" * 300]


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


def test_a_pipe_is_not_replaced_and_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="not a regular file"):
        write_atomic(tmp_path / "pipe", "x")
    with pytest.raises(UserError, match="not a regular file"):
        read_regular(tmp_path / "pipe", 10)


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


def test_a_link_under_the_name_of_the_partial_file_is_not_followed(tmp_path: Path):
    """An untrusted run directory may contain one."""
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / ".a.txt.partial").symlink_to(tmp_path / "mine.txt")
    write_atomic(tmp_path / "a.txt", "new")
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "a.txt").read_text() == "new"
    assert not (tmp_path / "a.txt").is_symlink()


def test_a_directory_in_place_of_a_partial_file_is_refused(tmp_path: Path):
    (tmp_path / ".a.txt.partial").mkdir()
    with pytest.raises(UserError, match=r"\.a\.txt\.partial is a directory: remove it"):
        write_atomic(tmp_path / "a.txt", "new")


def test_a_pipe_in_place_of_a_file_that_is_appended_to_is_refused(tmp_path: Path):
    require_no_links(tmp_path, ("train.log",))
    os.mkfifo(tmp_path / "train.log")
    with pytest.raises(UserError, match=r"train\.log is not a regular file"):
        require_no_links(tmp_path, ("train.log",))


def test_reading_has_a_limit(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"x" * 10)
    assert read_regular(tmp_path / "a", 10) == b"x" * 10
    for name, most, message in (("a", 9, "larger than 9 bytes"), ("b", 9, "No such file"), (".", 9, "director")):
        with pytest.raises(UserError, match=message):
            read_regular(tmp_path / name, most)
    for name in ("/dev/zero", "a\0b"):
        with pytest.raises(UserError, match="cannot be read"):
            read_regular(Path(name), 9)


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "env=minesweeper_8x8", "agent=rules", "boards=/dev/zero"),
        ("evaluate", "agent=qtable", "agent.path=/dev/zero"),
        ("evaluate", "env=tictactoe", "agent=random", "episodes=2", "json=/dev/full"),
    ],
)
def test_commands_refuse_devices(lab: Lab, arguments: tuple[str, ...]):
    module, *overrides = arguments
    done = lab.run(module, *overrides, seconds=120)
    assert done.returncode != 0
    assert "/dev/" in done.stderr
    assert "Traceback" not in done.stderr
    assert Path("/dev/full").is_char_device()
