"""Generators of damaged and malicious files: configurations, checkpoints, tables, logs, special files."""

import contextlib
import copy
import json
import os
import pickle
import random
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from src.core.runs import checkpoint
from src.core.runs.config_file import MAX_BYTES

TEXTS = (  # what a terminal or rich would interpret
    *("[/red]", "[bold", "[red]x[/blue]", "[link=file:///etc/passwd]x[/link]", "[@click=x]", "\\[/", "[[]]"),
    *(
        "\x1b[2J",
        "\x1b]0;title\x07",
        "x\x1b[31my",
        "\x1b]52;c;eA==\x1b\\",
        "a\rb",
        "a\bb",
        "\x9b31m",
        "\u202ea",
        "\x07",
    ),
)
GIFT = "outputs.gift.p:X-v0"  # gymnasium.make imports the module before the colon
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{below}'] * 9)}]\n" for below, name in zip("abcdefghi", "bcdefghij", strict=True)
)
HOSTILE = {
    "bomb": f"{BOMB}composition: {{env: *j, algo: *j}}\nalgo: *j\n",
    "itself": "algo: &a {player: *a}\n",
    "anchor": "algo: &a {player: 1}\n",
    "tag": "seed: !!python/object/apply:os.system [id]\n",
    "deep": "a: " + "[" * 2000 + "]" * 2000,
    "many": "a: [" + "1," * 100_000 + "]",
    "large": "a: '" + "x" * MAX_BYTES + "'",
    "minutes": "seed: 1" + ":59" * 60_000,
    "digits": "seed: " + "9" * 10_000,
    "date": "seed: 2001-01-01",
    "key": "{1: 2}",
    "defaults": "env: {defaults: [_self_, /../../elsewhere@_global_]}\n",  # Hydra would compose that file
}
EXPLOIT = {  # a class of ours whose argument imports a module
    "_target_": "src.algos.maskable_ppo.model.Model",
    "network": {
        "_target_": "src.algos.maskable_ppo.model.NetworkPolicy",
        **{"shape": [3], "dtype": "float32", "low": 0.0, "high": 1.0, "actions": 2, "channels": [], "hidden": []},
    },
    "env": GIFT,
}
TARGETS = (
    *(
        "os.system",
        "builtins.eval",
        "subprocess.Popen",
        "pathlib.Path.touch",
        "src.core.files.os.remove",
        "",
        "x",
        "...",
    ),
    *(
        "src.play.main",
        "src.algos.maskable_ppo.model.Model",
        "src.config.load.load_agent",
        "src.train.main",
        "numpy.zeros",
    ),
    *(
        "src.algos.alphabeta.AlphaBetaAgent",
        "src.algos.ppo.PPO",
        "src.nets.flat.MLP",
        "src.core.play.agent.RandomAgent",
    ),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, 1.5, -0.5, float("nan"), float("inf"), "", "x", "cuda:99", GIFT),
    *(2**31, 2**63, 2**64, 10**30, -(10**30), 1e308),
    *([], {}, [GIFT], {"x": GIFT}, {"x": {"y": [GIFT]}}, [[1]], [None], [0] * 500, ["0", 1, None]),
    *("${oc.env:HOME}", "${now:%Y}", "../..", "/etc/passwd", "a\0b", "ü" * 300, "x" * 5000, *TEXTS),
    *(
        {"_target_": None},
        {"_target_": 7},
        {"_target_": ["x"]},
        {"_partial_": True},
        {"_args_": [1]},
        {"_convert_": "x"},
    ),
)


def nodes(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of a tree with each of its keys."""
    pairs = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    for key, child in pairs:
        yield tree, key
        yield from nodes(child)


def hostile_value(rng: random.Random) -> Any:
    if rng.random() < 0.2:
        arguments = dict.fromkeys(("env", "path", "run", "x"), rng.choice(VALUES))
        return {"_target_": rng.choice(TARGETS), **(arguments if rng.random() < 0.5 else {})}
    return copy.deepcopy(rng.choice(VALUES))


def mutated_tree(rng: random.Random, tree: Any) -> Any:
    """Return the tree with one node replaced, removed, added, renamed or swapped with another."""
    tree = copy.deepcopy(tree)
    places = list(nodes(tree))
    if not places:
        return hostile_value(rng)
    owner, key = rng.choice(places)
    change = rng.randrange(10)
    if change < 6:
        owner[key] = hostile_value(rng)
    elif change == 6:
        del owner[key]
    elif change == 7 and isinstance(owner, dict):
        owner[rng.choice(("x", "_target_", "_partial_", "seed", "run"))] = hostile_value(rng)
    elif change == 8 and isinstance(owner, dict):
        owner[f"{key}x"] = owner.pop(key)
    else:
        other, place = rng.choice(places)
        other[place] = copy.deepcopy(owner[key])
    return tree


def damaged_bytes(rng: random.Random, data: bytes) -> bytes:
    """Return the data truncated, with flipped bits, with a part removed, doubled or replaced, or something else
    entirely.
    """
    change, place = rng.randrange(9), rng.randrange(max(len(data), 1))
    if change == 0:
        return data[:place]
    if change in (1, 2):
        changed = bytearray(data)
        for _ in range(rng.choice((1, 1, 4, 64)) if changed else 0):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        return bytes(changed)
    if change == 3:
        return data[:place] + data[place + rng.randrange(1, 200) :]
    if change == 4:
        return data[:place] + data[: rng.randrange(200)] + data[place:]
    if change == 5:
        return data[:place] + rng.choice((b"\0", b"\0" * 4096, b"\xff\xfe", b'"', b"\r", b"\n", b",")) + data[place:]
    if change == 6:
        return rng.randbytes(rng.choice((0, 1, 8, 100, 10_000)))
    if change == 7:
        return data + rng.choice((b"\0", b"\n", data, rng.randbytes(50)))
    return rng.choice((b"", b"\n", b"{}", b"[]", b"null", b"\xef\xbb\xbf" + data, b"[" * 100_000, b"1" * 100_000))


Mutate = Callable[[random.Random, Path], None]  # of a run directory, in place


def config_value(rng: random.Random, run: Path) -> None:
    path = run / "config.yaml"
    config = yaml.safe_load(path.read_text())
    changed = config | {"algo": EXPLOIT} if rng.random() < 0.05 else mutated_tree(rng, config)
    path.write_text(yaml.safe_dump(changed))


def config_text(rng: random.Random, run: Path) -> None:
    path = run / "config.yaml"
    if rng.random() < 0.3:
        path.write_text(rng.choice(list(HOSTILE.values())))
    else:
        path.write_bytes(damaged_bytes(rng, path.read_bytes()))


def some_checkpoint(rng: random.Random, run: Path) -> Path:
    return run / "checkpoints" / f"{rng.choice(('best', 'best', 'last'))}.safetensors"


def checkpoint_bytes(rng: random.Random, run: Path) -> None:
    path = some_checkpoint(rng, run)
    path.write_bytes(damaged_bytes(rng, path.read_bytes()))


def checkpoint_header(rng: random.Random, run: Path) -> None:
    lying_header(rng, some_checkpoint(rng, run))


def lying_header(rng: random.Random, path: Path) -> None:
    """Write wrong lengths, offsets, shapes and dtypes, without the checksum that would reveal them."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    header.get("__metadata__", {}).pop(checkpoint.CHECKSUM, None)
    for _ in range(rng.choice((1, 1, 2))):
        _lie(rng, header, len(body))
    text = json.dumps(header).encode()
    claimed = len(text) if rng.random() < 0.8 else rng.choice((0, 1, 2**24, 2**31, 2**40, 2**63 - 1, 2**64 - 1))
    path.write_bytes(struct.pack("<Q", claimed) + text + body)


def _lie(rng: random.Random, header: dict[str, Any], size: int) -> None:
    names = [name for name in header if name != "__metadata__"]
    entry = header[rng.choice(names)] if names else header.setdefault("0", {})
    change = rng.randrange(5)
    if change == 0:
        numbers = (0, -1, 1, 8, size, size + 1, 2**40, 2**63, 2**64)
        entry["data_offsets"] = [rng.choice(numbers), rng.choice(numbers)]
    elif change == 1:
        entry["shape"] = rng.choice(([], [0], [-1], [2**40], [2**32, 2**32], [2**63, 0], [1] * 100, "x", [1.5], None))
    elif change == 2:
        entry["dtype"] = rng.choice(("F64", "F32", "BF16", "F8_E5M2", "I64", "U8", "BOOL", "x", None, 7))
    elif change == 3:
        header[rng.choice((*names, "x"))] = copy.deepcopy(entry)
    else:
        header["__metadata__"] = mutated_tree(rng, header.get("__metadata__", {}))


def checkpoint_terabytes(rng: random.Random, run: Path) -> None:
    """Write a header that claims terabytes, and a sparse file of that size."""
    path = some_checkpoint(rng, run)
    size = rng.choice((2**33, 2**36, 2**42))
    tree = json.dumps({"dict": [["learner", {"dict": [["weights", {"array": "0", "kind": "numpy"}]]}]]})
    metadata = {"format": checkpoint.FORMAT, "version": "1", "tree": tree}
    entry = {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}
    text = json.dumps({"__metadata__": metadata, "0": entry}).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        if rng.random() < 0.8:
            file.truncate(8 + len(text) + size)


def checkpoint_tree(rng: random.Random, run: Path) -> None:
    """Write a checkpoint with a valid checksum but other contents than the algorithm expects."""
    path = some_checkpoint(rng, run)
    tree = checkpoint.load(path)
    arrays = [(owner, key) for owner, key in nodes(tree) if hasattr(owner[key], "shape")]
    if arrays and rng.random() < 0.5:
        owner, key = rng.choice(arrays)
        owner[key] = _other_array(rng, np.asarray(owner[key]))
    else:
        tree = mutated_tree(rng, tree)
    try:
        checkpoint.save(path, tree)
    except (TypeError, ValueError):  # such as a key that is no text
        checkpoint.save(path, {"learner": {}})


def _other_array(rng: random.Random, array: np.ndarray) -> np.ndarray:
    floats = array.astype(np.float32)
    return rng.choice(
        (
            np.full_like(floats, np.nan),
            np.full_like(floats, np.inf),
            floats.reshape(-1),
            floats[None],
            array.astype(np.int64),
            np.zeros((0,), np.float32),
            np.zeros(7, np.uint8),
            floats * 1e30,
            np.full(array.shape, -7, np.int64),
        )
    )


def checkpoint_foreign(rng: random.Random, run: Path) -> None:
    """Write a file of another program, or a pickle, which would run code."""

    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (open, ("executed", "w"))

    contents = (
        pickle.dumps(Bomb()),
        b"PK\x03\x04" + bytes(100),
        b"\x7fELF" + bytes(100),
        (run / "metrics.csv").read_bytes(),
    )
    some_checkpoint(rng, run).write_bytes(rng.choice(contents))


def metrics(rng: random.Random, run: Path) -> None:
    path = run / "metrics.csv"
    rows = [line.split(",") for line in path.read_text().splitlines()]
    if rng.random() < 0.5:
        path.write_bytes(damaged_bytes(rng, path.read_bytes()))
        return
    words: tuple[str, ...] = ("", "x", "nan", "inf", "-1", "1e999", '"', '"\n"', "9" * 5000, "step", "é")
    words += ("eval/win_rate", "=1+1", "x" * 200_000, *TEXTS)
    for _ in range(rng.choice((1, 3, 30))):
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = rng.choice(words)
    path.write_text("\n".join(",".join(row) for row in rows) + rng.choice(("", "\n")))


def results(rng: random.Random, run: Path) -> None:
    name = rng.choice(("eval.json", "provenance.json", "diagnostics.json", "qtable.json"))
    path = run / name
    if not path.exists():
        path = run / "eval.json"
    if rng.random() < 0.4:
        path.write_bytes(damaged_bytes(rng, path.read_bytes()))
    else:
        path.write_text(json.dumps(mutated_tree(rng, json.loads(path.read_text()))))


def overrides(rng: random.Random, run: Path) -> None:
    path = run / ".hydra/overrides.yaml"
    path.parent.mkdir(exist_ok=True)
    contents = (*HOSTILE.values(), "[]", "x", "[1, null, {a: b}, [c]]", "- seed=1\n- ${x}", "\0")
    path.write_text(rng.choice(contents))


def put_special(rng: random.Random, path: Path, outside: Path) -> None:
    """Replace a file by a link, a pipe, a socket or a directory, or remove it; `outside` must stay as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        path.rename(outside.parent / "moved")
    path.unlink(missing_ok=True)
    put = rng.randrange(8)
    if put == 0:
        os.mkfifo(path)
    elif put == 1:
        path.mkdir()
    elif put == 2:
        with socket.socket(socket.AF_UNIX) as found, contextlib.chdir(path.parent):
            found.bind(path.name)  # its whole path may be too long
    elif put < 7:
        secret = outside / "secret"
        targets = (path.name, "nowhere", "/dev/zero", "/dev/full", "/dev/stdin", secret, secret, outside, "..")
        path.symlink_to(rng.choice(targets))


def special(rng: random.Random, run: Path) -> None:
    names = ["config.yaml", "metrics.csv", "eval.json", "checkpoints/best.safetensors", "checkpoints/last.safetensors"]
    names += ["provenance.json", "train.log", ".lock", "win_rate.png", "qtable.json", "diagnostics.json", "diff.patch"]
    names += [".hydra/overrides.yaml", "checkpoints", "diagnostics.png", ".metrics.csv.partial", "network.safetensors"]
    names += ["checkpoints/.last.safetensors.partial", "wandb", "tensorboard", ".hydra", "pruned.txt", "wandb_url.txt"]
    put_special(rng, run / rng.choice(names), run.parent.parent / "outside")


def texts(rng: random.Random, run: Path) -> None:
    """Write markup and escapes where a reader prints a name or a value."""
    name, text = rng.choice(("config.yaml", "config.yaml", "eval.json", "provenance.json")), rng.choice(TEXTS)
    path = run / name
    tree = yaml.safe_load(path.read_text())
    places = list(nodes(tree))
    owner, key = rng.choice([(o, k) for o, k in places if k in ("baselines", "scores", "composition")] or places)
    owner = owner[key] if isinstance(owner[key], dict) and owner[key] else owner
    key = rng.choice(list(owner)) if isinstance(owner, dict) else key
    if isinstance(owner, dict) and rng.random() < 0.5:
        owner[text] = owner.pop(key)
    else:
        owner[key] = text
    path.write_text(json.dumps(tree) if name.endswith("json") else yaml.safe_dump(tree))


def network_file(rng: random.Random, path: Path) -> None:
    """Damage a file of the learned evaluation: its bytes, its header, its size, or what kind of file it is."""
    damage = rng.randrange(4)
    if damage == 0:
        path.write_bytes(damaged_bytes(rng, path.read_bytes()))
    elif damage == 1:
        lying_header(rng, path)
    elif damage == 2:
        with path.open("ab") as file:
            file.truncate(30 << 30)
    else:
        put_special(rng, path, Path("outputs").resolve())  # a file that a user names may be a link


def positions_file(rng: random.Random, path: Path) -> None:
    """Write a file of positions that is damaged, of another type, sparse, or no file."""
    damage, whole = rng.randrange(7), path.read_bytes()
    if damage == 0:
        path.write_bytes(damaged_bytes(rng, whole))
    elif damage == 1:
        records = np.load(path)
        np.save(
            path, rng.choice((records[:0], records[:1], records[None], records["score"], np.zeros(9), records[::2]))
        )
    elif damage == 2:
        np.save(path, np.array([{}, [1], None], object), allow_pickle=True)
    elif damage == 3:
        records = np.load(path)
        name = rng.choice(records.dtype.names)
        records[name] = rng.choice((0, 1, 2, 100, 127))
        np.save(path, records)
    elif damage == 4:  # a header that promises what a sparse file has
        place = whole.index(b"'shape': (") + len(b"'shape': (")
        shape = rng.choice((b"1250000000,", b"99999999999,", b"-1,", b"2, 3", b"1e9,", b"True,", b"", b"2**70,"))
        path.write_bytes(whole[:place] + shape + whole[whole.index(b")", place) :])
        os.truncate(path, rng.choice((30 << 30, 8 << 40, 200, len(whole))))
    elif damage == 5:
        os.truncate(path, 30 << 30)
    else:
        put_special(rng, path, Path("outputs").resolve())  # a file that a user names may be a link


RUN_MUTATIONS: dict[str, Mutate] = {
    "config: values": config_value,
    "config: text": config_text,
    "checkpoint: bytes": checkpoint_bytes,
    "checkpoint: header": checkpoint_header,
    "checkpoint: terabytes": checkpoint_terabytes,
    "checkpoint: contents": checkpoint_tree,
    "checkpoint: another program's": checkpoint_foreign,
    "metrics.csv": metrics,
    "eval.json, qtable.json": results,
    "overrides.yaml": overrides,
    "links, pipes, devices": special,
    "markup, escapes": texts,
}
