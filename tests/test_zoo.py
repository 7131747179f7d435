"""Runs by name: published in a folder or on a server, pulled with checksums, and used by every command."""

import functools
import http.server
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock

from experiments import model_cards
from src.api import evaluate, load_agent
from src.core.errors import UserError
from src.core.files import write_atomic
from src.core.runs import zoo
from src.core.runs.zoo import find_run, pull, push
from tests.lab import ROOT, Lab, contents

TABLE = ROOT / "experiments/tictactoe_qlearning"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache, and no network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("BOARDLAB_ZOO", str(tmp_path / "nowhere"))
    return zoo.cache_folder()


@pytest.fixture
def published(tmp_path: Path, cache: Path) -> Path:
    """Publish the shipped table under its own name and another."""
    for name in ("tictactoe_qlearning", "mine"):
        push(TABLE, name, str(tmp_path / "published"))
    return tmp_path / "published"


@pytest.fixture
def server(published: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    serve = functools.partial(QuietHandler, directory=published)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()
        thread.join()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


def test_the_checksums_are_those_of_the_shipped_runs():
    assert zoo.MODELS.read_text() == model_cards.models(), "write them again: python -m experiments.model_cards"


def test_a_model_has_the_layout_of_the_hub(published: Path):
    folder = published / "mine"
    assert sorted(contents(folder)) == ["README.md", "SHA256SUMS", "config.yaml", "model.safetensors"]
    assert (folder / "model.safetensors").read_bytes() == (TABLE / "checkpoints/best.safetensors").read_bytes()
    _, header, card = (folder / "README.md").read_text().split("---\n", 2)
    assert yaml.safe_load(header)["tags"] == ["reinforcement-learning", "tictactoe", "qlearning"]
    assert "# Model card: tictactoe_qlearning" in card


def test_a_run_without_a_card_gets_one_with_its_evaluation(tmp_path: Path):
    run = shutil.copytree(TABLE, tmp_path / "run")
    (run / "MODEL_CARD.md").unlink()
    text = (push(run, "mine", str(tmp_path / "zoo")) / "README.md").read_text()
    assert "Environment `tictactoe`, algorithm `qlearning`, seed 0." in text
    assert "| random | 1,000 | 89.5% | 87.4-91.3% |" in text


@pytest.mark.parametrize("by_name", [True, False], ids=["each model in a folder", "the name within the address"])
def test_a_model_is_pulled_from_a_server(server: str, cache: Path, by_name: bool):
    run = pull("mine", server if by_name else f"{server}/x/../{{name}}")
    assert run == cache / "mine"
    assert sorted(contents(run)) == ["MODEL_CARD.md", "checkpoints/best.safetensors", "config.yaml"]
    assert (run / "config.yaml").read_bytes() == (TABLE / "config.yaml").read_bytes()
    assert evaluate(load_agent("mine"), "tictactoe", episodes=4).total.games == 4
    (run / "notes.json").write_text("a note of the page Runs")
    pull("mine", server)  # again, in place of the first
    assert (run / "notes.json").read_text() == "a note of the page Runs"


def test_a_shipped_run_comes_from_the_checkout_then_from_the_cache_then_from_the_zoo(
    server: str, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    assert find_run("tictactoe_qlearning") == TABLE
    assert find_run("quoridor_alphazero_5x5") == ROOT / "experiments/quoridor_alphazero/5x5"
    monkeypatch.setattr(zoo, "CHECKOUT", tmp_path)  # an installed package has none
    monkeypatch.setenv("BOARDLAB_ZOO", server)
    assert find_run("tictactoe_qlearning") == cache / "tictactoe_qlearning"
    monkeypatch.setenv("BOARDLAB_ZOO", str(tmp_path / "nowhere"))
    assert load_agent("tictactoe_qlearning").trained_in is not None


def test_processes_that_need_a_model_at_once_pull_it_once(
    server: str, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    downloads: list[str] = []
    download = zoo._download

    def counted(url: str, path: Path, sha256: str, limit: int) -> None:
        downloads.append(url)
        download(url, path, sha256, limit)

    monkeypatch.setattr(zoo, "CHECKOUT", tmp_path)
    monkeypatch.setattr(zoo, "_download", counted)
    monkeypatch.setenv("BOARDLAB_ZOO", server)
    threads = [threading.Thread(target=find_run, args=("tictactoe_qlearning",)) for _ in range(2)]
    with FileLock(cache / ".lock"):
        for thread in threads:
            thread.start()
        time.sleep(0.2)  # both have found that it is missing
    for thread in threads:
        thread.join()
    assert len(downloads) == 2, "config.yaml and model.safetensors, once"


def test_a_directory_goes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("tictactoe_qlearning").mkdir()  # as below outputs/runs: it is no run
    assert find_run("tictactoe_qlearning") == TABLE
    shutil.copy(TABLE / "config.yaml", "tictactoe_qlearning")
    assert find_run("tictactoe_qlearning") == Path("tictactoe_qlearning")


@pytest.mark.parametrize("name", ["mine", "tictactoe_qlearning"])
@pytest.mark.parametrize("file", ["config.yaml", "model.safetensors"])
def test_other_contents_are_refused_and_nothing_is_kept(published: Path, cache: Path, name: str, file: str):
    path = published / name / file
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with pytest.raises(UserError, match=rf"{file} is refused: its SHA-256 is \w+, not \w+; nothing was kept"):
        pull(name, str(published))
    assert [path.name for path in cache.iterdir()] == [".lock"]


def test_a_shipped_run_has_the_checksums_of_the_package(published: Path, tmp_path: Path):
    """Whoever changes a model on the server can change its SHA256SUMS, too."""
    other = ROOT / "experiments/quoridor_alphazero/5x5"
    shutil.rmtree(published / "tictactoe_qlearning")
    push(other, "tictactoe_qlearning", str(published))
    with pytest.raises(UserError, match=r"config\.yaml is refused"):
        pull("tictactoe_qlearning", str(published))


def test_a_pulled_configuration_is_not_trusted(published: Path, cache: Path, lab: Lab):
    run = shutil.copytree(TABLE, lab.folder / "evil")
    config = yaml.safe_load((run / "config.yaml").read_text()) | {"algo": {"_target_": "os.system", "command": "true"}}
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    push(run, "evil", str(published))
    done = lab.refuse("zoo", "pull", "evil", f"address={published}")
    assert "'os.system', which is refused" in done.stderr
    assert not (cache / "evil").exists()


def test_a_file_that_is_too_large_is_not_kept(server: str, cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(zoo, "MAX_TEXT_BYTES", 1000)
    with pytest.raises(UserError, match=r"config\.yaml is larger than 1,000 bytes"):
        pull("mine", server)
    assert not (cache / "mine").exists()


@pytest.mark.parametrize("remote", [True, False], ids=["server", "folder"])
def test_no_more_is_read_of_a_shipped_model_than_its_size(server: str, published: Path, cache: Path, remote: bool):
    size = zoo.models()["tictactoe_qlearning"]["bytes"]
    with (published / "tictactoe_qlearning/model.safetensors").open("ab") as file:
        file.write(bytes(10))
    with pytest.raises(UserError, match=f"model.safetensors is larger than {size:,} bytes"):
        pull("tictactoe_qlearning", server if remote else str(published))


def test_a_full_disk_is_not_reported_as_a_wrong_address(server: str, tmp_path: Path):
    with pytest.raises(OSError, match="No space left on device"):
        zoo._download(f"{server}/mine/config.yaml", FullDisk(tmp_path / "config.yaml"), "", 1 << 20)


class FullDisk(type(Path())):  # type: ignore[misc]
    """A path to which nothing can be written."""

    def open(self, *_: object, **__: object) -> Any:
        return Path("/dev/full").open("wb", buffering=0)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://127.0.0.1:9", r"http://127.0.0.1:9/mine/SHA256SUMS cannot be read \(.*refused\): set BOARDLAB_ZOO to"),
        ("nowhere", "'nowhere/mine/SHA256SUMS' cannot be read: No such file"),
        ("file:///tmp", "file:///tmp is not an address of the zoo"),
        ("{server}/none", r"SHA256SUMS cannot be read \(HTTP 404\)"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(server: str, cache: Path, address: str, message: str):
    with pytest.raises(UserError, match=message):
        pull("mine", address.replace("{server}", server))
    assert not (cache / "mine").exists()


def test_an_answer_that_is_not_http_is_one_sentence(cache: Path):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"nonsense\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(UserError, match=r"SHA256SUMS cannot be read \(nonsense\s*\): set BOARDLAB_ZOO to"):
            pull("mine", f"http://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()


def test_names_are_no_paths(published: Path, tmp_path: Path):
    write_atomic(tmp_path / "mine/SHA256SUMS", "")
    for name in ("../mine", "a/b", "", ".mine"):
        with pytest.raises(UserError, match="not the name of a model"):
            pull(name, str(published))
        with pytest.raises(UserError, match="must have letters"):
            push(TABLE, name, str(published))
    with pytest.raises(UserError, match="is not overwritten"):
        push(TABLE, "mine", str(published))
    with pytest.raises(UserError, match=r"must have the checksums of config\.yaml and model.safetensors"):
        pull("mine", str(tmp_path))


def test_models_are_pushed_pulled_and_listed_by_commands(lab: Lab, cache: Path):
    done = lab.succeed("zoo", "push", str(TABLE), "name=mine", "address=zoo")
    assert done.stdout == "zoo/mine: pull it by python -m src.zoo pull mine address=zoo\n"
    lab.succeed("zoo", "pull", "mine", "address=zoo")
    lines = [line.split() for line in lab.succeed("zoo").stdout.splitlines() if line.strip()]
    rows = {words[0]: words[-1] for words in lines}
    assert (rows["mine"], rows["minesweeper_16x16"]) == ("cache", "checkout")
    done = lab.succeed("evaluate", "agent=trained", "agent.run=mine", "episodes=20")
    assert "trained on tictactoe" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pull"], "pull needs a second word"),
        (["fetch"], "action=fetch must be one of list, pull, push"),
        (["push", "mine", "address=zoo"], "mine is not a run directory, nor a model of the zoo"),
        (
            ["push", "minesweeper_8x8", "address=https://example.org"],
            "hf upload <owner>/minesweeper_8x8_ppo",
        ),
        (["pull", "a", "b"], "too many words"),
    ],
)
def test_wrong_words_are_refused(lab: Lab, words: list[str], message: str):
    assert message in lab.refuse("zoo", *words).stderr


def test_a_name_fits_wherever_a_run_does(lab: Lab):
    names = "agents=[tictactoe_qlearning,random]"
    assert "tictactoe_qlearning" in lab.succeed("tournament", names, "games=2", "opening_plies=1").stdout
    few = ("algo.total_steps=64", "algo.eval_every=64", "algo.eval_episodes=2", "evaluation.episodes=2", "logger=csv")
    wrong = lab.refuse("train", "env=quoridor", "algo=alphazero", "algo.init_from=minesweeper_8x8", *few)
    assert "algo.init_from=minesweeper_8x8 has another network" in wrong.stderr
