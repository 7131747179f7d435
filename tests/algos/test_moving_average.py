"""The moving average of the weights is evaluated and saved, and not the network that is trained."""

from pathlib import Path
from typing import Any

import pytest
import torch

from src.algos import trainer
from src.algos.selection import selection_metrics
from tests.algos.making import fit, saved_learner, versus
from tests.algos.test_alphazero import alphazero
from tests.algos.test_imitation import imitation, minesweeper

RUNS: dict[str, tuple[Any, Any]] = {
    "alphazero": (alphazero(total_steps=192, eval_every=192, repeats=6.0, past_selves_games=0), versus()),
    "imitation": (imitation(total_steps=320, eval_every=320, eval_episodes=1), minesweeper()),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_moving_average_is_evaluated_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    evaluated: dict[str, torch.Tensor] = {}

    def measured(env: Any, agent: Any, *settings: Any) -> dict[str, float]:
        evaluated.update({key: weight.clone() for key, weight in agent.net.state_dict().items()})
        return selection_metrics(env, agent, *settings)

    monkeypatch.setattr(trainer, "selection_metrics", measured)
    algo, env = RUNS[name]
    agent = fit(algo, env, tmp_path / "run")
    saved = saved_learner(tmp_path / "run")
    assert evaluated.keys() == saved["weights"].keys() == saved["net"].keys()
    for key, weight in evaluated.items():
        assert torch.equal(saved["weights"][key], weight)
        assert torch.equal(agent.net.state_dict()[key], weight.half().float()), "the best checkpoint has half precision"
    assert any(not torch.equal(saved["net"][key].half(), weight.half()) for key, weight in evaluated.items())
