import pytest

from src.core import ranks
from src.core.errors import UserError
from src.core.play import arena
from src.core.play.agent import Decision, RandomAgent
from src.core.play.arena import Tally, evaluate, require_varied, walk_replies, wilson_interval
from src.core.play.game import Trait
from src.core.runs import run
from src.core.seeding import generator
from src.envs.tictactoe.game import TicTacToe
from tests.algos.test_qlearning import fit
from tests.core.fixed import FirstMove, Quitter

GAME = TicTacToe(symmetric=True)


class InStep(RandomAgent):
    games_in_step = 7


@pytest.mark.parametrize(
    ("wins", "games", "low", "high"),
    [(5, 10, 0.2366, 0.7634), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (90, 100, 0.8256, 0.9448)],
)
def test_wilson_interval_matches_published_values(wins, games, low, high):
    assert wilson_interval(wins, games) == pytest.approx((low, high), abs=1e-4)


def test_wilson_interval_of_no_games_is_zero_to_one():
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert Tally(0, 0, 0).as_dict()["win_rate"] is None


def test_the_same_seed_gives_the_same_games():
    first = evaluate(GAME, RandomAgent(), RandomAgent(), 50, seed=4)
    assert first.outcomes == evaluate(GAME, RandomAgent(), RandomAgent(), 50, seed=4).outcomes
    assert first.outcomes != evaluate(GAME, RandomAgent(), RandomAgent(), 50, seed=5).outcomes


def test_a_game_depends_on_its_number_alone():
    few, many = (evaluate(GAME, RandomAgent(), RandomAgent(), n, seed=1).outcomes for n in (20, 60))
    in_step = evaluate(GAME, InStep(), RandomAgent(), 60, seed=1).outcomes
    assert many[:20] == few
    assert in_step == many


def test_ranks_play_a_part_each_of_the_same_games(monkeypatch):
    alone, parts = evaluate(GAME, InStep(), RandomAgent(), 31, seed=1), {}

    def gather(part):
        parts[ranks.rank()] = part
        return [parts.get(rank, part) for rank in range(3)]

    monkeypatch.setattr(ranks, "world_size", lambda: 3)
    monkeypatch.setattr(ranks, "gather", gather)
    for number in range(3):
        monkeypatch.setattr(ranks, "rank", lambda number=number: number)
        shared = evaluate(GAME, InStep(), RandomAgent(), 31, seed=1)
    assert [len(parts[number]) for number in range(3)] == [11, 10, 10]
    assert (shared.outcomes, shared.seats) == (alone.outcomes, alone.seats)


def test_seats_alternate_and_are_counted_apart():
    score = evaluate(GAME, RandomAgent(), RandomAgent(), 2001, seed=0)
    assert (score.of_seat(0).games, score.of_seat(1).games) == (1001, 1000)
    assert score.of_seat(0).wins + score.of_seat(1).wins == score.total.wins
    # Random play wins 58.5% of games for the first player and 28.8% for the second.
    assert 0.53 < score.of_seat(0).win_rate < 0.64
    assert 0.24 < score.of_seat(1).win_rate < 0.34


def test_stopping_is_losing_in_either_seat():
    score = evaluate(GAME, Quitter(), RandomAgent(), 10, seed=0)
    assert score.outcomes == [-1] * 10
    assert score.metrics == {"guess": 2.0, "won_without_guess": 0.0}
    assert evaluate(GAME, RandomAgent(), Quitter(), 10, seed=0).outcomes == [1] * 10
    assert [walk_replies(GAME, Quitter(), seat) for seat in (0, 1)] == [Tally(0, 0, 1), Tally(0, 0, 9)]


def test_only_the_agents_own_tallies_count():
    class Counting(RandomAgent):
        counters = ("moves",)

        def decide(self, game, view, rng):
            return Decision(super().decide(game, view, rng).action, {"moves": 1})

    both = Counting()
    score = evaluate(GAME, both, both, 200, seed=0)
    assert 3.0 < score.metrics["moves"] < 5.0  # about half of a game's seven or eight plies


def test_fixed_starts_are_played_in_order():
    finished = ["XXXOO....", "XOXXOOOXX", "XX.OOOX.."]
    score = evaluate(GAME, RandomAgent(), RandomAgent(), 6, seed=0, starts=finished)
    assert score.outcomes == [1, -1, 0, 0, -1, 1], "each from both seats"


def test_progress_reaches_the_end():
    seen: list[int] = []
    evaluate(GAME, InStep(), RandomAgent(), 20, seed=0, on_progress=seen.append)
    assert seen == sorted(seen)
    assert {0, 7, 14, 20} <= set(seen), "also while games are in progress"
    assert seen[-1] == 20


def test_evaluation_has_streams_of_its_own(tmp_path, monkeypatch):
    """Records the names of all random streams: training and evaluation must not share one."""
    asked: dict[str, set[tuple]] = {"evaluation": set(), "selection": set(), "training": set()}

    def recorder(purpose):
        def record(seed, *names):
            asked[purpose].add(names)
            return generator(seed, *names)

        return record

    for stream in ("evaluation", "selection"):
        monkeypatch.setattr(arena, "generator", recorder(stream))
        evaluate(GAME, RandomAgent(), RandomAgent(), 10, seed=0, opening_plies=2, stream=stream)
    monkeypatch.setattr(run, "generator", recorder("training"))
    fit(tmp_path, seed=0, episodes=10)
    assert all(asked.values())
    assert not asked["evaluation"] & asked["training"]
    assert not asked["evaluation"] & asked["selection"]


def test_openings_are_random_and_played_from_both_seats():
    seen: list[str] = []

    class Watcher(RandomAgent):
        def decide(self, game, view, rng):
            seen.append(view)
            return Decision(None)

    evaluate(GAME, Watcher(), Watcher(), 40, seed=0, opening_plies=3)
    assert all(view.count(".") == 6 for view in seen)
    assert seen[::2] == seen[1::2]
    assert len(set(seen)) > 15
    with pytest.raises(UserError, match="opening_plies=20"):
        evaluate(GAME, Watcher(), Watcher(), 2, seed=0, opening_plies=20)


def test_repetitions_of_one_game_are_no_sample():
    class Dicey(TicTacToe):
        traits = TicTacToe.traits - {Trait.DETERMINISTIC}

    with pytest.raises(UserError, match="opening_plies"):
        require_varied(GAME, FirstMove(), FirstMove(), opening_plies=0, episodes=100)
    require_varied(Dicey(symmetric=True), FirstMove(), FirstMove(), opening_plies=0, episodes=100)
    require_varied(GAME, FirstMove(), FirstMove(), opening_plies=2, episodes=100)
    require_varied(GAME, FirstMove(), FirstMove(), opening_plies=0, episodes=2)
    with pytest.raises(UserError, match="or episodes=2"):
        require_varied(GAME, FirstMove(), FirstMove(), opening_plies=0, episodes=3)
    require_varied(GAME, FirstMove(), RandomAgent(), opening_plies=0, episodes=100)
    with pytest.raises(UserError, match="opening_plies=20 is too many"):
        require_varied(GAME, FirstMove(), RandomAgent(), opening_plies=20, episodes=100)
    require_varied(GAME, FirstMove(), None, opening_plies=0, episodes=100)
