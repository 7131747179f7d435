"""The games of a checkpoint on the page of a run, without a browser."""

from pathlib import Path
from typing import Any

import pytest

from src.core.play import arena
from src.core.play.agent import Agent, RandomAgent
from src.core.runs.index.files import RunPath
from src.web.runs.watch import FEW, SETUPS, Side
from tests.envs.deployment.making import small_game
from tests.web.inner import in_tab


class Lab:
    def agent(self, *_: Any) -> Agent:
        return RandomAgent()


@in_tab
async def test_setups_of_a_checkpoint_are_added_with_each_game_until_there_are_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    played: list[range] = []
    play_setups = arena.play_setups

    def counted(game: Any, agent: Agent, opponent: Agent, numbers: range, *rest: Any) -> list[tuple[Any, int]]:
        played.append(numbers)
        return play_setups(game, agent, opponent, numbers, *rest)

    monkeypatch.setattr(arena, "play_setups", counted)
    side, game, path = Side("last"), small_game(), tmp_path / "checkpoints/last.safetensors"
    path.parent.mkdir()

    def play() -> str:
        side.play(Lab(), RunPath("run", tmp_path, tmp_path), game, RandomAgent(), 0)  # type: ignore[arg-type]
        return side.setup

    path.write_bytes(b"1")
    pictures = [play() for _ in range(SETUPS // FEW + 2)]
    assert [number for numbers in played for number in numbers] == list(range(SETUPS))
    assert len(set(pictures)) == SETUPS // FEW, "no work after that"
    assert pictures[0].startswith("data:image/png")
    path.write_bytes(b"22")
    assert play() == pictures[0], "another version of the checkpoint begins anew, here with the same moves"
    assert played[-1] == range(FEW)
