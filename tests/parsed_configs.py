"""Parsed configuration files, kept in memory: Hydra parses some 30 for a composition, and tests compose hundreds."""

import copy
from functools import cache

from hydra import compose, initialize_config_dir
from hydra._internal.config_repository import ConfigRepository
from hydra.plugins.config_source import ConfigResult

from src.cli import share_config_store
from src.paths import CONF

_parsed: dict[tuple[str, ...], ConfigResult | None] = {}


@cache
def keep() -> None:
    """From now on parse a file once; every composition gets a copy of the result, because Hydra changes it."""
    parse = ConfigRepository.load_config

    def load_config(self: ConfigRepository, config_path: str) -> ConfigResult | None:
        key = (config_path, *(source.path for source in self.sources))
        if key not in _parsed:
            _parsed[key] = parse(self, config_path)
        return copy.deepcopy(_parsed[key])

    share_config_store()
    ConfigRepository.load_config = load_config  # type: ignore[method-assign]


def parse_all() -> None:
    """Parse what the commands compose by default, so that forked processes find it."""
    with initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        for command in ("train", "evaluate", "engine", "play", "play_local"):
            compose(command, return_hydra_config=True)
