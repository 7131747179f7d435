"""The replay buffer of AlphaZero: targets by hand, what is sampled, and symmetries."""

import numpy as np
import pytest
import torch

from src.algos.alphazero.search import SearchResult
from src.algos.alphazero.self_play import ReplayBuffer, Symmetries, position_bytes
from src.envs.tictactoe.game import TicTacToe

IDENTITY = Symmetries(TicTacToe(symmetric=True).symmetries()[:1], "cpu")


def buffer(steps: int = 4, games: int = 1, discount: float = 1.0, td_lambda: float = 1.0) -> ReplayBuffer:
    return ReplayBuffer(steps, np.zeros((games, 2, 3, 3), np.float32), 9, "cpu", discount, td_lambda)


def add(replay: ReplayBuffer, mark: float, seats: list[int], values: list[float]) -> None:
    """Store a move of every game, with observations and policies that are `mark` everywhere."""
    count = len(seats)
    policies = np.full((count, 9), mark, np.float32)
    found = SearchResult(np.zeros(count, int), policies, np.array(values, np.float32), None, None, None)  # type: ignore[arg-type]
    observations = np.full((count, 2, 3, 3), mark, np.float32)
    replay.add(observations, np.ones((count, 9), bool), np.array(seats, np.int8), found)


def test_td_lambda_targets_by_hand():
    """gamma 0.5, lambda 0.5; searches found 0.9, 0.6, -0.8 for seats 0, 1, 0, and seat 0 wins with the third move.

    third:  0.5 * 1                              =  0.5
    second: 0.5 * -(0.5 * -0.8 + 0.5 * 0.5)      =  0.075
    first:  0.5 * -(0.5 * 0.6 + 0.5 * 0.075)     = -0.16875
    """
    replay = buffer(discount=0.5, td_lambda=0.5)
    for mark, (seat, value) in enumerate([(0, 0.9), (1, 0.6), (0, -0.8)]):
        add(replay, mark, [seat], [value])
    assert replay.size == 0, "the outcome is not known yet"
    assert replay.finish(np.array([0]), np.array([1])) == 3
    assert replay.targets[:3, 0].tolist() == pytest.approx([-0.16875, 0.075, 0.5])
    assert replay.ready[:, 0].tolist() == [True, True, True, False]


def test_the_outcome_alone_changes_sign_with_the_seat():
    replay = buffer()
    for mark, seat in enumerate([0, 1, 1, 0]):  # seat 1 moves twice
        add(replay, mark, [seat], [0.123])
    replay.finish(np.array([0]), np.array([-1]))
    assert replay.targets[:, 0].tolist() == [-1.0, 1.0, 1.0, -1.0]


def test_games_end_one_by_one():
    replay = buffer(steps=6, games=2)
    add(replay, 0, [0, 0], [0.0, 0.0])
    add(replay, 1, [1, 1], [0.0, 0.0])
    assert replay.finish(np.array([1]), np.array([1])) == 2
    add(replay, 2, [0, 0], [0.0, 0.0])
    assert replay.finish(np.array([0]), np.array([0])) == 3
    assert replay.ready.tolist()[:3] == [[True, True], [True, True], [True, False]]
    assert replay.finish(np.array([0]), np.array([1])) == 0, "it begins again"


def test_the_ring_overwrites_the_oldest_moves():
    replay = buffer(steps=3)
    for mark in range(5):
        add(replay, mark, [mark % 2], [0.0])
    assert replay.finish(np.array([0]), np.array([1])) == 3, "the first two moves of the game are lost"
    assert sorted(replay.sample(64, IDENTITY, np.random.default_rng(0)).policies[:, 0].unique().tolist()) == [2, 3, 4]
    assert replay.targets[[1, 0, 2], 0].tolist() == [1.0, -1.0, 1.0]  # moves 4, 3, 2
    add(replay, 5, [1], [0.0])
    assert set(replay.sample(64, IDENTITY, np.random.default_rng(0)).policies[:, 0].tolist()) == {3, 4}


def test_a_sample_keeps_the_fields_of_a_position_together():
    replay = buffer(steps=3, games=2)
    for mark, seats in enumerate([[0, 0], [1, 1], [0, 0]]):
        add(replay, mark, seats, [0.0, 0.0])
    replay.finish(np.array([0, 1]), np.array([1, -1]))
    batch = replay.sample(200, IDENTITY, np.random.default_rng(0))
    assert (batch.observations[:, 0, 0, 0] == batch.policies[:, 0]).all()
    seen = set(zip(batch.policies[:, 0].tolist(), batch.values.tolist(), strict=True))
    assert seen == {(mark, value) for mark in (0.0, 1.0, 2.0) for value in (1.0, -1.0)}


def test_a_symmetry_moves_stones_legal_actions_and_policy_together():
    """Stones and the best move in the corner: in every image they are in one corner, and the mask is off there."""
    game = TicTacToe(symmetric=True)
    observations = torch.from_numpy(game.observe("XO.......")[None].repeat(8, axis=0))
    masks = torch.tensor([[cell == "." for cell in "XO......."]]).repeat(8, 1)
    policies = torch.zeros(8, 9)
    policies[:, 3] = 1.0  # below X
    images = torch.arange(8)
    turned, legal, targets = Symmetries(game.symmetries(), "cpu").transformed([observations, masks, policies], images)
    states = set()
    for planes, mask, target in zip(turned, legal, targets, strict=True):
        own, other = planes.flatten(1)
        assert (mask == (own + other == 0)).all()
        x, o, best = int(own.argmax()), int(other.argmax()), int(target.argmax())
        assert x in (0, 2, 6, 8)
        assert {o, best} == ({1, 3} if x == 0 else {1, 5} if x == 2 else {3, 7} if x == 6 else {5, 7})
        states.add((x, o))
    assert len(states) == 8


def test_a_saved_buffer_samples_the_same():
    replay, other = buffer(steps=5, games=2), buffer(steps=5, games=2)
    for mark in range(7):
        add(replay, mark, [mark % 2] * 2, [0.1, 0.2])
    replay.finish(np.array([1]), np.array([1]))
    other.load_state(replay.state())
    for one in (replay, other):
        add(one, 7, [1, 1], [0.3, 0.3])
        one.finish(np.array([0, 1]), np.array([-1, -1]))
    for mine, theirs in zip(
        replay.sample(50, IDENTITY, np.random.default_rng(0)),
        other.sample(50, IDENTITY, np.random.default_rng(0)),
        strict=True,
    ):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_the_size_of_a_position_is_that_of_a_saved_buffer(dtype):
    replay = ReplayBuffer(4, np.zeros((3, 2, 3, 3), dtype), 9, "cpu", 1.0, 1.0)
    for mark in range(4):
        add(replay, mark, [0, 1, 0], [0.0, 0.0, 0.0])
    saved = sum(value.nbytes for value in replay.state().values() if isinstance(value, torch.Tensor))
    assert saved == 4 * 3 * position_bytes(np.zeros((2, 3, 3), dtype), 9, on_gpu=False)
