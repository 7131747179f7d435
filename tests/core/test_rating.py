"""Ratings and sequential tests with numbers computed by hand, and round robins."""

import math
from typing import Any

import numpy as np
import pytest

from src.core.errors import UserError
from src.core.play.agent import Agent, Decision, RandomAgent
from src.core.play.arena import Tally
from src.core.play.rating import (
    MIN_PAIRS,
    PAIR_RESULTS,
    Hypotheses,
    PairCounts,
    Points,
    Rating,
    Standings,
    elo_of,
    expected_points,
    log_likelihood_ratio,
    most_likely,
    points_of,
    rating_against,
    ratings,
    require_playable,
    round_robin,
)
from src.core.runs.report import standings_as_dict, standings_markdown, standings_table
from src.core.seeding import draw
from src.envs.tictactoe.game import TicTacToe
from tests.core.fixed import FirstMove


def test_two_players_by_hand():
    """29 points of 39 games and one more draw: 29.5 of 40, odds 29.5 : 10.5.

    Fisher information of the log odds: 40 * 29.5 / 40 * 10.5 / 40 = 7.74375, so the half width of the interval is
    1.95996 / sqrt(7.74375) = 0.704322 in log odds, times 400 / ln 10 = 173.7178 in Elo.
    """
    rated = ratings({("a", "b"): Points(29, 39)}, "b")
    assert rated["b"] == Rating(0, 0, 0)
    assert rated["a"].elo == pytest.approx(400 * math.log10(29.5 / 10.5))
    assert rated["a"].elo == pytest.approx(179.46, abs=0.01)
    assert rated["a"].high - rated["a"].elo == pytest.approx(122.35, abs=0.01)
    assert rated["a"].elo - rated["a"].low == pytest.approx(122.35, abs=0.01)


def test_a_draw_is_half_a_point():
    assert points_of(Tally(wins=3, draws=4, losses=1)) == Points(5, 8)
    assert rating_against(Tally(wins=0, draws=7, losses=0)).elo == pytest.approx(0)
    # 5 of 8 points and one more draw: odds 5.5 : 3.5
    assert rating_against(Tally(wins=3, draws=4, losses=1)).elo == pytest.approx(400 * math.log10(5.5 / 3.5))


def test_three_players_by_hand():
    """With the added draw every match is 3 : 1, 3 : 1 and 9 : 1: consistent with odds 9, 3 and 1, which fit exactly.

    Information of (a, b) with c fixed: a-b and b-c 12 * 3/16 = 2.25 each, a-c 20 * 9/100 = 1.8, so the matrix is
    [[4.05, -2.25], [-2.25, 4.5]] with determinant 13.1625 and variances 4.5 / 13.1625 of a, 4.05 / 13.1625 of b.
    """
    results = {("a", "b"): Points(8.5, 11), ("b", "c"): Points(8.5, 11), ("c", "a"): Points(1.5, 19)}
    rated = ratings(results, "c")
    elo = 400 / math.log(10)
    assert rated["a"].elo == pytest.approx(elo * math.log(9))
    assert rated["b"].elo == pytest.approx(elo * math.log(3))
    assert rated["a"].high - rated["a"].elo == pytest.approx(1.959964 * elo * math.sqrt(4.5 / 13.1625), rel=1e-5)
    assert rated["b"].high - rated["b"].elo == pytest.approx(1.959964 * elo * math.sqrt(4.05 / 13.1625), rel=1e-5)


def test_ratings_do_not_depend_on_the_order_of_players():
    one = ratings({("a", "b"): Points(7, 10), ("b", "c"): Points(4, 10), ("a", "c"): Points(9.5, 10)}, "a")
    other = ratings({("c", "a"): Points(0.5, 10), ("c", "b"): Points(6, 10), ("b", "a"): Points(3, 10)}, "a")
    assert all(one[name] == pytest.approx(other[name]) for name in "abc")


def test_results_that_contradict_each_other_are_equal_strength():
    circle = {("a", "b"): Points(9, 10), ("b", "c"): Points(9, 10), ("c", "a"): Points(9, 10)}
    assert [rating.elo for rating in ratings(circle, "a").values()] == pytest.approx([0, 0, 0], abs=1e-6)


@pytest.mark.parametrize("games", [1, 20, 100_000])
def test_who_wins_everything_gets_a_finite_rating(games: int):
    assert rating_against(Tally(games, 0, 0)).elo == pytest.approx(400 * math.log10(2 * games + 1))
    assert rating_against(Tally(0, 0, games)).elo == pytest.approx(-400 * math.log10(2 * games + 1))


def test_players_without_games_in_common_are_refused():
    with pytest.raises(UserError, match="no games connect c, d with a"):
        ratings({("a", "b"): Points(1, 2), ("c", "d"): Points(1, 2)}, "a")
    with pytest.raises(UserError, match="x has played no games"):
        ratings({("a", "b"): Points(1, 2)}, "x")


def test_the_interval_covers_the_true_rating_as_often_as_it_says():
    """Exact coverage over the binomial distribution of 40 games; a discrete distribution cannot reach 95% exactly."""
    for share in (0.5, 0.64, 0.76, 0.9):
        true, covered = 400 * math.log10(share / (1 - share)), 0.0
        for wins in range(41):
            rated = rating_against(Tally(wins, 0, 40 - wins))
            if rated.low <= true <= rated.high:
                covered += math.comb(40, wins) * share**wins * (1 - share) ** (40 - wins)
        assert 0.93 < covered < 0.99


TEST = Hypotheses(elo0=0, elo1=10, alpha=0.05, beta=0.05)
WIDER = Hypotheses(elo0=0, elo1=20, alpha=0.05, beta=0.05)


def test_elo_and_points():
    assert expected_points(0) == 0.5
    assert expected_points(400) == pytest.approx(10 / 11)
    assert elo_of(10 / 11) == pytest.approx(400)
    assert elo_of(0.75) == pytest.approx(190.848, abs=1e-3)
    assert elo_of(1.0) == math.inf
    assert elo_of(0.0) == -math.inf


def test_the_bounds_are_those_of_wald():
    assert TEST.bounds == pytest.approx((-math.log(19), math.log(19)))
    assert Hypotheses(0, 10, alpha=0.1, beta=0.2).bounds == pytest.approx((math.log(2 / 9), math.log(8)))


def test_the_likelihood_ratio_of_two_results_by_hand():
    # With 0 or 2 points a pair, the mean is the probability of 2 points: 0.5, and 1 / (1 + 10^(-1/20)) = 0.5287505.
    # LLR = 60 ln(0.4712495 / 0.5) + 40 ln(0.5287505 / 0.5) = -3.5533 + 2.2363
    assert WIDER.llr([60, 0, 0, 0, 40]) == pytest.approx(-1.3170, abs=1e-3)
    # With 1 or 2 points a pair that mean has a probability of 2 * 0.0287505 = 0.057501 of 2 points. A mean of 0.5 needs
    # pairs of 0 points, which have not occurred: with q for each of 0 and 2 points, (1 - 2 q)^90 q^10 has its maximum
    # at q = 0.05. LLR = 90 ln(0.942499 / 0.9) + 10 ln(0.057501 / 0.05) = 4.1525 + 1.3977, plus that of MIN_COUNT.
    assert WIDER.llr([0, 0, 90, 0, 10]) == pytest.approx(5.550, abs=0.02)


def test_equal_pairs_are_weak_evidence():
    # A mean of 0.5 is certain to give 16 pairs of 1-1; one of 0.5287505 gives each with 1 - 2 * 0.0287505 at most.
    assert WIDER.llr([0, 0, 16, 0, 0]) == pytest.approx(16 * math.log(0.942499), abs=0.01)
    assert WIDER.verdict([0, 0, 16, 0, 0]) is None


def test_the_ratio_is_0_between_both_hypotheses():
    balanced = Hypotheses(elo0=-15, elo1=15, alpha=0.05, beta=0.05)
    for pairs in ([3, 5, 20, 5, 3], [0, 0, 16, 0, 0], [7, 0, 0, 0, 7]):
        assert balanced.llr(pairs) == pytest.approx(0, abs=1e-9)
    assert TEST.llr([0, 0, 0, 0, 0]) == pytest.approx(0, abs=1e-4)


def test_many_pairs_approach_the_normal_distribution():
    # mean 0.575 and variance 0.050625: LLR = 100 * 0.0143871842 * (1.15 - 1.0143871842) / 0.10125 = 1.927
    assert TEST.llr([0, 20, 40, 30, 10]) == pytest.approx(1.927, rel=0.05)


@pytest.mark.parametrize("counts", [[4, 20, 40, 30, 10], [1e-3, 1e-3, 16, 1e-3, 1e-3], [1e-3, 1e-3, 1e-3, 1e-3, 1e5]])
@pytest.mark.parametrize("elo", [-2000, -30, 0, 20, 2000])
def test_no_other_distribution_of_that_mean_is_as_likely(counts: list[float], elo: float):
    mean = expected_points(elo)
    best = most_likely(np.array(counts), mean)
    assert best.sum() == pytest.approx(1)
    assert best @ np.array(PAIR_RESULTS) == pytest.approx(mean)
    for change in ([1, -2, 1, 0, 0], [0, 1, -2, 1, 0], [0, 0, 1, -2, 1]):  # these keep the sum and the mean
        step = 0.01 * best.min() * np.array(change)
        for other in (best + step, best - step):
            assert np.array(counts) @ np.log(other / best) < 0


def accepted(
    test: Hypotheses, distribution: list[float], matches: int = 500, longest: int = 200
) -> tuple[float, float]:
    """Return the shares of simulated matches that accept elo0 and elo1."""
    results = np.random.default_rng(0).choice(len(PAIR_RESULTS), (matches, longest), p=distribution)
    counts = np.eye(len(PAIR_RESULTS), dtype=int)[results].cumsum(axis=1)[:, MIN_PAIRS - 1 :]
    states, which = np.unique(counts.reshape(-1, len(PAIR_RESULTS)), axis=0, return_inverse=True)
    llr = log_likelihood_ratio(states, expected_points(test.elo0), expected_points(test.elo1))[which]
    decided = np.searchsorted(test.bounds, llr.reshape(matches, -1)) - 1  # -1: elo0, 0: none, 1: elo1
    first = decided[np.arange(matches), (decided != 0).argmax(axis=1)]
    return float((first < 0).mean()), float((first > 0).mean())


@pytest.mark.parametrize(
    ("test", "mean", "distribution"),
    [
        (WIDER, expected_points(20), [0, 0, 0.942499, 0, 0.057501]),  # pairs of 1-1 or 2-0
        (Hypotheses(0, 100, 0.05, 0.05), 0.5, [0.5, 0, 0, 0, 0.5]),
        (Hypotheses(0, 100, 0.05, 0.05), expected_points(100), [0.359935, 0, 0, 0, 0.640065]),
    ],
)
def test_wrong_hypotheses_are_accepted_as_rarely_as_promised(test: Hypotheses, mean: float, distribution: list[float]):
    assert np.dot(distribution, PAIR_RESULTS) == pytest.approx(mean, abs=1e-5)
    shares = accepted(test, distribution)
    right = mean > 0.5
    assert shares[not right] < 0.08, "alpha and beta are 0.05; two standard errors of 500 matches are 0.02"
    assert shares[right] > 0.87, "few of these matches end without a decision"


def test_the_ratio_of_the_opponent_has_the_other_sign():
    mirrored = Hypotheses(elo0=-10, elo1=0, alpha=0.05, beta=0.05)
    assert mirrored.llr([10, 30, 40, 20, 0]) == pytest.approx(-TEST.llr([0, 20, 40, 30, 10]))


def test_a_match_goes_on_until_a_bound_is_reached():
    assert TEST.verdict([0, 20, 40, 30, 10]) is None
    assert TEST.verdict([0, 200, 400, 300, 100]) == "elo1=10 accepted"
    assert TEST.verdict([100, 300, 400, 200, 0]) == "elo0=0 accepted"
    assert TEST.verdict([0, 0, 3, 0, 0]) is None, "three equal pairs have no variance, and are no proof"


def test_pairs_are_counted():
    counts = PairCounts()
    for outcomes in [(1, 1), (1, 0), (1, -1), (0, 0), (-1, 0), (-1, -1)]:
        counts.add(outcomes)
    assert counts.pairs == [1, 1, 2, 1, 1]
    assert (counts.wins, counts.draws, counts.losses, counts.aborted) == (4, 4, 4, 0)
    assert counts.games == 12
    assert counts.points == 0.5


def test_a_pair_with_an_aborted_game_has_no_result():
    counts = PairCounts()
    for outcomes in [(None, 1), (-1, None), (None, None), (1, 0)]:
        counts.add(outcomes)
    assert counts == PairCounts(pairs=[0, 0, 0, 1, 0], wins=1, draws=1, aborted=3)


def test_the_interval_is_that_of_the_pairs():
    # With 0.2 more of each: mean (20.2 * 0.25 + 40.2 * 0.5 + 30.2 * 0.75 + 10.2) / 101 = 58 / 101,
    # mean square (20.2 * 0.0625 + 40.2 * 0.25 + 30.2 * 0.5625 + 10.2) / 101 = 38.5 / 101
    half = 1.959964 * math.sqrt((38.5 / 101 - (58 / 101) ** 2) / 101)
    expected = (elo_of(0.575), elo_of(58 / 101 - half), elo_of(58 / 101 + half))
    assert PairCounts(pairs=[0, 20, 40, 30, 10]).elo() == pytest.approx(expected)


@pytest.mark.parametrize("pairs", [1, 16, 10_000])
def test_equal_pairs_have_an_interval(pairs: int):
    elo, low, high = PairCounts(pairs=[0, 0, 0, 0, pairs]).elo()
    assert elo == high == math.inf
    assert low < elo_of(0.3 ** (1 / pairs)), "a player who wins them all with a probability of 30% is not excluded"
    elo, low, high = PairCounts(pairs=[0, 0, pairs, 0, 0]).elo()
    assert elo == 0
    assert low == pytest.approx(-high) != 0


def test_settings_out_of_range_are_refused():
    with pytest.raises(UserError, match="elo0=5 must be less than elo1=5"):
        Hypotheses(5, 5, 0.05, 0.05)
    with pytest.raises(UserError, match="alpha"):
        Hypotheses(0, 5, 0.5, 0.05)
    Hypotheses(-2000, 2000, 0.05, 0.05)
    for elo0, elo1, message in ((0, 2000.5, "elo1=2000.5"), (-2000.5, 0, "elo0=-2000.5")):
        with pytest.raises(UserError, match=message):
            Hypotheses(elo0, elo1, 0.05, 0.05)


GAME = TicTacToe(symmetric=True)


class Recorder(Agent):
    """Plays at random and records the positions in which it moves first or second."""

    def __init__(self) -> None:
        self.first_views: dict[int, list[Any]] = {0: [], 1: []}  # by plies played before its first move

    def decide(self, game: Any, view: Any, rng: np.random.Generator) -> Decision:
        plies = sum(cell != "." for cell in game.render(view) if cell in "XO.xo")
        self.first_views.setdefault(plies, []).append(view)
        return Decision(draw(rng, game.legal_actions(view)))


class Batched(FirstMove):
    games_in_step = 8


def test_each_player_has_each_seat_equally_often():
    """The mover wins every game of FirstMove against itself, so equal seats give equal points."""
    players = {"a": FirstMove(), "b": FirstMove(), "c": Batched()}
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
    """A random player mostly loses to FirstMove; batching makes the second player the evaluated one."""
    for strong in (FirstMove(), Batched()):
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
    lines = standings_markdown(STANDINGS).splitlines()
    assert lines[0] == "| player | Elo (95%) | games | a | b | c |"
    assert lines[1] == "|---|---|---|---|---|---|"
    assert lines[2].endswith(" | 20 |  | 75.0% | 100.0% |")
    assert lines[3].endswith(" | 20 | 25.0% |  | 50.0% |")
    assert lines[4] == "| c | 0 | 20 | 0.0% | 50.0% |  |"
    assert lines[2].startswith("| a | +")
    assert " to +" in lines[2], "the interval"
    columns = standings_table("", STANDINGS).columns
    assert [column.header for column in columns] == ["", "player", "Elo (95%)", "games", "1", "2", "3"]
    assert [column.no_wrap for column in columns] == [True, False, *[True] * 5], "names are wrapped first"
    assert list(columns[0].cells) == ["1", "2", "3"]


def test_plain_values_have_points_and_intervals():
    result = standings_as_dict(STANDINGS)
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
    row = standings_markdown(standings).splitlines()[2]
    assert row.startswith("| a |")
    assert row.endswith("| 12, 8 aborted |  | - | 75.0% |")
    assert standings_as_dict(standings)["matches"][0]["aborted"] == 6


@pytest.mark.parametrize(
    ("players", "games", "message"),
    [
        ({"a": RandomAgent(), "b": RandomAgent()}, 3, "games=3 must be even"),
        (
            {"a": FirstMove(), "b": RandomAgent(), "c": FirstMove()},
            4,
            "a against c: both players are deterministic.*games=2",
        ),
    ],
)
def test_what_is_no_tournament_is_refused(players: dict[str, Agent], games: int, message: str):
    with pytest.raises(UserError, match=message):
        require_playable(GAME, players, games, 0)
    if games == 4:
        require_playable(GAME, players, games, 2)
