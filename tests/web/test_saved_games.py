"""Games with an address: the files, and the pages that read and write them."""

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from src.core.errors import UserError
from src.web import saved_games
from src.web.saved_games import MAX_AGE, MAX_BYTES, GameStore, SavedGame
from tests.lab import ROOT
from tests.waiting import PATIENCE
from tests.web.browser import Browser
from tests.web.test_tictactoe import stones

LONG = (
    '{"path": "/quoridor", "setup": {}, "start": "", "moves": [], "result": "", "seconds": 0, "revision": 1}'
    + " " * MAX_BYTES
)
GAME = SavedGame("/quoridor", {"first": "you"}, "e1 e9 10 10 0 -", [13, 4], seconds=2.5, revision=1)


@pytest.fixture
def store(tmp_path: Path) -> GameStore:
    return GameStore(tmp_path / "games")


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_game_is_read_as_it_was_written(store: GameStore):
    key = store.save(GAME)
    read = store.load("/quoridor", key)
    assert read._replace(key="", updated=0.0) == GAME
    assert read.address == f"/quoridor/{key}"
    assert store.save(GAME._replace(moves=[13], revision=2), key) == key
    assert store.load("/quoridor", key).moves == [13]


@pytest.mark.slow
def test_a_server_that_ends_finishes_its_writes(tmp_path: Path):
    code = (
        "import sys, time; from pathlib import Path; from src.web.saved_games import GameStore, SavedGame\n"
        "store = GameStore(Path(sys.argv[1]))\n"
        "store.writer.submit(time.sleep, 0.2)\n"
        "store.writer.submit(store.save, SavedGame('/quoridor', {}, '', [13], revision=1))"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, cwd=ROOT)
    assert [game.moves for game in GameStore(tmp_path).latest(9)] == [[13]]


def test_a_game_is_loaded_as_the_pending_writes_leave_it(store: GameStore):
    key, released = store.save(GAME), threading.Event()
    store.writer.submit(released.wait, PATIENCE)
    store.writer.submit(store.save, GAME._replace(moves=[13], revision=2), key)
    with ThreadPoolExecutor(1) as pool:
        loaded = pool.submit(store.load, "/quoridor", key)
        wait([loaded], 0.2)  # it would be done if it did not wait
        released.set()
        assert loaded.result().moves == [13]


def test_variations_are_kept_and_files_without_them_are_read(store: GameStore, tmp_path: Path):
    plain, varied = store.save(GAME), store.save(GAME._replace(variations=[[13, 5], [12]]))
    assert "variations" not in json.loads((tmp_path / "games" / f"{plain}.json").read_text()), "as in older files"
    assert store.load("/quoridor", plain).variations == ()
    assert store.load("/quoridor", varied).variations == [[13, 5], [12]]
    file = tmp_path / "games" / f"{varied}.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"variations": "e2"}))
    with pytest.raises(UserError, match=r"^The file of this game is damaged"):
        store.load("/quoridor", varied)


def test_two_who_continue_one_game_get_a_game_each(store: GameStore):
    key = store.save(GAME)
    first = store.save(GAME._replace(moves=[13, 4, 22], revision=2), key)
    second = store.save(GAME._replace(moves=[13, 4, 12], revision=2), key)
    assert first == key != second
    assert [store.load("/quoridor", one).moves[-1] for one in (first, second)] == [22, 12]


@pytest.mark.parametrize("key", ["", "..", "../secret", "secret", "0" * 11, "0" * 13, "0123456789aB", "0123456789ab\n"])
def test_only_keys_of_its_own_form_are_read(store: GameStore, tmp_path: Path, key: str):
    store.save(GAME)
    (tmp_path / "secret.json").write_text(json.dumps(GAME._asdict()))
    with pytest.raises(UserError, match="not kept here any more"):
        store.load("/quoridor", key)


def test_a_game_of_another_page_and_a_link_are_not_read(store: GameStore, tmp_path: Path):
    key = store.save(GAME)
    with pytest.raises(UserError, match="not kept"):
        store.load("/minesweeper", key)
    (tmp_path / "games" / f"{key}.json").rename(tmp_path / "elsewhere")
    (tmp_path / "games" / f"{key}.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="not kept"):
        store.load("/quoridor", key)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"path": "/quoridor"}', "\0", LONG])
def test_a_damaged_file_is_reported_and_left_out(store: GameStore, tmp_path: Path, text: str):
    key, other = store.save(GAME), store.save(GAME)
    (tmp_path / "games" / f"{key}.json").write_text(text)
    with pytest.raises(UserError, match=r"^The file of this game is"):
        store.load("/quoridor", key)
    assert [game.key for game in store.latest(9)] == [other]


def test_a_game_that_is_too_long_is_refused_and_its_file_stays(store: GameStore):
    key = store.save(GAME)
    with pytest.raises(UserError, match="too long to be kept"):
        store.save(GAME._replace(moves=[10**6] * MAX_BYTES, revision=2), key)
    assert store.load("/quoridor", key).moves == GAME.moves


def test_old_games_expire_and_few_are_kept(store: GameStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    old, new = store.save(GAME), store.save(GAME)
    expired = time.time() - MAX_AGE - 1
    os.utime(tmp_path / "games" / f"{old}.json", (expired, expired))
    with pytest.raises(UserError, match="not kept"):
        store.load("/quoridor", old)
    latest = store.save(GAME)
    assert files(tmp_path) == sorted(f"{key}.json" for key in (new, latest))
    monkeypatch.setattr(saved_games, "MAX_GAMES", 3)
    for number, key in enumerate((new, latest, store.save(GAME))):
        os.utime(tmp_path / "games" / f"{key}.json", (expired + 1000 + number,) * 2)
    store.save(GAME)
    assert len(files(tmp_path)) == 3
    assert f"{new}.json" not in files(tmp_path), "the oldest goes first"


def test_what_was_not_written_to_its_end_is_deleted_later(store: GameStore, tmp_path: Path):
    store.save(GAME)
    old, new = tmp_path / "games/0123456789ab.partial", tmp_path / "games/ba9876543210.partial"
    for partial in (old, new):
        partial.touch()
    os.utime(old, (time.time() - saved_games.STALE - 1,) * 2)
    store.save(GAME)
    assert not old.exists()
    assert new.exists(), "it may be written right now"


def wait_address(browser: Browser, path: str) -> str:
    """Wait until the address names a game of a page, and return its path."""
    current = lambda: browser.driver.current_url.removeprefix(browser.address)  # noqa: E731
    browser.until(lambda: current().startswith(f"{path}/"), "the address of the game")
    return current()


def begin(browser: Browser) -> str:
    """Play the first move of a game; return its address."""
    browser.open("/tictactoe?x=you&o=you")
    browser.click("[data-id=cell-4]")
    return wait_address(browser, "/tictactoe")


def test_a_new_game_over_an_unfinished_one_can_be_undone(browser: Browser):
    first = begin(browser)
    browser.press("n")
    browser.wait_text(".lab-say", "Return to the other one")
    browser.click("[data-id=cell-4]")
    browser.until(lambda: wait_address(browser, "/tictactoe") != first, "an address of its own, with the same moves")
    browser.click("[data-id=cell-0]")
    second = wait_address(browser, "/tictactoe")
    browser.driver.back()
    browser.until(lambda: stones(browser) == "....X....", "the game before")
    assert browser.driver.current_url.endswith(first)
    browser.driver.forward()
    browser.until(lambda: stones(browser) == "O...X....", "the game after")
    assert browser.driver.current_url.endswith(second)
    browser.click(".new-game")
    browser.click(".lab-say a")
    browser.until(lambda: stones(browser) == "O...X....", "the game that the link leads back to")
    assert browser.driver.current_url.endswith(second)


def test_tabs_of_one_game_follow_each_other(browser: Browser):
    address, first = begin(browser), browser.tab
    second = browser.new_tab(address)
    browser.until(lambda: stones(browser) == "....X....", "the same game")
    browser.click("[data-id=cell-0]")
    browser.wait_text(".headline", "Your turn: X")
    browser.go_to(first)
    browser.until(lambda: stones(browser) == "O...X....", "the move of the other tab")
    browser.click("[data-id=cell-8]")
    browser.press("[")
    browser.press("[")
    browser.wait_text(".headline", "Position after move 1 of 3")
    browser.go_to(second)
    browser.until(lambda: stones(browser) == "O...X...X", "the reply")
    browser.press("u")
    browser.until(lambda: stones(browser) == "O...X....", "the move to be taken back")
    browser.click("[data-id=cell-1]")
    browser.click("[data-id=cell-2]")
    browser.choose(".choose-o", "Random")
    browser.until(lambda: stones(browser) == "." * 9, "a new game")
    browser.go_to(first)
    browser.wait_text(".headline", "Position after move 1 of 4")
    assert stones(browser) == "....X....", "an earlier position stays on the board"
    browser.click("[data-id=cell-8]")
    browser.wait_text(".lab-say", "This is an earlier position")
    for _ in range(3):
        browser.press("]")
    browser.until(lambda: stones(browser) == "OXO.X....", "the latest position")
    assert browser.driver.current_url.endswith(address)
    assert "own" not in browser.text(".lab-say"), "nothing forked"


def test_what_cannot_be_replayed_is_reported(browser: Browser, scratch: Path):
    path = begin(browser)
    (file,) = (scratch / "outputs" / "games").glob(f"{path.rpartition('/')[2]}.json")
    damaged = json.dumps(json.loads(file.read_text()) | {"moves": [4, 4]})
    file.write_text(damaged)
    browser.open(path)
    browser.wait_notification("not a")
    assert stones(browser) == "." * 9
    browser.click("[data-id=cell-0]")
    browser.until(lambda: wait_address(browser, "/tictactoe") != path, "an address of its own")
    assert file.read_text() == damaged, "the next game is not saved in its place"
    browser.open("/tictactoe/000000000000")
    browser.wait_text(".lab-problem", "not kept here any more")
    browser.click(".lab-problem a[href='/tictactoe']")
    browser.wait_text(".headline", "Your turn: X")


def test_minesweeper_is_resumed_with_its_mines_and_its_clock(browser: Browser):
    browser.open("/minesweeper?board=9x9x10&guess=none")
    browser.wait_text(".ms-left", "10")
    browser.right_click("[data-id=cell-0]")
    browser.wait_text(".ms-left", "9")
    browser.click("[data-id=cell-40]")
    browser.wait_text(".headline", "Playing")
    path = wait_address(browser, "/minesweeper")
    cells = lambda: browser.attributes("[data-id^=cell-]", "aria-label")  # noqa: E731
    played = cells()
    browser.until(lambda: browser.text(".ms-clock") not in ("0", "1"), "two seconds")
    browser.click(".ask")
    browser.wait_text(".advice", "is safe")
    browser.click(".step")
    browser.until(lambda: cells() != played, "a safe reveal")
    played = cells()
    browser.refresh()
    browser.until(lambda: cells() == played, "the same board")
    assert browser.driver.current_url.endswith(path)
    assert int(browser.text(".ms-clock")) >= 2
    browser.click(".play")
    browser.wait_text(".headline", "Solved with an agent")
    browser.press("[")
    browser.wait_text(".headline", "After move")
