"""Measure the figures of the pages: each is a command of `MEASUREMENTS` and its result a line of results.jsonl.

    python -m experiments.measure --list                     # names, and which were not measured on the present code
    python -m experiments.measure "Quoridor, .*"             # measure the names that match a regular expression
    python -m experiments.measure --outdated --jobs 4        # measure what is missing or was measured on other code
    python -m experiments.measure ".*one GPU" --outdated     # the training runs that need a GPU

A line of results.jsonl names the command, the commit, the machine, and a digest of the code that matters: the game, the
agent, the network and its weights. `make tables` writes the lines into the pages, and marks those of other code.
"""

import argparse
import ast
import hashlib
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import combinations_with_replacement, pairwise
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf

from experiments.bench.history import Place
from experiments.composition import composed
from src.config.agent_specs import parse_spec, quote_agents
from src.config.cli import expand_opponent
from src.core.files import write_atomic
from src.core.parallel import CORES
from src.core.runs.config_file import read_config
from src.core.runs.run import checkpoint_path

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results.jsonl")
MEASURED = ("src.envs.", "src.algos.", "src.nets.", "src.core.play.", "src.core.seeding")  # the rest plays no game


@dataclass(frozen=True)
class Measurement:
    name: str
    command: str  # after `python -m src.`


SHIPPED = "agent=trained agent.run=experiments"
SIZES = ("8x8", "16x16", "16x30")
SCENARIOS = {"skirmish": "deployment", "mirror": "deployment_mirror", "siege": "deployment_siege"}


def minesweeper() -> Iterator[Measurement]:
    """Yield every player on every board; the seed is the same, so all play the same boards."""
    for size in SIZES:
        games = 4000 if size == "16x30" else 10000
        network = f"evaluate env=minesweeper_{size} {SHIPPED}/minesweeper_{size} episodes={games}"
        yield Measurement(f"Minesweeper {size}, shipped network", network)
        yield Measurement(
            f"Minesweeper {size}, shipped network over mirror images",
            f"{network} 'agent.changes={{play: {{symmetries: true}}}}'",
        )
        for solver in ("exact", "heuristic", "rules"):
            yield Measurement(
                f"Minesweeper {size}, {solver} solver",
                f"evaluate env=minesweeper_{size} agent={solver} episodes=10000",
            )


def quoridor() -> Iterator[Measurement]:
    """Yield matches from random openings, both seats in turn."""
    levels = ("hell", "hard", "normal", "easy")
    players = {level: f"agent=alphabeta agent.difficulty={level}" for level in levels} | {"runner": "agent=runner"}
    for better, worse in pairwise(players):
        yield match(f"Quoridor, {better} against {worse}", "quoridor", players[better], players[worse])
    for level in ("hell", "hard"):
        spec = f"agent=alphabeta_spec agent.difficulty={level}"
        yield match(f"Quoridor, {level} against the document's {level}", "quoridor", players[level], spec)
    for seconds, games in ((0.3, 400), (1, 200)):
        agents = f"[master:seconds={seconds},reference2:seconds={seconds}]"
        command = f"sprt env=quoridor agents={agents} stop_early=false games={games}"
        yield Measurement(f"Quoridor, master at {seconds} s per move against reference2", command)
    master = "agent=master agent.seconds=0.3"
    for name, opponent in {"reference": "agent=reference agent.seconds=0.3", "hell": players["hell"]}.items():
        yield match(f"Quoridor, master at 0.3 s per move against {name}", "quoridor", master, opponent, games=40)
    for opponent in ("runner", "normal"):
        name = f"Quoridor, master's network without search against {opponent}"
        yield match(name, "quoridor", "agent=master agent.seconds=null agent.nodes=1", players[opponent])
    run = f"{SHIPPED}/quoridor_alphazero"
    for simulations in (0, 64, 256):
        agent = f"{run}/5x5 'agent.changes={{play: {{simulations: {simulations}}}}}'"
        name = f"Quoridor 5x5, AlphaZero with {simulations} simulations against reference"
        yield match(name, "quoridor env.game.size=5", agent, "agent=reference")
    networks = {
        "AlphaZero's network without search": f"{run}/9x9 'agent.changes={{play: {{simulations: 0}}}}'",
        "imitation's network": f"{SHIPPED}/quoridor_imitation",
    }
    for who, agent in networks.items():
        for opponent in ("runner", "normal", "hard"):
            yield match(f"Quoridor 9x9, {who} against {opponent}", "quoridor", agent, players[opponent])
    name = "Quoridor 9x9, AlphaZero with 200 simulations against hell"
    yield match(name, "quoridor", f"{run}/9x9", players["hell"])


def match(name: str, env: str, agent: str, opponent: str, games: int = 200) -> Measurement:
    rival = opponent.replace("agent=", "opponent=").replace("agent.", "opponent.")
    return Measurement(name, f"evaluate env={env} {agent} {rival} episodes={games} opening_plies=4")


def wargame() -> Iterator[Measurement]:
    """Yield matches in both seats: networks against bots, bots against each other and against themselves."""
    bots = ("tactical", "greedy", "defensive")
    for scenario, env in SCENARIOS.items():
        for bot in (*bots, "planner"):
            games = 40 if bot == "planner" else 400
            yield Measurement(
                f"Wargame, {scenario}, network against {bot}",
                f"evaluate env={env} {SHIPPED}/deployment_value/scenarios opponent={bot} episodes={games}",
            )
        for first, second in combinations_with_replacement((*bots, "balanced", "random"), 2):
            if (first, second) != ("random", "random"):
                yield Measurement(
                    f"Wargame, {scenario}, {first} against {second if second != first else 'itself'}",
                    f"evaluate env={env} agent={first} opponent={second} episodes=1000",
                )


def training() -> Iterator[Measurement]:
    """Yield plain commands, from random weights."""
    boards = [f"minesweeper_{board} ppo" for board in SIZES]
    others = ["quoridor ppo", "deployment ppo"]
    cpu = [f"tictactoe {algo}" for algo in ("qlearning", "ppo", "maskable_ppo", "alphazero")]
    cpu += [*boards[:2], "minesweeper_9x9 ppo", "minesweeper_8x8 maskable_ppo", *others, "quoridor nnue"]
    for device, machine, chosen in (("cpu", "two CPU cores", cpu), ("cuda", "one GPU", [*boards, *others])):
        for pair in chosen:
            env, algo = pair.split()
            command = f"train env={env} algo={algo} device={device} logger=csv"
            yield Measurement(f"`env={env} algo={algo}`, {machine}", command)


MEASUREMENTS = (*minesweeper(), *quoridor(), *wargame(), *training())


@cache
def code_digest(command: str) -> str:
    """Return twelve characters that identify what a command measures: settings, code and weights."""
    module, *words = shlex.split(command)
    expand = {"evaluate": expand_opponent, "sprt": quote_agents}.get(module, list)
    cfg: Any = composed(module, *expand(words))
    names = [name for name in ("env", "agent", "opponent", "algo", "curriculum") if name in cfg]
    settings: Any = {name: OmegaConf.to_container(cfg[name], resolve=True) for name in names}
    for text in cfg.get("agents", ()):
        spec = parse_spec(text)
        overrides = [f"agent={spec.name}", *(f"agent.{setting}" for setting in spec.settings)]
        settings[text] = OmegaConf.to_container(composed("evaluate", *overrides).agent, resolve=True)
    runs = sorted({ROOT / node["run"] for node in _nodes(settings) if node.get("run") is not None})
    settings |= {run.name: read_config(run)["algo"] for run in runs}
    files = _imported({str(node["_target_"]).rpartition(".")[0] for node in _nodes(settings) if "_target_" in node})
    weights = {path for folder in {file.parent for file in files} for path in folder.glob("*.safetensors")}
    weights |= {checkpoint_path(run, "best") for run in runs}
    digests = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in weights)
    identity = [command, settings, digests, sorted({source_digest(path) for path in files})]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every mapping of a configuration."""
    if isinstance(tree, dict):
        yield tree
    for value in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _nodes(value)


def _imported(modules: set[str]) -> set[Path]:
    """Return the files of these modules and of all that they import, of what is measured."""
    found: set[Path] = set()
    left = {path for module in modules if (path := _path(module)) is not None}
    while left:
        path = left.pop()
        found.add(path)
        left |= _imports(path) - found
    return found


@cache
def _imports(path: Path) -> frozenset[Path]:
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join([*base, *([node.module] if node.module else [])])
            found |= {_path(name), *(_path(f"{name}.{alias.name}") for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {_path(alias.name) for alias in node.names}
    return frozenset(path for path in found if path is not None)


def _path(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.exists()), None) if module.startswith(MEASURED) else None


@cache
def source_digest(path: Path) -> str:
    """Return a digest of a file that comments, docstrings, layout and the version of Python do not change."""
    return hashlib.sha256(repr(_shape(ast.parse(path.read_text()))).encode()).hexdigest()


def _shape(node: Any) -> Any:
    """Return a syntax tree as nested lists, without docstrings and without what is empty."""
    if isinstance(node, list):
        return [_shape(one) for one in node if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    if not isinstance(node, ast.AST):
        return node
    fields = [(name, _shape(value)) for name, value in ast.iter_fields(node) if value not in (None, [])]
    return [type(node).__name__, *fields]


def measure(one: Measurement, workers: int = 1) -> dict[str, Any]:
    """Run the command, a match in this many processes; return its line of results.jsonl."""
    place, code, began = Place.here(), code_digest(one.command), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "eval.json"
        output = [f"hydra.run.dir={folder}"] if one.command.startswith("train") else [f"json={file}"]
        if is_match := one.command.startswith("sprt"):
            output.append(f"workers={workers}")
        subprocess.run([sys.executable, "-m", *shlex.split(f"src.{one.command}"), *output], cwd=ROOT, check=True)
        found = json.loads(file.read_text())
    seconds = time.monotonic() - began
    scores = found.get("scores") or {found.get("opponent", ""): found}
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return {
        "name": one.name,
        "command": f"python -m src.{one.command}",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": place.commit,
        "code": code,
        "machine": place.machine + gpu,
        **({"workers": workers} if is_match else {}),
        "seconds": round(seconds, 1),
        "scores": {name: tally(score) for name, score in scores.items()},
        "lost_lines": [lines["losses"] for lines in found.get("every_reply", {}).values()],
    }


def tally(score: Mapping[str, Any]) -> dict[str, int]:
    """Return how the games of an evaluation ended, and in two-player games how often who moved first won."""
    seats = score.get("seats")
    moved_first = {"first_player_wins": seats["first"]["wins"] + seats["second"]["losses"]} if seats else {}
    aborted = score["aborted"] if "aborted" in score else 2 * score["aborted_pairs"]
    return {kind: score[kind] for kind in ("wins", "draws", "losses")} | {"aborted": aborted} | moved_first


def read() -> dict[str, dict[str, Any]]:
    """Return the lines of results.jsonl by name."""
    rows = map(json.loads, RESULTS.read_text().splitlines()) if RESULTS.exists() else ()
    return {row["name"]: row for row in rows}


def keep(row: dict[str, Any]) -> None:
    rows = read() | {row["name"]: row}
    ordered = [rows[one.name] for one in MEASUREMENTS if one.name in rows]
    write_atomic(RESULTS, "".join(json.dumps(row) + "\n" for row in ordered))


def is_current(one: Measurement, row: dict[str, Any]) -> bool:
    return bool(row["code"] == code_digest(one.command))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="regular expressions of whole names")
    parser.add_argument("--list", action="store_true", help="print the names, and whether each is to be measured again")
    parser.add_argument("--outdated", action="store_true", help="of these, or of all, those not of the present code")
    parser.add_argument("--jobs", type=int, default=1, help="measurements at a time, which share the cores")
    options = parser.parse_args(arguments)
    for name in options.names:
        if not any(re.fullmatch(name, one.name) for one in MEASUREMENTS):
            parser.error(f"{name!r} matches no name: see --list")
    patterns = options.names or ([".*"] if options.list or options.outdated else [])
    chosen = [one for one in MEASUREMENTS if any(re.fullmatch(pattern, one.name) for pattern in patterns)]
    if options.list or options.outdated:
        rows, state = read(), dict.fromkeys(chosen, "missing")
        for one in chosen:
            if one.name in rows:
                state[one] = "" if is_current(one, rows[one.name]) else f"at {rows[one.name]['commit']}"
        if options.list:
            print("\n".join(f"{one.name}\t{state[one]}" for one in chosen))
            return
        chosen = [one for one in chosen if state[one]]
    with ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(measure, one, max(1, CORES // options.jobs)): one for one in chosen}
        failed = []
        for done in as_completed(running):
            if (error := done.exception()) is None:
                keep(done.result())
            else:
                failed.append(f"{running[done].name}: {error}")
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
