"""Games of pgx (Koyamada et al. 2023) for two players, without chance and hidden information, compiled by JAX."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import pgx
from jax import lax, tree_util
from jax import numpy as jnp

from ...core.errors import UserError, require
from ...core.ranges import shown
from ..library_game import LibraryGame, Position

GAMES = (  # the others have chance, hidden information or another number of players
    *("animal_shogi", "chess", "connect_four", "gardner_chess", "go_9x9", "go_19x19"),
    *("hex", "othello", "shogi", "tic_tac_toe"),
)
CHESS = "PNBRQKpnbrqk"
SYMBOLS = {
    "animal_shogi": "PBRKGpbrkg",
    "chess": CHESS,
    "gardner_chess": CHESS,
    "shogi": "PLNSBRGK++++++plnsbrgk------",
}


class Pgx(LibraryGame):
    """A game by its name in pgx; actions are numbers, which are also their names, and observations are pgx's.

    A state is stored as bytes, so that those of many games are joined into an array and step in one compiled call.
    """

    def __init__(self, name: str) -> None:
        require(
            name in GAMES,
            f"env.game.name={name} is not a game that can be played here: choose one of {', '.join(GAMES)}",
        )
        self.name, env = name, pgx.make(name)
        start = jax.jit(env.init)(jax.random.PRNGKey(0))
        leaves, tree = tree_util.tree_flatten_with_path(start)
        fields = [(tree_util.keystr(path), np.dtype(leaf.dtype), leaf.shape) for path, leaf in leaves]
        self._dtype = np.dtype(fields)
        offsets = np.cumsum([0, *(dtype.itemsize * int(np.prod(shape)) for _, dtype, shape in fields)])

        def pack(state: Any) -> jax.Array:
            plain = (leaf.astype(jnp.uint8) if leaf.dtype == bool else leaf for leaf in jax.tree.leaves(state))
            return jnp.concatenate([lax.bitcast_convert_type(leaf, jnp.uint8).ravel() for leaf in plain])

        def unpack(data: jax.Array) -> Any:
            found = []
            for (_, dtype, shape), begin, end in zip(fields, offsets, offsets[1:], strict=False):
                cells = data[begin:end].reshape(shape if dtype.itemsize == 1 else (*shape, dtype.itemsize))
                found.append(cells.astype(bool) if dtype.kind == "b" else lax.bitcast_convert_type(cells, dtype))
            return tree.unflatten(found)

        self._step = jax.jit(jax.vmap(lambda data, action: pack(env.step(unpack(data), action))))
        self._start = Position((), np.asarray(pack(start)).tobytes())
        self._first = int(start.current_player)  # the player whom pgx lets begin, 0 or 1
        self.num_actions = env.num_actions

    def __reduce__(self) -> tuple[type["Pgx"], tuple[str]]:
        return Pgx, (self.name,)  # compiled functions cannot be copied to other processes

    def initial(self, rng: np.random.Generator) -> Position:
        return self._start

    def to_move(self, state: Position) -> int:
        return int(self._read(state, "current_player")) ^ self._first

    def legal_actions(self, view: Position) -> list[int]:
        legal: list[int] = self._read(view, "legal_action_mask").nonzero()[0].tolist()
        return [] if self._read(view, "terminated") else legal

    def play(self, state: Position, action: int) -> Position:
        return self.play_batch([state], [action])[0]

    def play_batch(self, states: Sequence[Position], actions: Sequence[int]) -> list[Position]:
        """Step all games at once, filled up to a power of 4, because JAX compiles a step for each number of games."""
        for state, action in zip(states, actions, strict=True):
            if action not in (legal := self.legal_actions(state)):
                raise UserError(f"action {action} is not legal here: legal are {shown(legal)}")
        if not states:
            return []
        size = 4 ** int(np.ceil(np.log2(len(states)) / 2))
        data = np.empty((size, self._dtype.itemsize), np.uint8)
        data[: len(states)] = np.frombuffer(b"".join(one.state for one in states), np.uint8).reshape(len(states), -1)
        data[len(states) :] = data[0]
        chosen = np.full(size, actions[0], np.int32)
        chosen[: len(states)] = actions
        after = np.asarray(self._step(data, chosen))
        return [
            Position((*state.actions, int(action)), row.tobytes())
            for state, action, row in zip(states, actions, after, strict=False)
        ]

    def outcome(self, state: Position) -> int | None:
        over = self._read(state, "terminated")
        return int(np.sign(self._read(state, "rewards")[self._first])) if over else None

    def observe(self, view: Position) -> np.ndarray:
        """Return pgx's observation for the player to move, with the planes first."""
        return np.ascontiguousarray(self._read(view, "observation").transpose(2, 0, 1), np.float32)

    def render(self, state: Position) -> str:
        """Return what the first planes of the observation show: X and O, or pieces, the mover's in capitals."""
        symbols = SYMBOLS.get(self.name, "XO")
        if len(symbols) == 2 and self.to_move(state) == 1:
            symbols = symbols[::-1]
        planes = self.observe(state)[: len(symbols)] > 0
        cells = np.where(planes.any(axis=0), np.array(list(symbols))[planes.argmax(axis=0)], ".")
        return "\n".join(" ".join(row) for row in cells)

    def move_name(self, state: Position, action: int) -> str:
        return str(action)

    def _read(self, state: Position, name: str) -> Any:
        return np.frombuffer(state.state, self._dtype)[f".{name}"][0]
