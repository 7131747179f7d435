import io
import os
import queue
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from experiments.faults.lines import BLOCK, Talks
from experiments.faults.report import Row
from src.algos.minimax import MinimaxAgent
from src.config.build import build
from src.core.interrupt import MAX_LINE_LENGTH, CommandReader
from src.core.play.agent import RandomAgent
from src.engine import Engine, serve
from src.envs.tictactoe.game import TicTacToe
from tests.lab import Lab, Process
from tests.marks import mostly_slow
from tests.test_compositions import composed


@pytest.fixture
def engine() -> Engine:
    return Engine(TicTacToe(symmetric=True), MinimaxAgent(), seed=0)


def test_a_conversation_over_pipes(lab: Lab):
    lines = "position startpos moves 0 4 8\nlegal\nperft 2\n\nbogus\ngo\nquit\nlegal\n"
    done = lab.succeed("engine", "env=tictactoe", "agent=minimax", stdin=lines)
    answers = done.stdout.splitlines()
    assert answers[:3] == ["ok", "legal 1 2 3 5 6 7", "nodes 30"]
    assert answers[3].startswith("error bogus is not a command")
    assert answers[4].split()[0] == "bestmove"
    assert answers[4].split()[1] in {"1", "3", "5", "7"}, "a corner would lose"
    assert len(answers) == 5, "nothing is answered after quit"
    assert list(lab.folder.iterdir()) == []


def test_end_of_input_ends_the_engine(lab: Lab):
    done = lab.run("engine", stdin="legal\n")
    assert (done.returncode, done.stdout) == (0, "legal 0 1 2 3 4 5 6 7 8\n")


@pytest.mark.parametrize(
    "line",
    [
        "position",
        "position endpos",
        "position startpos 0 4",
        "position startpos moves 0 0",
        "position startpos moves 9",
        "position startpos moves -1",
        "position startpos moves 0 x",
        "position startpos moves 0 3 1 4 2 5",
        "perft",
        "perft -1",
        "perft 1.5",
        "perft \u00b2",
        "perft 1 2",
        "perft " + "9" * 5000,
        "position X........ moves 4 4",
        "position XX.......",
        "position moves 4",
        "write it",
        "save",
        "load",
        "load nowhere.txt",
        "analyze",
        "analyze all",
        "legal 1",
        "go fast",
        "go time",
        "go time -1",
        "go time nan",
        "go time 1 increment",
        "go time 1 time 1",
        "go increment 1 time 1",
        "go time 2e6",
        "eval now",
        "show me",
        "GO",
        "\x00",
    ],
)
def test_bad_lines_get_one_error_line_and_change_nothing(engine: Engine, line: str):
    engine.answer("position startpos moves 4")
    answer = engine.answer(line)
    assert answer.startswith("error ")
    assert "\n" not in answer
    assert engine.answer("legal") == "legal 0 1 2 3 5 6 7 8"


def test_a_refused_or_stopped_line_draws_nothing(monkeypatch: pytest.MonkeyPatch):
    game = build(composed("env=minesweeper_8x8").env, "env").game
    engine, other = (Engine(game, RandomAgent(), seed=0) for _ in range(2))
    assert engine.answer("position startpos moves nowhere").startswith("error ")

    def interrupted(*_: object) -> None:
        engine.start = None
        engine.rng.random()
        raise KeyboardInterrupt

    monkeypatch.setitem(engine.commands, "go", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.answer("go")
    for line in ("write", "position startpos", "write"):
        assert engine.answer(line) == other.answer(line)


def test_moves_are_weighed_by_who_can(engine: Engine):
    engine.answer("position startpos moves 0 1")
    *lines, last = engine.answer("analyze 99").splitlines()
    assert last == "ok"
    assert [line.split()[1] for line in lines] == ["win"] * 3 + ["draw"] * 4
    thoughtless = Engine(TicTacToe(symmetric=True), RandomAgent(), seed=0)
    assert thoughtless.answer("analyze 3").startswith("error this agent does not score its moves")


class Timed(RandomAgent):
    """Plays a random move with any time, which it writes down."""

    def __init__(self) -> None:
        self.clocks: list[tuple[float, float]] = []

    def decide_by_clock(self, game, view, left, increment):
        self.clocks.append((left, increment))
        return self.decide(game, view, np.random.default_rng(0))


def test_agents_that_can_play_by_the_clock_of_the_caller():
    agent = Timed()
    engine = Engine(TicTacToe(symmetric=True), agent, seed=0)
    for line in ("go", "go time 60", "go time 59.5 increment 0.5"):
        assert engine.answer(line).startswith("bestmove ")
    assert agent.clocks == [(60.0, 0.0), (59.5, 0.5)]


def test_an_agent_without_a_clock_refuses_one(engine: Engine):
    assert engine.answer("go time 60") == (
        "error this agent plays without a clock: type go alone, or choose agent=master"
    )


def test_after_the_end_there_is_nothing_to_play(engine: Engine):
    engine.answer("position startpos moves 0 3 1 4 2")
    assert engine.answer("legal") == "legal"
    assert engine.answer("go") == "error the game is over"
    assert engine.answer("eval") == "error the game is over"
    assert engine.answer("perft 1") == "nodes 0"


def test_show_and_eval(engine: Engine):
    engine.answer("position startpos moves 0 4")
    assert engine.answer("show") == "X . .\n. O .\n. . .\nok"
    assert engine.answer("eval") == "eval value=0"
    assert Engine(TicTacToe(symmetric=True), RandomAgent(), 0).answer("eval").startswith("error ")


def test_eval_leaves_out_what_does_not_fit_on_a_line():
    class Talkative(RandomAgent):
        def decide(self, game, view, rng):
            return super().decide(game, view, rng)._replace(info={"action_probability": np.zeros(200), "value": 0.5})

    assert Engine(TicTacToe(symmetric=True), Talkative(), 0).answer("eval") == "eval value=0.5"


def test_asking_for_an_opinion_changes_no_move():
    class Talkative(RandomAgent):
        def decide(self, game, view, rng):
            return super().decide(game, view, rng)._replace(info={"value": 0.5})

    moves = []
    for asked in (0, 1, 3):
        engine = Engine(TicTacToe(symmetric=True), Talkative(), seed=3)
        for _ in range(asked):
            engine.answer("eval")
        moves.append([engine.answer("go") for _ in range(5)])
    assert moves[0] == moves[1] == moves[2]


def test_perft_counts_from_the_position(engine: Engine):
    assert engine.answer("perft 0") == "nodes 1"
    assert engine.answer("perft 5") == "nodes 15120"


def test_blank_lines_are_passed_over(engine: Engine):
    out = io.StringIO()
    serve(engine, io.StringIO("\n   \nlegal\nquit\n"), out)
    assert out.getvalue() == "legal 0 1 2 3 4 5 6 7 8\n"


def test_positions_are_written_and_set_up_again(engine: Engine):
    engine.answer("position startpos moves 0 4")
    assert engine.answer("write") == "position X...O...."
    engine.answer("position startpos")
    assert engine.answer("position X...O.... moves 8") == "ok"
    assert engine.answer("write") == "position X...O...X"


def test_games_are_saved_and_loaded(engine: Engine, tmp_path):
    engine.answer("position X...O.... moves 8 1")
    assert engine.answer(f"save {tmp_path}/a game.txt") == "ok"
    engine.answer("position startpos")
    assert engine.answer(f"load {tmp_path}/a game.txt") == "ok"
    assert engine.answer("write") == "position XO..O...X"
    assert (tmp_path / "a game.txt").read_text() == "start X...O....\nmoves 8 1\nresult *\n"
    assert engine.answer(f"save {tmp_path}").startswith("error ")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe")
    assert engine.answer(f"load {tmp_path}/bad.txt").startswith("error ")
    assert engine.answer("write") == "position XO..O...X"


def test_a_conversation_about_quoridor(lab: Lab):
    lines = [
        "position startpos moves e2 e8",
        "perft 2",
        "eval",
        "analyze 2",
        "go",
        "position e2 e8 9 9 2 e2h moves f2",
        "write",
        "position e2 e8 9 9 2 e2h,e2v",
        "position startpos moves e3",
    ]
    words = ("env=quoridor", "agent=alphabeta", "agent.difficulty=hell")
    answers = lab.succeed("engine", *words, stdin="\n".join(lines)).stdout.splitlines()
    assert answers[:2] == ["ok", "nodes 16936"]
    assert answers[2].startswith("eval score=")
    assert "static=0 path=0 endgame=0 walls=0 mobility=0 efficiency=0" in answers[2]
    assert [answer.split()[0] for answer in answers[3:6]] == ["1", "2", "ok"]
    assert answers[6] == f"bestmove {answers[3].split()[2]}", "the best move of the analysis is the one that is played"
    assert answers[7:9] == ["ok", "position f2 e8 9 9 3 e2h"]
    assert answers[9] == "error e2v overlaps or crosses another wall"
    assert answers[10] == "error e3 is not legal in e1 e9 10 10 0 -"


@pytest.mark.parametrize(
    "line", ["load a\0b", "save a\0b", "save .", "save ..", "save /", "load /dev/zero", "load .", "save /dev/full"]
)
def test_files_that_cannot_be_get_an_error_line(engine: Engine, line: str):
    assert engine.answer(line).startswith("error ")
    assert engine.answer("legal") == "legal 0 1 2 3 4 5 6 7 8"


def test_a_conversation_in_the_c_locale(lab: Lab):
    done = lab.succeed(
        "engine",
        stdin="Ünïcode ☃\nload Ünïcode.txt\nsave ☃\nlegal\n",
        environment={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""},
        encoding="utf-8",
    )
    assert done.stderr == ""
    unknown, *refused, legal = done.stdout.splitlines()
    assert unknown.startswith("error Ünïcode is not a command")
    assert all(answer.startswith("error ") for answer in refused)
    assert legal == "legal 0 1 2 3 4 5 6 7 8"


@pytest.mark.parametrize("close", ["pipe", "full"])
def test_a_closed_output_ends_it_quietly(lab: Lab, close: str):
    with Path("/dev/full").open("w") as full:
        process = lab.start("engine", stdout=full) if close == "full" else lab.start("engine")
    assert process.stdin is not None
    if process.stdout is not None:
        process.stdin.write("legal\n")
        process.stdin.flush()
        assert process.stdout.readline() == "legal 0 1 2 3 4 5 6 7 8\n"
        process.stdout.close()
    try:
        process.stdin.write("show\n" * 5000)
        process.stdin.close()
    except BrokenPipeError:
        pass
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait() == 0


def processor_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def wait_until_computed(process: Process, seconds: float) -> None:
    """Wait until a process has used this much more CPU time."""
    begin = processor_seconds(process.pid)
    while processor_seconds(process.pid) < begin + seconds:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.005)


def test_ctrl_c_stops_a_count_and_not_the_engine(lab: Lab):
    process = lab.start("engine", "env=quoridor", "agent=random")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("perft 1\nperft 20\n")
    process.stdin.flush()
    assert process.stdout.readline() == "nodes 131\n"
    wait_until_computed(process, 0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate("perft 0\n", timeout=60)
    assert (out, err, process.returncode) == ("error stopped\nnodes 1\n", "", 0)


@pytest.mark.parametrize("command", mostly_slow(["go", "analyze 3"], fast=1))
def test_ctrl_c_stops_a_compiled_search_and_not_the_engine(lab: Lab, command: str):
    process = lab.start("engine", "env=quoridor", "agent=alphabeta", f"agent.nodes={10**12}")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"perft 1\n{command}\n")
    process.stdin.flush()
    assert process.stdout.readline() == "nodes 131\n"
    wait_until_computed(process, 0.4)  # to load the search takes a part of it
    process.send_signal(signal.SIGINT)
    out, err = process.communicate("write\n", timeout=60)
    assert (out, err, process.returncode) == ("error stopped\nposition e1 e9 10 10 0 -\n", "", 0)


INFO = re.compile(r"info depth (\d+) score \S+ nodes (\d+) nps \d+ pv( [a-i][1-9][hv]?)+")


def test_an_analysis_streams_every_depth_until_it_is_stopped(lab: Lab):
    process = lab.start("engine", "env=quoridor", "agent=master", f"agent.seconds={10**6}")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("analyze 3\n")
    process.stdin.flush()
    lines = [process.stdout.readline().strip() for _ in range(4)]
    out, err = process.communicate("stop\nstop\nwrite\nposition startpos moves e2\nwrite\nquit\n")
    *more, best, ok, position, moved, last = out.splitlines()
    found = [INFO.fullmatch(line) for line in [*lines, *more]]
    assert all(found), [*lines, *more]
    assert [int(match[1]) for match in found if match] == list(range(1, len(found) + 1)), "one line for every depth"
    nodes = [int(match[2]) for match in found if match]
    assert nodes == sorted(nodes)
    assert best.split()[0] == "1"
    assert (ok, moved) == ("ok", "ok")
    assert (position, last) == ("position e1 e9 10 10 0 -", "position e2 e9 10 10 1 -")
    assert (err, process.returncode) == ("", 0)


def test_a_stop_read_before_its_analysis_is_not_lost(lab: Lab):
    lines = "analyze 3\nstop\nwrite\nquit\n"
    done = lab.succeed("engine", "env=quoridor", "agent=master", f"agent.seconds={10**6}", stdin=lines)
    info, *_, ok, position = done.stdout.splitlines()
    assert INFO.fullmatch(info)
    assert (ok, position) == ("ok", "position e1 e9 10 10 0 -")


class Typed(io.StringIO):
    """Lines that come one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.typed: queue.SimpleQueue[str] = queue.SimpleQueue()

    def readline(self, limit: int | None = -1, /) -> str:  # type: ignore[override]
        return self.typed.get()


def test_a_stop_ends_earlier_commands_only():
    lines, stops = Typed(), queue.SimpleQueue[None]()
    reader = CommandReader(lines, lambda: stops.put(None))
    commands = iter(reader)
    lines.typed.put("analyze 1\n")
    assert next(commands) == "analyze 1\n"
    assert not reader.is_stopped()
    lines.typed.put(" stop\n")
    stops.get()
    assert reader.is_stopped()
    lines.typed.put("analyze 2\n")
    assert next(commands) == "analyze 2\n"
    assert not reader.is_stopped(), "it was sent after the stop"
    lines.typed.put("quit\n")
    assert list(commands) == []


def test_a_line_that_never_ends_is_skipped(engine: Engine):
    out = io.StringIO()
    serve(engine, io.StringIO("x" * (3 * MAX_LINE_LENGTH) + "\nlegal\n" + "y" * MAX_LINE_LENGTH), out)
    first, second, third = out.getvalue().splitlines()
    assert first == third == f"error a line must be shorter than {MAX_LINE_LENGTH} characters"
    assert second == "legal 0 1 2 3 4 5 6 7 8"


@pytest.mark.parametrize("case", [0, 2, 5, 36], ids=["tictactoe", "quoridor", "minesweeper", "deployment"])
def test_every_line_is_answered(tmp_path: Path, case: int):
    """A block of valid, mutated and invalid lines: none ends the engine, and errors change nothing."""
    row = Row("lines", "engine")
    Talks(tmp_path, 0).case(case, row)
    assert (row.tried, row.failures) == (BLOCK, {})


@pytest.mark.parametrize(("env", "agent"), [("minesweeper_8x8", "exact"), ("deployment", "greedy")])
def test_games_with_chance_are_played_from_a_seed(tmp_path, monkeypatch: pytest.MonkeyPatch, env: str, agent: str):
    monkeypatch.chdir(tmp_path)
    cfg = composed(f"env={env}", f"agent={agent}", config="engine")
    game = build(cfg.env, "env").game
    engine = Engine(game, build(cfg.agent, "agent"), seed=0)
    assert engine.answer("position seed 3") == "ok"
    moves: list[str] = []
    while (legal := engine.answer("legal").split()[1:]) and len(moves) < 25:
        word, move = engine.answer("go").split()
        assert word == "bestmove"
        assert move in legal
        assert len(set(legal)) == len(legal)
        moves.append(move)
        assert engine.answer(f"position seed 3 moves {' '.join(moves)}") == "ok"
    shown = engine.answer("show")
    assert engine.answer("write") == f"position seed 3 {' '.join(moves)}"
    assert engine.answer("save game.txt") == "ok"
    assert engine.answer("position startpos") == "ok"
    other = engine.answer("write")
    assert engine.answer("position seed 3 moves nowhere").startswith("error nowhere is not a legal move here")
    assert engine.answer("perft 1").startswith("error ")
    assert engine.answer("write") == other, "an error changes nothing"
    assert engine.answer("load game.txt") == "ok"
    assert engine.answer("show") == shown
    assert engine.answer("position startpos") == "ok"
    assert engine.answer("write") != other, "each game is another"


def test_a_conversation_about_minesweeper(lab: Lab):
    lines = "position seed 7\ngo\nposition seed 7 moves flag:0,0 flag:0,0 reveal:0,0\nwrite\neval\nanalyze 1\n"
    done = lab.succeed("engine", "env=minesweeper_8x8", "env.config.flag_actions=true", "agent=exact", stdin=lines)
    answers = done.stdout.splitlines()
    assert answers[0] == "ok"
    assert answers[1].startswith("bestmove reveal:")
    assert answers[2:4] == ["ok", "position seed 7 flag:0,0 flag:0,0 reveal:0,0"]
    assert answers[4].startswith("eval guess=")
    assert answers[5].startswith("error this agent does not score its moves")
