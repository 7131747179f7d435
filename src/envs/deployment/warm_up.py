"""Calls that compile the kernels of the wargame, for `src.compile_kernels`."""

import numpy as np

from ...core.play.agent import RandomAgent
from .bots.bot import Bot
from .bots.placement import FrontLine
from .bots.planner import Planner
from .env import DeploymentEnv
from .step_report import Command, apply_and_describe

ENV = "deployment"
BOT = Bot(FrontLine("first"), damage=1, threat=0.3, objective=25, to_objective=2, to_enemy=1, explore=0)


def match(env: DeploymentEnv) -> None:
    """Play a whole game with descriptions, as the web page does."""
    game, bot, rng = env.game, BOT, np.random.default_rng(0)
    state = game.initial(rng)
    while game.outcome(state) is None:
        action = bot.decide(game, game.view(state), rng).action
        assert action is not None
        apply_and_describe(game, state, Command("play", (action,)))
    game.observe(state)


def steps(env: DeploymentEnv) -> None:
    """Step against a bot, which is compiled into the step, and against an agent that is not."""
    for opponent in (BOT, RandomAgent()):
        one = DeploymentEnv(env.game, opponent, env.reward, "random", {})
        one.reset(seed=0)
        one.step(int(one.action_masks().argmax()))
        envs = one.vectorize(2)
        _, info = envs.reset(seed=0)
        envs.step(info["action_mask"].argmax(axis=1))


def plan(env: DeploymentEnv) -> None:
    """Search one position of a battle."""
    game, bot, rng = env.game, BOT, np.random.default_rng(0)
    state = game.initial(rng)
    while state.phase == "deployment":
        game.play(state, bot.decide(game, state, rng).action or 0)
    Planner(bot, candidates=2, rollouts=2, turns=0, objectives=0.5, confidence=0.0).decide(game, state, rng)


GROUPS = (match, steps, plan)  # independent of each other; first what the web page needs
