"""What games of other libraries are tested by: random games of two implementations side by side."""

from typing import Any

import numpy as np

from src.core.play.game import TwoPlayerGame
from src.core.seeding import draw


def assert_same_games(ours: TwoPlayerGame, theirs: TwoPlayerGame, games: int) -> None:
    """Both must have the same legal actions, player to move and outcome in every position of random games."""
    rng, outcomes = np.random.default_rng(0), set()
    for _ in range(games):
        state, other = ours.initial(rng), theirs.initial(rng)
        while ours.outcome(state) is None:
            assert theirs.outcome(other) is None
            assert ours.to_move(state) == theirs.to_move(other)
            assert ours.legal_actions(state) == theirs.legal_actions(other)
            action = draw(rng, ours.legal_actions(state))
            state, other = ours.play(state, action), theirs.play(other, action)
        assert ours.outcome(state) == theirs.outcome(other)
        assert theirs.legal_actions(other) == []
        outcomes.add(ours.outcome(state))
    assert {1, -1} <= outcomes


def assert_consistent(game: TwoPlayerGame, plies: int) -> Any:
    """Play a random game and check what search, networks and pages need in each position; return the last one."""
    rng = np.random.default_rng(0)
    state = game.initial(rng)
    for _ in range(plies):
        observation = game.observe(state)
        assert observation.dtype == np.float32
        assert observation.shape == game.observe(game.initial(rng)).shape
        low, high = game.observation_range
        assert low <= observation.min() <= observation.max() <= high
        if game.outcome(state) is not None:
            break
        legal, text = game.legal_actions(state), game.write_position(state)
        assert legal == sorted(legal)
        assert 0 <= legal[0] <= legal[-1] < game.num_actions
        names = [game.move_name(state, action) for action in legal]
        assert len(set(names)) == len(legal)
        assert not any(len(name.split()) != 1 for name in names)
        assert game.read_position(text) == state
        before, shown = state, game.render(state)
        state = game.play(state, draw(rng, legal))
        assert (game.write_position(before), game.render(before)) == (text, shown), "a state is immutable"
    return state
