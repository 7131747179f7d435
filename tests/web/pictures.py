"""Take the pictures of the pages in the README; those of Quoridor and of a training are short GIFs.

python -m tests.web.pictures [minesweeper] [quoridor] [deployment] [runs] [learning]
"""

import io
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from src.core.play.canvas import Animation
from tests.lab import ROOT, Lab
from tests.waiting import wait_until as until
from tests.web.browser import Browser, chromium, serving
from tests.web.test_deployment_page import begin_battle, open_board
from tests.web.test_quoridor_page import begin, leave_field, moves, type_move, wait_moves

PICTURES = ROOT / "experiments" / "pictures"
WIDTH, HEIGHT = 1280, 900
GAME = ("e2", "e3", "e4", "d4h", "f6h", "f4")  # our moves, as long as they are legal
FRAME_MS, LAST_MS = 900, 2000
SHOTS, REST = 8, 8  # pictures of a training in a row, and seconds until the next ones
TRAINING = ("algo.episodes=30000", "algo.shortcuts=false", "checkpoint_seconds=2", "logger=csv")  # of tic-tac-toe


def shot(browser: Browser) -> Image.Image:
    """Return the page without a message, the offer of rules or the progress of engines."""
    browser.script(
        "document.querySelectorAll('.lab-offer, .q-notification, .lab-progress').forEach(part => part.remove())"
    )
    return Image.open(io.BytesIO(browser.driver.get_screenshot_as_png())).convert("RGB")


def save(browser: Browser, name: str) -> None:
    shot(browser).quantize(128).save(PICTURES / f"{name}.png", optimize=True)
    print(f"{name}.png", flush=True)


def minesweeper(browser: Browser) -> None:
    browser.open("/minesweeper?board=16x16x40&odds=exact")
    browser.click("[data-id=cell-136]")
    browser.find("svg text")
    browser.click(".ask")
    browser.until(lambda: "Cancel" not in browser.text(".ask"), "the hint")
    save(browser, "play_minesweeper")


def quoridor(browser: Browser) -> None:
    begin(browser, "you", "normal")
    frames = [shot(browser)]
    for name in GAME:
        before = len(moves(browser))
        type_move(browser, name)
        wait_moves(browser, before + 2)
        leave_field(browser)
        frames.append(shot(browser))
    browser.press("?")
    browser.find(".qr-hint")
    save_animation("play_quoridor", [*frames, shot(browser)], FRAME_MS)


def deployment(browser: Browser) -> None:
    open_board(browser, "player_2=tactical&seed=1")
    begin_battle(browser)
    browser.press("a")
    browser.find(".dp-pieces [data-choice]")
    browser.script("scrollTo(0, 0)")
    save(browser, "play_deployment")


def runs(browser: Browser) -> None:
    names = ",".join(f"experiments/minesweeper_{board}" for board in ("8x8", "16x16"))
    browser.resize(WIDTH, 1250)
    browser.open(f"/runs?compare={names}&metric=eval/win_rate")
    browser.until(lambda: browser.all("canvas"), "a chart")
    save(browser, "play_runs")


def learning(browser: Browser, folder: Path) -> None:
    """Train a network for some minutes, and record what its page shows at the beginning and from then on."""
    process = Lab(folder).start("train", *TRAINING)
    try:
        until(lambda: any(folder.glob("outputs/runs/*/*/*/checkpoints/last.safetensors")), "a checkpoint")
        (run,) = (path.parent for path in folder.glob("outputs/runs/*/*/*/config.yaml"))
        browser.resize(WIDTH, 780)
        browser.open(f"/runs/{run.relative_to(folder)}")
        browser.until(lambda: browser.all(".r-dots i"), "a game")
        frames = []
        while process.poll() is None:
            for _ in range(SHOTS):
                frames.append(shot(browser))
                time.sleep(0.3)
            time.sleep(REST)
    finally:
        process.terminate()
        process.communicate()
    save_animation("play_learning", frames, 350)


def save_animation(name: str, frames: list[Image.Image], milliseconds: int) -> None:
    animation = Animation(frames[0].width * 5 // 8)
    for frame in frames:
        animation.add(np.asarray(frame), milliseconds / 1000)
    animation.hold(LAST_MS / 1000)
    (PICTURES / f"{name}.gif").write_bytes(animation.encode())
    print(f"{name}.gif", flush=True)


def main() -> None:
    """Take the pictures named on the command line, or all."""
    with TemporaryDirectory() as folder, serving(Path(folder)) as address, chromium(Path(folder) / "profile") as driver:
        browser = Browser(driver, address)
        pages = {page.__name__: page for page in (minesweeper, quoridor, deployment, runs)}
        pages["learning"] = lambda browser: learning(browser, Path(folder))
        for name in sys.argv[1:] or pages:
            browser.resize(WIDTH, HEIGHT)
            pages[name](browser)


if __name__ == "__main__":
    main()
