"""Read config.yaml and Hydra's files of a run directory, which may come from an untrusted source."""

from pathlib import Path
from typing import Any

import yaml

from ..errors import UserError, require
from ..files import read_regular, require_closed
from ..package import canonical, rename_targets

CONFIG = "config.yaml"
OVERRIDES = ".hydra/overrides.yaml"
MAX_BYTES = 1 << 18  # ten times our largest configuration
MAX_EVENTS = 1 << 15  # keys, values, and starts and ends of lists and mappings
MAX_DEPTH = 50
MAX_QUOTED = 1 << 16  # characters of a quoted value
MAX_PLAIN = 1 << 11  # characters of an unquoted value, which may be a number
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C version if available


def read_config(directory: Path) -> dict[str, Any]:
    """Read the configuration of a run as plain values. `targets` checks which classes it may build."""
    require_closed(directory)
    path = directory / CONFIG
    require(path.is_file(), f"{directory} is not a run directory: it has no config.yaml")
    return parse_config(read_regular(path, MAX_BYTES), str(path))


def parse_config(data: bytes, name: str) -> dict[str, Any]:
    """Parse a configuration; its classes are named as in a checkout."""
    config = parse_yaml(data, name)
    require(isinstance(config, dict), f"{name} is not the configuration of a run")
    assert isinstance(config, dict)
    require(_is_plain(config), f"{name} has a key that is not text, or a value that is not text, number, bool or null")
    return dict(rename_targets(config, canonical))


def parse_overrides(data: bytes, name: str) -> list[str]:
    found = parse_yaml(data, name)
    require(isinstance(found, list), f"{name} is not a list of overrides")
    return [str(word) for word in found]


def _is_plain(node: Any) -> bool:
    if isinstance(node, dict):
        return all(isinstance(key, str) and _is_plain(value) for key, value in node.items())
    if isinstance(node, list):
        return all(_is_plain(value) for value in node)
    return node is None or isinstance(node, str | int | float)  # not a date, which YAML has too


def parse_yaml(data: bytes, name: str) -> Any:
    """Parse YAML as `yaml.safe_dump` writes it; with aliases a few bytes could expand to gigabytes."""
    try:
        text = data.decode()
        _check_events(text, name)
        return yaml.load(text, LOADER)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise UserError(f"{name} is not readable as YAML: {str(error)[:200]}") from error


def _check_events(text: str, name: str) -> None:
    depth = 0
    for count, event in enumerate(yaml.parse(text, LOADER)):
        plain = not isinstance(event, yaml.AliasEvent) and getattr(event, "anchor", None) is None
        require(plain, f"{name} has an alias or an anchor (* or &), which is not allowed in a saved configuration")
        untagged = getattr(event, "tag", None) is None
        require(untagged, f"{name} has a tag (!), which is not allowed in a saved configuration")
        if isinstance(event, yaml.CollectionStartEvent | yaml.CollectionEndEvent):
            depth += 1 if isinstance(event, yaml.CollectionStartEvent) else -1
        longest = MAX_QUOTED if getattr(event, "style", None) in ("'", '"', "|", ">") else MAX_PLAIN
        small = depth <= MAX_DEPTH and count < MAX_EVENTS and len(getattr(event, "value", "")) <= longest
        require(small, f"{name} is larger or more deeply nested than a configuration may be")
