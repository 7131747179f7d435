"""A transcript of a battle, from the first placement to the result."""

import numpy as np

from src.core.play.agent import Agent
from src.envs.deployment.bots import Bot
from src.envs.deployment.bots.placement import BackLine, FrontLine
from tests.envs.deployment.making import full_game


def transcript() -> str:
    game, rng = full_game(deployment_order_mode="alternated_p1_start"), np.random.default_rng(6)
    agents: list[Agent] = [
        Bot(FrontLine("random"), damage=1, threat=0, objective=0, to_objective=0, to_enemy=0.5, explore=0),
        Bot(BackLine("random"), damage=1, threat=0.3, objective=25, to_objective=2, to_enemy=0, explore=0),
    ]
    state = game.initial(rng)
    lines = [game.render(state), ""]
    while (outcome := game.outcome(state)) is None:
        seat = game.to_move(state)
        action = agents[seat].decide(game, game.view(state), rng).action
        assert action is not None
        legal, name = len(game.legal_actions(state)), game.actions.describe(state, action)
        before = state.round
        game.play(state, action)
        entered = f" -> {', '.join(state.phases_entered)}" if state.phases_entered else ""
        lines.append(f"player {seat + 1}, {legal} legal: {name}{entered}")
        if before != state.round:
            lines += ["", game.render(state), ""]
    return "\n".join([*lines, "", game.render(state), f"outcome for seat 0: {outcome:+d}", ""])
