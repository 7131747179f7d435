"""Proofs of certain cells, checked against the exact solver and by brute force."""

from itertools import product

import numpy as np
import pytest

from src.core.errors import UserError
from src.envs.minesweeper.game import Minesweeper
from src.envs.minesweeper.notation import read_board, write_board
from src.envs.minesweeper.rules import chord, clicked_cells, neighbors, require_flaggable
from src.envs.minesweeper.solver import Proof, analyze, find_proof
from tests.marks import mostly_slow


def refuted(visible: np.ndarray, numbers: tuple[int, ...], cell: int, value: bool) -> bool:
    """Whether no placement around the numbers agrees with them and with that value of the cell, by brute force."""
    near, degree = neighbors(*visible.shape)
    flat = visible.ravel()
    around = [[n for n in near[number, : degree[number]].tolist() if flat[n] < 0] for number in numbers]
    cells = sorted({cell, *(n for group in around for n in group)})
    placements = np.array(list(product((0, 1), repeat=len(cells))))
    fits = placements[:, cells.index(cell)] == value
    for number, group in zip(numbers, around, strict=True):
        fits &= placements[:, [cells.index(n) for n in group]].sum(axis=1) == flat[number]
    return not fits.any()


def test_a_pattern_takes_the_numbers_it_is_made_of():
    board = read_board("121\n...")
    assert find_proof(board, 3, mine=True) == Proof((1, 2))
    assert find_proof(board, 5, mine=True) == Proof((0, 1))
    assert find_proof(board, 4, mine=False) == Proof((0, 1, 2))


def test_what_only_the_mine_count_tells_is_said_so():
    board = read_board("1..\n...")
    assert analyze(board, 1).mine_probability[0, 2] == 0.0
    assert find_proof(board, 2, mine=False) == Proof((), counted=True)


def test_what_is_given_up_is_not_called_proven(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("src.envs.minesweeper.solver.proof.MAX_NODES", 0)
    assert find_proof(read_board("121\n..."), 4, mine=False) is None


@pytest.mark.parametrize("seed", mostly_slow(range(4), fast=2))
def test_certain_cells_are_proven_by_a_minimal_set_of_numbers(seed: int):
    game = Minesweeper(9, 9, 14)
    state = game.play(game.initial(np.random.default_rng(seed)), 40)
    proven = 0
    while game.outcome(state) is None:
        view = game.view(state)
        probability = analyze(view.visible, view.mines).mine_probability.ravel()
        hidden = view.visible.ravel() < 0
        for cell in np.flatnonzero(hidden & ((probability == 0.0) | (probability == 1.0))).tolist():
            mine = bool(probability[cell])
            proof = find_proof(view.visible, cell, mine)
            assert proof is not None, "boards as small as this are never given up"
            numbers = proof.numbers
            if not proof.counted and len(numbers) <= 4:
                proven += 1
                assert refuted(view.visible, numbers, cell, not mine)
                for number in numbers:
                    fewer = tuple(other for other in numbers if other != number)
                    assert not refuted(view.visible, fewer, cell, not mine), "one number is idle"
        state = game.play(state, int(np.where(hidden, probability, 2.0).argmin()))
    assert proven > 10


def test_a_chord_stands_for_the_reveals_around_a_satisfied_number():
    board = read_board("F1.\n11.\n...")
    assert chord(board, 4) == [2, 5, 6, 7, 8]
    assert chord(board, 1) == [2, 5]
    assert chord(read_board("F2.\n11."), 1) == [], "a flag is missing"
    assert chord(board, 8) == [], "a hidden cell is no number"
    assert chord(read_board("0.\n.."), 0) == []


def test_a_position_is_read_as_it_is_written():
    board = read_board("  1 f #\n  12.\n\n")
    assert write_board(board) == "1F.\n12."
    assert np.array_equal(read_board(write_board(board)), board)


def test_a_click_reveals_its_cell_or_a_chord_but_no_flag():
    board = read_board("F1.\n11.\n...")
    assert clicked_cells(board, 8) == [8]
    assert clicked_cells(board, 1) == chord(board, 1)
    with pytest.raises(UserError, match="take the flag off"):
        clicked_cells(board, 0)
    for cell in (0, 8):
        require_flaggable(board, cell)
    with pytest.raises(UserError, match="takes no flag"):
        require_flaggable(board, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a line for each row"),
        ("1.\n1", "line 2 has 1 cells"),
        ("1.\n9.", "line 2 holds '9'"),
        ("1\n\n1", "line 2"),
    ],
)
def test_text_that_is_no_position_is_refused(text: str, message: str):
    with pytest.raises(UserError, match=message):
        read_board(text)
