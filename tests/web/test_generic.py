"""The generic page of games without their own."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hydra import initialize_config_module

from src.core.errors import UserError
from src.envs.tictactoe.game import TicTacToe
from src.web import shell
from src.web.clickable import LEFT, Pick
from src.web.game_page import Visit
from src.web.generic.page import GenericPage, fitting_players
from src.web.match import Match
from src.web.pages import discover
from src.web.players import HUMAN_PLAYER, YOU, AgentCache, Player, general_players
from src.web.saved_games import SavedGame
from tests.waiting import PATIENCE
from tests.web.inner import TestLab, Thinker, in_tab
from tests.web.small_games import Nim

PLAYERS = {YOU: HUMAN_PLAYER, "random": Player("Random moves", "random"), "slow": Player("Slow", "minimax")}


@pytest.fixture
def lab() -> Iterator[TestLab]:
    with initialize_config_module("conf", version_base="1.3"):
        yield TestLab()


@pytest.fixture(autouse=True)
def addresses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that the browser would show."""
    addresses: list[str] = []
    monkeypatch.setattr(shell, "set_address", lambda address, push=False: addresses.append(address))
    return addresses


async def open_page(lab: TestLab, env: str, seats: tuple[str, str], saved: SavedGame | None = None) -> GenericPage:
    query = dict(zip(("first", "second"), seats, strict=True))
    page = GenericPage(Visit(lab, query, saved), f"/play/{env}", lab.game(env), PLAYERS)
    await page.open()
    return page


def first_legal(page: GenericPage) -> int:
    return page.game.legal_actions(page.game.view(page.match.state))[0]


def test_every_environment_gets_a_page_of_its_folder_or_a_generic_one():
    pages = discover(["quoridor", "minesweeper_8x8", "connect_four", "quoridors"])
    games = ["Tic-tac-toe", "Minesweeper", "Quoridor", "Deployment", "Connect four", "Quoridors"]
    titles = ["Start", *games, "Runs", "Train"]
    assert [page.title for page in pages] == titles
    assert len({page.path for page in pages}) == len(pages)


def test_states_changed_in_place_are_replayed_and_taken_back():
    game = Nim()
    match: Match = Match(game, lambda: game.initial(np.random.default_rng(0)), human_seats={0})
    seen = [list(match.state)]
    while not match.is_over:
        match.play(game.legal_actions(match.state)[0])
        seen.append(list(match.state))
    for ply in (0, 3, 1, len(seen) - 1):
        assert match.at(ply) == seen[ply]
    assert match.state == seen[-1]
    last = max(ply for ply in range(len(match.moves)) if ply % 2 == 0)
    match.take_back()
    assert (match.state, len(match.moves), len(match.notes)) == (seen[last], last, last)


@pytest.mark.slow
def test_agents_are_offered_where_they_can_play(lab: TestLab):
    minimax = "minimax"  # replaced here by an agent that can play everything
    assert list(fitting_players(lab, Nim())) == ["random", minimax]
    expected = [*general_players(), "alphabeta_spec", minimax, "reference"]
    assert list(fitting_players(lab, TicTacToe(symmetric=True))) == expected


@in_tab
async def test_a_game_that_draws_itself_is_shown_as_a_picture(lab: TestLab):
    nim, pictured = [await open_page(lab, env, (YOU, YOU)) for env in ("nim", "tictactoe")]
    assert nim.board.content.startswith("<pre")
    before = pictured.board.content
    assert before.startswith('<img class="gp-picture')
    assert ' src="data:image/png;base64,' in before
    assert before.endswith('alt=". . .\n. . .\n. . .">'), "read by a screen reader"
    await pictured.pick_move(Pick("move-4", LEFT))
    assert pictured.board.content != before


@pytest.mark.parametrize("env", ["nim", "tictactoe"])
@in_tab
async def test_a_person_plays_an_agent_to_the_end(lab: TestLab, env: str, notifications: list[str]):
    page = await open_page(lab, env, (YOU, "random"))
    assert page.headline() == "Your move"
    while not page.match.is_over:
        await page.pick_move(Pick(f"move-{first_legal(page)}", LEFT))
    assert page.headline() in ("You win", "You lose", "A draw")
    assert page.legal.content == "", "a finished game takes no more moves"
    played = list(page.match.moves)
    await page.pick_move(Pick("move-0", LEFT))
    assert page.match.moves == played
    assert "over" in page.status.classes
    assert page.moves.content.count("<button") == len(page.match.moves)
    assert not notifications


@in_tab
async def test_looking_back_taking_back_and_a_new_game(lab: TestLab, notifications: list[str]):
    page = await open_page(lab, "nim", (YOU, "random"))
    start = page.board.content
    for _ in range(2):
        await page.pick_move(Pick(f"move-{first_legal(page)}", LEFT))
    await page.pick_ply(Pick("ply-1", LEFT))
    assert page.headline() == "Position after move 1 of 4"
    await page.pick_move(Pick("move-0", LEFT))
    assert len(page.match.moves) == 4, "an earlier position takes no moves"
    await page.look_at(99)
    assert page.ply is None
    await page.take_back()
    assert len(page.match.moves) == 2
    await page.take_back()
    assert (page.match.moves, page.board.content) == ([], start)
    with pytest.raises(UserError, match="there is no move to take back"):
        await page.take_back()
    await page.choose("second", YOU)
    await page.pick_move(Pick(f"move-{first_legal(page)}", LEFT))
    assert page.headline() == "Player 2 to move"
    with pytest.raises(UserError, match="player 'nobody' is unknown: choose one of you, random, slow"):
        await page.choose("second", "nobody")
    await page.new_game()
    assert page.match.moves == []
    assert notifications == ["A new game."]


def test_a_game_is_resumed_where_it_was_left(lab: TestLab, addresses: list[str]):
    left: list[GenericPage] = []

    @in_tab
    async def play() -> None:
        left.append(await open_page(lab, "nim", (YOU, "random")))
        await left[0].pick_move(Pick(f"move-{first_legal(left[0])}", LEFT))
        await left[0].choose("second", YOU)

    @in_tab
    async def resume(saved: SavedGame) -> None:
        page, before = await open_page(lab, "nim", (YOU, "random"), saved), left[0].match
        assert (page.match.state, page.match.moves) == (before.state, before.moves)
        assert page.match.start == before.start, "it is kept with the same seed again"
        assert (page.player_keys, page.headline()) == ([YOU, YOU], "Player 1 to move")
        assert page.address == addresses[-1]

    play()
    path, _, key = addresses[-1].rpartition("/")
    assert lab.games is not None
    resume(lab.games.load(path, key))
    assert lab.games.load(path, key).revision == 3, "a visit changes nothing: two moves and a choice were saved"


@in_tab
async def test_an_illegal_move_is_refused_and_changes_nothing(lab: TestLab):
    page = await open_page(lab, "tictactoe", (YOU, YOU))
    for part, words in (("move-9", "'move-9' does not exist"), ("cell-1", "'cell-1' does not exist")):
        with pytest.raises(UserError, match=words):
            await page.pick_move(Pick(part, LEFT))
    await page.pick_move(Pick("move-0", LEFT))
    with pytest.raises(UserError, match="0 is not a legal move"):
        await page.pick_move(Pick("move-0", LEFT))
    assert page.match.moves == [0]


@in_tab
async def test_a_decision_for_a_game_that_is_gone_is_dropped(lab: TestLab):
    lab.thinker = Thinker()
    page = await open_page(lab, "tictactoe", (YOU, "slow"))
    answer = asyncio.create_task(page.pick_move(Pick("move-0", LEFT)))
    assert await asyncio.to_thread(lab.thinker.asked.wait, PATIENCE)
    assert page.headline() == "Slow to move"
    with pytest.raises(UserError, match="it is the turn of Slow"):
        await page.pick_move(Pick("move-1", LEFT))
    await page.new_game()
    lab.thinker.released.set()
    await answer
    assert page.match.moves == []


def test_an_agent_is_built_once_and_decides_by_its_own_game(lab: TestLab, monkeypatch: pytest.MonkeyPatch):
    game, trained_on = TicTacToe(symmetric=True), TicTacToe(symmetric=False)
    run = Player("Run", "random", run=Path("somewhere"))
    agents = AgentCache(lab, game, PLAYERS | {"run": run}, lambda player: trained_on)
    assert agents.agent("random") is agents.agent("random")
    asked: list[object] = []
    monkeypatch.setattr(agents.agent("run"), "decide", lambda game, view, rng: asked.append(game))
    agents.decide("run", "." * 9, np.random.default_rng(0))
    assert asked == [trained_on]
    with pytest.raises(UserError, match="player 'nobody' is unknown"):
        agents.agent("nobody")


@in_tab
async def test_the_search_behind_a_move_is_described(lab: TestLab):
    page = await open_page(lab, "tictactoe", (YOU, YOU))
    assert page.status.note.text == ""
    page.match.play(first_legal(page), {"visits": 40, "simulations": 64, "value": 0.5})
    await page.show()
    assert page.status.note.text == "40 of 64 simulations tried this move; its value is +0.50 (a win: +1)."
    page.match.play(first_legal(page))
    await page.show()
    assert page.status.note.text == "", "of the person's move nothing is known"
    await page.look_by(-1)
    assert page.status.note.text.startswith("40 of 64")
