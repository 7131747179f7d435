"""Plant a fixed sample of small faults in `src`, one at a time, and count those that the fast tests detect.

    python -m experiments.mutants --jobs 2                 # 100 mutants, one to two hours on two cores
    python -m experiments.mutants --only 17                # repeat one of them, with the output of the tests
    python -m experiments.mutants --list                   # print the sample

The sample follows from the seed and the source. The tests that mirror a file run first, then all other fast ones.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HANGS = 1200.0  # seconds after which the tests are stopped: the mutant does not end, so it is detected
SWAPS: dict[type[ast.AST], str] = {
    **{ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="},
    **{ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"},
    **{ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "//"},
    **{ast.And: "or", ast.Or: "and", ast.BitAnd: "|", ast.BitOr: "&"},
}


class Mutant(NamedTuple):
    file: str
    line: int
    start: int  # byte offsets in the file of what is replaced
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old!r} -> {self.new!r}"


def find_mutants(path: Path) -> Iterator[Mutant]:
    """Yield the faults that can be planted in a file: other operators, numbers and conditions, and calls left out."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + column

    def replace(node: ast.expr | ast.stmt, new: str) -> Mutant:
        start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno or 0, node.end_col_offset or 0)
        return Mutant(str(path.relative_to(ROOT)), node.lineno, start, end, source[start:end].decode(), new)

    def text(node: ast.expr) -> str:
        return f"({ast.unparse(node)})"

    tree = ast.parse(source)
    annotations = {id(one) for node in ast.walk(tree) for one in _annotations(node)}
    for node in ast.walk(tree):
        if id(node) in annotations:
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SWAPS:
            yield replace(node, f"{text(node.left)} {SWAPS[type(node.ops[0])]} {text(node.comparators[0])}")
        elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
            yield replace(node, f"({text(node.left)} {SWAPS[type(node.op)]} {text(node.right)})")
        elif isinstance(node, ast.BoolOp):
            yield replace(node, f"({f' {SWAPS[type(node.op)]} '.join(map(text, node.values))})")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield replace(node, text(node.operand))
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield replace(node.test, f"(not {text(node.test)})")
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield replace(node, str(not node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield replace(node, f"({node.value!r} + 1)")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield replace(node, "pass")


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what has no effect at run time: annotations, and conditions for type checkers."""
    for name in ("annotation", "returns"):
        if isinstance(part := getattr(node, name, None), ast.AST):
            yield from ast.walk(part)
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        yield node


def draw_sample(count: int, seed: int) -> list[Mutant]:
    found = [mutant for path in sorted((ROOT / "src").rglob("*.py")) for mutant in find_mutants(path)]
    return random.Random(seed).sample(found, count)


class Laboratory:
    """A copy of the checkout in which mutants are planted."""

    def __init__(self, folder: Path) -> None:
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, tracked.split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        (folder / "names").mkdir()
        (folder / "names/boardlab").symlink_to(folder / "src")  # before the installed package, which is the checkout
        if (kernels := ROOT / "src/__pycache__/kernels").is_dir():
            shutil.copytree(kernels, folder / "src/__pycache__/kernels")
        self.folder = folder

    def detects(self, mutant: Mutant | None, quiet: bool = True) -> bool:
        """Whether a fast test fails with the mutant, or without any if it is None."""
        if mutant is None:
            return self._fails(["tests"], quiet)
        path = self.folder / mutant.file
        source = path.read_bytes()
        path.write_bytes(source[: mutant.start] + mutant.new.encode() + source[mutant.end :])
        try:
            first = self._mirror(mutant.file)
            return (first != "tests" and self._fails([first], quiet)) or self._fails(["tests"], quiet)
        finally:
            path.write_bytes(source)

    def _mirror(self, file: str) -> str:
        """Return the folder or file of tests for a file of `src`."""
        path = Path("tests", *Path(file).parts[1:])
        named = path.with_name(f"test_{path.name}")
        if (self.folder / named).exists():
            return str(named)
        return str(next(parent for parent in path.parents if (self.folder / parent).is_dir()))

    def _fails(self, tests: list[str], quiet: bool) -> bool:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "not browser and not slow",
        ]
        environment = os.environ | {"PYTHONPATH": f"{self.folder / 'names'}", "OMP_NUM_THREADS": "1"}
        with tempfile.TemporaryDirectory() as scratch:
            process = subprocess.Popen(
                [*command, f"--basetemp={scratch}/pytest", *tests],
                cwd=self.folder,
                env=environment,
                stdout=subprocess.DEVNULL if quiet else None,
                stderr=subprocess.STDOUT if quiet else None,
                start_new_session=True,
            )
            try:
                return process.wait(HANGS) not in (0, 5)  # 5: no test was collected
            except subprocess.TimeoutExpired:
                return True
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, 9)
                    process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="mutants of the sample (100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="mutants tested at a time")
    parser.add_argument("--only", type=int, help="number of the mutant to test alone")
    parser.add_argument("--list", action="store_true", help="print the sample")
    options = parser.parse_args()
    sample = draw_sample(options.count, options.seed)
    if options.list:
        print(*(f"{number}: {mutant}" for number, mutant in enumerate(sample)), sep="\n")
        return
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(options.jobs) as pool:
        free: SimpleQueue[Laboratory] = SimpleQueue()
        for job in range(options.jobs):
            Path(name, str(job)).mkdir()
            free.put(Laboratory(Path(name, str(job))))

        def test(mutant: Mutant | None) -> bool:
            laboratory = free.get()
            try:
                return laboratory.detects(mutant, quiet=options.only is None)
            finally:
                free.put(laboratory)

        if options.only is not None:
            print("detected" if test(sample[options.only]) else "not detected", sample[options.only])
            return
        if test(None):
            sys.exit("error: the fast tests fail without a mutant: run make test")
        detected = 0
        for number, (mutant, found) in enumerate(zip(sample, pool.map(test, sample), strict=True)):
            detected += found
            print(f"{number}: {'detected' if found else 'NOT DETECTED'} {mutant}", flush=True)
        print(f"{detected} of {len(sample)} mutants are detected by the fast tests")


if __name__ == "__main__":
    main()
