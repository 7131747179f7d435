"""Serve the web pages: play, watch, deploy and compare runs."""

import itertools
import math
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hydra
import numpy as np
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from .config import compose
from .config.build import build
from .config.cli import group_options, hydra_command, refuse_multirun
from .config.errors import as_user_errors
from .config.load import load_config, require_known_targets
from .config.resolvers import file_options
from .config.schema import Play
from .core.errors import UserError, require
from .core.package import ROOT, install_command
from .core.play.agent import NOTHING, Agent
from .core.play.game import Game
from .core.runs.report import first_baseline
from .core.runs.zoo import cache_folder
from .core.seeding import generator
from .web.saved_games import GameStore

MAX_JOBS = 64  # of a sweep that is started on the page Train
TRAINING_GROUPS = ("env", "algo", "reward", "curriculum", "device", "logger", "experiment")  # of conf/train.yaml


class ConfigLab:
    """The `Services` of the pages, which composes games and agents from the config groups on request."""

    def __init__(self, folders: Sequence[Path], seed: int | None, games: GameStore | None = None) -> None:
        self.folders, self.games = folders, games
        self.envs: Sequence[str] = group_options("env")
        self.agents: Sequence[str] = group_options("agent")
        self._seed = seed
        self._games = itertools.count()
        self._fitting: dict[str | None, tuple[str, Sequence[str]]] = {}  # algorithms by environment
        self._lock = threading.Lock()  # Hydra is not thread-safe

    def rng(self) -> np.random.Generator:
        return np.random.default_rng() if self._seed is None else generator(self._seed, "play", next(self._games))

    def game(self, env: str, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING) -> Game:
        with as_user_errors():
            return _build_game(self._node("env", env, changes, choices))

    def run_game(self, run: Path, changes: Mapping[str, Any] = NOTHING) -> Game:
        with as_user_errors():
            return _build_game(_with_changes(load_config(run).env, changes))

    def run_baseline(self, run: Path) -> Agent | None:
        with as_user_errors():
            return first_baseline(compose.build_env(load_config(run)))

    def agent(
        self, name: str, game: Game, changes: Mapping[str, Any] = NOTHING, choices: Mapping[str, str] = NOTHING
    ) -> Agent:
        with as_user_errors():
            agent = build(self._node("agent", name, changes, choices), "agent")
        agent.check(game)
        return agent

    def training_groups(self) -> Mapping[str, Sequence[str]]:
        return {group: file_options(group) for group in TRAINING_GROUPS}

    def fitting_algorithms(self, env: str | None) -> tuple[str, Sequence[str]]:
        if env not in self._fitting:
            usual = self.check_training([])
            self._fitting[env] = usual["algo"], compose.fitting_algorithms(self.game(env or usual["env"]))
        return self._fitting[env]

    def training_jobs(self, overrides: Sequence[str]) -> list[list[str]]:
        with as_user_errors():
            values: list[list[str]] = []
            for given in OverridesParser.create().parse_overrides(list(overrides)):
                require(
                    not given.is_sweep_override() or given.is_discrete_sweep(),
                    f"{given.input_line} is a range for a search: write the values, as in seed=1,2,3",
                )
                sweep = given.sweep_string_iterator() if given.is_sweep_override() else ()
                words = [f"{given.get_key_element()}={value}" for value in itertools.islice(sweep, MAX_JOBS + 1)]
                values.append(words or [str(given.input_line)])
        count = math.prod(map(len, values))
        require(count <= MAX_JOBS, f"this sweep has more than {MAX_JOBS} runs: start it in a terminal")
        return [list(job) for job in itertools.product(*values)]

    def check_training(self, overrides: Sequence[str]) -> Mapping[str, str]:
        """Check a training like `src.train` before it writes anything."""
        with as_user_errors():
            with self._lock:  # only to compose: other pages wait for it
                cfg = compose.compose_train(*overrides)
                require_known_targets(cfg)
                compose.require_tuned(cfg.composition)
            env = compose.build_env(cfg)
            with self._lock:
                compose.require_algorithm_fits(cfg, env.game)
            compose.build_algorithm(cfg.algo, resumes=False).check(env, compose.build_curriculum(cfg))
        return {group: str(cfg.composition.get(group)) for group in TRAINING_GROUPS}

    def default_settings(self, env: str, algo: str) -> dict[str, Any]:
        for group, name in (("env", env), ("algo", algo)):  # of a run, which is untrusted: Hydra would read any file
            require(name in file_options(group), f"{group}={name[:80]} is unknown here")
        with as_user_errors(), self._lock:
            return compose.resolved(compose.compose_train(f"env={env}", f"algo={algo}"))

    def _node(self, group: str, name: str, changes: Mapping[str, Any], choices: Mapping[str, str]) -> DictConfig:
        known = {"env": self.envs, "agent": self.agents}[group]
        require(name in known, f"{group}={name} is unknown: there are {', '.join(known)}")
        overrides = [f"{group}={name}"]
        for key, value in choices.items():
            plain = re.fullmatch(r"[\w/@.]+", key) and re.fullmatch(r"\w+", value)
            require(plain is not None, f"{key}={value} is not an option of a config group")
            overrides.append(f"{key}={value}")
        with self._lock:
            return _with_changes(hydra.compose("engine", overrides)[group], changes)


def _build_game(env: DictConfig) -> Game:
    """Build only the game of an environment that configures one: an environment may refuse games for people."""
    game = env.get("game")
    if isinstance(game, DictConfig) and "_target_" in game:
        return build(game, "env.game")
    return build(env, "env").game


def _with_changes(node: DictConfig, changes: Mapping[str, Any]) -> DictConfig:
    OmegaConf.set_struct(node, True)
    for key, value in changes.items():
        OmegaConf.update(node, key, value)
    return node


def listening_socket(host: str, port: int) -> socket.socket:
    """Listen on a port, or on any free one if it is 0; raise `UserError` if that is not possible."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. Uvicorn sets it itself only on a socket that it has opened.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen()
        return listener
    except OSError as error:
        raise UserError(f"cannot listen on host={host} port={port}, {error}: choose another, such as port=0") from error


@hydra_command("play", refuse_multirun)
def run(cfg: DictConfig) -> None:
    cfg = compose.validate(cfg, Play)
    listener = listening_socket(cfg.host, cfg.port)
    try:
        from .web import app
    except ModuleNotFoundError as error:
        raise UserError(f"the web page needs a package ({error}): {install_command('web')}") from error
    # Missing kernels are compiled meanwhile, so that few games wait for them. A session of its own keeps Ctrl-C from
    # reaching that process; it stops when this one ends.
    compiler = subprocess.Popen(
        [sys.executable, "-m", f"{ROOT}.compile_kernels", "--background"],
        start_new_session=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    folders = [Path(folder) for folder in cfg.runs] + [folder for folder in [cache_folder()] if folder.is_dir()]
    games = None if cfg.games is None else GameStore(Path(cfg.games))
    lab = ConfigLab(folders, cfg.seed, games)
    app.serve(lab, cfg.host, listener, cfg.open_browser, compiler.stdout)


if __name__ == "__main__":
    run()
