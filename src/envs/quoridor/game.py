"""Quoridor as a game with immutable states; actions are from the point of view of the player to move."""

import threading
from typing import Annotated, Any

import numpy as np

from ...core.errors import UserError, require
from ...core.play.game import Trait, TwoPlayerGame
from ...core.play.search_interface import UNLIMITED_PLIES, SearcherConfig, Symmetry, Zeros, identity
from ...core.ranges import Bounds, checked
from . import notation, rules
from .observation import mirror, write_planes
from .positions import QuoridorPositions
from .rules import MAX_MOVES, MAX_SIZE, NO_PATH, Position, distance, is_open, load_position, neighbor, new_board, turned
from .search import evaluation
from .search.alphabeta import CompiledSearch

COMPILED_PLIES = 3  # last plies of perft: they take some milliseconds


class Quoridor(TwoPlayerGame[Position]):
    """Actions are the target cells of the pawn, then horizontal and vertical walls, numbered as in `rules`.

    Player 2 sees the board rotated by 180 degrees, so both move upwards and a learner has to learn only one side.
    """

    traits = frozenset({Trait.TWO_PLAYER, Trait.PERFECT_INFORMATION, Trait.DETERMINISTIC, Trait.LEARNED_EVALUATION})

    @checked
    def __init__(
        self,
        size: Annotated[int, Bounds(ge=3, le=MAX_SIZE)],
        walls: Annotated[int, Bounds(ge=0, le=99)],
        ply_limit: Annotated[int, Bounds(ge=1, le=99_999)],
        distance_maps: bool,
    ) -> None:
        """`distance_maps` adds the distances of all cells to the goals to the observation."""
        self.size, self.walls, self.ply_limit, self.distance_maps = size, walls, ply_limit, distance_maps
        self.cells, self.blocks = size * size, (size - 1) ** 2
        self.num_actions = self.cells + 2 * self.blocks
        self._own = threading.local()  # one mutable board per thread

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the settings, for other processes."""
        return Quoridor, (self.size, self.walls, self.ply_limit, self.distance_maps)

    def initial(self, rng: np.random.Generator) -> Position:
        start = self.size // 2
        return Position((start, self.cells - 1 - start), (self.walls, self.walls), 0, 0, 0)

    def to_move(self, state: Position) -> int:
        return state.ply % 2

    def outcome(self, state: Position) -> int | None:
        if state.pawns[0] >= self.cells - self.size:
            return 1
        if state.pawns[1] < self.size:
            return -1
        return 0 if state.ply >= self.ply_limit else None

    def turned(self, state: Position, action: int) -> int:
        """Convert an action of the player to move to a move on the board, or back."""
        return turned(self.size, state.ply, action)

    def legal_actions(self, view: Position) -> list[int]:
        return sorted(self._listed(rules.list_legal, view))

    def play(self, state: Position, action: int) -> Position:
        move = self.turned(state, action) if 0 <= action < self.num_actions else -1
        if not rules.is_legal(self.board_of(state), move):
            name = notation.move_name(self.size, move) if move >= 0 else f"action {action}"
            raise UserError(f"{name} is not legal in {self.write_position(state)}")
        player, pawns, left = state.ply % 2, list(state.pawns), list(state.left)
        if move < self.cells:
            pawns[player] = move
        else:
            left[player] -= 1
            state = self._with_wall(state, move)
        return Position((pawns[0], pawns[1]), (left[0], left[1]), state.horizontal, state.vertical, state.ply + 1)

    def _with_wall(self, state: Position, move: int) -> Position:
        kind, wall = divmod(move - self.cells, self.blocks)
        if kind == 0:
            return state._replace(horizontal=state.horizontal | 1 << wall)
        return state._replace(vertical=state.vertical | 1 << wall)

    def perft(self, state: Position, depth: int) -> int:
        """Count positions; only the last plies are compiled, because compiled code cannot be interrupted by Ctrl-C."""
        if depth > COMPILED_PLIES:
            return super().perft(state, depth)
        buffers = np.zeros((depth + 1, MAX_MOVES), np.int64)
        return 1 if depth == 0 else int(rules.perft(self.board_of(state), depth, buffers))

    # Text

    def move_name(self, state: Position, action: int) -> str:
        return notation.move_name(self.size, self.turned(state, action))

    def parse_move(self, state: Position, text: str) -> int:
        move = notation.parse_move(self.size, text)
        require(rules.is_legal(self.board_of(state), move), f"{text} is not legal in {self.write_position(state)}")
        return self.turned(state, move)

    def write_position(self, state: Position) -> str:
        return notation.write_position(self.size, state)

    def read_position(self, text: str) -> Position:
        state, walls = notation.read_position(self.size, text)
        require(max(state.left) <= self.walls, f"{max(state.left)} walls in hand: a player begins with {self.walls}")
        placed = len(walls) + sum(state.left)
        require(placed <= 2 * self.walls, f"{placed} walls on the board and in hand: there are {2 * self.walls}")
        require(state.ply <= self.ply_limit, f"{state.ply} plies played: a game ends after {self.ply_limit}")
        require(state.pawns[0] != state.pawns[1], "both pawns stand on one cell")
        for wall in walls:
            word = int(rules.free_walls(self.board_of(state))[(wall - self.cells) // self.blocks])
            name = notation.move_name(self.size, wall)
            require(bool(word >> (wall - self.cells) % self.blocks & 1), f"{name} overlaps or crosses another wall")
            state = self._with_wall(state, wall)
        board = self.board_of(state)
        require(NO_PATH not in (distance(board, 0), distance(board, 1)), "the walls cut a pawn off from its goal")
        arrived = state.pawns[0] >= self.cells - self.size, state.pawns[1] < self.size
        require(not arrived[state.ply % 2], "the player to move stands on its goal already")
        return state

    def render(self, state: Position) -> str:
        return notation.draw_board(self.size, state)

    def image(self, state: Position) -> np.ndarray:
        from . import image  # Pillow, needed for pictures only

        return image.draw(self.size, state, self.outcome(state))

    # Search and learning

    def observe(self, view: Position) -> np.ndarray:
        """Return planes (6, N, N), or (8, N, N) with distance maps; see `observation`."""
        planes = np.zeros((self.planes, self.cells), np.float32)
        write_planes(self.board_of(view), self.walls, planes)
        return planes.reshape(self.planes, self.size, self.size)

    def candidates(self, state: Position, selective: bool, waiting_plies: int = UNLIMITED_PLIES) -> list[int]:
        return self._listed(evaluation.list_candidates, state, selective, waiting_plies)

    def threats(self, state: Position) -> list[int]:
        return self._listed(evaluation.list_threats, state)

    def factors(self, state: Position) -> dict[str, int]:
        out = np.zeros(len(evaluation.FACTORS), np.int64)
        evaluation.measure(self.board_of(state), out)
        return dict(zip(evaluation.FACTORS, out.tolist(), strict=True))

    def solved(self, state: Position) -> int | None:
        return int(evaluation.plies_to_win(self.board_of(state))) or None

    def position_key(self, state: Position) -> int:
        return int(evaluation.position_key(self.board_of(state)))

    def searcher(self, config: SearcherConfig) -> CompiledSearch:
        return CompiledSearch(self.size, self.ply_limit, config)

    def positions(self, count: int, nodes: int, zeros: Zeros = np.zeros) -> QuoridorPositions:
        board = new_board(self.size, self.ply_limit)
        return QuoridorPositions(board, self.walls, self.planes, count, nodes, zeros)

    def symmetries(self) -> list[Symmetry]:
        """Return the identity and the reflection that swaps left and right."""
        return [identity(self.planes * self.cells, self.num_actions), mirror(self.size, self.planes)]

    @property
    def planes(self) -> int:
        """The number of planes of an observation."""
        return 8 if self.distance_maps else 6

    def playout(self, state: Position, rng: np.random.Generator) -> int:
        board = self.board_of(state)
        return int(evaluation.play_out(board, self._own.moves, rng.integers(1 << 64, dtype=np.uint64)))

    def shortest_step(self, state: Position) -> int:
        """Return the pawn move that leads closest to the goal of the player to move."""
        board = self.board_of(state)
        return self.turned(state, int(evaluation.shortest_step(board, self._own.moves)))

    def shortest_path(self, state: Position, player: int) -> list[int]:
        """Return the cells from a player's pawn to its goal on a shortest path, ignoring the other pawn."""
        board, steps = self.board_of(state), np.zeros(self.cells, np.int64)
        rules.distance_map(board, player, steps)
        path = [state.pawns[player]]
        while steps[path[-1]] > 0:
            ways = [way for way in range(4) if is_open(board, path[-1], way)]
            nearer = [int(neighbor(board, path[-1], way)) for way in ways]
            path.append(next(cell for cell in nearer if steps[cell] < steps[path[-1]]))
        return path

    def board_of(self, state: Position) -> Any:
        """Return the board of this thread, set to the position."""
        if not hasattr(self._own, "board"):
            self._own.board, self._own.moves = new_board(self.size, self.ply_limit), np.zeros(MAX_MOVES, np.int64)
        load_position(self._own.board, state)
        return self._own.board

    def _listed(self, kernel: Any, state: Position, *arguments: Any) -> list[int]:
        """Return the moves that a kernel lists, as actions."""
        board = self.board_of(state)
        count = kernel(board, *arguments, self._own.moves)
        return [self.turned(state, move) for move in self._own.moves[:count].tolist()]
