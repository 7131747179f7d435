"""The compiled batch plays by the same rules as `PythonVectorEnv`."""

import numpy as np
import pytest

from src.core.play.agent import Agent, Decision, RandomAgent
from src.envs.quoridor.agents import RunnerAgent
from src.envs.quoridor.env import QuoridorEnv
from src.envs.quoridor.reward import PathReward
from src.envs.quoridor.vec_env import VecQuoridor
from src.envs.two_player_env import GameEnv, OutcomeReward, PythonVectorEnv, Seat
from tests.envs.quoridor.making import GAME, make_game
from tests.envs.test_vector_envs import assert_same

OUTCOME = OutcomeReward(win=1.0, draw=0.25, loss=-2.0, gamma=1.0)
PATHS = PathReward(win=1.0, draw=0.25, loss=-2.0, path=0.1, gamma=0.9)


class Scripted(Agent):
    """Plays given actions in the order of the requests."""

    def __init__(self) -> None:
        self.script: list[int] = []

    def decide(self, game, view, rng):
        return Decision(self.script.pop(0))


def drawn(rng: np.random.Generator, masks: np.ndarray) -> np.ndarray:
    """Sample pawn moves and walls equally often, so that games end."""
    weights = np.where(np.arange(masks.shape[1]) < 25, 5.0, 1.0)
    return (rng.random(masks.shape) * weights * masks).argmax(axis=1)


def make(opponent, reward=PATHS, seat="random", count=7, **game) -> VecQuoridor:
    game = {"size": 5, "walls": 3, "ply_limit": 40, "distance_maps": True} | game
    batch = QuoridorEnv(make_game(**game), opponent, reward, seat, {}).vectorize(count)
    assert isinstance(batch, VecQuoridor)
    return batch


@pytest.mark.parametrize("seat", ["first", "second"])
@pytest.mark.parametrize("reward", [OUTCOME, PATHS])
@pytest.mark.parametrize("distance_maps", [False, True])
def test_against_the_runner_it_equals_the_generic_batch(seat, reward, distance_maps):
    batch = make(RunnerAgent(), reward, seat, distance_maps=distance_maps)
    generic = GameEnv(batch.game, RunnerAgent(), reward, seat, {}).vectorize(batch.num_envs)
    assert isinstance(generic, PythonVectorEnv)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(batch.reset(seed=3)[0], generic.reset(seed=3)[0])
    ended = 0
    for _ in range(60):
        actions = drawn(rng, batch.action_masks())
        step = batch.step(actions)
        assert_same(step, generic.step(actions))
        ended += step[2].sum()
    assert ended > 10


@pytest.mark.parametrize(("seat", "potential"), [("first", 0.0), ("second", -0.1)])
def test_shaping_adds_the_same_constant_to_every_discounted_return(seat, potential):
    """Minus the potential of the first position: level, or a step behind the runner. At the end it is 0."""
    shaped, plain = (make(RunnerAgent(), reward, seat) for reward in (PATHS, OUTCOME))
    shaped.reset(seed=0), plain.reset(seed=0)
    rng, gained, weight, constants = np.random.default_rng(0), np.zeros(7), np.ones(7), []
    for _ in range(60):
        actions = drawn(rng, shaped.action_masks())
        _, rewards, ended, *_ = shaped.step(actions)
        gained += weight * (rewards - plain.step(actions)[1])
        weight *= PATHS.gamma
        constants += gained[ended].tolist()
        gained[ended], weight[ended] = 0.0, 1.0
    assert len(constants) > 10
    assert constants == pytest.approx([-potential] * len(constants))


@pytest.mark.parametrize("opponent", [RandomAgent(), RunnerAgent(0.4), RunnerAgent(0.0, 1.0)])
def test_it_equals_the_generic_batch_for_any_opponent_moves(opponent):
    """The generic batch is given the moves that the compiled opponent made."""
    batch, script = make(opponent, count=1), Scripted()
    rng, outcomes, seats = np.random.default_rng(1), set(), set()
    for seed in range(12):
        batch.reset(seed=seed)
        opening = int(batch.opponent_actions()[1][0])
        seat: Seat = "second" if opening >= 0 else "first"
        seats.add(seat)
        generic = GameEnv(batch.game, script, PATHS, seat, {})
        script.script = [opening] if opening >= 0 else []
        observation, _ = generic.reset(seed=0)
        over = False
        while not over:
            np.testing.assert_array_equal(batch.action_masks()[0], generic.action_masks())
            actions = drawn(rng, batch.action_masks())
            observations, rewards, ended, _, info = batch.step(actions)
            answer = int(batch.opponent_actions()[0][0])
            script.script = [answer] if answer >= 0 else []
            observation, reward, over, _, single = generic.step(actions[0])
            assert (rewards[0], ended[0]) == (reward, over)
            np.testing.assert_array_equal(info["final_obs"][0] if over else observations[0], observation)
        assert info["final_info"]["outcome"][0] == single["outcome"]
        outcomes.add(single["outcome"])
    assert len(outcomes) >= 2
    assert seats == {"first", "second"}


@pytest.mark.parametrize(
    ("explore", "opponent"),
    [(0.0, RunnerAgent()), (0.4, RunnerAgent(0.4)), (0.5, RunnerAgent(0.2, 0.8)), (1.0, RandomAgent())],
)
def test_the_opponent_explores_as_often_as_configured(explore, opponent):
    """On an empty board 3 of 131 moves are pawn moves, and the runner makes the one forward."""
    batch = make(opponent, seat="second", count=2000, size=9, walls=10)
    batch.reset(seed=0)
    forward = (batch.opponent_actions()[1] == GAME.parse_move(GAME.initial(np.random.default_rng()), "e2")).mean()
    expected = 1 - explore + explore / 131
    assert abs(forward - expected) < 0.04
    rng, agent = np.random.default_rng(0), opponent
    start = batch.game.initial(rng)
    asked = np.mean([agent.decide(batch.game, start, rng).action == 13 for _ in range(500)])
    assert abs(asked - expected) < 0.07


def test_the_share_of_random_moves_is_drawn_for_each_game():
    """Of runners that all draw half of their moves few make only shortest steps or none of four; drawn, many do."""
    shares = []
    for opponent in (RunnerAgent(0.5), RunnerAgent(0.0, 1.0)):
        batch = make(opponent, seat="second", count=2000, size=9, walls=10)
        batch.reset(seed=0)
        forward = (batch.opponent_actions()[1] < 81).astype(int)
        for _ in range(3):
            batch.step(batch.action_masks()[:, :81].argmax(axis=1))
            forward += batch.opponent_actions()[0] < 81
        shares.append(np.isin(forward, [0, 4]).mean())
    assert shares[0] < 0.2
    assert shares[1] > 0.3


def test_games_begin_with_up_to_so_many_random_plies():
    env = QuoridorEnv(make_game(size=5, walls=3), RunnerAgent(), PATHS, "first", {}, opening_plies=4)
    batch = env.vectorize(4000)
    assert isinstance(batch, VecQuoridor)
    batch.reset(seed=0)
    answered = batch.opponent_actions()[1] >= 0
    plies = np.array([position.ply for position in batch.positions()])
    assert (plies % 2 == 0).all(), "the first player is to move"
    openings = plies - answered
    shares = np.bincount(openings, minlength=5) / len(plies)
    assert shares == pytest.approx([0.2] * 5, abs=0.03)
    ahead = np.array([position.pawns[0] for position in batch.positions()])[openings == 2]
    assert len(set(ahead.tolist())) > 2, "random moves, and not those of the runner"


def test_no_game_begins_when_it_is_over():
    """On nine cells most games of eight random plies have ended, and the runner ends some of the others."""
    game = make_game(size=3, walls=1)
    batch, generic = (
        kind(game, RunnerAgent(), PATHS, "random", {}, opening_plies=8).vectorize(count)
        for kind, count in ((QuoridorEnv, 4000), (GameEnv, 1000))
    )
    assert isinstance(batch, VecQuoridor)
    assert isinstance(generic, PythonVectorEnv)
    for one in (batch, generic):
        assert one.reset(seed=0)[1]["action_mask"].any(axis=1).all()
    seats = np.mean([position.ply % 2 for position in batch.positions()])
    assert seats == pytest.approx(np.mean([episode.own_seat for episode in generic._episodes]), abs=0.05)


def test_a_batch_that_begins_with_openings_goes_on_from_its_state():
    env = QuoridorEnv(make_game(size=5, walls=3), RunnerAgent(0.2), PATHS, "random", {}, opening_plies=4)
    batch, resumed = env.vectorize(20), env.vectorize(20)
    assert isinstance(batch, VecQuoridor)
    assert isinstance(resumed, VecQuoridor)
    batch.reset(seed=0)
    resumed.load_state(batch.state())
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = drawn(rng, batch.action_masks())
        assert_same(batch.step(actions), resumed.step(actions))


def test_a_game_that_the_runner_always_ends_first_does_not_hang():
    env = QuoridorEnv(make_game(size=5, walls=3, ply_limit=1), RunnerAgent(), PATHS, "second", {})
    assert not env.vectorize(4).reset(seed=0)[1]["action_mask"].any()


def test_seats_are_drawn_alike():
    batch = make(RandomAgent(), count=1000)
    batch.reset(seed=0)
    assert 430 < (batch.opponent_actions()[1] >= 0).sum() < 570


def test_games_do_not_depend_on_how_many_share_a_batch():
    few, many = make(RunnerAgent(0.5), count=3), make(RunnerAgent(0.5), count=200)
    few.reset(seed=5)
    many.reset(seed=5)
    rng = np.random.default_rng(0)
    for _ in range(30):
        actions = drawn(rng, many.action_masks())
        many.step(actions)
        few.step(actions[:3])
        assert many.positions()[:3] == few.positions()


def test_other_opponents_take_the_generic_batch():
    class Cautious(RunnerAgent):
        def decide(self, game, view, rng):
            return Decision(game.legal_actions(view)[0])

    env = QuoridorEnv(make_game(size=5, walls=3), Cautious(), PATHS, "random", {})
    assert isinstance(env.vectorize(2), PythonVectorEnv)
