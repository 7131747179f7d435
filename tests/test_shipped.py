"""The trained networks under experiments/ can be loaded and play their environments."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from src.config.build import build
from src.config.load import load_agent
from src.core.errors import UserError
from src.core.play.agent import RandomAgent
from src.core.play.arena import evaluate
from src.core.runs.curve import PICTURE, draw_run
from src.envs.deployment.bots import FirstUnit
from tests.marks import mostly_slow
from tests.test_compositions import composed

ROOT = Path(__file__).parent.parent
PICTURES = sorted(str(path.parent.relative_to(ROOT)) for path in ROOT.glob(f"experiments/**/{PICTURE}"))
RUNS = ["minesweeper_8x8", "minesweeper_8x8_imitation", "minesweeper_16x16", "minesweeper_16x30"]


@pytest.mark.parametrize("run", RUNS)
def test_a_shipped_network_knows_where_it_is_safe(run: str):
    game = build(composed(f"env={run.removesuffix('_imitation')}").env, "env").game
    agent = load_agent(f"experiments/{run}", "best")
    agent.check(game)
    state = game.initial(np.random.default_rng(3))
    decision = agent.decide(game, game.view(state), np.random.default_rng(0))
    for action in [decision.action, *decision.plan]:
        if game.is_open(state, action):
            game.play(state, action)
    assert game.outcome(state) != -1
    mines = state.boards.number[0] == 9
    claimed = decision.info["mine_probability"].ravel()
    hidden = state.boards.visible[0] < 0
    assert claimed[hidden & mines].mean() > claimed[hidden & ~mines].mean()


def test_the_beginners_network_wins_most_games():
    game = build(composed("env=minesweeper_8x8").env, "env").game
    won = evaluate(game, load_agent("experiments/minesweeper_8x8", "best"), None, 60, 11).total
    assert won.win_rate > 0.7


@pytest.mark.parametrize(
    ("run", "env"),
    [
        ("quoridor_ppo", ["env=quoridor", "env.game.distance_maps=true"]),
        ("quoridor_alphazero/5x5", ["env=quoridor", "env.game.size=5"]),
        pytest.param("quoridor_alphazero/9x9", ["env=quoridor"], marks=pytest.mark.slow),
        pytest.param("deployment_ppo", ["env=deployment"], marks=pytest.mark.slow),
        pytest.param("deployment_value/scenarios", ["env=deployment"], marks=pytest.mark.slow),
        pytest.param("deployment_value/scenarios", ["env=deployment_siege"], marks=pytest.mark.slow),
        pytest.param("deployment_value/deployment_classic", ["env=deployment_classic"], marks=pytest.mark.slow),
        pytest.param("deployment_maskable_ppo", ["env=deployment_classic"], marks=pytest.mark.slow),
        pytest.param(
            "deployment_value/deployment_classic_mirror", ["env=deployment_classic_mirror"], marks=pytest.mark.slow
        ),
    ],
)
def test_networks_of_games_for_two_beat_a_random_player(run: str, env: list[str]):
    game = build(composed(*env).env, "env").game
    agent = load_agent(f"experiments/{run}", "best")
    agent.check(game)
    assert evaluate(game, agent, RandomAgent(), 4, 11).total.wins >= 3


def test_a_network_that_was_trained_by_id_is_refused_where_units_are_chosen():
    by_id, choice = (
        build(composed("env=deployment", f"env.game.activation={name}").env.game, "env.game")
        for name in ("by_id", "choice")
    )
    agent = load_agent("experiments/deployment_ppo", "best")
    agent.check(by_id)
    with pytest.raises(UserError, match=r"type agent=first_unit agent@agent\.battle=trained"):
        agent.check(choice)
    FirstUnit(agent).check(choice)
    for trained_in, can_choose in (({"game": {"activation": "choice"}}, True), ({}, False), ("anything", False)):
        assert choice.can_play(trained_in) == can_choose
        assert by_id.can_play(trained_in)


def said_by(picture: Path) -> list[str]:
    return Image.open(picture).text["Description"].splitlines()  # type: ignore[attr-defined]


@pytest.mark.parametrize("run", mostly_slow(PICTURES, fast=3))
def test_a_shipped_picture_agrees_with_the_files(run: str, tmp_path: Path):
    for name in ("metrics.csv", "eval.json", "config.yaml"):
        if (ROOT / run / name).exists():
            shutil.copy(ROOT / run / name, tmp_path)
    assert draw_run(tmp_path)
    assert said_by(ROOT / run / PICTURE) == said_by(tmp_path / PICTURE), (
        f"draw it again: python -m src.core.runs.curve {run}"
    )
