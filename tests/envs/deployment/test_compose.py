"""The wargame composed on the command line."""

import re
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf, open_dict

from src.config import schema
from src.config.build import build
from src.config.compose import validate
from src.config.load import load_config
from src.core.errors import UserError
from src.envs.deployment.env import DeploymentEnv
from tests.envs.deployment.making import conf as chosen
from tests.envs.deployment.making import full_game
from tests.lab import ROOT, Lab, read_json
from tests.marks import mostly_slow
from tests.test_compositions import composed, options

KEYS = (
    *("deployment_type", "deployment_order_mode", "post_deployment_start_phase", "on_deadlock", "min_enemy_distance"),
    *("deployment_max_unit_slots", "deployment_max_hex_slots", "debug", "board", "zones", "profiles", "scenario"),
)


@pytest.mark.parametrize("key", KEYS)
def test_a_required_key_that_is_missing_is_named(key: str):
    """There are no implicit defaults: no key may be missing or unset."""
    cfg = composed("env=deployment")
    with open_dict(cfg):
        for chosen_by_scenario in ("deployment_type", "first_turn", "charge_reach"):
            cfg.env.game[chosen_by_scenario] = cfg.env.game[chosen_by_scenario]  # no longer the scenario's
        del cfg.env.game[key]
    with pytest.raises(UserError, match=rf"env\.game .*'{key}'"):
        build(cfg.env, "env")
    if key == "on_deadlock":
        with pytest.raises(UserError, match="missing a required argument: 'on_deadlock'"):
            build(composed("env=deployment", "~env.game.on_deadlock").env, "env")
        with pytest.raises(UserError, match=rf"required and not set: env\.game\.{key}"):
            validate(composed("env=deployment", f"env.game.{key}=???"), schema.Train)


def test_the_game_of_a_shipped_run_is_that_of_the_configuration():
    """Its saved configuration lacks the keys that were added later; they have the values of that time."""
    saved = build(load_config(ROOT / "experiments" / "deployment_value" / "deployment_classic").env.game, "env.game")
    now = build(composed("env=deployment_classic").env.game, "env.game")
    assert saved.num_actions == now.num_actions
    for name, value in now.world._asdict().items():
        other = getattr(saved.world, name)
        for one, its in zip(value, other, strict=True) if isinstance(value, tuple) else [(value, other)]:
            np.testing.assert_array_equal(one, its, err_msg=name)


@pytest.mark.parametrize(
    ("scenario", "zones"),
    [
        *(("skirmish", "redoubt"), ("mirror", "trench"), ("siege", "trench")),
        *(("classic_skirmish", "hammer"), ("classic_mirror", "trench"), ("classic_siege", "hammer")),
    ],
)
def test_a_scenario_names_its_parts_and_deployment_type(scenario: str, zones: str):
    game = composed("env=deployment", f"env/deployment/scenario@env.game.scenario={scenario}").env.game
    classic = scenario.startswith("classic")
    assert OmegaConf.to_container(game.board) == chosen("board/ruins" if classic else "board/woods")
    assert OmegaConf.to_container(game.profiles) == chosen("profiles/warriors" if classic else "profiles/veterans")
    assert OmegaConf.to_container(game.zones) == chosen(f"zones/{zones}")
    assert game.deployment_type == game.scenario.deployment_type == "active"
    assert game.first_turn == ("player_1" if classic else "roll_off")
    assert game.charge_reach == (11 if scenario == "skirmish" else 12)
    typed = composed("env=deployment", "env.game.scenario.deployment_type=fixed").env.game
    assert typed.deployment_type == "fixed"


@pytest.mark.parametrize("zones", mostly_slow(["redoubt", "hammer", "trench", "corners", "pincer"], fast=2))
def test_zones_are_a_choice(zones: str):
    """The command line overrides the zones of the scenario; units are placed in the chosen ones."""
    node = composed("env=deployment", f"env/deployment/zones@env.game.zones={zones}").env.game
    assert OmegaConf.to_container(node.zones) == chosen(f"zones/{zones}")
    pools = full_game(
        "skirmish", zones, board=chosen("board/woods"), profiles=chosen("profiles/veterans")
    ).scenario.pools
    assert build(node, "env.game").scenario.pools == pools


@pytest.mark.parametrize(
    "name", mostly_slow([name for name in options("env") if name.startswith("deployment")], fast=2)
)
def test_every_scenario_plays_against_its_baselines(name: str):
    env = build(composed(f"env={name}").env, "env")
    assert isinstance(env, DeploymentEnv)
    assert list(env.baselines) == ["tactical", "defensive", "greedy", "random"]
    for opponent in env.baselines.values():
        batch = DeploymentEnv(env.game, opponent, env.reward, "random", {}).vectorize(2)
        _, info = batch.reset(seed=0)
        for _ in range(30):
            *_, info = batch.step(info["action_mask"].argmax(axis=1))


def test_bots_are_scored_from_the_command_line(lab: Lab):
    out = lab.folder / "score.json"
    done = lab.run("evaluate", "env=deployment", "agent=tactical", "opponent=random", "episodes=6", f"json={out}")
    assert done.returncode == 0, done.stderr
    result = read_json(out)
    assert result["episodes"] == 6
    assert result["wins"] >= 5
    assert result["metrics"]["deployment_steps_mean"] == 17


def test_the_table_of_the_readme_names_tests_that_exist():
    readme = (ROOT / "src" / "envs" / "deployment" / "README.md").read_text()
    sources = {path.name: path.read_text() for path in Path(__file__).parent.glob("*.py")}
    named = [
        (file, test) for file, test in re.findall(r"`(?:(test_\w+\.py)(?:::)?)?(test_\w+)?`", readme) if file or test
    ]
    assert len(named) > 50
    for file, test in named:
        assert not file or file in sources, file
        assert not test or any(f"def {test}(" in text for name, text in sources.items() if file in ("", name)), test
