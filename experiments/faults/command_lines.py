"""Command lines generated from the grammar of overrides: keys of the configurations, operators, values, flags.

A line is accepted if the command gets as far as its first game or update, where this experiment ends it. Otherwise it
must be refused by one line on standard error, with nothing left behind.
"""

import atexit
import importlib
import io
import os
import pkgutil
import random
import runpy
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import hydra
from omegaconf import OmegaConf

from experiments.faults import forks
from experiments.faults.report import Row
from src.config import CONF
from src.config.compose import own_hydra
from src.core.errors import UserError

ROOT = Path(__file__).parents[2]
SECONDS = 600.0  # for a line, on a busy machine
MEMORY = 8 << 30
MAX_LETTERS = 1100
RUN = ROOT / "experiments/minesweeper_16x16"  # a trained network
PACKAGES = ("src.algos", "src.core", "src.envs", "src.nets", "src.web")  # imported before the forks


class Command(NamedTuple):
    bases: tuple[str, ...]  # valid arguments, to which others are added
    work: str = ""  # the function with which the work begins


PLAYERS = ("", "env=minesweeper_8x8", "env=quoridor", "env=quoridor agent=alphabeta", "env=deployment")
COMMANDS: Mapping[str, Command] = {
    "train": Command(
        (
            *(
                "logger=csv",
                "",
                "logger=csv curriculum=random_first",
                "logger=csv hparams_search=tictactoe_qlearning hydra.sweeper.n_trials=2",
            ),
            *(
                "logger=csv algo=ppo",
                "logger=csv env=minesweeper_8x8 algo=ppo",
                "logger=csv env=quoridor algo=alphabeta",
            ),
            *("logger=csv env=minesweeper_8x8 algo=imitation", "logger=csv env=quoridor algo=alphazero"),
            *(
                "logger=csv algo=maskable_ppo",
                "logger=csv env=quoridor algo=nnue",
                "logger=csv env=deployment algo=ppo",
            ),
        ),
        "src.core.runs.run:Run.__enter__",
    ),
    "evaluate": Command(PLAYERS, "src.core.play.arena:evaluate"),
    "record": Command(PLAYERS, "src.core.play.arena:watch"),
    "engine": Command(PLAYERS),  # its input is empty
    "tournament": Command(
        ("agents=[random,minimax]", "env=quoridor agents=[random,alphabeta:difficulty=easy,runner]"),
        "src.core.play.rating:round_robin",
    ),
    "sprt": Command(
        ("env=tictactoe agents=[random,minimax]", "agents=[random,runner]"), "src.core.play.arena:evaluate"
    ),
    "play": Command(("port=0", "port=0 games=null"), "src.web.app:serve"),
    "play_local": Command(
        ("env=minesweeper_8x8", "env=minesweeper_8x8 agent=rules"), "src.envs.minesweeper.env:MinesweeperEnv.play_local"
    ),
    "generate": Command(("",), "src.algos.nnue.learning:NNUE.play_games"),
    "export": Command((f"run={RUN}", ""), "torch.onnx:export"),
    "sweep": Command(("",)),
    "compare": Command((f"runs=[{RUN}]", ""), "src.core.runs.comparison_report:show"),
    "compile_kernels": Command(("tictactoe", "quoridor", ""), "src.core.kernels:folder"),
    "api.compose": Command(("logger=csv", "algo=ppo env=minesweeper_8x8")),
    "api.make": Command(("tictactoe", "quoridor", "minesweeper_8x8")),
    "api.make_agent": Command(("minimax", "alphabeta", "rules")),
}
FREQUENT = ("train",) * 12 + ("evaluate",) * 3 + tuple(COMMANDS)
FLAGS = (
    *("-m", "--multirun", "--run", "-r", "--cfg job", "--cfg=all", "-c hydra", "--cfg nonsense", "--cfg job --resolve"),
    *("--resolve", "--cfg job --package env", "--cfg job -p nonsense", "--package=env", "--info", "--info nonsense"),
    *(
        "--info defaults",
        "--help",
        "--hydra-help",
        "--version",
        "--config-name=nonsense",
        "--config-name=evaluate",
        "--config-name",
    ),
    *(
        "--config-dir=sub",
        "--config-dir=nowhere",
        "--config-dir=file.txt",
        "--config-path=nowhere",
        "--shell-completion",
    ),
    *("--experimental-rerun=nowhere", "--nonsense", "-x", "--", "-", "--group=nonsense", "--cfg job -m"),
)
WORDS = (
    *(
        "abc",
        "a b",
        "null",
        "true",
        "False",
        "nonsense",
        "${seed}",
        "${nonsense}",
        "${env}",
        "${oc.env:HOME}",
        "${now:%Y}",
    ),
    *(
        "${",
        "???",
        "a:b",
        "a=b",
        "a@b",
        "a/b",
        "../..",
        "/",
        "/dev/null",
        "/proc/nope",
        "nowhere/x",
        "file.txt",
        "sub",
        "run",
    ),
    *(
        "ä",
        "\\",
        "\\,",
        "\\'",
        "%",
        "~",
        "*",
        "?",
        "$",
        "#",
        "!",
        "a\tb",
        "a\nb",
        "x" * 300,
        "1_000",
        "1__0",
        "0x10",
        "1e",
        "e5",
    ),
    *(
        "os.system",
        "builtins.print",
        "src.nonsense",
        "nonsense.Nothing",
        "src.algos.ppo.PPO",
        "src.core.play.agent.RandomAgent",
        "",
    ),
)
NUMBERS = (
    *(
        "0",
        "1",
        "-1",
        "2",
        "7",
        "64",
        "1.5",
        "-0.5",
        "1e-3",
        "1e9",
        "10000000000000000000000",
        "1e400",
        "inf",
        "-inf",
        "nan",
        "NaN",
    ),
    *("1e-400", "00", "+1", "1.", ".5"),
)
FUNCTIONS = (
    "int",
    "float",
    "str",
    "bool",
    "json_str",
    "choice",
    "range",
    "interval",
    "glob",
    "shuffle",
    "sort",
    "tag",
    "extend_list",
    "nonsense",
)
RANGES = ("1,4", "3", "1,1", "4,1", "0,1,0.5", "1,3,0", "0,1000000", "0,inf", "start=1,stop=3", "3,1,-1")
SPECIAL = "\\'\"()[]{}=,:@+~$ \t"


class Line(NamedTuple):
    command: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join([self.command, *self.arguments])


@cache
def configuration(command: str, base: str) -> dict[str, Any]:
    """Return the composed configuration of a valid command line, with its interpolations."""
    name = {"api.compose": "train"}.get(command, "evaluate" if command.startswith("api.") else command)
    words = [
        word.replace("agents=", "agents=['") + "']" if word.startswith("agents=") else word for word in base.split()
    ]
    with own_hydra(), suppress(Exception):
        kept = [word for word in words if "=" in word and not word.startswith("agents=")]
        plain = OmegaConf.to_container(hydra.compose(name, kept, return_hydra_config=command == "train"))
        assert isinstance(plain, dict)
        return {str(key): child for key, child in plain.items()}
    return {}


def keys(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key of a configuration with its value."""
    if isinstance(node, dict):
        for key, child in node.items():
            if path != "hydra" or key in (
                "run",
                "sweep",
                "sweeper",
                "launcher",
                "mode",
                "verbose",
                "searchpath",
                "callbacks",
            ):
                yield f"{path}.{key}".strip("."), child
                yield from keys(child, f"{path}.{key}".strip("."))


@cache
def groups() -> dict[str, list[str]]:
    folders = [path for path in CONF.rglob("*") if path.is_dir() and any(path.glob("*.yaml"))]
    return {path.relative_to(CONF).as_posix(): sorted(file.stem for file in path.glob("*.yaml")) for path in folders}


class Grammar:
    """Random command lines: arguments that are mostly well-formed, with keys that mostly exist."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def line(self) -> Line:
        rng, command = self.rng, self.rng.choice(FREQUENT)
        base = rng.choice(COMMANDS[command].bases)
        count = rng.choice((1, 1, 1, 2, 3))
        arguments = [*base.split(), *(word for _ in range(count) for word in self.argument(command, base))]
        if command == "train" and rng.random() < 0.3:
            arguments.insert(rng.randrange(len(arguments) + 1), "-m")
        return Line(command, tuple(arguments))

    def argument(self, command: str, base: str) -> list[str]:
        kind = self.rng.random()
        if kind < 0.08 and not command.startswith("api."):
            return self.rng.choice(FLAGS).split()
        if kind < 0.12:
            return [self.broken(self.override(command, base))]
        return [self.override(command, base)]

    def override(self, command: str, base: str) -> str:
        rng = self.rng
        operator = rng.choice(("", "", "", "", "", "", "+", "++", "~"))
        known = list(keys(configuration(command, base)))
        plain = [(key, old) for key, old in known if isinstance(old, bool | int | float)]
        if plain and rng.random() < 0.25:  # most of which are accepted
            key, old = rng.choice(plain)
            return f"{key}={self.near(old)}"
        if rng.random() < 0.2 or not known:
            group = rng.choice(list(groups()))
            key = rng.choice(
                (group, group, f"{group}@{rng.choice(known)[0]}" if known else group, f"{group}@_global_", f"/{group}")
            )
            value = rng.choice((*groups()[group], "null", self.value(2), f"[{rng.choice(groups()[group])}]"))
        else:
            key, old = rng.choice(known)
            value = self.near(old) if rng.random() < 0.65 else self.value(2)
            unknown = f"{key}.{rng.choice(('nonsense', '_target_', '_partial_', '_args_', '0', ''))}"
            key = rng.choice(
                (key, key, key, key, key, key, unknown, "nonsense", f"{key}[0]", f"nonsense@{key}", f"{key}@a:b")
            )
        return f"{operator}{key}" if operator == "~" and rng.random() < 0.7 else f"{operator}{key}={value}"

    def near(self, old: Any) -> str:
        """Return a value of the type that the key has."""
        rng = self.rng
        if isinstance(old, bool):
            return rng.choice(("true", "false", "1", "yes", "null"))
        if isinstance(old, int | float):
            return rng.choice(
                (str(old), str(old + 1), str(-old), f"{old},{old}", f"[{old}]", "0", "1", "null", f"int({old})")
            )
        if isinstance(old, list):
            return rng.choice(("[]", "[1]", "[1,2]", "[null]", "null", "[[1]]", f"[{self.value(1)}]"))
        if isinstance(old, str) and old.isprintable() and not set(old) & set(SPECIAL):
            return rng.choice((old, f"'{old}'", f"{old}x", "", "''", "null", f"{old},{old}", f"str({old})"))
        return self.value(2)

    def value(self, depth: int) -> str:
        rng = self.rng
        kind = rng.random()
        if kind < 0.2 or depth == 0:
            return rng.choice((*NUMBERS, *WORDS))
        if kind < 0.4:
            return rng.choice(NUMBERS)
        if kind < 0.5:
            quote = rng.choice("'\"")
            return f"{quote}{rng.choice(WORDS)}{quote}"
        if kind < 0.6:
            return f"[{self.values(depth)}]"
        if kind < 0.7:
            pairs = (
                f"{rng.choice(('a', '_target_', '1', 'a b', 'null'))}:{self.value(depth - 1)}"
                for _ in range(rng.randrange(3))
            )
            return f"{{{','.join(pairs)}}}"
        if kind < 0.75:
            return self.values(depth)
        name = rng.choice(FUNCTIONS)
        if name == "range" and rng.random() < 0.5:
            return f"range({rng.choice(RANGES)})"
        return (
            f"{name}({rng.choice(('', '', '', 'reverse=true,', 'step=', 'a=', 'log,', 'list='))}{self.values(depth)})"
        )

    def values(self, depth: int) -> str:
        return ",".join(self.value(depth - 1) for _ in range(self.rng.choice((0, 1, 1, 2, 2, 3))))

    def broken(self, text: str) -> str:
        """Insert, delete or repeat a few characters."""
        for _ in range(self.rng.choice((1, 1, 2))):
            place = self.rng.randrange(len(text) + 1)
            text = self.rng.choice(
                (
                    text[:place] + self.rng.choice(SPECIAL) + text[place:],
                    text[:place] + text[place + 1 :],
                    text[:place] + text[place // 2 :],
                )
            )
        return text


class Result(NamedTuple):
    code: int
    error: str  # standard error
    changes: list[str]  # in the folder

    def problem(self) -> str | None:
        """Return what is wrong with the answer, or None."""
        if self.code < 0 or "Traceback (most recent call last)" in self.error:
            return f"ended with {self.code}: {self.error[-1500:]}"
        if self.code == 0:
            return None
        one = self.error.startswith("error: ") and self.error.count("\n") == 1 and len(self.error) <= MAX_LETTERS
        if self.code != 1 or not one:
            return f"ended with {self.code}, not with one line `error: ...`: {self.error[-1500:]!r}"
        return f"was refused, but changed {', '.join(self.changes[:5])}" if self.changes else None


def execute(folder: Path, line: Line) -> None:
    """Run a command like `python -m src.<command>` in this process, up to where its work begins."""
    os.dup2(os.open(f"{folder}.err", os.O_WRONLY | os.O_CREAT, 0o666), 2)
    os.chdir(folder)
    sys.path[0] = str(folder)
    os.environ["HYDRA_FULL_ERROR"] = ""
    atexit._clear()  # of the parent
    place, _, name = COMMANDS[line.command].work.partition(":")
    if place:
        owner = importlib.import_module(place)
        *classes, last = name.split(".")
        setattr(getattr(owner, classes[0]) if classes else owner, last, _accept)
    try:
        if line.command.startswith("api."):
            _call(line.command.removeprefix("api."), line.arguments)
        else:
            sys.argv = [f"src/{line.command}.py", *line.arguments]
            sys.modules.pop(f"src.{line.command}", None)  # of which runpy would warn
            runpy.run_module(f"src.{line.command}", run_name="__main__", alter_sys=True)
    finally:
        os.chdir(folder)
        atexit._run_exitfuncs()


def _accept(*_: Any, **__: Any) -> NoReturn:
    sys.exit(0)


def _call(function: str, arguments: tuple[str, ...]) -> None:
    try:
        getattr(importlib.import_module("src.api"), function)(*arguments)
    except UserError as error:
        sys.exit(f"error: {error}")


def import_everything() -> None:
    for package in PACKAGES:
        for found in pkgutil.walk_packages([str(ROOT.joinpath(*package.split(".")))], f"{package}."):
            with suppress(ImportError), redirect_stderr(io.StringIO()):  # an optional package
                importlib.import_module(found.name)
    for name in ("hydra._internal.hydra", "wandb", "torch._dynamo", "src.api", "src.config.hparams_search"):
        importlib.import_module(name)
    importlib.import_module("hydra.core.plugins").Plugins.instance()  # which looks for all of them


class CommandLines:
    """The cases of one seed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed
        import_everything()

    def line(self, number: int) -> Line:
        return Grammar(random.Random(f"{self.seed} command {number}")).line()

    def target(self, number: int) -> str:
        return self.line(number).command

    def case(self, number: int, row: Row) -> None:
        row.tried += 1
        line = self.line(number)
        result = self.try_line(line)
        problem = result.problem()
        if problem is not None:
            row.fail(number, f"{line} {problem}")
        else:
            row.verdicts["worked" if result.code == 0 else "refused"] += 1

    def try_line(self, line: Line) -> Result:
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = Path(name, "folder")
            (folder / "sub").mkdir(parents=True)
            (folder / "run").mkdir()
            (folder / "file.txt").write_text("text\n")
            (folder / "run/config.yaml").write_text("seed: 1\n")
            before = _contents(folder)
            child = forks.start(partial(execute, folder, line), Path(name, "output"), MEMORY)
            if not child.wait(SECONDS):
                child.kill()
                return Result(-1, f"no end after {SECONDS:.0f} s", [])
            after = _contents(folder)
            changes = [path for path in sorted(before | after) if before.get(path) != after.get(path)]
            return Result(child.code, Path(f"{folder}.err").read_text(errors="replace"), changes)


def _contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
