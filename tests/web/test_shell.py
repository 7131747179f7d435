"""The frame of the pages and the interface to games and agents."""

import os
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hydra import initialize_config_module
from nicegui.events import KeyboardAction, KeyboardKey, KeyboardModifiers

from src.core.errors import UserError
from src.core.runs.index.playable import finished_runs
from src.play import ConfigLab, listening_socket
from src.web.clickable import Pick, parse_id, parse_pick, split
from src.web.players import chosen
from src.web.shell import between, checked, key_name
from tests.lab import ROOT, Lab
from tests.web.browser import Browser


@pytest.mark.parametrize(
    ("parse", "message", "values"),
    [
        (
            parse_pick,
            "not a part|mouse button",
            [None, 3, {}, ["cell-1"], ["cell-1", 2], ["x" * 200, "left"], ["cell-1", "middle"]],
        ),
        (lambda value: parse_id(value, "cell", 9), "cell-0 to cell-8", ["cell-9", "cell--1", "cell-", "wall-1", ""]),
        (lambda value: parse_id(value, "cell", 9), "cell-0 to cell-8", ["cell-1e0", "cell-²", "9"]),
        (lambda value: checked(value, ["a", "b"]), "choose one of the list", [None, {}, [], "z", "", 3, True]),
        (lambda value: between(value, 0, 2), "not a number from 0 to 2", [None, {}, "1", -0.1, 2.1, 10**400]),
        (lambda value: between(value, 0, 2), "not a number from 0 to 2", [float("nan"), float("inf")]),
    ],
)
def test_what_no_control_sends_is_refused(parse: Callable[[Any], object], message: str, values: list[object]):
    for value in values:
        with pytest.raises(UserError, match=message):
            parse(value)


def test_what_a_control_sends_is_read():
    assert parse_pick(["cell-1", "right"]) == Pick("cell-1", "right")
    assert (parse_id("cell-8", "cell", 9), checked("b", ["a", "b"]), between(2, 0, 2)) == (8, "b", 2.0)


def test_only_the_parts_that_differ_are_drawn_again():
    drawing = '<svg><g role="row"><g data-id="a">{}</g><g data-id="b">2</g></g><g data-part="rings">{}</g>{}</svg>'
    before = split(drawing.format(1, "", ""))
    assert split(drawing.format(1, "", "")).changes(before) == []
    assert split(drawing.format(3, "", "")).changes(before) == [("a", '<g data-id="a">3</g>')]
    assert split(drawing.format(1, "o", "")).changes(before) == [("rings", '<g data-part="rings">o</g>')]
    assert split(drawing.format(1, "", "<path/>")).changes(before) is None, "the rest differs"
    assert split("<svg/>").changes(split("<svg/>")) is None, "there are no parts"


@pytest.mark.parametrize(
    ("name", "held", "read"), [("F", {}, "f"), ("?", {}, "?"), ("Enter", {}, "Enter"), ("f", {"ctrl": True}, None)]
)
def test_letters_count_in_either_case(name: str, held: dict[str, bool], read: str | None):
    modifiers = KeyboardModifiers(**({"alt": False, "ctrl": False, "meta": False, "shift": False} | held))
    action = KeyboardAction(keydown=True, keyup=False, repeat=False)
    key: Any = SimpleNamespace(action=action, key=KeyboardKey(name=name, code="", location=0), modifiers=modifiers)
    assert key_name(key) == read


def test_a_refused_player_is_answered_with_few_words():
    runs = {f"run:outputs/{number}": number for number in range(1000)}
    with pytest.raises(UserError, match=r"choose one of you, random or a run of the list$"):
        chosen({"you": 1, "random": 2} | runs, "nobody")


def test_the_theme_is_remembered(browser: Browser):
    browser.open("/")
    dark = lambda: browser.script("return document.body.classList.contains('body--dark')")  # noqa: E731
    before = dark()
    browser.click(".lab-theme")
    browser.until(lambda: dark() != before, "the other theme")
    browser.until(lambda: "theme=" in browser.script("return document.cookie"), "the cookie")
    browser.refresh()
    browser.until(lambda: dark() != before, "the theme chosen last")


def test_a_port_that_is_taken_or_cannot_be_is_refused(address: str):
    for host, port in (("127.0.0.1", int(address.rpartition(":")[2])), ("no.such.host.invalid", 0)):
        with pytest.raises(UserError, match="choose another, such as port=0"):
            listening_socket(host, port)


def test_connections_send_small_messages_at_once():
    with (
        listening_socket("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_setting_that_is_not_known_is_refused(lab: Lab):
    done = lab.run("play", "+color=red", "open_browser=false")
    assert done.returncode != 0
    assert "color" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_listening_to_others_is_warned_of(lab: Lab):
    process = lab.start("play", "host=0.0.0.0", "port=0", "open_browser=false")
    assert process.stdout is not None
    assert "http://0.0.0.0:" in process.stdout.readline()
    process.terminate()
    assert "LISTENING ON 0.0.0.0" in process.communicate()[1]


@pytest.fixture
def laboratory() -> Iterator[ConfigLab]:
    with initialize_config_module("conf", version_base="1.3"):
        yield ConfigLab([ROOT / "experiments"], seed=0)


def test_a_page_gets_games_and_agents_by_name_with_changes(laboratory: ConfigLab):
    game = laboratory.game("minesweeper_8x8", {"config.H": 4, "config.mine_count": 2})
    assert game.num_actions == 4 * 8
    assert laboratory.agent("exact", game).deterministic
    scenario = {"env/deployment/scenario@env.game.scenario": "classic_siege"}
    with pytest.raises(UserError, match=r"^deployment_max_unit_slots=9 is too few"):
        laboratory.game("deployment_classic", choices=scenario)
    assert laboratory.game("deployment_classic", {"game.deployment_max_unit_slots": 11}, scenario).players == 2
    assert laboratory.rng().integers(1 << 30) != laboratory.rng().integers(1 << 30)


def test_a_run_is_played_by_its_own_observations(laboratory: ConfigLab):
    run = next(run for run in finished_runs(laboratory.folders) if run.name == "experiments/minesweeper_8x8")
    game = laboratory.run_game(run.path, {"config.H": 9})
    view = game.view(game.initial(laboratory.rng()))
    assert game.observe(view).shape == (9, 8), "this run looks at the bare board"


@pytest.mark.parametrize(
    ("group", "name", "options"),
    [
        ("env", "chess", {}),
        ("env", "../agent/random", {}),
        ("agent", "exact", {}),
        ("env", "tictactoe", {"changes": {"game.color": 1}}),
        ("env", "tictactoe", {"choices": {"env": "quoridor hydra.run.dir=/"}}),
        ("env", "tictactoe", {"choices": {"env/nothing@env.x": "y"}}),
    ],
)
def test_what_is_unknown_or_does_not_fit_is_refused(laboratory: ConfigLab, group: str, name: str, options: Any):
    ask = laboratory.game if group == "env" else partial(laboratory.agent, game=laboratory.game("tictactoe"))
    with pytest.raises(UserError):
        ask(name, **options)


def finish_run(path: Path, changed: float, config: str = "composition: {env: tictactoe, algo: qlearning}") -> None:
    (path / "checkpoints").mkdir(parents=True, exist_ok=True)
    (path / "config.yaml").write_text(config)
    (path / "checkpoints" / "best.safetensors").touch()
    os.utime(path / "checkpoints" / "best.safetensors", (changed, changed))


def test_runs_of_the_same_name_differ_and_the_newest_is_first(tmp_path: Path):
    finish_run(tmp_path / "outputs" / "x", 100)
    finish_run(tmp_path / "experiments" / "x", 200)
    finish_run(tmp_path / "outputs" / "y", 300)
    finish_run(tmp_path / "outputs" / "damaged", 400, "composition: 3")
    finish_run(tmp_path / "outputs" / "unreadable", 400, "[")
    finish_run(tmp_path / "outputs" / "unfinished", 400)
    (tmp_path / "outputs" / "unfinished" / "checkpoints" / "best.safetensors").unlink()
    folders = [tmp_path / "outputs", tmp_path / "experiments", tmp_path / "nowhere"]
    assert [run.name for run in finished_runs(folders)] == ["outputs/y", "experiments/x", "outputs/x"]
    finish_run(tmp_path / "outputs" / "y", 300, "composition: {env: quoridor_small, algo: qlearning}")
    assert finished_runs(folders)[0].env == "quoridor_small", "a configuration that was changed is read again"
