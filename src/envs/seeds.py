"""Seeds of the games of a batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv

from src.core.errors import require


def seeds_of_envs(envs: VectorEnv[Any, Any, Any], seed: int | Sequence[int] | None, *, seeded: bool) -> list[int]:
    """One seed for each env, `seed + i` for env i of a single number; none where `seeded` generators go on."""
    if isinstance(seed, int | np.integer):
        VectorEnv.reset(envs, seed=int(seed))
        return [int(seed) + i for i in range(envs.num_envs)]
    if seed is None:
        return [] if seeded else envs.np_random.integers(2**63, size=envs.num_envs).tolist()
    seeds = [int(one) for one in seed]
    require(len(seeds) == envs.num_envs, f"{len(seeds)} seeds for {envs.num_envs} envs: one each, or a number")
    return seeds
