"""Exhaustive evaluation of a deterministic agent against every possible play of its opponent."""

from collections import Counter
from typing import Any

import numpy as np

from .agent import Agent
from .arena import Tally
from .game import Game, outcome_for_seat


def walk_replies(game: Game, agent: Agent, seat: int) -> Tally:
    """Count the lines won, drawn and lost by the agent in `seat` over all moves of its opponent."""
    rng = np.random.default_rng(0)  # required by the interface; a deterministic agent does not use it
    choices: dict[Any, int | None] = {}
    lines: Counter[int] = Counter()
    open_states = [game.initial(rng)]
    while open_states:
        state = open_states.pop()
        outcome = game.outcome(state)
        if outcome is not None:
            lines[outcome_for_seat(seat, outcome)] += 1
        elif game.to_move(state) != seat:
            open_states += [game.play(state, action) for action in game.legal_actions(game.view(state))]
        else:
            if state not in choices:
                choices[state] = agent.decide(game, game.view(state), rng).action
            action = choices[state]
            if action is None:
                lines[-1] += 1
            else:
                open_states.append(game.play(state, action))
    return Tally(lines[1], lines[0], lines[-1])
