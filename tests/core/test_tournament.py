"""Round robins: seats, openings, results of both sides, and the table."""

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from src.core.errors import UserError
from src.core.play.agent import Agent, Decision, RandomAgent
from src.core.play.arena import Tally
from src.core.play.rating import Points, ratings
from src.core.play.tournament import Standings, require_playable, round_robin
from src.core.runs.leaderboard import as_dict, cross_table, markdown
from src.core.seeding import draw
from src.envs.tictactoe.game import TicTacToe

GAME = TicTacToe(symmetric=True)


class Recorder(Agent):
    """Plays at random and records the positions in which it moves first or second."""

    def __init__(self) -> None:
        self.first_views: dict[int, list[Any]] = {0: [], 1: []}  # by plies played before its first move

    def decide(self, game: Any, view: Any, rng: np.random.Generator) -> Decision:
        plies = sum(cell != "." for cell in game.render(view) if cell in "XO.xo")
        self.first_views.setdefault(plies, []).append(view)
        return Decision(draw(rng, game.legal_actions(view)))


class First(Agent):
    """Takes the first free cell: the player who moves first wins against itself."""

    deterministic = True

    def decide(self, game: Any, view: Any, rng: np.random.Generator) -> Decision:
        return Decision(game.legal_actions(view)[0])


class Batched(First):
    games_in_step = 8


def test_each_player_has_each_seat_equally_often():
    """The mover wins every game of First against itself, so equal seats give equal points."""
    players = {"a": First(), "b": First(), "c": Batched()}
    matches = round_robin(GAME, players, 6, seed=0)
    assert list(matches) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all(tally == Tally(3, 0, 3) for tally in matches.values())


def test_both_seats_and_all_matches_have_the_same_openings():
    recorder, other = Recorder(), Recorder()
    round_robin(GAME, {"a": recorder, "b": other, "c": RandomAgent()}, 8, seed=5, opening_plies=2)
    starts = recorder.first_views[2]  # to move after two plies: it moves first in half of its games
    assert len(starts) == 8, "four of each of two matches"
    assert starts[:4] == starts[4:], "the same in both matches"
    assert len({str(start) for start in starts}) > 1, "openings differ"
    assert other.first_views[2][:4] == starts[:4], "the opponent begins from them too"


def test_results_are_those_of_the_first_player_of_a_pair():
    """A random player loses to First more often than it wins; batching makes the second player the evaluated one."""
    for strong in (First(), Batched()):
        tally = round_robin(GAME, {"weak": RandomAgent(), "strong": strong}, 200, seed=1)["weak", "strong"]
        assert tally.games == 200
        assert tally.losses > tally.wins
        swapped = round_robin(GAME, {"strong": strong, "weak": RandomAgent()}, 200, seed=1)["strong", "weak"]
        assert swapped.wins > swapped.losses


def test_progress_counts_all_games():
    seen: list[int] = []
    round_robin(GAME, {name: RandomAgent() for name in "abc"}, 2, 0, on_progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 6


STANDINGS = Standings({("a", "b"): Tally(6, 3, 1), ("b", "c"): Tally(2, 6, 2), ("a", "c"): Tally(10, 0, 0)}, "c")


def test_standings_by_hand():
    """A draw is half a point: a has 7.5 of 10 against b and 10 of 10 against c."""
    assert list(STANDINGS.ratings) == ["a", "b", "c"], "the best first"
    assert STANDINGS.ratings == ratings(
        {("a", "b"): Points(7.5, 10), ("b", "c"): Points(5, 10), ("a", "c"): Points(10, 10)}, "c"
    )
    assert STANDINGS.against("b", "a") == Tally(1, 3, 6)
    assert STANDINGS.against("a", "a") is None
    assert STANDINGS.total("b") == Tally(3, 9, 8)
    assert STANDINGS.total("c") == Tally(2, 6, 12)


def test_the_table_has_shares_of_points():
    lines = markdown(STANDINGS).splitlines()
    assert lines[0] == "| player | Elo (95%) | games | a | b | c |"
    assert lines[1] == "|---|---|---|---|---|---|"
    assert lines[2].endswith(" | 20 |  | 75.0% | 100.0% |")
    assert lines[3].endswith(" | 20 | 25.0% |  | 50.0% |")
    assert lines[4] == "| c | 0 | 20 | 0.0% | 50.0% |  |"
    assert lines[2].startswith("| a | +")
    assert " to +" in lines[2], "the interval"


def test_the_table_on_the_terminal_has_a_line_per_player():
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(cross_table("title", STANDINGS))
    rows = [line.split() for line in console.export_text().splitlines() if line.strip()[:1] in "123" and line.strip()]
    assert [row[:2] for row in rows] == [["1", "a"], ["2", "b"], ["3", "c"]]
    assert [row[-2:] for row in rows] == [["75", "100"], ["25", "50"], ["0", "50"]]
    assert rows[0][3].startswith("±")
    assert rows[2][2] == "+0", "the anchor has no interval"


def test_plain_values_have_points_and_intervals():
    result = as_dict(STANDINGS)
    first = result["players"][0]
    assert (first["player"], first["points"], first["games"]) == ("a", 17.5, 20)
    assert first["elo_ci95"][0] < first["elo"] < first["elo_ci95"][1]
    assert result["matches"][1] == {
        "first": "b",
        "second": "c",
        "games": 10,
        "wins": 2,
        "draws": 6,
        "losses": 2,
        "aborted": 0,
        "points": 5.0,
    }


def test_aborted_games_give_nobody_points():
    standings = Standings({("a", "b"): Tally(3, 0, 1, aborted=6), ("a", "c"): Tally(0, 0, 0, aborted=2)}, "b")
    assert standings.total("a") == Tally(3, 0, 1, aborted=8)
    assert standings.ratings["a"] == pytest.approx(ratings({("a", "b"): Points(3, 4)}, "b")["a"])
    row = markdown(standings).splitlines()[2]
    assert row.startswith("| a |")
    assert row.endswith("| 12, 8 aborted |  | - | 75.0% |")
    assert as_dict(standings)["matches"][0]["aborted"] == 6


@pytest.mark.parametrize(
    ("players", "games", "message"),
    [
        ({"a": RandomAgent(), "b": RandomAgent()}, 3, "games=3 must be even"),
        ({"a": First(), "b": RandomAgent(), "c": First()}, 4, "a against c: both players are deterministic.*games=2"),
    ],
)
def test_what_is_no_tournament_is_refused(players: dict[str, Agent], games: int, message: str):
    with pytest.raises(UserError, match=message):
        require_playable(GAME, players, games, 0)
    if games == 4:
        require_playable(GAME, players, games, 2)
