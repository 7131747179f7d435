"""Types and ranges of settings: valid values, error messages, and that every setting declares them."""

import inspect
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from src.config import CONF, schema
from src.config.build import build
from src.core.errors import UserError
from src.core.ranges import Bounds, Fraction, Positive, check, check_fields, checked
from tests.marks import mostly_slow
from tests.test_compositions import composed

COMPOSITIONS = [
    ("tictactoe", "qlearning", ()),
    ("tictactoe", "ppo", ("net@algo.net=mlp", "curriculum=random_first")),
    ("minesweeper_8x8", "ppo", ("net@algo.net=residual", "curriculum=minesweeper_ladder")),
    ("minesweeper_8x8", "imitation", ("net@algo.net=cnn",)),
    ("quoridor", "alphabeta", ()),
    ("deployment", "maskable_ppo", ()),
]
NEVER = (math.nan, math.inf, -math.inf, "word", [1], {"a": 1})  # instead of a number


@pytest.mark.parametrize(
    ("hint", "good", "bad", "message"),
    [
        (float, [0, -1.5], [math.nan, math.inf, True, "1", None], "a finite number"),
        (int, [0, -5], [1.0, True, "1", None], "a whole number"),
        (bool, [True, False], [0, 1, "true"], "true or false"),
        (str, ["", "a"], [1, None], "text"),
        (Fraction, [0, 1, 0.5], [-0.001, 1.001, math.nan], "a number in [0, 1]"),
        (Positive | None, [None, 0.1], [0, -1, math.nan, math.inf], "a number > 0 or null"),
        (Annotated[float, Bounds(ge=0, lt=1)], [0], [1], "a number in [0, 1)"),
        (Annotated[int, Bounds(gt=0, le=9)], [1, 9], [0, 10, 1.5], "a whole number in (0, 9]"),
        (Annotated[int, Bounds(ge=8, le=64, multiple_of=8)], [8, 64], [0, 12], "in [8, 64] and a multiple of 8"),
        (Literal["a", "b"], ["a"], ["c", 1, None], "one of a, b"),
        (Sequence[Positive], [[], [1, 2.5]], ["ab", 1, [0], [1, None]], "a list with each item a number > 0"),
        (Annotated[Sequence[int], Bounds(ge=1)], [[1]], [[], "a"], "with a length >= 1"),
        (Any, [1, None, "x"], [], ""),
    ],
)  # fmt: skip
def test_values_are_checked_against_type_and_range(hint: Any, good: list[Any], bad: list[Any], message: str):
    for value in good:
        check(value, hint, "key")
    for value in bad:
        with pytest.raises(UserError, match=rf"^key=.* must be .*{re.escape(message)}"):
            check(value, hint, "key")


def test_a_refused_value_of_a_mapping_is_named_by_its_key():
    with pytest.raises(UserError, match=re.escape("key.b=0 must be a number > 0")):
        check({"a": 1, "b": 0}, Mapping[str, Positive], "key")


def test_direct_calls_are_checked_like_configurations():
    @checked
    def build(share: Fraction, name: str = "x") -> str:
        return f"{share}{name}"

    @dataclass
    class Pair:
        low: Positive
        high: Positive

        def __post_init__(self) -> None:
            check_fields(self)

    assert build(0.5) == "0.5x"
    for call in (lambda: build(2), lambda: build(share=2), lambda: build(0, name=3), lambda: Pair(1, 0)):  # type: ignore[arg-type]
        with pytest.raises(UserError, match="must be"):
            call()


def targets() -> list[str]:
    """Return all classes that can be composed."""
    texts = (path.read_text() for path in CONF.rglob("*.yaml"))
    return sorted({name for text in texts for name in re.findall(r"_target_: (src\.[\w.]+)", text)})


@pytest.mark.parametrize("target", targets())
def test_every_whole_number_that_can_be_set_has_a_range(target: str):
    built = get_object(target)
    hints = get_type_hints(built.__init__ if inspect.isclass(built) else built, include_extras=True)
    assert not [name for name, hint in hints.items() if int in unbounded(hint)], "declare it: Annotated[int, Bounds()]"


@pytest.mark.parametrize("command", [schema.Train, schema.Evaluation, schema.Evaluate, schema.Engine, schema.Play])
def test_every_number_of_a_command_has_a_range(command: type):
    hints = get_type_hints(command, include_extras=True)
    assert not [name for name, hint in hints.items() if {int, float} & set(unbounded(hint))]


def unbounded(hint: Any) -> Iterator[Any]:
    """Return the plain types in a hint that have no range."""
    if get_origin(hint) is Annotated:
        lists = get_args(get_args(hint)[0])
        yield from (kind for one in lists for kind in unbounded(one))
    elif get_args(hint) and get_origin(hint) is not Literal:
        yield from (kind for one in get_args(hint) for kind in unbounded(one))
    else:
        yield hint


@pytest.mark.parametrize(("env", "algo", "more"), mostly_slow(COMPOSITIONS, fast=3))
def test_what_is_no_number_is_refused_by_its_key(env: str, algo: str, more: tuple[str, ...]):
    cfg = composed(f"env={env}", f"algo={algo}", *more)
    OmegaConf.set_struct(cfg, False)
    tried = 0
    for root in ("env", "algo", "curriculum"):
        for parent, key, path in numbers(cfg[root], root):
            number = parent[key]
            for value, whole in zip(NEVER, (True, *[False] * len(NEVER)), strict=False):
                parent[key] = value
                with pytest.raises(UserError, match=rf"^{re.escape(path)}=.* must be "):
                    build(*((cfg[root], root) if whole else (parent, path.rpartition(".")[0])))
                tried += 1
            parent[key] = number
    assert tried > 30


def numbers(node: Any, path: str) -> Iterator[tuple[DictConfig, str, str]]:
    """Return the numeric parameters of our classes."""
    for key in list(node) if isinstance(node, DictConfig) else ():
        if "_target_" in node and type(node[key]) in (int, float):
            yield node, key, f"{path}.{key}"
        yield from numbers(node[key], f"{path}.{key}")
