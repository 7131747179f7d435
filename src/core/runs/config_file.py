"""Read config.yaml and Hydra's files of a run directory, which may come from an untrusted source."""

from pathlib import Path
from typing import Any

import yaml

from ..errors import UserError, require
from ..files import read_regular, require_closed
from ..package import canonical

CONFIG = "config.yaml"
MAX_BYTES = 1 << 18  # ten times our largest configuration
MAX_EVENTS = 1 << 15  # keys, values, and starts and ends of lists and mappings
MAX_DEPTH = 50
MAX_QUOTED = 1 << 16  # characters of a quoted value
MAX_PLAIN = 1 << 11  # characters of an unquoted value, which may be a number
RENAMED = {  # keys of earlier versions: current names, at any level
    "aux_mine_weight": "aux_coef",
    "clip_eps": "clip_range",
    "clip_eps_v": "clip_range_vf",
    "judge": "value_net",
    "lesson_rows": "chunk_size",
    "policy_from_mines": "policy_from_aux",
    "ppo_epochs": "epochs",
    "sharp": "selective",
    "value_weight": "vf_coef",
}
RENAMED_OF_ALGO = {  # likewise, only directly below algo
    "averaging": "ema_decay",
    "clip": "clip_range",
    "discount": "gamma",
    "learning_rate": "lr",
    "mirror": "augment",
    "warm_up": "lr_warmup",
}
REPLACED = {  # by class: keys of earlier versions whose values cannot be translated, and what to set instead
    "src.algos.maskable_ppo.MaskablePPO": {
        "channels": "net_defaults.channels, or another network (net@algo.net=...)",
        "device": "algo.compute.device",
        "hidden": "net_defaults.hidden, or another network (net@algo.net=...)",
        "threads": "algo.compute.threads",
    }
}
MOVED = {  # classes of earlier versions, likewise
    "src.algos.network.Play": "src.algos.network.InferenceConfig",
    "src.core.agent.OpponentPool": "src.core.play.agent.OpponentPool",
    "src.core.agent.RandomAgent": "src.core.play.agent.RandomAgent",
    "src.core.agent.SelfPlay": "src.core.play.agent.SelfPlay",
    "src.core.curriculum.Curriculum": "src.core.play.curriculum.Curriculum",
    "src.core.curriculum.Mixture": "src.core.play.curriculum.Mixture",
    "src.core.tensorboard_tracker.TensorboardTracker": "src.core.runs.tensorboard_tracker.TensorboardTracker",
    "src.core.wandb_tracker.WandbTracker": "src.core.runs.wandb_tracker.WandbTracker",
    "src.envs.minesweeper.lessons.ExactTeacher": "src.envs.minesweeper.labels.ExactTeacher",
    "src.envs.minesweeper.lessons.RulesTeacher": "src.envs.minesweeper.labels.RulesTeacher",
    "src.envs.quoridor.master.MasterAgent": "src.envs.quoridor.agents.MasterAgent",
    "src.envs.quoridor.options.SearchFeatures": "src.envs.quoridor.search.deepening.SearchFeatures",
    "src.envs.quoridor.options.SearchOptions": "src.envs.quoridor.search.deepening.SearchOptions",
    "src.envs.quoridor.rules.Quoridor": "src.envs.quoridor.game.Quoridor",
    "src.envs.tictactoe.rules.TicTacToe": "src.envs.tictactoe.game.TicTacToe",
    "src.envs.versus.OutcomeReward": "src.envs.two_player_env.OutcomeReward",
    "src.envs.versus.VersusEnv": "src.envs.two_player_env.VersusEnv",
}
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C version if available


def read_config(directory: Path) -> dict[str, Any]:
    """Read the configuration of a run as plain values. `targets` checks which classes it may build."""
    require_closed(directory)
    path = directory / CONFIG
    require(path.is_file(), f"{directory} is not a run directory: it has no config.yaml")
    return parse_config(read_regular(path, MAX_BYTES), str(path))


def parse_config(data: bytes, name: str) -> dict[str, Any]:
    """Parse a configuration and translate the keys and classes of earlier versions."""
    config = parse_yaml(data, name)
    require(isinstance(config, dict), f"{name} is not the configuration of a run")
    assert isinstance(config, dict)
    require(_is_plain(config), f"{name} has a key that is not text, or a value that is not text, number, bool or null")
    return dict(_renamed(config))


def current_key(key: str, parent: str | None) -> str:
    """Return the current name of a key below `parent`."""
    key = RENAMED.get(key, key)
    return RENAMED_OF_ALGO.get(key, key) if parent == "algo" else key


def _renamed(node: Any, parent: str | None = None) -> Any:
    if isinstance(node, dict):
        return {current_key(key, parent): _renamed(value, key) for key, value in node.items()}
    if isinstance(node, list):
        return [_renamed(value) for value in node]
    if isinstance(node, str):
        name = canonical(node) if parent == "_target_" else node
        return MOVED.get(name, name)
    return node


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
        short = not isinstance(event, yaml.ScalarEvent) or len(event.value) <= _max_length(event)
        small = depth <= MAX_DEPTH and count < MAX_EVENTS and short
        require(small, f"{name} is larger or more deeply nested than a configuration may be")


def _max_length(event: yaml.ScalarEvent) -> int:
    return MAX_QUOTED if event.style in ("'", '"', "|", ">") else MAX_PLAIN
