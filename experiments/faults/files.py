"""Read hostile run directories and files with everything that reads them, each in a forked child.

Each has to work or to end in one sentence for the user, in time, within memory, without running foreign code, opening
connections, printing escapes, or touching files that are none of its business.
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
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from experiments.faults import forks
from experiments.faults.hostile import RUN_MUTATIONS, TEXTS, damaged_bytes, mutated_tree, network_file, positions_file
from experiments.faults.kills import Killer
from experiments.faults.report import Row
from experiments.faults.training import NNUE, TRAININGS
from src.config.errors import user_message
from src.core.errors import UserError
from src.core.runs.run import is_training

ROOT = Path(__file__).parents[2]
SECONDS = 90.0  # for one case, on a busy machine
MEMORY = 3 << 30  # bytes that a case may take beyond what is imported
MAX_SENTENCE = 4000  # letters
RUN = Path("outputs/run")
OUTSIDE = Path("outside")  # beside the outputs: nothing there is read or changed
EVALUATED = {  # a training, and how its agent is evaluated
    "qlearning, tictactoe": "env=tictactoe",
    "ppo, tictactoe": "env=tictactoe",
    "ppo, minesweeper_8x8": "env=minesweeper_8x8",
    "ppo, deployment": "env=deployment",
    "imitation, minesweeper_8x8": "env=minesweeper_8x8",
    "maskable_ppo, tictactoe": "env=tictactoe",
    "alphabeta, tictactoe": "env=tictactoe",
    "alphazero, tictactoe": "env=tictactoe",
    "nnue, quoridor": "env=quoridor",
}
FORBIDDEN = (
    *("socket.connect", "socket.getaddrinfo", "subprocess.Popen"),
    *("os.system", "os.exec", "os.posix_spawn", "os.fork"),
)
SAVED_GAME = "start e1 e9 10 10 0 -\nmoves e2 e8 e3 e3h\nresult *\n"
BOARDS = {"rows": 8, "cols": 8, "mines": 10, "boards": [{"first": 0, "mines": list(range(20, 30))}] * 3}
MODULES = (
    "compare",
    "core.runs.index.curves",
    "core.runs.index.playable",
    "core.runs.index.rows",
    "engine",
    "evaluate",
    "generate",
    "play",
    "sprt",
    "sweep",
    "tournament",
)


class Refused(Exception):  # noqa: N818 (not an error of ours)
    """A user error, reported in one sentence."""


class Reading(NamedTuple):
    """What reads the hostile files of a case."""

    name: str
    read: Callable[[], object]
    writes: bool = False  # whether it may change files of the run, if it does not refuse them
    starts_processes: bool = False


class Guard:
    """Records forbidden operations of a case."""

    def __init__(self, folder: Path, starts_processes: bool) -> None:
        self.folder, self.wrong, self.outside = folder, set[str](), folder / OUTSIDE
        self.forbidden = () if starts_processes else FORBIDDEN
        self.temporary = Path(tempfile.gettempdir()) if starts_processes else folder  # wandb stages tables there
        self.before = set(sys.modules)

    def install(self) -> None:
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in self.forbidden:
            self.wrong.add(f"{event}{arguments!r}"[:200])
        elif event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
            path, mode, flags = arguments
            writes = mode is not None and mode[0] != "r" if isinstance(mode, str) else (flags or 0) & os.O_ACCMODE
            path, follows = Path(os.fsdecode(path)), not (flags or 0) & os.O_NOFOLLOW
            place = Path(os.path.realpath(path)) if follows else Path(os.path.realpath(path.parent), path.name)
            if writes and not self.is_own(place):
                self.wrong.add(f"opens {path} for writing")
            elif place.is_relative_to(self.outside) and not place.is_dir():
                self.wrong.add(f"reads {path}, which is outside")

    def is_own(self, place: Path) -> bool:
        """Whether a path is a file of the run, a device that ignores it, or a cache of compiled code."""
        inside = place.is_relative_to(self.folder) or place.is_relative_to(self.temporary)
        return inside or place == Path("/dev/null") or "__pycache__" in place.parts

    def foreign_modules(self) -> list[str]:
        known = [ROOT / "src", ROOT / "conf", ROOT / "experiments", Path(sys.prefix), Path(sys.base_prefix)]
        known += [Path(os.path.realpath(sys.prefix)), Path(os.__file__).parent]
        new = [(name, getattr(sys.modules[name], "__file__", None)) for name in set(sys.modules) - self.before]
        return [name for name, file in new if file and not any(Path(file).is_relative_to(root) for root in known)]


# What reads a run directory or a file.


def command(module: str, *arguments: str) -> None:
    """Run a command as a user types it."""
    sys.argv = [f"src.{module}", *arguments]
    try:
        importlib.import_module(f"src.{module}").run()
    except SystemExit as error:
        last = str(error.code)
        if error.code == 1:  # a sweep that has printed its error
            sys.stderr.flush()
            last = Path("/proc/self/fd/2").read_text(errors="replace").strip().rpartition("\n")[2]
        if last.startswith("error: "):
            raise Refused(last) from error
        if error.code not in (None, 0):
            raise


def load_agent(_: str) -> None:
    from src.config.load import load_agent

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

    from src.config import CONF
    from src.core.runs.index import curves, files
    from src.core.runs.index.playable import finished_runs
    from src.core.runs.index.rows import Index
    from src.play import ConfigLab

    folders = [RUN.parent]
    Index(folders).rows()
    finished_runs(folders)

    def read_metrics(run: files.RunPath) -> files.Metrics:
        return files.read_metrics(run, ["eval/win_rate"])

    readers: tuple[Callable[[files.RunPath], object], ...] = (
        *(read_metrics, files.read_scores, files.read_config, files.read_changes, files.pictures),
        *(files.wandb_address, lambda run: is_training(run.path), lambda run: files.locate(folders, run.name)),
        lambda run: curves.metric_names({"x": read_metrics(run)}),
        lambda run: [files.picture_size(run, name) for name in files.pictures(run)],
    )
    for run in files.find(folders):
        for read in readers:
            with contextlib.suppress(UserError):
                read(run)
    with hydra.initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        lab = ConfigLab(folders, seed=0)
        if RUN.exists():
            lab.agent("trained", lab.run_game(RUN), {"run": str(RUN)})


def evaluate(base: str) -> None:
    command("evaluate", EVALUATED[base], "agent=trained", f"agent.run={RUN}", "episodes=2")


def resume(_: str) -> None:
    command("train", f"resume={RUN}", "logger=csv")


def sweep(_: str) -> None:
    command("sweep", "outputs")


READERS: Sequence[Callable[[str], None]] = (load_agent, load_agent, load_agent, page, evaluate, resume)  # quick first


def damaged_run(kind: str) -> Callable[[random.Random, str], Reading]:
    def prepare(rng: random.Random, base: str) -> Reading:
        RUN_MUTATIONS[kind](rng, RUN.absolute())
        sweeps = kind in ("overrides.yaml", "markup, escapes") and rng.random() < 0.5
        read = sweep if sweeps else rng.choice(READERS)
        return Reading(read.__name__, lambda: read(base), writes=read is resume)

    return prepare


def boards(rng: random.Random, _: str) -> Reading:
    Path("file").write_bytes(_damaged_json(rng, BOARDS))
    return _command("evaluate", "env=minesweeper_8x8", "agent=random", "boards=file")


def qtable(rng: random.Random, _: str) -> Reading:
    Path("file").write_bytes(_damaged_json(rng, json.loads((RUN / "qtable.json").read_text())))
    return _command("evaluate", "env=tictactoe", "agent=qtable", "agent.path=file", "episodes=2")


def network(rng: random.Random, _: str) -> Reading:
    shutil.copyfile(ROOT / "src/envs/quoridor/network.safetensors", "file")
    network_file(rng, Path("file"))
    player = ("agent=master", "agent.network=file", "agent.nodes=5", "agent.seconds=null")
    return _command("evaluate", "env=quoridor", *player, "opponent=random", "episodes=2")


def positions(rng: random.Random, _: str) -> Reading:
    import numpy as np

    from src.envs.quoridor.learned_evaluation import RECORD

    records = np.zeros(200, RECORD)
    records["pawns"], records["left"] = (4, 76), 10
    records["outcome"] = np.arange(200) % 3 - 1
    np.save("file.npy", records)
    positions_file(rng, Path("file.npy"))
    words = ("logger=csv", "device=cpu", "evaluation.episodes=2", "hydra.run.dir=outputs/new", "algo.total_steps=64")
    return _command("train", *NNUE, *words, "algo.positions=[file.npy]", writes=True)


def saved_game(rng: random.Random, _: str) -> Reading:
    Path("file").write_bytes(damaged_bytes(rng, SAVED_GAME.encode()))

    def load() -> None:
        from src.core.play.agent import RandomAgent
        from src.engine import Engine
        from src.envs.quoridor.game import Quoridor

        answer = Engine(Quoridor(9, 10, 200, False), RandomAgent(), 0).answer("load file")
        if answer != "ok":
            raise Refused(answer)

    return Reading("load", load)


def labels(rng: random.Random, _: str) -> Reading:
    """Give players names of markup and escapes, which tables and errors print."""
    one, other = (rng.choice(TEXTS).replace("\\", "").replace('"', "") for _ in range(2))
    commands = (
        ("tournament", "env=tictactoe", "games=2", f'agents=["{one}=random", "{other}x=random"]'),
        ("tournament", "env=tictactoe", "games=2", f'agents=["{one}=random", "a={other}"]'),
        ("evaluate", "env=tictactoe", "agent=random", "episodes=2", f'seed="{one}"'),
        ("evaluate", "env=tictactoe", "agent=trained", f'agent.run="{one}"'),
        ("sweep", one),
        ("compare", f'runs=["{one}"]', "output=null"),
    )
    return _command(*rng.choice(commands))


def _command(module: str, *arguments: str, writes: bool = False) -> Reading:
    return Reading(module, lambda: command(module, *arguments), writes)


def _damaged_json(rng: random.Random, tree: Any) -> bytes:
    if rng.random() < 0.5:
        return damaged_bytes(rng, json.dumps(tree).encode())
    return json.dumps(mutated_tree(rng, tree)).encode()


Prepare = Callable[[random.Random, str], Reading]  # makes hostile files in the current folder, from those of a base


class Hostilities:
    """The cases of one seed: each copies a base, makes its files hostile and lets something read them."""

    name: ClassVar[str]  # of the attack
    kinds: ClassVar[dict[str, Prepare]]
    refused_partly: ClassVar[bool] = False  # whether a reader may refuse one part and change others

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed, self.killer = folder, seed, Killer(folder, 0)
        for module in MODULES:
            importlib.import_module(f"src.{module}")

    def target(self, number: int) -> str:
        return list(self.kinds)[number % len(self.kinds)]

    def base(self, rng: random.Random, kind: str) -> tuple[str, Path, Path]:
        """Return the name of a base, its directory, and where in the folder of a case it is copied to."""
        raise NotImplementedError

    def case(self, number: int, row: Row) -> None:
        rng, kind = random.Random(f"{self.seed} {self.name} {number}"), self.target(number)
        place = self.folder / f"case-{number}"
        shutil.rmtree(place, ignore_errors=True)
        base, source, copied = self.base(rng, kind)
        shutil.copytree(source, place / copied)
        (place / OUTSIDE).mkdir()
        (place / OUTSIDE / "secret").write_text("secret\n")
        (place / "outputs/gift").mkdir()
        (place / "outputs/gift/p.py").write_text("open('executed', 'w').close()\n")
        result = place.with_suffix(".json")
        child = forks.start(lambda: self.attempt(place, result, kind, base, rng), place.with_suffix(".txt"), MEMORY)
        reason = self.judge(child, place, result)
        row.tried += 1
        if reason is not None:
            row.fail(number, f"{kind} of {base}: {reason}")
            return
        row.verdicts[json.loads(result.read_text())["verdict"]] += 1
        shutil.rmtree(place)

    def attempt(self, place: Path, result: Path, kind: str, base: str, rng: random.Random) -> None:
        """Damage, read, and record what happened; runs in the child."""
        os.chdir(place)
        reading = self.kinds[kind](rng, base)
        verdict = {"reader": reading.name, "verdict": "worked", "sentence": ""}
        result.write_text(json.dumps(verdict | {"verdict": "failed"}))
        sys.path.insert(0, str(place))
        before = contents(place)
        guard = Guard(Path(os.path.realpath(place)), reading.starts_processes)
        guard.install()
        try:
            reading.read()
        except Refused as error:
            verdict |= {"verdict": "refused", "sentence": str(error)}
        except Exception as error:
            sentence = user_message(error)
            if sentence is None or isinstance(error, MemoryError):  # a file must not make its reader take all memory
                raise
            verdict |= {"verdict": "refused", "sentence": sentence}
        wrong = [*guard.wrong, *(f"imports {module}" for module in guard.foreign_modules())]
        changed = {name for name, _ in contents(place).items() ^ before.items() if not _may_change(name, kind)}
        if reading.writes and (verdict["verdict"] == "worked" or self.refused_partly):
            changed = {name for name in changed if Path(name).is_relative_to(OUTSIDE)}
        wrong += [f"changed {name}" for name in sorted(changed)]
        result.write_text(json.dumps(verdict | {"wrong": wrong}))

    def judge(self, child: forks.Child, place: Path, result: Path) -> str | None:
        if not child.wait(SECONDS):
            child.kill()
            return f"does not end within {SECONDS:.0f} s: {child.text[-500:]}"
        found = json.loads(result.read_text()) if result.exists() else {"reader": "preparation", "sentence": ""}
        if child.code != 0 or "Traceback" in child.text:
            return f"{found['reader']} ended with code {child.code}: {child.text[-1500:]}"
        if (place / "executed").exists():
            return f"{found['reader']} executed foreign code"
        if found["verdict"] == "refused" and not 0 < len(found["sentence"]) <= MAX_SENTENCE:
            return f"{found['reader']} refused it by {found['sentence'][:200]!r}"
        if "out of memory" in found["sentence"] or "Cannot allocate" in found["sentence"]:
            return f"{found['reader']} takes more than {MEMORY >> 30} GiB"
        printed = child.text + found["sentence"]
        if "\x1b" in printed or "\x9b" in printed:
            place_of = min(place for place in map(printed.find, "\x1b\x9b") if place >= 0)
            return f"{found['reader']} prints an escape: {printed[max(place_of - 100, 0) : place_of + 50]!r}"
        return f"{found['reader']}: {'; '.join(found['wrong'])}" if found["wrong"] else None


def _may_change(name: str, kind: str) -> bool:
    """Locks, notes and caches; and what a resumed run has set back before its algorithm refuses a checkpoint.

    A checkpoint with a correct checksum can be judged by the algorithm alone, which reads it last.
    """
    set_back = ("train.log", "metrics.csv", "last.safetensors", "diagnostics.json", "diagnostics.png")
    endings = (".lock", ".pyc", "sweep.csv", "sweep.txt", *(set_back if kind == "checkpoint: contents" else ()))
    return name.endswith(endings) and not Path(name).is_relative_to(OUTSIDE)


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


class Runs(Hostilities):
    """Hostile run directories, and files that commands are given."""

    name = "files"
    kinds = {
        **{kind: damaged_run(kind) for kind in RUN_MUTATIONS},
        **{"boards": boards, "qtable": qtable, "saved game": saved_game, "labels": labels},
        **{"network.safetensors": network, "positions": positions},
    }

    def __init__(self, folder: Path, seed: int, bases: Sequence[str] = tuple(EVALUATED)) -> None:
        super().__init__(folder, seed)
        self.bases = [training for training in TRAININGS if training.name in bases]

    def base(self, rng: random.Random, kind: str) -> tuple[str, Path, Path]:
        training = rng.choice(self.bases) if kind in RUN_MUTATIONS else self.bases[0]
        return training.name, self.killer.reference(training).directory, RUN
