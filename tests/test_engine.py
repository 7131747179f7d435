import io

import numpy as np
import pytest

from src.algos.minimax import MinimaxAgent
from src.core.agent import RandomAgent
from src.engine import Engine, serve
from src.envs.tictactoe.rules import TicTacToe
from tests.lab import Lab


@pytest.fixture
def engine() -> Engine:
    return Engine(TicTacToe(symmetric=True), MinimaxAgent(), seed=0)


def test_a_conversation_over_pipes(lab: Lab):
    lines = "position startpos moves 0 4 8\nlegal\nperft 2\n\nbogus\ngo\nquit\nlegal\n"
    done = lab.run("engine", "env=tictactoe", "agent=minimax", stdin=lines)
    assert done.returncode == 0, done.stderr
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
        "analyse",
        "analyse all",
        "legal 1",
        "go fast",
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


def test_moves_are_weighed_by_who_can(engine: Engine):
    engine.answer("position startpos moves 0 1")
    *lines, last = engine.answer("analyse 99").splitlines()
    assert last == "ok"
    assert [line.split()[1] for line in lines] == ["win"] * 3 + ["draw"] * 4
    thoughtless = Engine(TicTacToe(symmetric=True), RandomAgent(), seed=0)
    assert thoughtless.answer("analyse 3").startswith("error this agent does not weigh its moves")


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
            return super().decide(game, view, rng)._replace(why={"action_probability": np.zeros(200), "value": 0.5})

    assert Engine(TicTacToe(symmetric=True), Talkative(), 0).answer("eval") == "eval value=0.5"


def test_asking_for_an_opinion_changes_no_move():
    class Talkative(RandomAgent):
        def decide(self, game, view, rng):
            return super().decide(game, view, rng)._replace(why={"value": 0.5})

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


def test_who_cannot_play_is_refused(lab: Lab):
    done = lab.run("engine", "agent=self", stdin="go\nlegal\n")
    assert done.stdout.splitlines()[0].startswith("error agent=self plays like a learner")
    assert done.stdout.splitlines()[1] == "legal 0 1 2 3 4 5 6 7 8"
    assert "one thing at a time" in lab.run("engine", "-m").stderr


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
        "analyse 2",
        "go",
        "position e2 e8 9 9 2 e2h moves f2",
        "write",
        "position e2 e8 9 9 2 e2h,e2v",
        "position startpos moves e3",
    ]
    done = lab.run("engine", "env=quoridor", "agent=alphabeta", "agent.difficulty=hell", stdin="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert answers[:2] == ["ok", "nodes 16936"]
    assert answers[2].startswith("eval score=")
    assert "static=0 path=0 endgame=0 walls=0 mobility=0 efficiency=0" in answers[2]
    assert [answer.split()[0] for answer in answers[3:6]] == ["1", "2", "ok"]
    assert answers[6] == f"bestmove {answers[3].split()[2]}", "the best move of the analysis is the one that is played"
    assert answers[7:9] == ["ok", "position f2 e8 9 9 3 e2h"]
    assert answers[9] == "error e2v overlaps or crosses another wall"
    assert answers[10] == "error e3 is not legal in e1 e9 10 10 0 -"
