"""The form of a training, without a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra import initialize_config_module
from starlette.requests import Request

from src.core.errors import UserError
from src.core.package import CONFIG_DIRS, command
from src.play import ConfigLab
from src.web.training import form
from src.web.training.page import is_local
from tests.lab import ROOT

HIDDEN = r"$\{oc.create\:$\{oc.decode\:\\\{_tar$\{oc.select\:nope\,get\}_\\\:os.mkdir\\\,path\\\:MADE\\\}\}\}"


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("is a flag", ["-m seed=1", "--config-dir=/tmp"]),
        ("seed is not an override: write key=value", ["seed"]),
        ("changes Hydra itself", ["hydra.run.dir=/tmp", "+hydra.launcher.x=1"]),
        ("names code to run", ["algo._target_=os.system", "+algo.x={_target_: os.system}"]),
        ("has a $ or a backslash", ["algo.lr=${oc.env:HOME}", r"'algo.note=a\{b'", f"'algo.net={HIDDEN}'"]),
        ("choose the run under Continue", ["resume=outputs/x"]),
        ("start others in a terminal", ["launcher=joblib"]),
        ("start a search in a terminal", ["hparams_search=optuna"]),
        ("a quotation mark", ["algo.lr='1"]),
        ("at most 4,000 characters", ["x" * 5000]),
    ],
)
def test_only_settings_are_overrides(message: str, texts: list[str]):
    for text in texts:
        with pytest.raises(UserError) as caught:
            form.parse_overrides(text)
        assert message in str(caught.value)


def test_the_command_is_one_to_type():
    options = {"env": "quoridor", "algo": form.DEFAULT, "reward": form.DEFAULT}
    arguments = form.train_arguments(options, "seed=3\n'algo.note=a; rm -rf *'")
    assert arguments == ["env=quoridor", "seed=3", "algo.note=a; rm -rf *"]
    assert command("train", *arguments) == "python -m src.train env=quoridor seed=3 'algo.note=a; rm -rf *'"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConfigLab]:
    with initialize_config_module("conf", version_base="1.3"):
        yield ConfigLab([tmp_path_factory.mktemp("outputs")], seed=0)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["algo.lr=-1"], "algo.lr=-1 must be"),
        (["algo.speed=1"], "algo.speed is not a setting"),
        (["env=minesweeper_8x8"], "algo=qlearning cannot play env=minesweeper_8x8"),
        (["reward=minesweeper"], "reward=minesweeper does not fit env=tictactoe"),
        (["env=chess"], "env=chess is unknown"),
        (["seed=1,2"], "has several values"),
        (["a b=1"], "cannot be parsed"),
    ],
)
def test_a_training_is_checked_by_composing_it(lab: ConfigLab, overrides: list[str], message: str):
    with pytest.raises(UserError) as caught:
        lab.check_training(overrides)
    assert message in str(caught.value)


def test_several_values_are_a_sweep_with_a_run_for_each_combination(lab: ConfigLab):
    hidden = "net_defaults.hidden=[64,64]"
    assert lab.training_jobs(["env=quoridor", hidden, "~x"]) == [["env=quoridor", hidden, "~x"]]
    jobs = lab.training_jobs(["seed=1,2", "algo.lr=0.1,0.2", "reward=outcome"])
    assert jobs == [[f"seed={s}", f"algo.lr={lr}", "reward=outcome"] for s in (1, 2) for lr in (0.1, 0.2)]
    for text, message in (("seed=range(0,1000000000)", "more than 64 runs"), ("algo.lr=interval(0,1)", "for a search")):
        with pytest.raises(UserError, match=message):
            lab.training_jobs([text])


def test_only_algorithms_that_can_play_the_game_are_offered(lab: ConfigLab):
    usual, fitting = lab.fitting_algorithms("minesweeper_8x8")
    assert usual == "qlearning"
    assert {"ppo", "imitation"} <= set(fitting)
    assert not {"qlearning", "alphazero", "nnue"} & set(fitting)
    assert "qlearning" in lab.fitting_algorithms(None)[1]


def test_presets_are_valid(lab: ConfigLab):
    for preset in form.PRESETS:
        assert preset.options.items() <= lab.check_training(form.train_arguments(preset.options, "")).items()


def test_code_is_refused_even_if_an_interpolation_hides_its_name(lab: ConfigLab, tmp_path: Path):
    made = tmp_path / "made"
    with pytest.raises(UserError, match=r"algo.net has _target_ 'os.mkdir', which is refused"):
        lab.check_training(["env=minesweeper_8x8", "algo=ppo", f"algo.net={HIDDEN.replace('MADE', str(made))}"])
    assert not made.exists()


def test_what_the_form_leaves_open_is_chosen_by_the_configuration(lab: ConfigLab, monkeypatch: pytest.MonkeyPatch):
    groups = lab.training_groups()
    assert {"env", "algo", "reward", "curriculum"} <= groups.keys()
    assert "quoridor" in groups["env"]
    assert "gomoku" not in groups["env"]
    monkeypatch.setenv(CONFIG_DIRS, str(ROOT / "tests/extension/conf"))
    assert "gomoku" in lab.training_groups()["env"], "of --config-dir"
    monkeypatch.delenv(CONFIG_DIRS)
    chosen = lab.check_training(["seed=3", "algo.lr=0.5"])
    assert {"env": "tictactoe", "algo": "qlearning", "reward": "outcome"}.items() <= chosen.items()
    assert lab.game("tictactoe").players == 2, "the pages compose as before"


@pytest.mark.parametrize(
    ("peer", "hosts", "local"),
    [
        ("127.0.0.1", ["127.0.0.1:8080", "localhost"], True),
        ("::1", ["[::1]:8080"], True),
        ("192.168.0.7", ["192.168.0.1:8080", "localhost:8080"], False),
        ("127.0.0.1", ["evil.example:8080", "localhost.evil.example", ""], False),  # names that were made to point here
        ("", ["localhost"], False),
    ],
)
def test_only_this_machine_trains(peer: str, hosts: list[str], local: bool):
    for host in hosts:
        scope = {"type": "http", "headers": [(b"host", host.encode())], "client": (peer, 1) if peer else None}
        assert is_local(Request(scope)) == local
