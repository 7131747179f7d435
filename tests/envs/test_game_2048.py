"""2048: the merge rules against a plain implementation, chance, score, reward, and what a player may know."""

import itertools
from collections import Counter

import numpy as np
import pytest

from src.api import make
from src.core.errors import UserError
from src.core.play.agent import RandomAgent
from src.core.play.arena import evaluate
from src.core.seeding import draw
from src.envs.game_2048.agents import MonotoneAgent
from src.envs.game_2048.game import Game2048
from src.envs.game_2048.rules import MOVES, Board, add_tile, merge, slide

GAME = Game2048(size=4, goal=2048)


def merge_by_hand(line: list[int]) -> tuple[list[int], int]:
    """Move tiles one by one as far as they go; one that was made in this move stops the next."""
    line, made, fixed = list(line), 0, set()
    for start in range(len(line)):
        at = start
        while line[start] and at > 0 and line[at - 1] == 0:
            at -= 1
        if line[start] == 0:
            continue
        exponent, line[start] = line[start], 0
        if at > 0 and line[at - 1] == exponent and at - 1 not in fixed:
            line[at - 1] += 1
            made += 2 ** line[at - 1]
            fixed.add(at - 1)
        else:
            line[at] = exponent
    return line, made


def test_every_line_merges_as_by_hand():
    for line in itertools.product(range(5), repeat=4):
        merged, made = merge(line)
        assert (list(merged), made) == merge_by_hand(list(line)), line


@pytest.mark.parametrize(
    ("line", "merged", "made"),
    [
        ((1, 1, 1, 1), (2, 2, 0, 0), 8),  # each merges once
        ((1, 1, 2, 0), (2, 2, 0, 0), 4),  # what was made does not merge again
        ((0, 1, 1, 1), (2, 1, 0, 0), 4),  # those nearest to the edge first
        ((1, 0, 0, 1), (2, 0, 0, 0), 4),
        ((1, 2, 1, 2), (1, 2, 1, 2), 0),
    ],
)
def test_examples_of_lines(line: tuple[int, ...], merged: tuple[int, ...], made: int):
    assert merge(line) == (merged, made)


def test_tiles_slide_in_the_direction_of_the_move():
    tiles = (1, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 1)
    found = {name: slide(4, tiles, move) for move, name in enumerate(MOVES)}
    assert found["left"] == ((2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0), 8)
    assert found["right"] == ((0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2), 8)
    assert found["up"] == ((1, 0, 0, 2, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0), 4)
    assert found["down"] == ((0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 2), 4)


def test_new_tiles_are_twos_and_a_tenth_fours_on_any_empty_cell():
    tiles = (0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3)
    boards = [add_tile(Board(tiles, 0, seed)) for seed in range(4_000)]
    new = Counter(next((cell, board.tiles[cell]) for cell in (0, 4, 8, 12) if board.tiles[cell]) for board in boards)
    fours = sum(count for (_, exponent), count in new.items() if exponent == 2)
    assert {exponent for _, exponent in new} == {1, 2}
    assert abs(fours - 400) < 4 * np.sqrt(4_000 * 0.1 * 0.9)
    by_cell = Counter({cell: sum(new[cell, exponent] for exponent in (1, 2)) for cell in (0, 4, 8, 12)})
    assert all(abs(count - 1000) < 4 * np.sqrt(4_000 * 0.25 * 0.75) for count in by_cell.values())
    assert all(board.tiles[cell] == tiles[cell] for board in boards for cell in range(16) if tiles[cell])


def test_a_game_counts_what_merges_make_and_ends():
    rng = np.random.default_rng(3)
    state, made = GAME.initial(rng), 0
    assert sum(exponent > 0 for exponent in state.tiles) == 2
    while GAME.outcome(state) is None:
        action, before = draw(rng, GAME.legal_actions(GAME.view(state))), state
        made += GAME.slides(state)[action][1]
        state = GAME.play(state, action)
        changed = [i for i in range(16) if state.tiles[i] != slide(4, before.tiles, action)[0][i]]
        assert len(changed) == 1
    assert GAME.outcome(state) == -1
    assert all(slide(4, state.tiles, move)[0] == state.tiles for move in range(4)), "no move is left"
    assert GAME.episode_metrics(state) == {"score": made, "largest_tile": 2 ** max(state.tiles)}


def test_the_goal_wins_and_ends_the_game():
    game = Game2048(size=2, goal=8)
    state = Board((2, 2, 0, 0), 8, seed=0)
    assert game.outcome(state) is None
    won = game.play(state, MOVES.index("left"))
    assert (game.outcome(won), won.score, game.legal_actions(won)) == (1, 16, [])
    assert game.observe(won).shape == (4, 2, 2)
    assert game.observe(won).sum() == 4
    with pytest.raises(UserError, match="moves no tile, or the game is over"):
        game.play(won, 0)
    with pytest.raises(UserError, match="goal=9 is not a tile"):
        Game2048(size=2, goal=9)


def test_a_player_does_not_know_the_tiles_to_come():
    one, other = (GAME.view(Board((1,) * 3 + (0,) * 13, 0, seed)) for seed in (1, 2))
    assert one == other
    assert len({GAME.play(Board((1, 1) + (0,) * 14, 0, seed), 3).tiles for seed in range(200)}) > 20


def test_the_reward_is_the_points_and_the_outcome():
    env = make("game_2048", "reward.per_point=0.5", "reward.loss=-3.0")
    _, info = env.reset(seed=5)
    total, rng, ended = 0.0, np.random.default_rng(0), False
    for _ in range(2):  # the second game begins at 0 points, too
        total = 0.0
        while not ended:
            _, reward, ended, _, info = env.step(draw(rng, np.flatnonzero(info["action_mask"]).tolist()))
            total += reward
        assert total == 0.5 * env._episode.state.score - 3.0
        _, info = env.reset()
        ended = False
    saved = env._episode.saved()
    env.step(draw(rng, np.flatnonzero(info["action_mask"]).tolist()))
    env._episode.restore(saved)
    before = env._episode.state.score
    reward = env.step(draw(rng, np.flatnonzero(env.action_masks()).tolist()))[1]
    assert reward == 0.5 * (env._episode.state.score - before)


def test_tidy_play_scores_more_than_random_play():
    game = Game2048(size=4, goal=256)
    wins = [evaluate(game, agent, None, 4, seed=1).total.wins for agent in (MonotoneAgent(), RandomAgent())]
    assert wins[0] >= 3 > 1 >= wins[1]
