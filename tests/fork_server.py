"""Commands forked from a process that has imported their modules, so that each starts within milliseconds.

`python -m src.train` spends seconds importing torch, Hydra, Numba and wandb. `python -m tests.fork_server FD` imports
them once, then forks a child for each request on the socket FD. The child runs the module just as `python -m` would:
with its own folder, environment, arguments and standard streams, as `__main__`, down to what is registered with atexit.
The server itself computes nothing, so it has no threads that a fork would lose.

`python -m tests.fork_server FD LISTENER` also serves whoever connects to the socket LISTENER: the workers of xdist use
the server of the process that starts them.
"""

import atexit
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

ROOT = Path(__file__).parent.parent
NUMBER = struct.Struct("i")  # a process id, then an exit code
MAX_BYTES = 1 << 18  # of a request
SHARED = "TESTS_FORK_SERVER"  # the variable that holds the address of a server that other processes may use
LIBRARIES = (
    "wandb.sdk.launch",  # which a run imports; first, because what it does takes longer the more modules there are
    *("antlr4", "hydra._internal.hydra", "hydra.core.plugins", "matplotlib.pyplot", "rich.progress"),
    *("torch._dynamo", "torch.distributed", "wandb"),  # the first of which an optimizer imports
)
PACKAGES = ("src.algos", "src.core", "src.envs", "src.nets")  # with all that is below them
ENTRY_NEEDS = ("src.config.cli", "src.config.compose", "src.config.load")


class Command:
    """A forked command, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, control: socket.socket, pipes: list[IO[str] | None]) -> None:
        self._control = control
        self.stdin, self.stdout, self.stderr = pipes
        self.returncode: int | None = None
        self.pid = self._receive()

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._control.settimeout(timeout)
            try:
                self.returncode = self._receive()
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0) from None
            self._control.close()
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
        found = {"out": "", "err": ""}

        def read(name: str, stream: IO[str] | None) -> None:
            if stream is not None:
                with stream:
                    found[name] = stream.read()

        work = (partial(self._write, text), partial(read, "out", self.stdout), partial(read, "err", self.stderr))
        threads = [threading.Thread(target=target, daemon=True) for target in work]
        for thread in threads:
            thread.start()
        self.wait(timeout)
        for thread in threads:
            thread.join()
        return found["out"], found["err"]

    def _write(self, text: str) -> None:
        if self.stdin is not None:
            with suppress(BrokenPipeError), self.stdin:
                self.stdin.write(text)

    def _receive(self) -> int:
        message = self._control.recv(NUMBER.size)
        if not message:
            raise RuntimeError("the fork server ended: see the output of the test that started it")
        return NUMBER.unpack(message)[0]


class ForkServer:
    """The client. The server starts with the first command and ends with `close`, or with this process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None
        self._channel: socket.socket | None = None
        self._folder: tempfile.TemporaryDirectory | None = None

    def start(
        self, module: str, *arguments: str, folder: Path, environment: Mapping[str, str], stdout: IO[str] | None = None
    ) -> Command:
        """Run `python -m MODULE ARGUMENTS`; its streams are pipes, or a given file for standard output."""
        channel = self._connected()
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours: list[IO[str] | None] = []
        given: list[int] = []
        for number, mode in enumerate(("w", "r", "r")):
            if number == 1 and stdout is not None:
                ours.append(None)
                given.append(os.dup(stdout.fileno()))
                continue
            read_end, write_end = os.pipe()
            our_end, their_end = (write_end, read_end) if mode == "w" else (read_end, write_end)
            ours.append(open(our_end, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 (a descriptor, which stays open)
            given.append(their_end)
        request = {"module": module, "arguments": arguments, "folder": str(folder), "environment": dict(environment)}
        socket.send_fds(channel, [json.dumps(request).encode()], [*given, theirs.fileno()])
        theirs.close()
        for descriptor in given:
            os.close(descriptor)
        return Command(control, ours)

    def share(self) -> None:
        """Start the server, and let processes that this one starts use it too."""
        self._folder = tempfile.TemporaryDirectory()
        address = str(Path(self._folder.name, "socket"))
        self._launch(address)
        os.environ[SHARED] = address

    def _connected(self) -> socket.socket:
        if self._channel is None and SHARED in os.environ:
            self._channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._channel.connect(os.environ[SHARED])
        elif self._channel is None:
            return self._launch()
        return self._channel

    def _launch(self, *address: str) -> socket.socket:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listeners = [_listener(path) for path in address]
        given = [str(one.fileno()) for one in (theirs, *listeners)]
        threads = {"OPENBLAS_NUM_THREADS": "1"} | ({"OMP_NUM_THREADS": "1"} if address else {})  # read at the start
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server", *given],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | threads,
            stdin=subprocess.DEVNULL,
            pass_fds=[int(number) for number in given],
        )
        for one in (theirs, *listeners):
            one.close()
        return self._channel

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._process is not None:
            self._process.wait()
        if self._folder is not None:
            self._folder.cleanup()
            del os.environ[SHARED]
        self._channel = self._process = self._folder = None


def _listener(path: str) -> socket.socket:
    """A socket that listens before the server is there, so that who connects has to wait for it only."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen()
    return listener


def import_everything() -> None:
    for name in (*LIBRARIES, *ENTRY_NEEDS):
        importlib.import_module(name)
    for package in PACKAGES:
        for found in pkgutil.walk_packages([str(ROOT.joinpath(*package.split(".")))], f"{package}."):
            with suppress(ImportError):  # an optional package
                importlib.import_module(found.name)
    importlib.import_module("hydra.core.plugins").Plugins.instance()  # which looks for all of them


def parse_configs() -> None:
    """Parse the files of the default configurations, which nearly every command composes."""
    parsed_configs = importlib.import_module("tests.parsed_configs")
    parsed_configs.keep()
    parsed_configs.parse_all()


class Server:
    """The server: forks children and reports their process ids and exit codes."""

    def __init__(self, channel: socket.socket, *listeners: socket.socket) -> None:
        self._channel, self._children = channel, dict[int, socket.socket]()
        self._listeners, self._clients = listeners, set[socket.socket]()
        self._ended, wake = socket.socketpair()  # gets a byte when a child ends
        for end in (self._ended, wake):
            end.setblocking(False)
        self._wake = wake
        self._selector = selectors.DefaultSelector()
        for readable in (channel, self._ended, *listeners):
            self._selector.register(readable, selectors.EVENT_READ)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches all: pytest closes the channel

    def serve(self) -> dict[str, Any] | None:
        """Fork until the channel is closed. Return the request in each child, and finally None in the server."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj in self._listeners:
                    client, _ = next(one for one in self._listeners if one is key.fileobj).accept()
                    self._clients.add(client)
                    self._selector.register(client, selectors.EVENT_READ)
                elif key.fileobj in (self._channel, *self._clients):
                    channel = next(one for one in (self._channel, *self._clients) if one is key.fileobj)
                    message, descriptors, *_ = socket.recv_fds(channel, MAX_BYTES, 4)
                    if not message and channel is self._channel:
                        self._kill_all()
                        return None
                    if not message:
                        self._selector.unregister(channel)
                        self._clients.remove(channel)
                        channel.close()
                    elif self._fork(descriptors):
                        return json.loads(message)
                elif key.fileobj is self._ended:
                    self._ended.recv(1 << 10)
                    self._reap()
                elif key.data in self._children:  # its client is gone
                    os.kill(key.data, signal.SIGKILL)
                    self._selector.unregister(key.fileobj)

    def _fork(self, descriptors: list[int]) -> bool:
        """Fork; return whether this is the child."""
        control = socket.socket(fileno=descriptors.pop())
        pid = os.fork()
        if pid == 0:
            self._leave()
            control.close()
            _replace_streams(descriptors)
            return True
        for descriptor in descriptors:
            os.close(descriptor)
        self._children[pid] = control
        self._selector.register(control, selectors.EVENT_READ, pid)
        self._report(control, pid)
        return False

    def _leave(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._selector.close()
        ends = (self._channel, *self._listeners, *self._clients, self._ended, self._wake, *self._children.values())
        for end in ends:
            end.close()

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            control = self._children.pop(pid)
            with suppress(KeyError):  # where it was killed
                self._selector.unregister(control)
            self._report(control, os.waitstatus_to_exitcode(status))
            control.close()

    def _report(self, control: socket.socket, number: int) -> None:
        with suppress(BrokenPipeError):  # where the client is gone
            control.send(NUMBER.pack(number))

    def _kill_all(self) -> None:
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        for pid in self._children:
            os.waitpid(pid, 0)


def _replace_streams(descriptors: list[int]) -> None:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")  # noqa: SIM115
    sys.stdout = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8")  # noqa: SIM115
    sys.stderr = io.TextIOWrapper(
        open(2, "wb", closefd=False),  # noqa: SIM115
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=True,
    )


def _own_media_folder() -> tempfile.TemporaryDirectory:
    """Replace the folder that wandb creates on import, which the first child would remove at its exit."""
    folder = tempfile.TemporaryDirectory("wandb-media")
    importlib.import_module("wandb.sdk.data_types._private").MEDIA_TMP.name = folder.name
    return folder


def run(module: str, arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    """Run like `python -m MODULE ARGUMENTS` in another folder and environment."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = folder
    sys.argv = [module, *arguments]
    with _own_media_folder():
        runpy.run_module(module, run_name="__main__", alter_sys=True)


def exit_code(work: Callable[[], None]) -> int:
    """Run the work and Python's shutdown: wait for threads, call atexit functions, flush."""
    code = 0
    try:
        try:
            work()
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
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            code = 120
            os.write(2, f"{error!r} ignored\n".encode())
    return code


def leave(code: int) -> NoReturn:
    """Exit immediately: a regular shutdown of torch takes longer than most commands."""
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)


def main() -> None:
    gc.disable()
    import_everything()
    parse_configs()
    gc.collect()
    gc.freeze()  # a collection in a child would copy all the memory that it shares
    gc.enable()
    request = Server(*(socket.socket(fileno=int(number)) for number in sys.argv[1:])).serve()
    if request is not None:
        leave(exit_code(partial(run, **request)))


if __name__ == "__main__":
    main()
