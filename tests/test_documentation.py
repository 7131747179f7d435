"""What the pages tell users to type is what the commands take."""

import re
import shlex

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from src.compose import CONF
from tests.test_sweep import need

COMMANDS = re.findall(r"^(?:python|torchrun .*?) -m src\.train (.*)$", (CONF / "README.md").read_text(), re.MULTILINE)
FLAGS = {"-m", "--cfg", "job"}


def test_the_page_has_commands():
    assert len(COMMANDS) >= 14


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_configuration_page_composes(command: str):
    for plugin, extra in (("hydra_optuna_sweeper", "sweep"), ("hydra_ray_launcher", "ray")):
        need(plugin, extra)
    words = [word for word in shlex.split(command, comments=True) if word not in FLAGS]
    overrides = OverridesParser.create().parse_overrides(words)
    settled = [str(override.input_line) for override in overrides if not override.is_sweep_override()]
    with initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        cfg = compose("train", settled, return_hydra_config=True)
    for override in overrides:
        if override.is_sweep_override():
            assert OmegaConf.select(cfg, override.key_or_group) is not None, override.input_line


def test_every_group_is_on_the_page():
    page = (CONF / "README.md").read_text()
    groups = {path.name for path in CONF.iterdir() if path.is_dir() and path.name not in ("hydra", "__pycache__")}
    parts = {"net", "teacher"}  # of algo
    assert [group for group in groups - parts if f"| `{group}` |" not in page] == []
