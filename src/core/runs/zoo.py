"""The zoo: finished runs by name, from this checkout or from a cache that downloads fill.

A published model is a folder in the layout of the Hugging Face Hub: README.md (its model card), config.yaml,
model.safetensors and SHA256SUMS. In the cache it is a run directory, read as one of unknown origin: its weights are a
safetensors file, and its configuration can build only the classes that the config groups name.
"""

import hashlib
import http.client
import json
import os
import re
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock

from ..errors import UserError, require
from ..files import open_regular
from ..package import INSTALLED, command
from . import checkpoint
from .config_file import CONFIG, read_config
from .run import BEST

ADDRESS = "https://huggingface.co/boardlab/{name}/resolve/main"
SETTING = "BOARDLAB_ZOO"  # environment variable: another address, or a folder
PACKAGE = Path(__file__).resolve().parents[2]
CHECKOUT = PACKAGE.parent / "experiments"
MODELS = PACKAGE / "zoo.yaml"  # the shipped runs with the checksums of their files
CARD = "MODEL_CARD.md"
SUMS = "SHA256SUMS"
NOTES = "notes.json"  # written by users into the directory of any run; kept by a refresh
FILES = {CONFIG: CONFIG, "model.safetensors": BEST, "README.md": CARD}  # published name: name in a run directory
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
TIMEOUT = 30.0  # seconds without an answer
CHUNK = 1 << 20
MAX_TEXT_BYTES = 1 << 20  # of every file but the weights

Check = Callable[[Path], object]  # raises `UserError` about a run directory that is not to be used


@cache
def models() -> Mapping[str, Any]:
    """Return the shipped runs by name: their folder below experiments, env, algo and checksums."""
    return dict(yaml.safe_load(MODELS.read_text()))


def default_address() -> str:
    return os.environ.get(SETTING) or ADDRESS


def cache_folder() -> Path:
    user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 (never raises)
    return Path(user, INSTALLED, "zoo")


def find_run(run: str | Path) -> Path:
    """Return the directory of a run, which is given by its path or by its name in the zoo.

    A shipped run that is neither in a checkout nor in the cache is downloaded.
    """
    path, name = Path(run), str(run)
    if (path / CONFIG).is_file() or not NAME.fullmatch(name):
        return path
    if not is_model(name):
        require(path.exists(), f"{name} is not a run directory, nor a model of the zoo: {command('zoo')} lists them")
        return path
    return local_run(name) or pull(name, refresh=False)


def is_model(name: str) -> bool:
    """Return whether a name is that of a shipped run, or of another model in the cache."""
    return NAME.fullmatch(name) is not None and (name in models() or local_run(name) is not None)


def local_run(name: str) -> Path | None:
    """Return the run directory of a model in the checkout or in the cache."""
    shipped = [CHECKOUT / models()[name]["folder"]] if name in models() else []
    return next((path for path in (*shipped, cache_folder() / name) if (path / CONFIG).is_file()), None)


def pull(name: str, address: str | None = None, check: Check = read_config, refresh: bool = True) -> Path:
    """Download a model into the cache and return its run directory; with a wrong checksum nothing is kept.

    This package has the checksums of shipped runs; other models are published with a file of checksums. Without
    `refresh` a model that another process has pulled meanwhile is used as it is.
    """
    require(NAME.fullmatch(name) is not None, f"{name} is not the name of a model: it has letters, digits, _, . and -")
    place = _place(name, address or default_address())
    target = cache_folder() / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.parent / ".lock"), tempfile.TemporaryDirectory(dir=target.parent, prefix=".pull-") as folder:
        if not refresh and (found := local_run(name)) is not None:
            return found
        shipped = models().get(name)
        sums = shipped["sha256"] if shipped else _published_sums(place)
        limits = {BEST: shipped["bytes"] if shipped else checkpoint.size_limit()}
        partial = Path(folder, name)
        for published, own in FILES.items():
            if published in sums:
                url, limit = f"{place}/{published}", limits.get(own, MAX_TEXT_BYTES)
                _download(url, partial / own, sums[published], limit)
        check(partial)
        checkpoint.load(partial / BEST)
        if target.exists():
            if (target / NOTES).is_file():
                shutil.copyfile(target / NOTES, partial / NOTES)
            target.rename(Path(folder, ".replaced"))
        partial.rename(target)
    return target


def push(run: Path, name: str, address: str | None = None, check: Check = read_config) -> Path:
    """Write a run as a model into the folder `address`, to be pulled from there or uploaded; return its folder."""
    address = address or default_address()
    require(NAME.fullmatch(name) is not None, f"name={name} must have letters, digits, _, . and - only")
    advice = f"give a folder, such as address=zoo, and upload it: hf upload <owner>/{name} zoo/{name}"
    require("://" not in address, f"address={address} cannot be written to: {advice}")
    target = Path(_place(name, address))
    require(not target.exists(), f"{target} exists and is not overwritten: choose another name=...")
    config = check(run)
    checkpoint.load(run / BEST)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".push-") as folder:
        partial = Path(folder, name)
        partial.mkdir()
        for published, own in FILES.items():
            if published != "README.md":
                shutil.copyfile(run / own, partial / published)
        (partial / "README.md").write_text(_front_matter(config) + _card(run, name, config))
        sums = "".join(f"{_sha256(partial / published)}  {published}\n" for published in sorted(FILES))
        (partial / SUMS).write_text(sums)
        partial.rename(target)
    return target


def _place(name: str, address: str) -> str:
    """Return where the files of a model are: below `address`, or where that has {name}."""
    known = "://" not in address or address.startswith(("https://", "http://"))
    require(known, f"{address} is not an address of the zoo: it must be a folder, http://... or https://...")
    address = address.rstrip("/")
    return address.replace("{name}", name) if "{name}" in address else f"{address}/{name}"


def _published_sums(place: str) -> dict[str, str]:
    text = b"".join(_chunks(f"{place}/{SUMS}", MAX_TEXT_BYTES)).decode("utf-8", "replace")
    lines = [line.split() for line in text.splitlines()]
    sums = {words[1]: words[0] for words in lines if len(words) == 2}
    required = {published for published in FILES if published != "README.md"}
    require(required <= sums.keys(), f"{place}/{SUMS} must have the checksums of {' and '.join(sorted(required))}")
    return sums


def _download(url: str, path: Path, sha256: str, limit: int) -> None:
    """Copy a file; raise `UserError` if it has more bytes than `limit` or another checksum."""
    digest = hashlib.sha256()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        for chunk in _chunks(url, limit):
            digest.update(chunk)
            file.write(chunk)
    found = digest.hexdigest()
    require(found == sha256, f"{url} is refused: its SHA-256 is {found}, not {sha256}; nothing was kept")


def _chunks(url: str, limit: int) -> Iterator[bytes]:
    """Read a file or an address; raise `UserError` if that fails, or if it has more bytes than `limit`."""
    is_file, size = "://" not in url, 0
    try:
        with open_regular(Path(url), limit) if is_file else urllib.request.urlopen(url, timeout=TIMEOUT) as source:
            while chunk := source.read(CHUNK):
                size += len(chunk)
                require(size <= limit, f"{url} is larger than {limit:,} bytes, the most that is read")
                yield chunk
    except (OSError, ValueError, http.client.HTTPException) as error:  # also a wrong address, or no answer in HTTP
        reason = f"HTTP {error.code}" if isinstance(error, urllib.error.HTTPError) else getattr(error, "reason", error)
        advice = f"set {SETTING} to another address or a folder, or give a run directory"
        raise UserError(f"{url} cannot be read ({reason}): {advice}") from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe(run: Path) -> dict[str, Any]:
    """Return what `models` says about a run beside its folder and its checksums."""
    names = read_config(run)["composition"]
    return {"env": names["env"], "algo": names["algo"], "bytes": (run / BEST).stat().st_size}


def checksums(run: Path) -> dict[str, str]:
    """Return the checksums of the files of a run by their published names, without its model card."""
    return {published: _sha256(run / own) for published, own in FILES.items() if published != "README.md"}


def _front_matter(config: Any) -> str:
    """Return the header by which the Hub sorts and finds models."""
    names = config["composition"]
    tags = ["reinforcement-learning", str(names["env"]), str(names["algo"])]
    header = {"library_name": INSTALLED, "pipeline_tag": tags[0], "tags": tags}
    return f"---\n{yaml.safe_dump(header, sort_keys=False)}---\n\n"


def _card(run: Path, name: str, config: Any) -> str:
    """Return the model card of a run, or one with its names and final evaluation."""
    if (run / CARD).is_file():
        return (run / CARD).read_text()
    names = config["composition"]
    lines = [f"# {name}", "", f"Environment `{names['env']}`, algorithm `{names['algo']}`, seed {config['seed']}."]
    if (run / "eval.json").is_file():
        scores = json.loads((run / "eval.json").read_text())["scores"]
        lines += ["", "| against | games | win rate | 95% interval |", "|---|---|---|---|"]
        for opponent, score in scores.items():
            low, high = (f"{100 * end:.1f}" for end in score["win_rate_ci95"])
            lines.append(f"| {opponent} | {score['episodes']:,} | {100 * score['win_rate']:.1f}% | {low}-{high}% |")
    return "\n".join([*lines, ""])
