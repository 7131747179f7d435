import numpy as np
import pytest

from src.core.errors import UserError
from src.core.seeding import generator
from src.envs.deployment.bots import Bot
from src.envs.deployment.bots.placement import FrontLine
from src.envs.deployment.bots.policy import RNG, any_action, choose
from src.envs.deployment.bots.teacher import BotTeacher, LabeledBatch
from src.envs.deployment.game import DeploymentGame
from src.envs.splitmix import below
from src.envs.tictactoe.game import TicTacToe
from tests.envs.deployment.making import small_game

TACTICAL = Bot(FrontLine(), damage=1, threat=0.3, objective=25, to_objective=2, to_enemy=0, explore=0)
GREEDY = Bot(FrontLine(), damage=1, threat=0, objective=0, to_objective=0, to_enemy=0.5, explore=0)


@pytest.fixture(scope="module")
def game() -> DeploymentGame:
    return small_game()


def played_again(game: DeploymentGame, explore: float, rows: int) -> LabeledBatch:
    """Return batch 0 of seed 0 of tactical against greedy, played through the game instead of in one compiled call."""
    random, rng = generator(0, "labels", 0), np.zeros(1, RNG)
    rng["random"] = random.integers(2**64, dtype=np.uint64)
    random.integers(1)
    made: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]] = []
    while len(made) < rows:
        state = game.initial(random)
        taught, positions = below(rng[0], 3), []
        while game.outcome(state) is None:
            seat, mask = game.to_move(state), state.games.mask[state.i].copy()
            action = choose(game.world, state.games, state.i, TACTICAL.policy(game), rng[0])
            positions.append((seat, game.observe(state), np.arange(mask.size) == action, mask))
            if taught == 1 - seat:
                action = choose(game.world, state.games, state.i, GREEDY.policy(game), rng[0])
            if below(rng[0], 1_000_000) < 1_000_000 * explore:
                action = any_action(state.games, state.i, rng[0])
            state = game.play(state, action)
        outcome = game.outcome(state)
        assert outcome is not None
        for seat, *row in positions:
            made.append((*row, np.zeros(0, np.float32), (1 + (outcome if seat == 0 else -outcome)) / 2))
    return LabeledBatch(*(np.stack(column) for column in zip(*made[:rows], strict=True)))


@pytest.mark.parametrize("explore", [0.0, 0.3])
def test_rows_have_the_teachers_action_and_the_outcome(game: DeploymentGame, explore: float):
    batch = BotTeacher(TACTICAL, {"greedy": GREEDY}, explore).labeled_batch(game, 0, 0, 500)
    for made, expected in zip(batch, played_again(game, explore, 500), strict=True):
        assert np.array_equal(made, expected)
    assert {0.0, 1.0} <= set(batch.win_probability)
    assert (batch.legal_actions | ~batch.good_actions).all()


def test_a_batch_depends_on_its_seed_and_number_alone(game: DeploymentGame):
    teacher = BotTeacher(TACTICAL, {"tactical": TACTICAL, "greedy": GREEDY}, 0.1)
    first, again = teacher.labeled_batch(game, 3, 4, 100), teacher.labeled_batch(game, 3, 4, 100)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    for other in (teacher.labeled_batch(game, 3, 5, 100), teacher.labeled_batch(game, 4, 4, 100)):
        assert not np.array_equal(first.observation, other.observation)


def test_bad_settings_are_refused():
    with pytest.raises(UserError, match=r"teacher\.others is empty"):
        BotTeacher(TACTICAL, {}, 0.0)
    with pytest.raises(UserError, match=r"explore=1\.0 must be 0"):
        BotTeacher(Bot(FrontLine(), 0, 0, 0, 0, 0, 1.0), {"tactical": TACTICAL}, 0.0)
    with pytest.raises(UserError, match="plays the wargame only"):
        BotTeacher(TACTICAL, {"tactical": TACTICAL}, 0.0).check(TicTacToe(symmetric=True))
