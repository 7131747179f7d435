"""What every vector environment promises: seeds, exact resumption, refused actions; and what one in Python adds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from src.algos.minimax import MinimaxAgent
from src.core.errors import UserError
from src.core.play.agent import Agent, OpponentPool, RandomAgent, SelfPlay
from src.core.runs import checkpoint
from src.envs.quoridor.agents import RunnerAgent
from src.envs.quoridor.env import QuoridorEnv
from src.envs.quoridor.reward import PathReward
from src.envs.tictactoe.game import TicTacToe
from src.envs.two_player_env import OutcomeReward, VersusEnv
from tests.envs.deployment.making import bot, make_env
from tests.envs.quoridor.making import make_game

REWARD = OutcomeReward(win=1.0, draw=0.25, loss=-2.0, gamma=1.0)


def pool(*members: Agent) -> OpponentPool:
    return OpponentPool({f"member{k}": member for k, member in enumerate(members)})


def versus(opponent: Agent | None = None, seat: Any = "random") -> VersusEnv:
    return VersusEnv(TicTacToe(symmetric=True), opponent or RandomAgent(), REWARD, seat, {})


def wargame(opponent: Agent, seat: Any = "random") -> Any:
    return make_env(opponent=opponent, seat=seat)


def quoridor(opponent: Agent, seat: Any = "random") -> QuoridorEnv:
    game = make_game(size=5, walls=3, ply_limit=40, distance_maps=True)
    return QuoridorEnv(game, opponent, PathReward(win=1.0, draw=0.25, loss=-2.0, path=0.1, gamma=0.9), seat, {})


class Extreme(RandomAgent):
    """Plays the lowest legal action, or the highest, and counts its decisions."""

    def __init__(self, index: int = 0) -> None:
        self.index, self.decisions = index, 0

    def decide(self, game, view, rng):
        self.decisions += 1
        return super().decide(game, view, rng)._replace(action=game.legal_actions(view)[self.index])


def drawn(rng: np.random.Generator, masks: np.ndarray) -> np.ndarray:
    return np.where(masks, rng.random(masks.shape), -1).argmax(axis=1)


def assert_same(left: Any, right: Any) -> None:
    """Compare arrays, also of objects, tensors and numbers, and mappings and sequences of them."""
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        left, right = list(left.values()), [right[key] for key in left]
    if left is None:
        assert right is None
    elif isinstance(left, tuple | list) or np.asarray(left).dtype.hasobject:
        for one, other in zip(left, right, strict=True):
            assert_same(one, other)
    else:
        left, right = np.asarray(left), np.asarray(right)
        np.testing.assert_array_equal(left, right)
        assert left.dtype == right.dtype


BATCHES: dict[str, Callable[[str], Any]] = {  # from the seat of the learner to an environment
    "python": lambda seat: versus(RandomAgent(), seat),
    "compiled": lambda seat: quoridor(RunnerAgent(0.5), seat),
    "pool": lambda seat: versus(pool(RandomAgent(), MinimaxAgent()), seat),
    "pool of the wargame": lambda seat: wargame(pool(bot(0.2), bot(1.0)), seat),
}
batches = pytest.mark.parametrize("make", BATCHES.values(), ids=BATCHES)


@batches
def test_a_saved_batch_resumes_exactly(make, tmp_path):
    batch, other = (make("random").vectorize(4) for _ in range(2))
    rng, path = np.random.default_rng(1), tmp_path / "state.safetensors"
    batch.reset(seed=3)
    for _ in range(25):
        batch.step(drawn(rng, batch.action_masks()))
    checkpoint.save(path, {"env": batch.state()})
    other.load_state(checkpoint.load(path)["env"])
    for _ in range(60):
        actions = drawn(rng, batch.action_masks())
        assert_same(batch.step(actions), other.step(actions))
        assert_same(batch.action_masks(), other.action_masks())
    stats = [one.episode_stats.episode_metrics() for one in (batch, other) if hasattr(one, "episode_stats")]
    assert stats[:1] == stats[1:]
    with pytest.raises(UserError, match=r"saved (games have another size|state has [24] envs, this batch [36])"):
        make("random").vectorize(6).load_state(batch.state())


@batches
def test_seeds(make):
    batch, other = (make("random").vectorize(3) for _ in range(2))
    assert issubclass(type(batch), VectorEnv)
    assert batch.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    observations, info = batch.reset(seed=5)
    observations = observations.copy()
    assert batch.observation_space.contains(observations)
    assert info["action_mask"].shape == (3, batch.single_action_space.n)
    np.testing.assert_array_equal(batch.reset(seed=[5, 6, 7])[0], observations)
    batch.reset(), other.reset()  # seeded by chance
    with pytest.raises(UserError, match="2 seeds for 3 envs"):
        batch.reset(seed=[1, 2])
    with pytest.raises(UserError, match="num_envs=0"):
        make("random").vectorize(0)


@pytest.mark.parametrize("make", [BATCHES[name] for name in ("python", "compiled", "pool")])
def test_illegal_actions_are_refused_and_change_nothing(make):
    batch = make("first").vectorize(2)
    first = np.array([7, 7])  # legal in both games
    with pytest.raises(UserError, match="call reset"):
        batch.step(first)
    batch.reset(seed=0)
    batch.step(first)
    before, illegal = batch.state(), int(batch.action_masks()[1].argmin())
    legal = int(batch.action_masks()[0].argmax())
    for actions, message in (
        ([legal, illegal], f"action {illegal} of env [01] is illegal: legal are"),
        ([legal, -1], "action -1 of env [01] is illegal"),
        ([legal, 10**6], "action 1000000 of env [01] is illegal"),
        ([legal], "shape"),
        ([0.0, 1.0], "must be integers"),
    ):
        with pytest.raises(UserError, match=message):
            batch.step(np.array(actions))
        assert repr(batch.state()) == repr(before)


@pytest.mark.parametrize("opponent", [RandomAgent, MinimaxAgent])
def test_the_batch_in_python_equals_single_envs(opponent):
    batch, rng = versus(opponent()).vectorize(5), np.random.default_rng(0)
    singles: Any = SyncVectorEnv([lambda: versus(opponent())] * 5, autoreset_mode=AutoresetMode.SAME_STEP)
    np.testing.assert_array_equal(batch.reset(seed=7)[0], singles.reset(seed=7)[0])
    for _ in range(60):
        actions = drawn(rng, batch.action_masks())
        *results, info = batch.step(actions)
        *expected, expected_info = singles.step(actions)
        assert_same(results, expected)
        assert batch.observation_space.contains(results[0])
        assert_same([info["action_mask"]] * 2, [batch.action_masks(), [env.action_masks() for env in singles.envs]])
        if (ended := results[2]).any():
            outcomes = np.where(ended, expected_info["final_info"]["outcome"], 0)
            np.testing.assert_array_equal(info["final_info"]["outcome"], outcomes)
            assert_same([info["_final_obs"], info["final_info"]["won"]], [ended, outcomes == 1])
            assert_same(info["final_obs"], expected_info["final_obs"])


def test_a_saved_game_does_not_ask_its_opponent_again():
    opponent = SelfPlay()
    batch = versus(opponent, "first").vectorize(1)
    opponent.set_agent(Extreme(0))
    batch.reset(seed=0)
    batch.step(np.array([4]))
    saved = batch.state()
    opponent.set_agent(Extreme(-1))
    batch.load_state(saved)
    assert not batch.action_masks()[0, [0, 4]].any()
    after, *_ = batch.step(np.array([1]))
    assert after[0, 1].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]


def test_opponents_decide_together():
    class Counting(RandomAgent):
        def decide_batch(self, game, views, rngs):
            sizes.append(len(views))
            return super().decide_batch(game, views, rngs)

    sizes: list[int] = []
    versus(Counting(), "second").vectorize(6).reset(seed=0)
    assert sizes == [6]
