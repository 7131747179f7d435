"""Which classes a saved configuration may build, and where: those that the config groups can put there.

A place is an argument of a class, such as `game` of `VersusEnv`. What may stand there is read from the files of the
config groups themselves, so a new option is allowed as soon as it can be composed, and nothing else ever is.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import yaml

from src.core.errors import require
from src.core.runs.config_file import LOADER

TARGET = "_target_"
MAIN = "train"  # the command whose configuration is saved
ROOT = ""  # the owner of the keys of the whole configuration
GROUP = "@"  # before the name of a group; alone, a key under which groups are noted that a node is chosen from
PATH = "/"  # before each key of the path to a plain mapping of the root
NULL = "null"
REFERENCE = re.compile(r"\$\{([\w.]+)\}")  # to the value of another key
PACKAGE = re.compile(r"^# @package (\S+)$", re.MULTILINE)


class Place(NamedTuple):
    owner: str  # a class, a group for what any of its options takes, or a plain mapping of the root by its path
    key: str
    depth: int = 0  # mappings and lists between an argument of a class and the value, whose own keys are free

    def below(self, key: str) -> "Place":
        """Within a plain mapping; those of the root have fixed keys."""
        if self.owner == ROOT or self.owner.startswith(PATH):
            return Place(f"{self.owner}{PATH}{self.key}", key)
        return self._replace(depth=self.depth + 1)


class Targets:
    """Built from a folder of config groups."""

    def __init__(self, conf: Path) -> None:
        self._conf = conf
        self._noted: defaultdict[Place, set[str]] = defaultdict(set)  # classes, groups, references and null
        for path in sorted(conf.rglob("*.yaml")):
            group = path.parent.relative_to(conf).as_posix()
            if not group.startswith("hydra") and (group != "." or path.stem == MAIN):
                self._read("" if group == "." else group, path.read_text())
        filled = [place for place in list(self._noted) if self._classes([place])]
        self._above_classes = {place._replace(depth=depth) for place in filled for depth in range(place.depth)}

    def check(self, config: dict[str, Any], name: str) -> None:
        """Refuse a configuration with a class, or none, where no composition has it; `name` is said to the user."""
        for key, value in config.items():
            self._check(value, [Place(ROOT, key)], f"{name}: {key}")

    def _check(self, node: Any, places: list[Place], where: str) -> None:
        classes, target = self._classes(places), None
        if isinstance(node, dict) and TARGET in node:
            target = node[TARGET]
            known = f"it can be {', '.join(sorted(classes))}" if classes else "no class belongs here"
            fits = isinstance(target, str) and target in classes
            require(fits, f"{where} is to be built by {str(target)[:200]!r}, which is refused: {known}")
        elif classes or (not isinstance(node, dict | list) and not self._above_classes.isdisjoint(places)):
            null = node is None and NULL in self._refs(places)
            require(null, f"{where} is {str(node)[:80]!r}, which is refused: a class belongs here, or several by name")
        for key, child in _children(node):
            special = key.startswith("_") and key.endswith("_")
            require(not special, f"{where}.{key} is refused: a saved configuration has no such key")
            self._check(child, self._below(places, key, target), f"{where}.{key}")

    def _below(self, places: list[Place], key: str, target: str | None) -> list[Place]:
        """Where a key stands: in a class and the groups it was chosen from, or within a plain mapping."""
        groups = [ref for ref in self._refs(places) if ref.startswith(GROUP)]
        own = [place.below(key) for place in places] if target is None else [Place(target, key)]
        return own + [Place(group, key) for group in groups]

    def _classes(self, places: list[Place], seen: frozenset[str] = frozenset()) -> set[str]:
        """What may be built at any of these places."""
        refs = self._refs(places, seen)
        groups = {ref for ref in refs if ref.startswith(GROUP)}
        return (refs - groups - {NULL}) | self._refs([Place(group, TARGET) for group in groups], seen)

    def _refs(self, places: list[Place], seen: frozenset[str] = frozenset()) -> set[str]:
        """What is noted at these places, and at those that are referred to there."""
        found = {ref for place in places for ref in self._noted.get(place, ())}
        for ref in [ref for ref in found if REFERENCE.fullmatch(ref)]:
            found.remove(ref)
            if ref not in seen:
                found |= self._refs(self._places_of(ref, seen | {ref}), seen | {ref})
        return found

    def _places_of(self, reference: str, seen: frozenset[str]) -> list[Place]:
        first, *keys = reference[2:-1].removesuffix(f".{TARGET}").split(".")
        places = [Place(ROOT, first)]
        for key in keys:
            targets: list[str | None] = [*sorted(self._classes(places, seen))] or [None]
            places = [place for target in targets for place in self._below(places, key, target)]
        return places

    def _read(self, group: str, text: str) -> None:
        """Note what one file puts where."""
        tree = yaml.load(text, LOADER) or {}
        mounts = list(_mounts(group, tree.pop("defaults", [])))
        package = PACKAGE.search(text)
        for path, mounted in mounts:
            _node_at(tree, path).setdefault(GROUP, []).append(GROUP + mounted)
        if package is None and group:
            self._note_keys(GROUP + group, tree)
            if TARGET in tree:  # what one option takes under a name, another may have taken in an earlier version
                self._noted[Place(GROUP + group, TARGET)].add(tree.pop(TARGET))
                self._note_keys(GROUP + group, tree)
            return
        whole: dict[str, Any] = {}
        _node_at(whole, _keys(package[1] if package else "")).update(tree)
        for key, node in whole.items():
            if isinstance(node, dict) and (self._conf / key).is_dir():
                node.setdefault(GROUP, []).append(GROUP + key)
        self._note_keys(ROOT, {key: node for key, node in whole.items() if key != "hydra"})

    def _note_keys(self, owner: str, node: dict[str, Any]) -> None:
        target = node.get(TARGET, owner)
        reference = REFERENCE.fullmatch(target)
        owner = GROUP + reference[1].removesuffix(f".{TARGET}") if reference else target
        for key, child in _children(node):
            taken_over = reference is not None and isinstance(child, str)  # from where the class is taken from, too
            if key != GROUP and not taken_over:
                self._note(Place(owner, key), child)

    def _note(self, place: Place, value: Any) -> None:
        if value is None:
            self._noted[place].add(NULL)
        elif isinstance(value, str) and REFERENCE.fullmatch(value):
            self._noted[place].add(value)
        elif isinstance(value, dict) and (TARGET in value or GROUP in value):
            groups = value.get(GROUP, [])
            self._noted[place] |= {*groups, *([value[TARGET]] if TARGET in value else [])}
            for owner in groups or [value[TARGET]]:
                self._note_keys(owner, value)
        else:
            for key, child in _children(value):
                self._note(place.below(key), child)


def _children(node: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        yield from ((key, child) for key, child in node.items() if key != TARGET)
    elif isinstance(node, list):
        yield from ((str(number), child) for number, child in enumerate(node))


def _mounts(group: str, defaults: list[Any]) -> Iterator[tuple[list[str], str]]:
    """The keys at which a defaults list puts an option of another group, and the name of that group."""
    for entry in defaults:
        name, option = next(iter(entry.items())) if isinstance(entry, dict) else (entry, None)
        words, _, package = name.removeprefix("optional ").partition("@")
        if words.startswith("override ") or (option is None and not isinstance(entry, dict) and not package):
            continue  # of a group that is put there elsewhere; or the file goes on from another of its group
        path = PurePosixPath(words if isinstance(entry, dict) else PurePosixPath(words).parent)
        absolute = PurePosixPath("/") / group / path  # a path that begins with / stays as it is
        yield _keys(package or words.strip("/").replace("/", ".")), absolute.as_posix().strip("/")


def _keys(package: str) -> list[str]:
    return [key for key in package.split(".") if key not in ("", "_global_", "_here_")]


def _node_at(tree: dict[str, Any], path: list[str]) -> dict[str, Any]:
    for key in path:
        if not isinstance(tree.get(key), dict):
            tree[key] = {}
        tree = tree[key]
    return tree
