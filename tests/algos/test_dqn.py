"""Deep Q-learning: targets, returns and priorities by hand, both kinds of games, exact resumption."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from src.algos.compute import CPU
from src.algos.dqn import DQN, DQNTrainer, QAgent, SelfPlayGames, SoloGames, q_values, td_errors
from src.algos.network_agent import InferenceConfig
from src.algos.prioritized_replay import SMALLEST_ERROR, ReplayBuffer, SumTree, Transitions
from src.core.errors import UserError
from src.core.play.curriculum import Curriculum
from src.core.seeding import draw
from src.envs.connect_four.game import ConnectFour
from src.envs.minesweeper.net import CellCodes
from src.envs.tictactoe.game import TicTacToe
from src.nets.boards import CNN, Heads
from src.nets.flat import MLP
from tests.algos.making import (
    ONE_THREAD,
    assert_same_weights,
    fit,
    minesweeper,
    no_curriculum,
    playing,
    read_column,
    rows_without_times,
    run_in,
    saved_learner,
    versus,
)

TICTACTOE, SMALL_GAME = TicTacToe(symmetric=True), ConnectFour(4, 4, 3)


def dqn(**changes: Any) -> DQN:
    parts: dict[str, Any] = {
        "net": MLP([32]),
        "play": InferenceConfig(symmetries=False),
        "init_from": None,
        "compute": ONE_THREAD,
    }
    sizes = {"total_steps": 512, "num_envs": 8, "steps_per_env": 4, "batch_size": 16, "repeats": 1.0, "n_step": 2}
    buffer = {"buffer_size": 256, "learning_starts": 64, "priority": 0.6, "importance": 0.4, "augment": True}
    exploration = {"epsilon": 1.0, "epsilon_end": 0.1, "exploration": 0.5, "gamma": 0.9, "ema_decay": 0.9}
    limits = {"seconds": None, "eval_every": 128, "eval_episodes": 10}
    optimizer = {"lr": 1e-3, "lr_warmup": 2, "weight_decay": 0.0, "max_grad_norm": 10.0}
    return DQN(**(parts | sizes | buffer | exploration | limits | optimizer | changes))


def solo(**changes: Any) -> DQN:
    return dqn(net=CNN(16, encoder=CellCodes(), value_pool="mean_max"), **changes)


def test_values_are_those_of_the_dueling_head_over_legal_actions():
    heads = Heads(torch.tensor([[1.0, 5.0, 3.0]]), torch.tensor([10.0]), torch.zeros(1, 0))
    masks = torch.tensor([[True, False, True]])
    assert q_values(heads, masks)[0, [0, 2]].tolist() == [10 + 1 - 2, 10 + 3 - 2]
    assert q_values(heads, masks)[0, 1] < -1e8


def table(rows: list[list[float]]) -> Any:
    """A network that looks up the action values of a position, which is observed as its number."""
    values = torch.tensor(rows)

    def heads(observations: torch.Tensor) -> Heads:
        found = values[observations[:, 0].long()]
        return Heads(found, torch.zeros(len(found)), torch.zeros(len(found), 0))

    return heads


def test_the_target_is_the_value_that_the_target_network_gives_the_best_legal_action_of_the_other():
    online = table([[1.0, -1.0, 0.0], [2.0, 9.0, -2.0]])
    target = table([[7.0, 7.0, 7.0], [-3.0, 40.0, 3.0]])
    batch = Transitions(
        observations=torch.tensor([[0.0], [0.0]]),
        masks=torch.ones(2, 3, dtype=torch.bool),
        actions=torch.tensor([0, 1]),
        returns=torch.tensor([0.5, -1.0]),
        discounts=torch.tensor([-0.81, 0.0]),  # the opponent is to move after two moves; the game has ended
        next_observations=torch.tensor([[1.0], [1.0]]),
        next_masks=torch.tensor([[True, False, True]] * 2),
        weights=torch.ones(2),
    )
    errors, values = td_errors(online, target, batch)
    # Of the actions 0 and 2 the online network prefers 0, of which the target network thinks -3.
    assert values.tolist() == [1.0, -1.0]
    assert errors.tolist() == pytest.approx([1.0 - (0.5 - 0.81 * -3.0), -1.0 - -1.0])


def returns_by_hand(
    moves: list[dict[str, Any]], start: int, n_step: int, gamma: float
) -> tuple[float, float, int] | None:
    """Return the return, the discount and the next position of a move, None if it cannot be trained on."""
    own, total = moves[start]["seat"], 0.0
    for number in range(n_step):
        move = moves[start + number]
        sign = 1 if move["seat"] == own else -1
        if move["cut"]:
            return (total, sign * gamma**number, start + number) if number > 0 else None
        total += sign * gamma**number * move["reward"]
        if move["ended"]:
            return total, 0.0, start + n_step
    after = moves[start + n_step]
    return total, gamma**n_step * (1 if after["seat"] == own else -1), start + n_step


@pytest.mark.parametrize("n_step", [1, 3])
def test_returns_of_a_ring_are_those_computed_by_hand(n_step: int):
    rng, count, steps, gamma = np.random.default_rng(n_step), 3, 8, 0.9
    buffer = ReplayBuffer(steps, np.zeros((count, 1), np.float32), 2, n_step, gamma, priority=1.0)
    history: list[list[dict[str, Any]]] = [[] for _ in range(count)]
    for time in range(40):
        for game in range(count):
            ended = rng.random() < 0.2
            cut = not ended and rng.random() < 0.2
            move = {"seat": int(rng.integers(2)), "reward": float(rng.normal()), "ended": ended, "cut": cut}
            history[game].append(move)
        fields = {name: np.array([one[-1][name] for one in history]) for name in ("seat", "reward", "ended", "cut")}
        seen, masks = np.full((count, 1), time), np.ones((count, 2), bool)
        buffer.add(
            seen, masks, fields["seat"], np.full(count, time % 2), *(fields[n] for n in ("reward", "ended", "cut"))
        )
        known = range(max(0, time - steps + 1), time - n_step + 1)
        assert buffer.size == len(known) * count
        priorities = buffer.priorities[: steps * count].reshape(steps, count)
        assert np.count_nonzero(priorities) <= buffer.size
        for start, game in ((start, game) for start in known for game in range(count)):
            row, expected = start % steps, returns_by_hand(history[game], start, n_step, gamma)
            assert (priorities[row, game] == 0) == (expected is None)
            if expected is None:
                continue
            assert buffer.returns[row, game] == pytest.approx(expected[0], abs=1e-5)
            assert buffer.discounts[row, game] == pytest.approx(expected[1], abs=1e-6)
            if expected[1] != 0:
                after = (row + buffer.spans[row, game]) % steps
                assert buffer.observations[after, game] == expected[2]


@pytest.mark.parametrize("count", [1, 2, 5, 8, 13])
def test_a_sum_tree_finds_what_cumulative_sums_find(count: int):
    rng = np.random.default_rng(count)
    tree, numbers = SumTree(count), np.zeros(count)
    for _ in range(20):
        leaves = rng.choice(count, rng.integers(1, count + 1), replace=False)
        numbers[leaves] = rng.random(len(leaves)) * (rng.random(len(leaves)) < 0.7)
        tree[leaves] = numbers[leaves]
        assert tree.total == pytest.approx(numbers.sum())
        if numbers.sum() > 0:
            sums = rng.random(50) * tree.total
            found = tree.find(sums)
            assert (numbers[found] > 0).all()
            assert np.array_equal(found, np.searchsorted(np.cumsum(numbers), sums, side="right"))
            assert tree.find(sums[:1]) == found[:1]
    assert tree[np.arange(count)].tolist() == numbers.tolist()


def filled(priority: float, games: int = 4, steps: int = 8) -> ReplayBuffer:
    buffer = ReplayBuffer(steps, np.zeros((games, 1), np.float32), 2, 1, 1.0, priority)
    none = np.zeros(games, bool)
    for time in range(steps):
        numbers = 10.0 * time + np.arange(games)[:, None]
        buffer.add(numbers, np.ones((games, 2), bool), none, none, np.zeros(games), none, none)
    return buffer


def test_positions_are_sampled_by_their_errors_and_weighted_against_it():
    buffer, rng = filled(priority=0.5), np.random.default_rng(0)
    errors = np.linspace(0.1, 2.0, buffer.size)
    buffer.update(np.arange(buffer.size), errors)
    chances = (errors + SMALLEST_ERROR) ** 0.5
    chances /= chances.sum()
    counts = np.zeros(buffer.size)
    for _ in range(50):
        chosen, batch = buffer.sample(64, 0.7, rng, "cpu")
        counts += np.bincount(chosen, minlength=buffer.size)
        weights = (buffer.size * chances[chosen]) ** -0.7
        assert batch.weights.numpy() == pytest.approx(weights / weights.max(), rel=1e-5)
        assert batch.observations[:, 0].tolist() == [10 * (one // 4) + one % 4 for one in chosen]
        assert batch.next_observations[:, 0].tolist() == [10 * (one // 4 + 1) + one % 4 for one in chosen]
    expected = 50 * 64 * chances
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_a_position_that_is_sampled_twice_has_one_priority():
    buffer = filled(priority=1.0)
    buffer.update(np.array([5, 3, 5]), np.array([0.5, -3.0, 0.5]))
    assert buffer.priorities[np.array([3, 5])].tolist() == [3.0 + SMALLEST_ERROR, 0.5 + SMALLEST_ERROR]
    assert buffer.priorities.total == pytest.approx((buffer.size - 2) * 1.0 + 3.5 + 2 * SMALLEST_ERROR)
    none = np.zeros(4, bool)
    buffer.add(np.zeros((4, 1)), np.ones((4, 2), bool), none, none, np.zeros(4), none, none)
    assert buffer.largest == 3.0 + SMALLEST_ERROR
    newest = buffer.priorities[np.arange(28, 32)]
    assert newest.tolist() == [buffer.largest] * 4, "new ones come first"
    assert not buffer.priorities[np.arange(4)].any(), "the oldest are forgotten"


def random_actions(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.array([draw(rng, np.flatnonzero(mask).tolist()) for mask in masks])


def test_both_players_of_a_game_are_rewarded_for_their_own_moves():
    games, rng, seen = (
        SelfPlayGames(TICTACTOE, [np.random.default_rng(i) for i in range(4)]),
        np.random.default_rng(0),
        0,
    )
    for _ in range(40):
        before, seats, masks = games.observations.copy(), games.seats.copy(), games.masks.copy()
        played = games.step(random_actions(masks, rng))
        assert played.sums["games"] == played.ended.sum()
        for i in np.flatnonzero(played.ended):
            empty = int(9 - before[i].sum())
            assert played.rewards[i] == 1 or empty == 1, "only the player who moves wins; a full board may be a draw"
            assert not games.observations[i].any()
            assert games.seats[i] == 0
            seen += 1
        going = ~played.ended
        assert (games.seats[going] == 1 - seats[going]).all()
        assert np.array_equal(games.observations[going, 1].sum(axis=(1, 2)), before[going, 0].sum(axis=(1, 2)) + 1)
        assert not played.rewards[going].any()
    assert seen > 10


@pytest.mark.parametrize("players", [1, 2])
def test_games_continue_from_their_state(players: int):
    def make() -> Any:
        if players == 1:
            return SoloGames(minesweeper(size=5, mines=4, first_click="uniform").vectorize(4), seed=3)
        return SelfPlayGames(SMALL_GAME, [np.random.default_rng(i) for i in range(4)])

    games, other, rng = make(), make(), np.random.default_rng(0)
    for _ in range(17):
        games.step(random_actions(games.masks, rng))
    other.load_state(games.state())
    for _ in range(17):
        assert np.array_equal(games.observations, other.observations)
        assert np.array_equal(games.masks, other.masks)
        assert np.array_equal(games.seats, other.seats)
        actions = random_actions(games.masks, rng)
        one, two = games.step(actions), other.step(actions)
        assert np.array_equal(one.rewards, two.rewards)
        assert one.sums == two.sums


@pytest.mark.parametrize("game", ["connect_four", "minesweeper"])
def test_a_killed_run_ends_like_one_that_was_not(tmp_path: Path, game: str):
    def make() -> tuple[DQN, Any]:
        return (dqn(), versus(game=SMALL_GAME)) if game == "connect_four" else (solo(total_steps=384), minesweeper())

    fit(*make(), tmp_path / "whole")
    fit(*make(), tmp_path / "killed", saves=7)
    fit(*make(), tmp_path / "killed")
    assert rows_without_times(tmp_path / "whole") == rows_without_times(tmp_path / "killed")
    for name in ("best", "last"):
        assert_same_weights(tmp_path / "whole", tmp_path / "killed", name)
    assert min(read_column(tmp_path / "whole", "losses/loss")) > 0
    assert not any(name.startswith("aux_head") for name in saved_learner(tmp_path / "whole")["weights"])


def test_the_image_of_a_transition_is_a_transition_of_the_image(tmp_path: Path):
    """One move later on each image of a board lies the image of the next board."""
    algo = dqn(batch_size=64, learning_starts=200, n_step=1)
    with run_in(tmp_path) as run:
        trainer = DQNTrainer(algo, versus(), run)
        trainer.start()
        for _ in range(8):
            trainer.update()
    _, batch = trainer.buffer.sample(64, 0.4, np.random.default_rng(0), "cpu")
    turned = trainer._transformed(batch)
    assert not torch.equal(batch.observations, turned.observations)
    going = turned.discounts != 0
    for i in torch.nonzero(going)[:, 0].tolist():
        own, other = turned.observations[i].flatten(1)
        own = own.clone()
        assert turned.masks[i].tolist() == ((own + other) == 0).tolist()
        own[turned.actions[i]] = 1
        assert torch.equal(turned.next_observations[i].flatten(1), torch.stack([other, own]))
        assert turned.next_masks[i].tolist() == ((own + other) == 0).tolist()
    assert going.sum() > 20


def test_the_agent_plays_the_best_legal_action_and_ranks_the_others():
    torch.manual_seed(0)
    net = MLP([8]).build((2, 3, 3), 9)
    agent = QAgent(net, CPU, InferenceConfig(symmetries=False))
    state = TICTACTOE.play(TICTACTOE.play("." * 9, 4), 0)
    with torch.no_grad():
        mask = torch.tensor([cell not in (0, 4) for cell in range(9)])[None]
        values = q_values(net(torch.from_numpy(TICTACTOE.observe(state))[None]), mask)[0]
    rng = np.random.default_rng(0)
    decision = agent.decide(TICTACTOE, state, rng)
    assert decision.action == int(values.argmax())
    assert decision.info["value"] == pytest.approx(float(values.max()), abs=1e-5)
    ranked = [line.actions[0] for line in agent.analyze(TICTACTOE, state, 9)]
    assert ranked == values.argsort(descending=True)[:7].tolist()
    observations, masks = TICTACTOE.observe(state)[None], mask.numpy()
    assert agent.choose_actions(observations, masks, [rng]).tolist() == [decision.action]


def test_games_that_reach_the_step_limit_are_counted_also_if_that_loses_them():
    games = SoloGames(minesweeper(size=5, mines=3, max_steps=1).vectorize(8), 0)
    played = games.step(games.masks.argmax(axis=1))
    assert played.ended.all()
    assert not played.cut.any(), "no value follows a lost game"
    assert played.sums["truncated"] == 8 - played.sums["won"] > 0


def test_exploration_falls_and_chooses_legal_moves_only(tmp_path: Path):
    with run_in(tmp_path) as run:
        trainer = DQNTrainer(dqn(num_envs=64, buffer_size=1024), versus(), run)
        trainer.games.masks[:] = False
        trainer.games.masks[:, [2, 7]] = True
        found = []
        for progress in (0.0, 0.25, 0.5, 1.0):
            trainer.optimizer.progress = progress
            found.append(trainer.epsilon)
        assert found == pytest.approx([1.0, 0.55, 0.1, 0.1])
        trainer.optimizer.progress = 0.0
        counts = np.bincount(np.concatenate([trainer._choose_actions() for _ in range(10)]), minlength=9)
        assert counts[[2, 7]].sum() == 640
        assert min(counts[[2, 7]]) > 240, "each of them at random"
        trainer.optimizer.progress, trainer.algo = 1.0, replace(trainer.algo, epsilon_end=0.0)
        assert len(set(trainer._choose_actions().tolist())) == 1, "the same position, the same best move"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"buffer_size": 16}, r"algo\.buffer_size=16 must be at least algo\.num_envs=8 times 3"),
        ({"learning_starts": 250}, r"algo\.learning_starts=250 must be at most 240"),
        ({"n_step": 0}, "n_step=0 must be a whole number in"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changes: dict[str, Any], message: str):
    with pytest.raises(UserError, match=message):
        dqn(**changes)


def test_what_cannot_be_learned_is_refused():
    env = minesweeper()
    with pytest.raises(UserError, match="needs the auxiliary task"):
        solo(play=playing()).check(env, no_curriculum())
    with pytest.raises(UserError, match="set curriculum=none"):
        solo().check(env, Curriculum({"easy": minesweeper(mines=1)}, 0.5))
    cells = np.dtype(np.int8).itemsize * 40 * 40
    size = 2**24 * (cells + cells + 40)  # of observations, legal actions and the rest of a transition
    with pytest.raises(UserError, match=f"takes {size:,} bytes of a checkpoint"):
        solo(buffer_size=2**24, num_envs=2**20).check(minesweeper(size=40), no_curriculum())
