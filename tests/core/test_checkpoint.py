import json
import pickle

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch

from src.core.runs import checkpoint
from src.core.runs.checkpoint import CheckpointError


@pytest.fixture
def tree():
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return {
        "weights": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "rng": np.random.default_rng(5).bit_generator.state,
        "torch_rng": torch.get_rng_state(),
        "half": {"bf16": torch.randn(3, 2).bfloat16(), "fp16": torch.randn(2).half(), "flag": torch.tensor(True)},
        "scalar": np.array(3.5),
        "counter": np.int64(12),
        "nothing": None,
        "names": ["a", ("b", 2.5, True)],
        "empty": {},
    }


def test_everything_comes_back(tmp_path, tree):
    checkpoint.save(tmp_path / "a.safetensors", tree)
    back = checkpoint.load(tmp_path / "a.safetensors")
    assert back["names"] == ["a", ["b", 2.5, True]]
    assert (back["counter"], back["nothing"], back["empty"]) == (12, None, {})
    assert back["rng"] == tree["rng"]
    assert torch.equal(back["torch_rng"], tree["torch_rng"])
    assert back["scalar"].shape == ()
    for name in ("weights", "optimizer", "half"):
        assert_same(back[name], tree[name])


def assert_same(back, tree):
    if isinstance(tree, torch.Tensor):
        assert (back.dtype, back.shape) == (tree.dtype, tree.shape)
        assert torch.equal(back, tree)
    elif isinstance(tree, dict):
        assert list(back) == list(tree)
        for key in tree:
            assert_same(back[key], tree[key])
    elif isinstance(tree, list | tuple):
        for one, other in zip(back, tree, strict=True):
            assert_same(one, other)
    else:
        assert back == tree


def test_a_truncated_file_is_refused_wherever_it_was_cut(tmp_path, tree):
    whole = tmp_path / "a.safetensors"
    checkpoint.save(whole, tree)
    data = whole.read_bytes()
    for length in (0, 1, 7, 8, 100, len(data) // 2, len(data) - 1):
        whole.write_bytes(data[:length])
        with pytest.raises(CheckpointError, match="damaged"):
            checkpoint.load(whole)


def test_a_pickle_is_refused_without_being_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "exploded"), "w"))

    path = tmp_path / "a.safetensors"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(CheckpointError):
        checkpoint.load(path)
    assert not (tmp_path / "exploded").exists()


def write(path, metadata):
    safetensors.numpy.save_file({}, path, {"format": checkpoint.FORMAT} | metadata)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no checkpoint at .*a.safetensors"),
        (lambda path: safetensors.numpy.save_file({"x": np.zeros(3)}, path), "another program"),
        (lambda path: path.write_bytes((1 << 26).to_bytes(8, "little") + b"{}"), "with a header of 67,108,864"),
        (lambda path: write(path, {"version": str(checkpoint.VERSION + 1), "tree": '{"dict": []}'}), "newer version"),
        (lambda path: write(path, {"version": "two", "tree": "{}"}), "damaged"),
        (lambda path: write(path, {"version": "1"}), "damaged"),
        (lambda path: write(path, {"version": "1", "tree": "{"}), "damaged"),
        (lambda path: write(path, {"version": "1", "tree": '{"array": "7", "kind": "numpy"}'}), "damaged"),
        (lambda path: write(path, {"version": "1", "tree": '{"what": 1}'}), "damaged"),
    ],
)
def test_what_is_no_checkpoint_is_refused(tmp_path, make, message):
    make(tmp_path / "a.safetensors")
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(tmp_path / "a.safetensors")


def test_kinds_of_numbers_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    skeleton = json.dumps({"dict": [["x", {"array": "0", "kind": "bfloat16"}]]})
    metadata = {"format": checkpoint.FORMAT, "version": "1", "tree": skeleton}
    safetensors.numpy.save_file({"0": np.array(3, np.int8)}, path, metadata)
    with pytest.raises(CheckpointError, match="damaged"):
        checkpoint.load(path)
    safetensors.torch.save_file({"0": torch.ones(2).bfloat16()}, path, metadata)
    with pytest.raises(CheckpointError, match="damaged"):
        checkpoint.load(path)


def test_what_cannot_be_kept_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(TypeError, match="set"):
        checkpoint.save(tmp_path / "a.safetensors", {"a": {1, 2}})
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    checkpoint.save(path, {"a": 1})
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save(path, {"a": 2})
    assert checkpoint.load(path) == {"a": 1}


@pytest.mark.parametrize("limit", ["MAX_BYTES", "MAX_HEADER_BYTES"])
def test_a_checkpoint_that_could_not_be_loaded_is_not_written(tmp_path, monkeypatch, limit):
    path = tmp_path / "a.safetensors"
    checkpoint.save(path, {"step": 1})
    monkeypatch.setattr(checkpoint, limit, 2000)
    large = {"weights": np.zeros(2000)} if limit == "MAX_BYTES" else {"table": ["x" * 2000]}
    with pytest.raises(CheckpointError, match=r"a.safetensors is not written: it has .* Train with a smaller rollout"):
        checkpoint.save(path, large)
    assert checkpoint.load(path) == {"step": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]


def test_any_changed_byte_is_noticed(tmp_path, tree):
    path = tmp_path / "a.safetensors"
    checkpoint.save(path, {"tree": tree["weights"], "table": np.arange(5.0)})
    before, data, rng = checkpoint.load(path), path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for place in [*rng.integers(len(data), size=300).tolist(), *range(len(data) - 40, len(data))]:
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(changed))
        try:
            assert_same(checkpoint.load(path)["tree"], before["tree"])
        except CheckpointError:
            refused += 1
    assert refused > 300, "only a changed name of the checksum goes unnoticed, and changes nothing"


def test_a_checkpoint_from_before_there_were_checksums_is_read(tmp_path):
    path = tmp_path / "a.safetensors"
    skeleton = {"dict": [["x", {"array": "0", "kind": "numpy"}]]}
    metadata = {"format": checkpoint.FORMAT, "version": "1", "tree": json.dumps(skeleton)}
    safetensors.numpy.save_file({"0": np.arange(3.0)}, path, metadata)
    assert checkpoint.load(path)["x"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "weight",
    [
        np.array([1.0, np.inf]),
        np.array(np.nan, np.float16),
        torch.tensor([float("-inf"), 0.0]),
        torch.full((2, 2), float("nan")).bfloat16(),
        torch.full((2,), float("nan")).half(),
    ],
    ids=str,
)
def test_values_that_are_not_finite_are_refused(tmp_path, weight):
    path = tmp_path / "a.safetensors"
    checkpoint.save(path, {"learner": {"weights": {"conv": weight}}, "fine": [np.arange(3), torch.ones(2)]})
    with pytest.raises(CheckpointError, match=r"learner.weights.conv holds NaN or infinite"):
        checkpoint.load(path)


def test_a_file_with_terabytes_of_holes_is_refused(tmp_path):
    path, size = tmp_path / "a.safetensors", 1 << 42
    tree = json.dumps({"dict": [["x", {"array": "0", "kind": "numpy"}]]})
    metadata = {"format": checkpoint.FORMAT, "version": "1", "tree": tree}
    entry = {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}
    text = json.dumps({"__metadata__": metadata, "0": entry}).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + size)
    with pytest.raises(CheckpointError, match=r"has 4,398,046,5\d\d,\d+ bytes"):
        checkpoint.load(path)


def test_contents_of_another_reader_are_said_to_be_so(tmp_path):
    message = r"a.safetensors does not hold what PPO expects \(KeyError: 'weights'\)"
    with (
        pytest.raises(CheckpointError, match=message),
        checkpoint.as_checkpoint_errors("PPO", tmp_path / "a.safetensors"),
    ):
        raise KeyError("weights")
    with pytest.raises(torch.OutOfMemoryError), checkpoint.as_checkpoint_errors("PPO", tmp_path):
        raise torch.OutOfMemoryError
