"""The public functions of the package.

>>> from boardlab.api import evaluate, load_agent, make, train
>>> env = make("minesweeper_16x16")
>>> evaluate(load_agent("minesweeper_16x16"), env, episodes=100).total.win_rate
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import hydra
from omegaconf import DictConfig, OmegaConf

from .config import extensions
from .config.build import build
from .config.cli import quote_value
from .config.compose import build_env, compose_train, own_hydra
from .config.errors import as_user_errors
from .config.load import load_agent as load_agent_of_run
from .config.resolvers import open_parameters
from .core.errors import require
from .core.play import arena
from .core.play.agent import Agent, RandomAgent, SelfPlay
from .core.play.arena import Score
from .core.runs.report import first_baseline
from .core.runs.run import Environment
from .registration import register_envs
from .train import train as train_in

if TYPE_CHECKING:
    from .envs.pettingzoo_env import GameAEC

__all__ = ["add_config_dir", "compose", "evaluate", "load_agent", "make", "make_aec", "make_agent", "make_vec", "train"]

register_envs()


def add_config_dir(folder: str | Path) -> None:
    """Add the config groups of an extension, such as mine/conf, and the modules beside it, like --config-dir.

    From then on all functions here know its options, and may build the classes that these name; its environments are
    registered in Gymnasium.
    """
    extensions.add_config_dir(folder)
    register_envs()


def make(env_id: str, *overrides: str, render_mode: str | None = None, **settings: Any) -> Any:
    """Make a Gymnasium environment from an option of the group `env`, such as `make("quoridor")`.

    `overrides` are written as on the command line ("reward=outcome", "agent@env.opponent=random"); `settings` are
    values below `env`: `make("minesweeper_8x8", config={"mine_count": 12})`. Where the configured opponent is the
    learner itself, it plays at random until an algorithm sets the learner.
    """
    words = [f"env={env_id}", *overrides, *(f"{key}={_quoted(value)}" for key, value in _leaves("env", settings))]
    env = build_env(_compose("evaluate", words))
    if isinstance(getattr(env, "opponent", None), SelfPlay):
        env.opponent.set_agent(RandomAgent())
    if render_mode is not None:
        modes = env.metadata["render_modes"]
        require(render_mode in modes, f"render_mode={render_mode!r} must be one of {', '.join(modes)}")
        env.render_mode = render_mode
    return env


def make_vec(
    env_id: str, *overrides: str, num_envs: int = 1, device: str = "cpu", **settings: Any
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Make a vector environment, compiled where the game supports it; `device` may be a GPU for Minesweeper."""
    envs: gymnasium.vector.VectorEnv[Any, Any, Any] = make(env_id, *overrides, **settings).vectorize(num_envs, device)
    return envs


def make_aec(env_id: str, *overrides: str, render_mode: str | None = None, **settings: Any) -> "GameAEC":
    """Make a PettingZoo environment of a two-player game; needs the extra `pettingzoo`."""
    from .envs.pettingzoo_env import GameAEC

    return GameAEC(make(env_id, *overrides, **settings).game, render_mode)


def make_agent(name: str, *overrides: str) -> Agent:
    """Make an agent from an option of the group `agent`, such as `make_agent("alphabeta", "agent.difficulty=hard")`."""
    agent: Agent = build(_compose("evaluate", [f"agent={name}", *overrides]).agent, "agent")
    return agent


def load_agent(run: str | Path, checkpoint: str = "best") -> Agent:
    """Load the agent of a run, as trained by any algorithm, by its directory or by its name in the zoo.

    `checkpoint` is `best` or `last`.
    """
    return load_agent_of_run(str(run), checkpoint)


def evaluate(
    agent: Agent,
    env: Environment | str,
    opponent: Agent | None = None,
    *,
    episodes: int = 1000,
    seed: int = 0,
    opening_plies: int = 0,
) -> Score:
    """Play seeded games and return the results; `score.total` has the win rate.

    In two-player games the agent changes seats after every game; the opponent is by default the first baseline of the
    environment. Two deterministic players need `opening_plies` random moves at the start of each game.
    """
    unwrapped = make(env) if isinstance(env, str) else getattr(env, "unwrapped", env)
    game = unwrapped.game
    require(opponent is None or game.players == 2, "a single-player game has no opponent: leave it out")
    opponent = opponent or first_baseline(unwrapped)
    for player in (agent, opponent):
        if player is not None:
            player.check(game)
    arena.require_varied(game, agent, opponent, opening_plies, episodes)
    return arena.evaluate(game, agent, opponent, episodes, seed, opening_plies=opening_plies)


def compose(*overrides: str) -> DictConfig:
    """Compose the configuration of a training, as the command `boardlab-train` does with the same arguments."""
    with as_user_errors():
        return compose_train(*overrides)


def train(config: DictConfig, directory: str | Path | None = None) -> dict[str, float]:
    """Train and return the metrics of the final evaluation.

    The run is written to `directory`, by default below outputs/runs in the current folder; a stopped run with the same
    configuration is continued.
    """
    if directory is None:
        names = config.composition
        directory = Path("outputs", "runs", names.env, names.algo, f"{datetime.now():%Y-%m-%d_%H-%M-%S-%f}")
    return train_in(config, Path(directory))


def _compose(command: str, words: list[str]) -> DictConfig:
    with as_user_errors(), own_hydra():
        config = hydra.compose(command, open_parameters(words), return_hydra_config=True)
        groups = ("env", "agent", "reward")
        parts: dict[str, Any] = {group: OmegaConf.to_container(config[group], resolve=True) for group in groups}
        return DictConfig(parts | {"composition": config.hydra.runtime.choices})


def _leaves(path: str, settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _leaves(f"{path}.{key}", value)
        else:
            yield f"{path}.{key}", value


def _quoted(value: Any) -> str:
    """Write a value in Hydra's override grammar."""
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return f"[{','.join(_quoted(item) for item in value)}]"
    if isinstance(value, str):
        return quote_value(value)
    known = isinstance(value, bool | int | float)
    require(known, f"{value!r} cannot be a setting: use text, numbers, true, false, None, lists and mappings of them")
    return str(value).lower() if isinstance(value, bool) else str(value)
