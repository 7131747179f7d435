"""Read hostile run directories and files with everything that reads them, each in a forked child.

Each has to work or to end in one sentence for the user, in time, within memory, without running foreign code, opening
connections or touching files that are none of its business.
"""

import contextlib
import hashlib
import importlib
import json
import os
import random
import shutil
import stat
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments.faults import forks
from experiments.faults.hostile import RUN_MUTATIONS, damaged_bytes, mutated_tree
from experiments.faults.kills import Killer
from experiments.faults.report import Row
from experiments.faults.training import TRAININGS
from src.cli import launch, user_message
from src.core.errors import UserError
from src.core.runs.lock import is_training

ROOT = Path(__file__).parents[2]
SECONDS = 90.0  # for one case, on a busy machine
AT_ONCE = 2  # cases
MEMORY = 3 << 30  # bytes that a case may take beyond what is imported
MAX_SENTENCE = 4000  # letters
RUN = Path("outputs/run")
BASES = {  # a training, and how its agent is evaluated
    "qlearning, tictactoe": ("env=tictactoe",),
    "ppo, tictactoe": ("env=tictactoe",),
    "ppo, minesweeper_8x8": ("env=minesweeper_8x8",),
    "ppo, deployment": ("env=deployment",),
    "imitation, minesweeper_8x8": ("env=minesweeper_8x8",),
    "maskable_ppo, tictactoe": ("env=tictactoe",),
    "alphabeta, tictactoe": ("env=tictactoe",),
}
FORBIDDEN: tuple[str, ...] = (
    "socket.connect",
    "socket.getaddrinfo",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
)
FORBIDDEN += ("os.fork",)
SAVED_GAME = "start e1 e9 10 10 0 -\nmoves e2 e8 e3 e3h\nresult *\n"
BOARDS = {"rows": 8, "cols": 8, "mines": 10, "boards": [{"first": 0, "mines": list(range(20, 30))}] * 3}


class Refused(Exception):  # noqa: N818 (not an error of ours)
    """A user error, reported in one sentence."""


class Guard:
    """Records forbidden operations of a case."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.wrong = folder, set[str]()
        self.before = set(sys.modules)

    def install(self) -> None:
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in FORBIDDEN:
            self.wrong.add(f"{event}{arguments!r}"[:200])
        elif event == "open" and self.writes(arguments) and not self.is_own(arguments[0]):
            self.wrong.add(f"opens {arguments[0]} for writing")

    def writes(self, arguments: tuple[Any, ...]) -> bool:
        _, mode, flags = arguments
        return mode is not None and mode[0] != "r" if isinstance(mode, str) else bool((flags or 0) & os.O_ACCMODE)

    def is_own(self, path: object) -> bool:
        """Whether a path is a file of the run, a descriptor, or a cache of compiled code."""
        if not isinstance(path, str | bytes | os.PathLike):
            return True
        place = Path(os.path.realpath(os.fsdecode(path)))
        return place.is_relative_to(self.folder) or place == Path("/dev/null") or "__pycache__" in place.parts

    def foreign_modules(self) -> list[str]:
        known: tuple[Path, ...] = (
            ROOT / "src",
            ROOT / "conf",
            ROOT / "experiments",
            Path(sys.prefix),
            Path(sys.base_prefix),
        )
        known += (Path(os.path.realpath(sys.prefix)), Path(os.__file__).parent)
        new = [(name, getattr(sys.modules[name], "__file__", None)) for name in set(sys.modules) - self.before]
        return [name for name, file in new if file and not any(Path(file).is_relative_to(root) for root in known)]


# What reads a run directory or a file.


def command(module: str, *arguments: str) -> None:
    """Return a command as a user types it."""
    found = importlib.import_module(f"src.{module}")
    rewrite = {"train": "train_arguments", "evaluate": "expand_opponent"}.get(module)
    sys.argv = [f"src.{module}", *arguments]
    try:
        launch(found.main, getattr(found, rewrite) if rewrite else lambda words: words)
    except SystemExit as error:
        if isinstance(error.code, str) and error.code.startswith("error: "):
            raise Refused(error.code) from error
        if error.code not in (None, 0):
            raise


def evaluate(base: str) -> None:
    command("evaluate", *BASES[base], "agent=trained", f"agent.run={RUN}", "episodes=2")


def resume(_: str) -> None:
    command("train", f"resume={RUN}", "logger=csv")


def load_agent(_: str) -> None:
    from src.compose import load_agent

    for name in ("best", "last"):
        try:
            load_agent(str(RUN), name)
        except UserError as error:
            refusal: UserError | None = error
        else:
            refusal = None
    if refusal is not None:
        raise refusal


def page(_: str) -> None:
    """Read everything that the pages read: runs, curves, details, games and agents."""
    import hydra

    from src.paths import CONF
    from src.play import ConfigLab
    from src.web import files
    from src.web.lab import finished_runs
    from src.web.runs import curves
    from src.web.runs.index import Index

    folders = [RUN.parent]
    Index(folders).rows()
    finished_runs(folders)
    readers: tuple[Callable[[files.RunPath], object], ...] = (
        files.read_metrics,
        files.read_scores,
        files.read_config,
        files.read_changes,
        files.pictures,
    )
    readers += (files.wandb_address, lambda run: is_training(run.path), lambda run: files.locate(folders, run.name))
    for run in files.find(folders):
        for read in readers:
            _refusals_allowed(lambda: read(run))  # noqa: B023
        _refusals_allowed(lambda: curves.metrics_of({"x": files.read_metrics(run)}))  # noqa: B023
        [files.picture_size(run, name) for name in files.pictures(run)]
    with hydra.initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        lab = ConfigLab(folders, seed=0)
        game = lab.run_game(RUN)
        lab.agent("trained", game, {"run": str(RUN)})


def sweep(_: str) -> None:
    command("sweep", "outputs")


def _refusals_allowed(read: Callable[[], object]) -> None:
    with contextlib.suppress(UserError):
        read()


READERS: tuple[Callable[[str], None], ...] = (
    load_agent,
    load_agent,
    load_agent,
    page,
    evaluate,
    resume,
)  # the first is quick


def boards(rng: random.Random) -> Callable[[], None]:
    Path("file").write_bytes(_damaged_json(rng, BOARDS))
    return lambda: command("evaluate", "env=minesweeper_8x8", "agent=random", "boards=file")


def table(rng: random.Random) -> Callable[[], None]:
    whole = json.loads((RUN / "qtable.json").read_text())
    Path("file").write_bytes(_damaged_json(rng, whole))
    return lambda: command("evaluate", "env=tictactoe", "agent=qtable", "agent.path=file", "episodes=2")


def saved_game(rng: random.Random) -> Callable[[], None]:
    Path("file").write_bytes(damaged_bytes(rng, SAVED_GAME.encode()))

    def load() -> None:
        from src.core.play.agent import RandomAgent
        from src.engine import Engine
        from src.envs.quoridor.rules import Quoridor

        answer = Engine(Quoridor(9, 10, 200, False), RandomAgent(), 0).answer("load file")
        if answer != "ok":
            raise Refused(answer)

    return load


FILES = {"boards": boards, "qtable": table, "saved game": saved_game}


def _damaged_json(rng: random.Random, tree: Any) -> bytes:
    if rng.random() < 0.5:
        return damaged_bytes(rng, json.dumps(tree).encode())
    return json.dumps(mutated_tree(rng, tree)).encode()


class Case(NamedTuple):
    number: int
    what: str
    place: Path
    child: forks.Child


class Hostilities:
    """The cases of one seed."""

    def __init__(self, folder: Path, seed: int, bases: Sequence[str] = tuple(BASES)) -> None:
        self.folder, self.seed = folder, seed
        killer = Killer(folder, 0)
        trainings = {training.name: training for training in TRAININGS}
        self.bases = {name: killer.reference(trainings[name]).directory for name in bases}
        for module in (
            "src.engine",
            "src.evaluate",
            "src.play",
            "src.sweep",
            "src.web.runs.index",
            "src.web.runs.curves",
        ):
            importlib.import_module(module)

    def case(self, number: int, row: Row) -> str:
        """Make one hostile file and let something read it; return the result."""
        row.tried += 1
        return self.end(self.begin(number), row)

    def begin(self, number: int) -> Case:
        rng, place, kind = (
            random.Random(f"{self.seed} files {number}"),
            self.folder / f"case-{number}",
            self.kind(number),
        )
        shutil.rmtree(place, ignore_errors=True)
        (place / RUN).parent.mkdir(parents=True)
        (place / "outside").write_text("outside\n")
        (place / "outputs/gift").mkdir()
        (place / "outputs/gift/p.py").write_text("open('executed', 'w').close()\n")
        base = rng.choice(list(self.bases)) if kind in RUN_MUTATIONS else "qlearning, tictactoe"
        shutil.copytree(self.bases[base], place / RUN)
        result = place.with_suffix(".json")
        child = forks.start(lambda: self.attempt(place, result, kind, base, rng), place.with_suffix(".txt"), MEMORY)
        return Case(number, f"{kind} of {base}", place, child)

    def end(self, case: Case, row: Row) -> str:
        result = case.place.with_suffix(".json")
        reason = self.judge(case.child, case.place, result)
        if reason is None:
            shutil.rmtree(case.place)
            return str(json.loads(result.read_text())["verdict"])
        row.fail(case.number, f"{case.what}: {reason}")
        return "failed"

    def kind(self, number: int) -> str:
        kinds = [*RUN_MUTATIONS, *FILES]
        return kinds[number % len(kinds)]

    def attempt(self, place: Path, result: Path, kind: str, base: str, rng: random.Random) -> None:
        """Damage, read, and record what happened; runs in the child."""
        os.chdir(place)
        if kind in RUN_MUTATIONS:
            RUN_MUTATIONS[kind](rng, place / RUN)
            os.chdir(place)
            reader = sweep if kind == "overrides.yaml" and rng.random() < 0.5 else rng.choice(READERS)
            read, name = (lambda: reader(base)), reader.__name__
        else:
            read, name = FILES[kind](rng), kind
        sys.path.insert(0, str(place))
        before, guard = contents(place), Guard(Path(os.path.realpath(place)))
        guard.install()
        verdict = {"reader": name, "verdict": "worked", "sentence": ""}
        try:
            read()
        except Refused as error:
            verdict |= {"verdict": "refused", "sentence": str(error)}
        except Exception as error:
            sentence = user_message(error)
            if sentence is None or isinstance(error, MemoryError):  # a file must not make its reader take all memory
                result.write_text(json.dumps(verdict | {"verdict": "failed"}))
                raise
            verdict |= {"verdict": "refused", "sentence": sentence}
        wrong = [*guard.wrong, *(f"imports {module}" for module in guard.foreign_modules())]
        changed = sorted(name for name, _ in contents(place).items() ^ before.items() if not _may_change(name, kind))
        if changed and (verdict["verdict"] == "refused" or reader_writes_nothing(verdict["reader"])):
            wrong.append(f"changed {', '.join(sorted(set(changed)))}")
        result.write_text(json.dumps(verdict | {"wrong": wrong}))

    def judge(self, child: forks.Child, place: Path, result: Path) -> str | None:
        if not child.wait(SECONDS):
            child.kill()
            return f"does not end within {SECONDS:.0f} s"
        found = json.loads(result.read_text()) if result.exists() else {"reader": "", "sentence": ""}
        if child.code != 0 or "Traceback" in child.text:
            return f"{found['reader']} ended with code {child.code}: {child.text[-1500:]}"
        if (place / "executed").exists():
            return f"{found['reader']} executed foreign code"
        if (place / "outside").read_text() != "outside\n":
            return f"{found['reader']} changed a file outside of the run"
        if found["verdict"] == "refused" and not 0 < len(found["sentence"]) <= MAX_SENTENCE:
            return f"{found['reader']} refused it by {found['sentence'][:200]!r}"
        return f"{found['reader']}: {'; '.join(found['wrong'])}" if found["wrong"] else None


def reader_writes_nothing(name: str) -> bool:
    return name != "resume"


def _may_change(name: str, kind: str) -> bool:
    """Locks, notes and caches; and what a resumed run has set back before its algorithm refuses a checkpoint.

    A checkpoint with a correct checksum can be judged by the algorithm alone, which reads it last.
    """
    set_back = ("train.log", "metrics.csv", "last.safetensors", "diagnostics.json", "diagnostics.png")
    endings = (".lock", ".pyc", "sweep.csv", "sweep.txt", *(set_back if kind == "checkpoint: contents" else ()))
    return name.endswith(endings)


def contents(place: Path) -> dict[str, str]:
    """Return the kind and content of every file."""
    found = {}
    for folder, names, files in os.walk(place):
        for name in (*names, *files):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            what = str(stat.S_IFMT(mode))
            if stat.S_ISLNK(mode):
                what += str(path.readlink())
            elif stat.S_ISREG(mode) and path.stat().st_size < 1 << 28:
                what += hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path.relative_to(place))] = what
    return found


def attack(folder: Path, seed: int, wanted: int, say: Callable[[str], None]) -> list[Row]:
    hostilities = Hostilities(folder, seed)
    rows: dict[str, Row] = {}
    verdicts: dict[str, Counter[str]] = {}
    pending: list[Case] = []
    for number in range(wanted + AT_ONCE):
        if number < wanted:
            pending.append(hostilities.begin(number))
        if not pending or (number < wanted and len(pending) < AT_ONCE):
            continue
        case = pending.pop(0)
        kind = hostilities.kind(case.number)
        row = rows.setdefault(kind, Row("files", kind))
        row.tried += 1
        counts = verdicts.setdefault(kind, Counter())
        counts[hostilities.end(case, row)] += 1
        row.note = f"{counts['refused']} refused, {counts['worked']} worked"
        say(
            f"{sum(row.tried for row in rows.values())} files, {sum(len(row.failures) for row in rows.values())} failed"
        )
    return list(rows.values())
