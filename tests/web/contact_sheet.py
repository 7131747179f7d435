"""Take pictures of all pages at three widths in both themes, and arrange them on one sheet.

python -m tests.web.contact_sheet sheet.png               # and each picture at full size in sheet/
python -m tests.web.contact_sheet sheet.png runs run      # some pages only
"""

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image, ImageDraw

from src.core.play.canvas import CARD, INK
from src.web.shell import THEME_COOKIE
from tests.web.browser import Browser, chromium, serving
from tests.web.pictures import shot
from tests.web.test_deployment_page import begin_battle
from tests.web.test_quoridor_page import type_move, wait_engine, wait_moves

SIZES = ((1440, 900), (1024, 768), (390, 844))
THEMES = ("light", "dark")
HEIGHT, GAP, LABEL = 420, 12, 20  # of a picture on the sheet, between pictures, and of a name


def minesweeper(browser: Browser) -> None:
    browser.click("[data-id=cell-136]")
    browser.find("svg text")
    browser.click(".ask")
    browser.until(lambda: "Cancel" not in browser.text(".ask"), "the hint")


def quoridor(browser: Browser) -> None:
    wait_engine(browser)
    for number, move in enumerate(("e2", "e3", "e6h"), 1):
        type_move(browser, move)
        wait_moves(browser, 2 * number)


def watch(browser: Browser) -> None:
    browser.until(lambda: browser.script("return document.querySelector('.r-side img')?.naturalWidth > 50"), "a game")


def nothing(browser: Browser) -> None:
    pass


def charts(browser: Browser) -> None:
    browser.until(lambda: browser.all("canvas"), "a chart")


def fork(browser: Browser) -> None:
    browser.click("[data-id=cell-0]")
    browser.wait_text(".headline", "Your turn")


COMPARED = ",".join(f"experiments/{name}" for name in ("minesweeper_8x8", "minesweeper_16x16", "deployment_ppo"))
PAGES: dict[str, tuple[str, Callable[[Browser], None]]] = {
    "start": ("/", nothing),
    "tictactoe": ("/tictactoe?x=you&o=minimax", fork),
    "minesweeper": ("/minesweeper?board=16x16x40&odds=exact", minesweeper),
    "quoridor": ("/quoridor?first=you&second=easy", quoridor),
    "deployment": ("/deployment?player_2=tactical&seed=1", begin_battle),
    "generic": ("/play/connect_four", nothing),
    "runs": ("/runs", nothing),
    "compare": (f"/runs?compare={COMPARED}", charts),
    "run": ("/runs/experiments/deployment_ppo", watch),
    "training": ("/training", nothing),
    "missing": ("/nowhere", nothing),
}


def main() -> None:
    out, names = Path(sys.argv[1]), sys.argv[2:] or list(PAGES)
    full = out.with_suffix("")
    full.mkdir(parents=True, exist_ok=True)
    shots: dict[str, list[Image.Image]] = {name: [] for name in names}
    with TemporaryDirectory() as folder, serving(Path(folder)) as address, chromium(Path(folder) / "profile") as driver:
        browser = Browser(driver, address)
        for theme in THEMES:
            for name in names:
                path, prepare = PAGES[name]
                browser.resize(*SIZES[0])
                driver.get(address + "/nowhere")  # cookies need a page of the server
                driver.add_cookie({"name": THEME_COOKIE, "value": theme})
                browser.open(path)
                prepare(browser)
                for width, height in SIZES:
                    browser.resize(width, height)
                    browser.script("scrollTo(0, 0)")
                    browser.driver.execute_async_script("setTimeout(arguments[0], 500)")  # charts follow the size
                    shots[name].append(shot(browser))
                    shots[name][-1].save(full / f"{name}_{width}_{theme}.png")
                print(f"{name}, {theme}", flush=True)
    rows = [[one.resize((one.width * HEIGHT // one.height, HEIGHT)) for one in row] for row in shots.values()]
    width = max(sum(one.width + GAP for one in row) for row in rows) + GAP
    sheet = Image.new("RGB", (width, len(rows) * (HEIGHT + LABEL + GAP) + GAP), CARD)
    for place, (name, row) in enumerate(zip(names, rows, strict=True)):
        x, y = GAP, GAP + place * (HEIGHT + LABEL + GAP)
        ImageDraw.Draw(sheet).text((x, y), name, INK, font_size=LABEL - 6)
        for one in row:
            sheet.paste(one, (x, y + LABEL))
            x += one.width + GAP
    sheet.save(out)


if __name__ == "__main__":
    main()
