"""The matches, as processes of their own play them."""

import signal
from dataclasses import fields
from typing import Any

import numpy as np
from omegaconf import OmegaConf

from experiments.composition import composed
from src.envs.quoridor.search.deepening import SearchFeatures
from src.sprt import Match

FEATURES = tuple(feature.name for feature in fields(SearchFeatures))
OPENING_PLIES = (2, 4)  # fewest and most random plies before a pair

Outcomes = list[int | None]  # of the two games of a pair, for the full search


def plan_of(feature: str, seconds: float, seed: int) -> dict[str, Any]:
    """Return the match of the full search against the one without this feature, as arguments of `Match`."""
    overrides = {"full": [], "without": [f"agent.features.{feature}=false"]}
    cfgs = {
        label: composed("evaluate", "env=quoridor", "agent=master", f"agent.seconds={seconds!r}", *changes)
        for label, changes in overrides.items()
    }
    players = {label: OmegaConf.to_container(cfg.agent, resolve=True) for label, cfg in cfgs.items()}
    env = OmegaConf.to_container(cfgs["full"].env, resolve=True)
    return {"env": env, "players": players, "seed": seed, "plies": OPENING_PLIES}


def compile_kernels(plan: dict[str, Any]) -> None:
    """Fill the cache of compiled kernels once, instead of in every process at the same time."""
    match, rng = Match(**plan), np.random.default_rng(0)
    match.agents["full"].decide(match.game, match.game.initial(rng), rng)


def ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops after the games that have begun


def play_pair(plan: dict[str, Any], number: int) -> Outcomes:
    return Match(**plan).play_pair(number)
