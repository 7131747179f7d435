"""Drawings and matches of the Quoridor page, without a browser."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hydra import initialize_config_module

from src.core.errors import UserError
from src.core.play.search_interface import UNLIMITED_PLIES, SearcherConfig
from src.envs.quoridor.game import Quoridor
from src.envs.quoridor.notation import parse_move
from src.envs.quoridor.play_by_hand import toward
from src.envs.quoridor.rules import Position
from src.envs.quoridor.search.judgment import Judgment, deepen, judge
from src.play import ConfigLab
from src.web import shell
from src.web.game_page import Visit
from src.web.players import YOU
from src.web.quoridor import panels, review
from src.web.quoridor.board import BoardGeometry, Box, Marks, Mode, draw
from src.web.quoridor.clock import Clock, ClockPanel, clock_text, read_clock
from src.web.quoridor.match import MAX_VARIATIONS, SEATS, QuoridorMatch, Variations, players_of, read_variations
from src.web.quoridor.page import QuoridorPage
from src.web.quoridor.searches import Budget, from_search
from src.web.rating_line import RatingLine
from src.web.saved_games import SavedGame
from tests.web.inner import in_tab

GAME = Quoridor(9, 10, 200, False)
START = GAME.initial(np.random.default_rng(0))
MIDDLE = GAME.read_position("e5 e6 9 8 9 d4h,e7v,a1h")


def parts(svg: str, kind: str) -> list[ElementTree.Element]:
    """Return the drawn elements of a class."""
    return [part for part in ElementTree.fromstring(svg).iter() if kind in (part.get("class") or "").split()]


def test_everything_on_the_board_is_drawn():
    svg = draw(9, MIDDLE, Marks(paths=([40, 31], [49, 40]), hints=("d4", "c3v"), last="e6", origin=58))
    counts = {"cell": 81, "wall": 3, "pawn": 2, "plank": 17, "path": 2, "hint": 2, "last": 1, "moved": 1}
    assert {kind: len(parts(svg, kind)) for kind in counts} == counts


def test_legal_moves_or_the_walls_of_one_direction_can_be_clicked():
    legal = frozenset(GAME.move_name(MIDDLE, action) for action in GAME.legal_actions(MIDDLE))
    spots = parts(draw(9, MIDDLE, Marks(open=True, legal=legal)), "spot")
    assert len(spots) == 81 + 128
    assert {spot.get("data-id") for spot in spots if "legal" in spot.get("class", "").split()} == legal
    for mode in (Mode.HORIZONTAL, Mode.VERTICAL):
        names = [spot.get("data-id", "") for spot in parts(draw(9, MIDDLE, Marks(open=True, mode=mode)), "spot")]
        assert len(set(names)) == 64
        assert all(name.endswith(mode) for name in names)
    assert parts(draw(9, MIDDLE, Marks(legal=legal)), "spot") == [], "the board is not open"


@pytest.mark.parametrize("turned", [False, True])
def test_walls_lie_between_the_cells_they_divide(turned: bool):
    geometry = BoardGeometry(9, turned)
    x, y = geometry.wall(parse_move(9, "e3h")).center
    e3, f4 = (geometry.cell(parse_move(9, name)).center for name in ("e3", "f4"))
    assert (x, y) == ((e3[0] + f4[0]) / 2, (e3[1] + f4[1]) / 2)
    below, above = (e3[1], f4[1]) if not turned else (f4[1], e3[1])
    assert above < y < below


def inside(polygon: list[tuple[float, float]], x: float, y: float) -> bool:
    """Whether a point is inside a polygon, by the even-odd rule."""
    found = False
    for (ax, ay), (bx, by) in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            found = not found
    return found


def test_the_pointer_means_one_wall_at_most_and_in_every_groove_one():
    geometry, rng = BoardGeometry(5, False), np.random.default_rng(0)
    walls = range(25, 25 + 32)
    cells = [geometry.cell(cell) for cell in range(25)]
    field = geometry.field
    for x, y in rng.uniform((field.x, field.y), (field.x + field.width, field.y + field.height), (500, 2)):
        meant = [move for move in walls if inside(geometry.groove(move), x, y)]
        assert len(meant) <= 1
        assert meant or any(covers(cell, x, y) for cell in cells)
        areas = [move for move in walls if covers(geometry.area(move), x, y)]
        assert len(areas) == 2, "one of each direction"


def covers(box: Box, x: float, y: float) -> bool:
    return box.x <= x < box.x + box.width and box.y <= y < box.y + box.height


def states(match: QuoridorMatch) -> list[Position]:
    return [match.at(ply) for ply in range(len(match.moves) + 1)]


def played(*names: str) -> QuoridorMatch:
    match = QuoridorMatch(GAME, START)
    for name in names:
        match.play(GAME.parse_move(match.state, name))
    return match


def test_taking_back_goes_over_the_reply_of_an_agent():
    match = played("e2", "e8", "e3", "e7")
    for people, left in (({0}, ["e2", "e8"]), ({0, 1}, ["e2"]), (set[int](), [])):
        match.human_seats = people
        match.take_back()
        assert match.names() == left
    match = played("e2")
    match.human_seats = {1}
    with pytest.raises(UserError, match="no move to take back"):
        match.take_back()  # the move is the agent's, which would only play it again


def test_variations_are_listed_continued_saved_and_read():
    game, variations = played("e2", "e8", "e3"), Variations()
    for names in (("e2", "d9"), ("d1",), ("e2", "d9", "d2"), ("e2", "d9")):  # the last is part of another
        variations.add(played(*names).moves)
    assert len(variations) == 2
    html = variations.html(game, played("d1").moves)
    assert re.findall(r"<i>(.*?)</i> (.*?)<", html) == [("move 2", "d9 d2"), ("move 1", "d1")]
    assert 'here" data-id="variation-1"' in html
    saved = json.loads(json.dumps(variations.as_json()))
    read = read_variations(game, saved)
    assert [read[number] for number in range(len(read))] == [variations[number] for number in range(2)]
    variations.remove(played("d1").moves)
    assert len(variations) == 1


def test_the_list_of_variations_is_drawn_again_without_replaying_them(monkeypatch: pytest.MonkeyPatch):
    game, replayed = played("e2", "e8"), list[int]()
    with_moves = QuoridorMatch.with_moves

    def counted(match: QuoridorMatch, moves: Sequence[int]) -> QuoridorMatch:
        replayed.append(len(moves))
        return with_moves(match, moves)

    monkeypatch.setattr(QuoridorMatch, "with_moves", counted)
    variations = Variations([tuple(played("d1").moves), tuple(played("e2", "d9").moves)])
    html = variations.html(game, None)
    assert variations.html(game, None) == html
    assert replayed == [1, 2], "each line once"
    variations.add(played("e2", "d9", "e3").moves)
    assert "d9 e3" in variations.html(game, None)
    assert replayed == [1, 2, 3], "only the line that was continued"
    game.play(GAME.parse_move(game.state, "e3"))
    variations.html(game, None)
    assert replayed == [1, 2, 3], "a move of the game changes no variation"
    variations = Variations([tuple(played("a1h").moves)])
    assert "a1h" in variations.html(played(), None)
    assert "h8h" in variations.html(QuoridorMatch(GAME, played("e2").state), None), "player 2 moves from another start"


@pytest.mark.parametrize("saved", [[3], [["e2"]], [[-1]], [[0]], [[13]] * (MAX_VARIATIONS + 1)])
def test_damaged_variations_are_refused(saved: list[Any]):
    with pytest.raises(UserError):
        read_variations(played("e2"), saved)


def test_the_latest_variations_are_kept_unless_they_were_played():
    variations = Variations()
    for number in range(MAX_VARIATIONS + 5):
        variations.add([number])
    assert variations.as_json() == [[number] for number in range(5, MAX_VARIATIONS + 5)]
    variations = Variations([(1, 2, 3), (1, 4)])
    variations.forget_played([1, 2])
    assert len(variations) == 2
    variations.forget_played([1, 4, 5])
    assert variations.as_json() == [[1, 2, 3]]


def test_a_game_is_read_as_it_was_written():
    match, other = QuoridorMatch(GAME, MIDDLE), QuoridorMatch(GAME, START)
    match.play(GAME.parse_move(MIDDLE, "c3v"))
    other.read(match.write())
    assert (states(other), other.moves) == (states(match), match.moves)
    other.read(f"position {GAME.write_position(MIDDLE)}")
    assert (states(other), other.moves) == ([MIDDLE], [])


@pytest.mark.parametrize(
    "text", ["e2 e8 e3 e3h", "1. e2 e8 2. e3 e3h", "1.E2 E8 2.E3 E3H", "1 e2 e8\n2 e3 e3h", "moves e2, e8; e3, e3h"]
)
def test_a_list_of_moves_is_read_with_and_without_numbers(text: str):
    match = QuoridorMatch(GAME, START)
    match.read(text)
    assert match.names() == ["e2", "e8", "e3", "e3h"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "paste a list of moves"),
        ("hello", "move 1 of the list, hello is not a move"),
        ("e7 e9", "move 2 of the list, e9: your pawn cannot go there in one move"),
        ("e1 e9 10 10 0", "5 words"),
        ("e1 e1 10 10 0 -", "one cell"),
        ("e1 e9 9 9 0 e3h,e3v", "overlaps or crosses"),
        ("start e1 e9 10 10 0 -\nmoves e2 e5\nresult *", "move 2 of the game"),
        ("start e1 e9 10 10 0 -\nmoves e2\nresult 1-0", "its moves give"),
        ("x" * 30_000, "characters: at most"),
    ],
)
def test_a_text_that_is_no_game_changes_nothing(text: str, message: str):
    match = QuoridorMatch(GAME, MIDDLE)
    with pytest.raises(UserError, match=message):
        match.read(text)
    assert states(match) == [MIDDLE]


@pytest.mark.parametrize(
    ("position", "way", "move"),
    [
        ("e1 e9 10 10 0 -", (0, 1), "e2"),
        ("e1 e9 10 10 0 -", (-1, 0), "d1"),
        ("e1 e9 10 10 0 -", (0, -1), None),
        ("e4 e5 10 10 0 -", (0, 1), "e6"),  # over the other pawn
        ("e4 e5 9 9 0 e5h", (0, 1), None),  # to either side of it: which?
        ("e4 e5 9 9 0 e5h,e4v", (0, 1), "d5"),
        ("e4 e8 10 10 1 -", (0, -1), "e7"),
    ],
)
def test_an_arrow_is_the_pawn_move_that_way(position: str, way: tuple[int, int], move: str | None):
    state = GAME.read_position(position)
    action = toward(GAME, state, *way)
    assert (None if action is None else GAME.move_name(state, action)) == move


def test_an_evaluation_is_for_player_1():
    info = {"score": "-13", "path": -10, "endgame": 0, "walls": -2, "mobility": 3, "efficiency": -5}
    first, second = from_search(info, 0), from_search(info, 1)
    assert first.share + second.share == pytest.approx(1)
    assert (first.text, second.text) == ("Player 2 is ahead (13 after search)", "Player 1 is ahead (13 after search)")
    assert (first.parts["path"], second.parts["path"]) == (-10, 10)
    assert from_search(info | {"score": "win-in-3"}, 1).share == 0
    assert from_search(info | {"score": "loss-in-4"}, 1) == (1.0, "Player 1 wins within 4 moves", second.parts)


def test_factors_add_up():
    rows = ElementTree.fromstring(f"<div>{panels.factor_bars({'path': -10, 'walls': 4})}</div>").findall("div")
    assert [row.findtext("b") for row in rows] == [None, "10", "0", "4", "0", "0", "6"]


def test_the_list_of_moves_begins_with_whoever_moved_first():
    listed = ElementTree.fromstring(panels.move_list(["e8", "e3", "e7"], first_ply=1, shown=2))
    assert [(part.tag, part.text, part.get("data-id")) for part in listed] == [
        ("i", "1", None),
        ("span", None, None),
        ("button", "e8", "ply-1"),
        ("i", "2", None),
        ("button", "e3", "ply-2"),
        ("button", "e7", "ply-3"),
    ]
    assert "here" in listed[4].get("class", "")


def test_five_levels_and_three_others_can_be_chosen():
    assert list(players_of([])) == [YOU, "easy", "normal", "hard", "hell", "deep", "mcts", "runner", "random"]


WEIGHTS = {"path": 10, "endgame": 15, "walls": 2, "mobility": 3, "efficiency": 5}


def searcher():
    return GAME.searcher(SearcherConfig(WEIGHTS, 0, 0, True, UNLIMITED_PLIES, True))


def test_a_search_reports_every_depth_until_its_last():
    results = list(deepen(searcher(), MIDDLE, last=5))
    assert [result.score for result in results] == [
        searcher().search(MIDDLE, depth, None, 1 << 60).score for depth in (1, 2, 3, 4, 5)
    ]
    assert results[-1].line[0] in GAME.legal_actions(MIDDLE)
    budget = Budget(1000)
    assert 0 < budget.left <= 1000
    budget.stop()
    assert budget.left == 0


# Player 1 is one step from its goal, and it is its turn.
NEARLY = GAME.read_position("e8 a5 0 0 20 -")


def test_a_review_tells_the_winning_move_from_one_that_gives_it_away():
    win, away = GAME.parse_move(NEARLY, "e9"), GAME.parse_move(NEARLY, "e7")
    best = judge(GAME, searcher(), NEARLY, win)
    assert (best.share, best.loss, best.sign) == (1.0, 0.0, "")
    assert review.comment("e9", best) == "e9 was the best move."
    far = GAME.read_position("e8 a2 0 0 20 -")  # whoever steps away loses the race
    worst = judge(GAME, searcher(), far, GAME.parse_move(far, "e7"))
    assert (worst.share, worst.loss, worst.sign) == (1.0, 1.0, "??")
    assert "e7 was a blunder: it cost 100%" in review.comment("e7", worst)
    assert "e9 was better" in review.comment("e7", worst)
    assert judge(GAME, searcher(), NEARLY, away).best == "e9"
    position = GAME.read_position("e8 a2 0 0 21 -")  # player 2 is to move, and wins
    found = judge(GAME, searcher(), position, GAME.parse_move(position, "a1"))
    assert (found.share, found.loss) == (0.0, 0.0), "the share is player 1's"


@pytest.mark.parametrize(("loss", "sign"), [(0.099, ""), (0.10, "?"), (0.249, "?"), (0.25, "??")])
def test_a_mistake_begins_at_the_stated_loss(loss: float, sign: str):
    assert Judgment(0.5, "e2", loss).sign == sign
    assert "10%" in review.LEGEND and "25%" in review.LEGEND  # noqa: PT018


def test_a_graph_marks_mistakes_and_its_plies_can_be_clicked():
    found = {0: Judgment(0.5, "e2", 0.0), 1: Judgment(0.5, "e8", 0.3), 2: Judgment(0.8, "e3", 0.12)}
    svg = review.graph(found, 3, 1.0, 2)
    (curve,) = parts(svg, "qr-curve")
    heights = [float(point.split(",")[1]) for point in curve.get("points", "").split()]
    assert heights == pytest.approx([42, 42, 84 * 0.2, 0], abs=0.1), "the chances of player 1 grow upwards"
    assert [len(parts(svg, kind)) for kind in ("qr-mistake", "qr-blunder")] == [1, 1]
    assert [part.get("data-id") for part in parts(svg, "qr-at")] == ["ply-0", "ply-1", "ply-2", "ply-3"]
    assert review.summary(found, 0) == "Player 1: 1 mistake · Player 2: 1 blunder"


def test_a_hint_for_the_pawn_is_an_arrow_and_for_a_wall_the_wall():
    svg = draw(9, MIDDLE, Marks(hints=("d6", "c3v")))  # player 2 is to move
    assert [len(parts(svg, kind)) for kind in ("hint-shaft", "hint-head", "hint-mark")] == [1, 1, 1]
    (shaft,) = parts(svg, "hint-shaft")
    x, y = map(float, shaft.get("d", "")[1:].split("L")[0].split())
    geometry = BoardGeometry(9, False)
    pawn_x, pawn_y = geometry.cell(parse_move(9, "e6")).center
    assert (x, y) == (pytest.approx(pawn_x - 19), pytest.approx(pawn_y)), "from the pawn of the mover"


def test_only_the_walls_of_the_mover_can_be_dragged():
    empty = GAME.read_position("e5 e6 9 0 9 d4h")
    for position, marks, own in ((MIDDLE, Marks(open=True), 1), (MIDDLE, Marks(), 0), (empty, Marks(open=True), 0)):
        assert len(parts(draw(9, position, marks), "own")) == own


def test_a_variation_begins_like_the_match_and_leaves_it_alone():
    match = played("e2", "e8")
    other = match.with_moves(match.moves[:1])
    other.play(GAME.parse_move(other.state, "d9"))
    assert (match.names(), other.names()) == (["e2", "e8"], ["e2", "d9"])
    assert (set(match.human_seats), set(other.human_seats)) == (set(), {0, 1})


def test_a_clock_runs_for_one_player_and_stops():
    clock = Clock((10, 10))
    clock.run(0, now=100)
    assert (clock.left(0, 103), clock.left(1, 103)) == (7, 10)
    clock.run(1, now=104)
    clock.run(None, now=106)
    assert (clock.left(0, 200), clock.left(1, 200)) == (6, 8)
    assert clock.loser(200) is None
    clock.run(1, now=200)
    assert (clock.loser(207.9), clock.loser(208)) == (None, 1)


@in_tab
async def test_a_clock_is_read_as_it_was_written():
    written = [ClockPanel(text, SEATS).choice for text in ("none", "180", "180:170.5:12.0")]
    assert written == ["none", "180:180.0:180.0", "180:170.5:12.0"]
    assert [clock_text(seconds) for seconds in (600, 61.9, 10, 9.4, 0)] == ["10:00", "1:01", "0:10", "0:09.4", "0:00.0"]


@pytest.mark.parametrize("text", ["", "5", "180:1", "180:1:nan", "180:1:181", "180:-1:3", "none:1:2", "180:1:²"])
def test_a_clock_that_is_none_is_refused(text: str):
    with pytest.raises(UserError):
        read_clock(text)


def test_a_cancel_that_comes_after_the_move_does_not_pause_the_game():
    page = SimpleNamespace(agent_to_move=False, paused=False)
    asyncio.run(QuoridorPage.cancel_move(page))  # type: ignore[arg-type]
    assert not page.paused


async def open_paused(lab: ConfigLab, saved: SavedGame | None = None) -> QuoridorPage:
    """Return the page of two easy players, who move by `step` only."""
    page = QuoridorPage(Visit(lab, {"first": "easy", "second": "easy"}, saved), GAME, players_of([]))
    page.paused = True
    await page.open()
    return page


async def steps(page: QuoridorPage, count: int) -> list[str]:
    for _ in range(count):
        await page.step()
    return page.match.names()


@in_tab
async def test_every_game_has_its_own_seed_by_which_it_is_continued_and_replayed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shell, "set_address", lambda address, push=False: None)
    with initialize_config_module("conf", version_base="1.3"):
        lab = ConfigLab([], None)
        page = await open_paused(lab)
        left, start = await steps(page, 8), page.match.start
        saved = SavedGame(page.path, page.setup, json.loads(json.dumps(start)), page.match.moves_as_json())
        played = await steps(page, 4)
        again = await open_paused(lab, saved)
        assert again.match.names() == left
        assert (await steps(again, 4), again.match.start) == (played, start), "continued as it would have been"
        for _ in range(12):
            await again.take_back()
        assert await steps(again, 12) == played, "replayed from its start"
        await again.new_game()
        assert again.match.seed != page.match.seed
        assert await steps(again, 12) != played
        seed = again.match.seed
        await again.load(GAME.write_position(START))
        assert again.match.seed != seed, "a loaded position begins a new game"


@pytest.mark.parametrize(
    "start",
    [
        None,
        7,
        {"position": "e1 e9 10 10 0 -"},
        {"position": 3, "seed": 0},
        {"position": "e1 e9 10 10 0 -", "seed": True},
    ],
)
def test_a_start_without_position_and_seed_is_refused(start: Any):
    match = QuoridorMatch(GAME, MIDDLE, seed=5)
    with pytest.raises(UserError, match="is not a position with the seed of a game"):
        match.restore(start, [])
    with pytest.raises(UserError):
        match.restore({"position": GAME.write_position(START), "seed": 7}, ["z9"])
    assert (match.seed, states(match)) == (5, [MIDDLE])
    match.restore(GAME.write_position(START), [])  # saved before games had seeds
    assert (match.seed, states(match)) == (0, [START])


def test_agents_draw_anew_at_every_ply_and_the_same_after_a_move_is_taken_back():
    match = played("e2")
    first = match.rng().random()
    match.play(GAME.parse_move(match.state, "e8"))
    assert match.rng().random() != first
    match.take_back()
    assert match.rng().random() == first


Before = Callable[[QuoridorPage], Awaitable[None] | None]


@in_tab
async def test_a_game_counts_for_the_rating_once_and_not_after_help(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shell, "set_address", lambda address, push=False: None)
    counted: list[tuple[str, float]] = []
    monkeypatch.setattr(RatingLine, "add", lambda line, level, points: counted.append((level, points)))
    start = {"position": "e8 a5 0 0 20 -", "seed": 0}  # one step before the end

    async def play(second: str, *names: str, before: Before = lambda page: None) -> None:
        saved = SavedGame("/quoridor", {"first": "you", "second": second}, start, [])
        page = QuoridorPage(Visit(lab, {}, saved), GAME, players_of([]))
        await page.open()
        await shell.maybe_await(before(page))
        for name in names:
            await page.play_named(name)
        await page.look_at(0)
        await page.look_at(len(page.match.moves))  # the end is shown again
        await page.take_back()
        await page.play_named(names[-1])

    with initialize_config_module("conf", version_base="1.3"):
        lab = ConfigLab([], None)
        await play("random", "e9")
        assert counted == [("random", 1.0)]
        await play("you", "e9")
        await play("mcts", "e9")
        assert len(counted) == 1, "these have no known strength"
        await play("random", "e9", before=QuoridorPage.hint)
        await play("random", "e9", before=lambda page: page.choose("second", "easy"))
        assert counted[1:] == [("easy", 1.0)], "another level before the first move is a game against it"
