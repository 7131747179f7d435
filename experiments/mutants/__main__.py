"""Plant one-line faults in the source, one at a time, and count those that the fast tests detect.

    python -m experiments.mutants --jobs 2                                   # 200 mutants, two hours on two cores
    python -m experiments.mutants --files "src/envs/quoridor/rules.py" --count 20 --seed 7
    python -m experiments.mutants --only 17                                  # repeat one, with the output of the tests
    python -m experiments.mutants --list                                     # print the sample

The sample follows from the seed and the source: as many mutants of each area (rules, metrics, learning, search), or of
the files given. The tests that mirror a file run first, then those that name its module, then all other fast ones,
each stage on all mutants that are left. The outcomes are in results.jsonl, from which the page of this study is
written. `--resume` tests those again that are not detected and have no reason in survivors.yaml, as long as no file of
`src` has changed: tests may have been added since.
"""

import argparse
import ast
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import yaml

from src.core.files import write_atomic

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results.jsonl"
AREAS = {
    "rules": ("src/envs/*/rules.py", "src/envs/*/rules/*.py", "src/envs/*/*_rules.py", "src/envs/*/game.py"),
    "metrics": (
        *("src/envs/*/metrics.py", "src/envs/*/reward.py", "src/envs/*/step_report.py"),
        *("src/core/play/arena.py", "src/core/play/rating.py", "src/core/runs/report.py"),
    ),
    "learning": ("src/algos/**/*.py", "src/nets/*.py", "src/envs/*/teachers.py", "src/core/play/curriculum.py"),
    "search": (
        *("src/envs/quoridor/search/*.py", "src/envs/minesweeper/solver/*.py", "src/envs/deployment/bots/*.py"),
        *("src/algos/alphabeta.py", "src/algos/mcts.py", "src/algos/alphazero/search.py"),
    ),
}
RESULTS_TEST = "tests/test_results.py"  # fails whenever measured code changes, whatever the change does
STAGES = ("mirror", "named", "all")  # of tests: those that mirror the file, that name its module, and all
CPU_SECONDS = 1200  # after which the tests are stopped: the mutant does not end, so it is detected
SWAPS: dict[type[ast.AST], str] = {
    **{ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="},
    **{ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"},
    **{ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "//"},
    **{ast.And: "or", ast.Or: "and", ast.BitAnd: "|", ast.BitOr: "&"},
}
OPPOSITES = {"min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin", "any": "all", "all": "any"}
LEFT_OUT = {"abs", "sorted", "reversed", "detach"}  # calls that are replaced by what they are called on


class Mutant(NamedTuple):
    area: str  # of AREAS, or "files"
    file: str
    line: int
    start: int  # byte offsets in the file of what is replaced
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old!r} -> {self.new!r}"


def find_mutants(path: Path, area: str) -> Iterator[Mutant]:
    """Yield the faults that fit on a line: other operators, functions, numbers and conditions, and calls left out."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + column

    def replace(node: ast.expr | ast.stmt, new: str) -> Mutant:
        start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno or 0, node.end_col_offset or 0)
        return Mutant(area, str(path.relative_to(ROOT)), node.lineno, start, end, source[start:end].decode(), new)

    def text(node: ast.expr) -> str:
        return f"({ast.unparse(node)})"

    tree = ast.parse(source)
    without_effect = {id(one) for node in ast.walk(tree) for one in _without_effect(node)}
    for node in ast.walk(tree):
        if id(node) in without_effect:
            continue
        if isinstance(node, ast.If | ast.While | ast.IfExp) and node.test.lineno == node.test.end_lineno:
            yield replace(node.test, f"(not {text(node.test)})")
        if getattr(node, "lineno", 0) != getattr(node, "end_lineno", 0):
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPS:
            yield replace(node, f"{text(node.left)} {SWAPS[type(node.ops[0])]} {text(node.comparators[0])}")
        elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
            yield replace(node, f"({text(node.left)} {SWAPS[type(node.op)]} {text(node.right)})")
        elif isinstance(node, ast.BoolOp):
            yield replace(node, f"({f' {SWAPS[type(node.op)]} '.join(map(text, node.values))})")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield replace(node, text(node.operand))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield replace(node, str(not node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield replace(node, f"({node.value!r} + 1)")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield replace(node, "pass")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            if name in OPPOSITES:
                yield replace(node, re.sub(rf"\b{name}\(", f"{OPPOSITES[name]}(", text(node), count=1))
            elif name in LEFT_OUT:
                yield replace(node, text(node.func.value if isinstance(node.func, ast.Attribute) else node.args[0]))


def _without_effect(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what tests need not notice: annotations, conditions for type checkers, messages and assertions.

    `frozen=True` of a dataclass and `strict=True` of `zip` are assertions.
    """
    if isinstance(node, ast.JoinedStr | ast.Assert | ast.Raise):
        yield from ast.walk(node)
    if isinstance(node, ast.keyword) and node.arg in ("frozen", "strict"):
        yield node.value
    for name in ("annotation", "returns"):
        if isinstance(part := getattr(node, name, None), ast.AST):
            yield from ast.walk(part)
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        yield node


def draw_sample(files: list[str], count: int, seed: int) -> list[Mutant]:
    """Draw from the files, or equally many from each area if none are given."""
    groups = {"files": tuple(files)} if files else AREAS
    sample: list[Mutant] = []
    for number, (area, patterns) in enumerate(groups.items()):
        paths = sorted({path for pattern in patterns for path in ROOT.glob(pattern) if path.suffix == ".py"})
        found = [mutant for path in paths for mutant in find_mutants(path, area)]
        drawn = {mutant[1:] for mutant in sample}
        found = [mutant for mutant in found if mutant[1:] not in drawn]
        share = count // len(groups) + (number < count % len(groups))
        if share > len(found):
            sys.exit(f"error: {' '.join(patterns)} has {len(found)} mutants: set --count to at most that")
        sample += random.Random(f"{seed} {number}").sample(found, share)
    return sample


class Laboratory:
    """A copy of the checkout in which mutants are planted."""

    def __init__(self, folder: Path, tests: list[str]) -> None:
        """`tests` are the last to run: all that may detect a mutant."""
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, tracked.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        (folder / "names").mkdir()
        (folder / "names/boardlab").symlink_to(folder / "src")  # before the installed package, which is the checkout
        if (kernels := ROOT / "src/__pycache__/kernels").is_dir():
            shutil.copytree(kernels, folder / "src/__pycache__/kernels")
        self.folder, self.tests = folder, tests

    def fails_without_mutant(self, sample: list[Mutant], stages: list[str], jobs: int) -> bool:
        """Whether a test of these stages fails with a line without effect in every file."""
        sources = {path: path.read_bytes() for path in (self.folder / "src").rglob("*.py")}
        for path, source in sources.items():
            path.write_bytes(source + b"\nWITHOUT_EFFECT = 1\n")
        tests = {test for mutant in sample for stage in stages for test in self._tests(mutant.file, stage)}
        failed = self._fails(["-n", str(jobs), *sorted(tests)], True)
        for path, source in sources.items():
            path.write_bytes(source)
        return failed

    def detects(self, mutant: Mutant, stage: str, quiet: bool = True) -> bool:
        """Whether a test of a stage fails with the mutant."""
        tests = self._tests(mutant.file, stage)
        path = self.folder / mutant.file
        source = path.read_bytes()
        path.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
        try:
            return bool(tests) and self._fails(tests, quiet)
        finally:
            path.write_bytes(source)

    def _tests(self, file: str, stage: str) -> list[str]:
        """Return the tests of a stage for a file of `src`."""
        if stage == "all":
            return self.tests
        path = Path("tests", *Path(file).parts[1:])
        if stage == "mirror":
            named = path.with_name(f"test_{path.name}")
            folder = next(parent for parent in path.parents if (self.folder / parent).is_dir())
            mirror = named if (self.folder / named).exists() else folder
            return [str(mirror)] if mirror != Path("tests") else []
        module = ".".join(Path(file).with_suffix("").parts)
        parent = module.rpartition(".")[0]
        names = re.compile(rf"from {re.escape(module)} import|from {re.escape(parent)} import .*\b{path.stem}\b")
        tests = sorted((self.folder / "tests").rglob("test_*.py"))
        return [str(test.relative_to(self.folder)) for test in tests if names.search(test.read_text())]

    def _fails(self, arguments: list[str], quiet: bool) -> bool:
        command = [sys.executable, "-m", "pytest", "-o", "addopts=", "-x", "-q", "-p", "no:cacheprovider"]
        command += ["-m", "not browser and not slow", f"--ignore={RESULTS_TEST}"]
        path = os.pathsep.join([str(self.folder / "names"), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        with tempfile.TemporaryDirectory() as scratch:
            process = subprocess.Popen(
                [*command, f"--basetemp={scratch}/pytest", *arguments],
                cwd=self.folder,
                env=environment,
                stdout=subprocess.DEVNULL if quiet else None,
                stderr=subprocess.STDOUT if quiet else None,
                start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS)),
            )
            try:
                return process.wait(6 * CPU_SECONDS) not in (0, 5)  # 5: no test was collected
            except subprocess.TimeoutExpired:
                return True
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, 9)
                    process.wait()


def digest() -> str:
    """Return a digest of the code."""
    files = sorted((ROOT / "src").rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def read() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.is_file() else []


def read_reasons() -> dict[str, str]:
    """Return by mutant why no test can detect it; none if the code has changed since they were written."""
    saved = yaml.safe_load((FOLDER / "survivors.yaml").read_text())
    return saved["reasons"] if {row["code"] for row in read()} == {saved["code"]} else {}


def write_table() -> None:
    """Write the page's table: detected mutants by area, and the others with the reason in `survivors.yaml`.

    Mutants that nothing can detect, as they do what the program does, are left out of the last column's share.
    """
    rows, reasons = read(), read_reasons()
    lines = ["| area | mutants | detected | not detectable | share of the detectable |", "|---|---|---|---|---|"]
    for area in (*dict.fromkeys(row["area"] for row in rows), "all"):
        own = [row for row in rows if area in (row["area"], "all")]
        found = sum(row["detected"] for row in own)
        same = sum(not row["detected"] and row["mutant"] in reasons for row in own)
        lines.append(f"| {area} | {len(own)} | {found} | {same} | {found / max(len(own) - same, 1):.1%} |")
    lines += ["", "| not detected | why |", "|---|---|"]
    for name in sorted(row["mutant"] for row in rows if not row["detected"]):
        lines.append(f"| `{name}` | {reasons.get(name, 'a test is missing')} |")
    write_atomic(FOLDER / "table.md", "\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", default=[], help="patterns of source files (the four areas)")
    parser.add_argument("--count", type=int, default=200, help="mutants of the sample (200)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="mutants tested at a time")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="what runs last: all that may detect a mutant")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES, help="tests to run (mirror named all)")
    parser.add_argument("--resume", action="store_true", help="test again what is not detected and has no reason")
    parser.add_argument("--only", type=int, help="number of the mutant to test alone")
    parser.add_argument("--list", action="store_true", help="print the sample")
    options = parser.parse_args()
    sample = draw_sample(options.files, options.count, options.seed)
    if options.list:
        print(*(f"{number}: {mutant}" for number, mutant in enumerate(sample)), sep="\n")
        return
    code, known = digest(), read() if options.resume else []
    if any(row["code"] != code for row in known):
        sys.exit("error: the code has changed since: start again without --resume")
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(options.jobs) as pool:
        free: SimpleQueue[Laboratory] = SimpleQueue()
        for job in range(options.jobs):
            Path(name, str(job)).mkdir()
            free.put(Laboratory(Path(name, str(job)), options.tests))

        def test(mutant: Mutant, stage: str) -> bool:
            laboratory = free.get()
            try:
                return laboratory.detects(mutant, stage, quiet=options.only is None)
            finally:
                free.put(laboratory)

        if options.only is not None:
            mutant = sample[options.only]
            print("detected" if any(test(mutant, stage) for stage in options.stages) else "not detected", mutant)
            return
        laboratory = free.get()
        if laboratory.fails_without_mutant(sample, options.stages, options.jobs):
            sys.exit("error: the tests fail without a mutant: run make test")
        free.put(laboratory)
        tested = {row["mutant"] for row in known}
        decided = tested & set(read_reasons())
        detected = {row["mutant"] for row in known if row["detected"]}
        for stage in options.stages:
            left = [mutant for mutant in sample if str(mutant) not in detected | decided]
            for mutant, found in zip(left, pool.map(test, left, [stage] * len(left)), strict=True):
                if found:
                    detected.add(str(mutant))
                    print(f"detected by {stage}: {mutant}", flush=True)
                tested.add(str(mutant))
                lines = [
                    {"area": one.area, "mutant": str(one), "detected": str(one) in detected, "code": code}
                    for one in sample
                    if str(one) in tested
                ]
                write_atomic(RESULTS, "".join(json.dumps(line) + "\n" for line in lines))
        print(*(f"NOT DETECTED {mutant}" for mutant in sample if str(mutant) not in detected), sep="\n")
    if "all" in options.stages:
        write_table()
        print((FOLDER / "table.md").read_text())


if __name__ == "__main__":
    main()
