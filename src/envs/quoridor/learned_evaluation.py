"""What `algo=nnue` needs to train the learned evaluation: stored positions, their features, and players."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import require
from ...core.play.capabilities import LearnedEvaluation
from .agents import MasterAgent
from .game import Quoridor
from .rules import NO_PATH, ONE, ZERO, Position, bit, kernel, lowest, new_board, set_up
from .search import nnue
from .search.deepening import SearchFeatures, SearchOptions, TimedSearch
from .search.nnue import Network

TABLE_BITS = 16  # enough for the short searches of self-play
HAS_EASTERN = np.uint64(0x7F7F_7F7F_7F7F_7F7F)  # walls with another place east of them
RECORD = np.dtype(
    [
        ("horizontal", np.uint64),
        ("vertical", np.uint64),
        ("pawns", np.uint8, (2,)),
        ("left", np.uint8, (2,)),
        ("ply", np.uint8),  # 254 or 255 if it is more, by the player to move
        ("score", np.int16),
        ("result", np.int16),
    ]
)


class QuoridorEvaluation:
    """The network of `nnue`, a `LearnedEvaluation`."""

    layers = nnue.FEATURES, nnue.HIDDEN, nnue.NARROW
    mirrored = nnue.MIRRORED
    record = RECORD
    quantized = staticmethod(nnue.quantized)
    save = staticmethod(nnue.save_network)

    @staticmethod
    def load(path: Path) -> dict[str, np.ndarray]:
        return nnue.unquantized(nnue.load_network(path))

    def __init__(self, game: Quoridor) -> None:
        self.game = game

    def records(self, states: Sequence[Position]) -> np.ndarray:
        rows = [(s.horizontal, s.vertical, s.pawns, s.left, min(s.ply, 254 + s.ply % 2), 0, 0) for s in states]
        return np.array(rows, RECORD)

    def features(self, records: np.ndarray) -> np.ndarray:
        """Return the features of records as bits, (N, FEATURES / 8) uint8, in the order of the network's columns."""
        wrong = "the records are not positions of Quoridor"
        known = (
            records["pawns"].max(initial=0) < nnue.SIZE * nnue.SIZE and records["left"].max(initial=0) <= nnue.MAX_WALLS
        )
        require(bool(known), f"{wrong}: a pawn is off the board or too many walls left")
        horizontal, vertical = records["horizontal"], records["vertical"]
        beside, above = horizontal & (horizontal >> np.uint64(1)) & HAS_EASTERN, vertical & (vertical >> np.uint64(8))
        require(not ((horizontal & vertical) | beside | above).any(), f"{wrong}: walls overlap")
        out = np.zeros((len(records), nnue.WORDS), np.uint64)
        paths, lengths, words = (
            np.zeros((2, nnue.PATH_WORDS), np.uint64),
            np.zeros(2, np.int64),
            np.zeros(nnue.WORDS, np.uint64),
        )
        possible = _pack(new_board(nnue.SIZE, 1 << 20), records, paths, lengths, words, nnue.COLUMNS, out)
        require(possible, f"{wrong}: a pawn is walled in")
        return out.astype("<u8").view(np.uint8)

    def search(self, network: Network, nodes: int) -> Callable[[Position], tuple[int, int]]:
        player = TimedSearch(network, self.game.ply_limit, SearchOptions(table_bits=TABLE_BITS))

        def search(state: Position) -> tuple[int, int]:
            *_, result = player.deepen(state, nodes=nodes)
            player.remember(self.game.play(state, result.line[0]))
            return result.score, result.line[0]

        return search

    def agent(self, network: Network, seconds: float | None, nodes: int | None, threads: int) -> MasterAgent:
        agent = MasterAgent(None, seconds, nodes, threads, SearchOptions(), SearchFeatures())
        agent.network = network
        return agent


def learned_evaluation(game: Quoridor) -> LearnedEvaluation:
    """Return what `algo=nnue` finds by the name of this module."""
    return QuoridorEvaluation(game)


@kernel
def _pack(board: Any, records: Any, paths: Any, lengths: Any, words: Any, columns: Any, out: Any) -> bool:
    """Write the features; return False if a pawn is walled in."""
    for n in range(records.size):
        record = records[n]
        set_up(board, record.horizontal, record.vertical, record.pawns, record.left, np.int64(record.ply))
        for player in range(2):
            lengths[player] = nnue.trace(board, player, False, paths[player])
            if lengths[player] == NO_PATH:
                return False
        nnue.write_features(board, paths, lengths, words)
        for i in range(nnue.WORDS):
            word = words[i]
            while word != ZERO:
                column = np.int64(columns[board.ply & 1, 64 * i + lowest(word)])
                out[n, column // 64] |= bit(column % 64)
                word &= word - ONE
    return True
