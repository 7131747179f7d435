"""Take the pictures of the pages in the README; the one of Quoridor is a short GIF.

python -m tests.web.pictures
"""

import io
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from tests.lab import ROOT
from tests.web.browser import Browser, chromium, serving
from tests.web.test_deployment_page import begin_battle, open_board
from tests.web.test_quoridor_page import begin, leave_field, moves, type_move, wait_moves

PICTURES = ROOT / "experiments" / "pictures"
WIDTH, HEIGHT = 1280, 900
GAME = ("e2", "e3", "e4", "d4h", "f6h", "f4")  # our moves, as long as they are legal
FRAME_MS, LAST_MS = 900, 2000


def shot(browser: Browser) -> Image.Image:
    """Return the page without a message or the offer of rules."""
    browser.script("document.querySelectorAll('.lab-offer, .q-notification').forEach(part => part.remove())")
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
    size = WIDTH * 5 // 8, HEIGHT * 5 // 8
    small = [frame.resize(size, Image.Resampling.LANCZOS).quantize(64) for frame in [*frames, shot(browser)]]
    times = [FRAME_MS] * (len(small) - 1) + [LAST_MS]
    small[0].save(PICTURES / "play_quoridor.gif", save_all=True, append_images=small[1:], duration=times, loop=0)
    print("play_quoridor.gif", flush=True)


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


def main() -> None:
    with TemporaryDirectory() as folder, serving(Path(folder)) as address, chromium(Path(folder) / "profile") as driver:
        browser = Browser(driver, address)
        browser.resize(WIDTH, HEIGHT)
        for page in (minesweeper, quoridor, deployment, runs):
            page(browser)


if __name__ == "__main__":
    main()
