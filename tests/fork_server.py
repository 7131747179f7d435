"""Commands forked from a process that has imported their modules, so that each starts within milliseconds.

`python -m src.train` spends seconds importing torch, Hydra, Numba and wandb. The fork server of multiprocessing imports
them once (see preload.py) and forks a child for each command, which runs the module just as `python -m` would: with its
own folder, environment, arguments and standard streams, as `__main__`, down to what is registered with atexit.
"""

import atexit
import importlib
import io
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, NoReturn

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.preload"])


class Command:
    """`python -m MODULE ARGUMENTS`, forked, with the part of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        stdout: IO[str] | None = None,
    ) -> None:
        streams: list[IO[str] | None] = []
        theirs: list[Connection] = []
        for number, mode in enumerate(("w", "r", "r")):
            if number == 1 and stdout is not None:
                streams.append(None)
                theirs.append(Connection(os.dup(stdout.fileno()), readable=False))
                continue
            reader, writer = CONTEXT.Pipe(duplex=False)
            ours, given = (writer, reader) if mode == "w" else (reader, writer)
            streams.append(open(os.dup(ours.fileno()), mode, encoding="utf-8"))  # noqa: PTH123, SIM115 (a descriptor)
            theirs.append(given)
        self.stdin, self.stdout, self.stderr = streams
        self.returncode: int | None = None
        self._process = CONTEXT.Process(
            target=_run, args=(module, arguments, str(folder), dict(environment), theirs), daemon=True
        )
        self._process.start()
        self.pid = self._process.pid or 0

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        self.returncode = self._process.exitcode
        if self.returncode is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:  # else its id may belong to another process by now
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, text: str = "", timeout: float | None = None) -> tuple[str, str]:
        """Write to standard input, read all output, and wait for the end."""
        found = ["", ""]

        def write() -> None:
            if self.stdin is not None:
                with suppress(BrokenPipeError), self.stdin:
                    self.stdin.write(text)

        def read(number: int, stream: IO[str]) -> None:
            with stream:
                found[number] = stream.read()

        threads = [threading.Thread(target=write, daemon=True)]
        for number, stream in enumerate((self.stdout, self.stderr)):
            if stream is not None:
                threads.append(threading.Thread(target=read, args=(number, stream), daemon=True))
        for thread in threads:
            thread.start()
        self.wait(timeout)
        for thread in threads:
            thread.join()
        return found[0], found[1]


def _run(
    module: str, arguments: list[str], folder: str, environment: dict[str, str], streams: list[Connection]
) -> None:
    """Run like `python -m MODULE ARGUMENTS` in another folder and environment, down to Python's shutdown."""
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            open(number, "wb", closefd=False),  # noqa: SIM115
            encoding="utf-8",
            errors="strict" if number == 1 else "backslashreplace",
            line_buffering=number == 2,
        )
        for number in (1, 2)
    )
    multiprocessing.set_start_method(None, force=True)  # multiprocessing has set its own
    own = multiprocessing.current_process()
    own.name, own._config["daemon"] = "MainProcess", False  # type: ignore[attr-defined] # see NiceGUI; it may start others
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path.insert(0, folder)
    sys.argv = [module, *arguments]
    code = 0
    try:
        try:
            # wandb creates a folder on import, which the first child would remove at its exit.
            with tempfile.TemporaryDirectory("wandb-media") as media:
                importlib.import_module("wandb.sdk.data_types._private").MEDIA_TMP.name = media
                runpy.run_module(module, run_name="__main__", alter_sys=True)
        finally:
            threading._shutdown()  # type: ignore[attr-defined]
    except SystemExit as error:
        if isinstance(error.code, int | None):
            code = error.code or 0
        else:
            print(error.code, file=sys.stderr)
            code = 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    atexit._run_exitfuncs()
    for output in (sys.stdout, sys.stderr):
        try:
            output.flush()
        except OSError as error:
            code = 120
            os.write(2, f"{error!r} ignored\n".encode())
    _leave(code)


def _leave(code: int) -> NoReturn:
    """Exit immediately: a regular shutdown of torch takes longer than most commands."""
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)
