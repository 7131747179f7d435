"""Calls that compile the kernels of Quoridor, for `src.compile_kernels`."""

import numpy as np

from ...core.play.search_interface import UNLIMITED_PLIES, SearcherConfig
from .env import QuoridorEnv
from .game import Quoridor
from .search.deepening import SearchOptions, TimedSearch
from .search.evaluation import FACTORS
from .search.nnue import SHIPPED, load_network

ENV = "quoridor"


def search(env: QuoridorEnv) -> None:
    """Play, show paths and search as the web page does."""
    game, rng = env.game, np.random.default_rng(0)
    assert isinstance(game, Quoridor)
    state = game.initial(rng)
    game.play(state, game.legal_actions(state)[0])
    game.shortest_path(state, 0)
    game.shortest_step(state)
    game.candidates(state, True)
    game.factors(state)
    game.solved(state)
    game.playout(state, rng)
    config = SearcherConfig(dict.fromkeys(FACTORS, 1), 0, 0, True, UNLIMITED_PLIES, True)
    game.searcher(config).search(state, 1, None, 1000)


def master(env: QuoridorEnv) -> None:
    game = env.game
    assert isinstance(game, Quoridor)
    search = TimedSearch(load_network(SHIPPED), game.ply_limit, SearchOptions(table_bits=10))
    list(search.deepen(game.initial(np.random.default_rng(0)), depth=1))


def steps(env: QuoridorEnv) -> None:
    envs = env.vectorize(2)
    _, info = envs.reset(seed=0)
    envs.step(info["action_mask"].argmax(axis=1))


def positions(env: QuoridorEnv) -> None:
    """Search with a network, and play many games at once."""
    game = env.game
    assert isinstance(game, Quoridor)
    batch, start = game.positions(1, 2), game.initial(np.random.default_rng(0))
    batch.set_roots([0], [start])
    first = batch.masks.argmax(axis=1)
    batch.expand(np.zeros(1, np.int64), first, 1)
    batch.play(first)


GROUPS = (search, master, steps, positions)  # independent of each other; first what the web page needs
