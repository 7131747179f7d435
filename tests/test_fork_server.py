"""A forked command behaves like the one that `python -m` starts."""

import os
import signal

import pytest

from tests.lab import Lab


def test_it_gives_the_streams_and_the_exit_code_of_a_process(lab: Lab):
    for arguments, stdin in ((("env=tictactoe",), "legal\nperft 3\nnonsense\n"), (("env=chess",), "")):
        forked, fresh = (lab.run("engine", *arguments, stdin=stdin, fresh=fresh) for fresh in (False, True))
        assert (forked.returncode, forked.stdout, forked.stderr) == (fresh.returncode, fresh.stdout, fresh.stderr)
    assert forked.returncode == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_is_its_exit_code(lab: Lab, number: signal.Signals):
    process = lab.start("engine", "env=tictactoe")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("perft 1\n")
    process.stdin.flush()
    assert process.stdout.readline() == "nodes 9\n"
    assert process.poll() is None
    process.send_signal(number)
    assert process.wait() == -number
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
