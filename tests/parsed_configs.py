"""Parsed configuration files, kept in memory: Hydra parses some 30 for a composition, and tests compose hundreds."""

import copy
import pickle
from functools import cache
from typing import Any

from hydra import compose, initialize_config_dir
from hydra._internal import defaults_list
from hydra._internal.config_repository import ConfigRepository
from hydra.plugins.config_source import ConfigResult
from omegaconf import _utils, base, grammar_parser

from src.config import CONF
from src.config.cli import share_config_store

_parsed: dict[tuple[str, ...], bytes] = {}


@cache
def keep() -> None:
    """From now on parse a file once; every composition gets a copy of the result, because Hydra changes it."""
    parse = ConfigRepository.load_config

    def load_config(self: ConfigRepository, config_path: str) -> ConfigResult | None:
        key = (config_path, *(source.path for source in self.sources))
        if key not in _parsed:
            _parsed[key] = pickle.dumps(parse(self, config_path))  # which is copied faster than by `copy`
        found: ConfigResult | None = pickle.loads(_parsed[key])  # noqa: S301 (of this process)
        return found

    share_config_store()
    _collect_choices_where_used()
    _copy_metadata_by_attribute()
    _set_parents_directly()
    base.parse = _utils.parse = cache(grammar_parser.parse)  # type: ignore[attr-defined] # of few interpolations
    ConfigRepository.load_config = load_config  # type: ignore[method-assign]


def _collect_choices_where_used() -> None:
    """Let Hydra collect all choices only for defaults lists with an interpolation, which alone read them.

    It does so for each of some 30 files, which takes a quarter of a composition.
    """
    collect = defaults_list._create_interpolation_map

    def collect_where_used(overrides: Any, defaults: list[Any], self_added: bool) -> Any:
        return collect(overrides, defaults, self_added) if any(one.is_interpolation() for one in defaults) else None

    defaults_list._create_interpolation_map = collect_where_used  # type: ignore[assignment]


def _copy_metadata_by_attribute() -> None:
    """Copy what OmegaConf keeps about each node without `copyreg`: of its values only dictionaries can be changed."""

    def copied(self: base.Metadata, memo: dict[int, Any]) -> base.Metadata:
        new = object.__new__(type(self))
        for name, value in vars(self).items():
            setattr(new, name, copy.deepcopy(value, memo) if isinstance(value, dict) else value)
        return new

    base.Metadata.__deepcopy__ = copied  # type: ignore[attr-defined]


def _set_parents_directly() -> None:
    """Set the parents of all nodes without a call for each: OmegaConf does so after every merge of a file."""
    general = base.Box._re_parent

    def re_parent(self: base.Box) -> None:
        content = self.__dict__["_content"]
        if not isinstance(content, dict | list):
            general(self)
            return
        for node in content.values() if isinstance(content, dict) else content:
            node.__dict__["_parent"], node.__dict__["_flags_cache"] = self, None
            if isinstance(node, base.Box):
                re_parent(node)

    base.Box._re_parent = re_parent  # type: ignore[method-assign]


def parse_all() -> None:
    """Parse what the commands compose by default, so that forked processes find it."""
    with initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        for command in ("train", "evaluate", "engine", "play", "play_local"):
            compose(command, return_hydra_config=True)
