"""The clauses of the source documents: each names a test that exists and, where the default differs, an option."""

import ast
from functools import cache
from typing import Any

import pytest
import yaml

from experiments.tables import CLAUSES
from tests.lab import ROOT
from tests.test_compositions import composed

ALL: dict[str, list[dict[str, Any]]] = yaml.safe_load(CLAUSES.read_text())
ROWS = [pytest.param(row, id=f"{game}: {row['clause']}") for game, rows in ALL.items() for row in rows]
OF_DEFAULT, OF_OPTION = {"clause", "test"}, {"clause", "test", "option"}
OF_DIFFERENCE = {"clause", "test", "option", "document", "ours", "why"}


@cache
def names_in(path: str) -> set[str]:
    return {node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", ROWS)
def test_a_clause_names_its_test_and_its_option(row):
    assert set(row) in (OF_DEFAULT, OF_OPTION, OF_DIFFERENCE)
    assert all(isinstance(value, str) and value and "|" not in value for value in row.values())
    path, name = row["test"].split("::")
    assert name.startswith("test_")
    assert name in names_in(path)
    if row.get("option", "none") != "none":
        words = row["option"].split()
        command = "evaluate" if any(word.startswith(("agent=", "opponent=")) for word in words) else "train"
        composed(*words, config=command)


def test_every_game_has_its_clauses_once():
    assert set(ALL) == {"wargame", "minesweeper", "quoridor", "tictactoe"}
    for rows in ALL.values():
        assert len({row["clause"] for row in rows}) == len(rows) > 0
