"""The classes that a saved configuration may build at each place: those that the config groups allow there.

A place is an argument of a class, such as `game` of `VersusEnv`. The allowed classes are read from the files of the
config groups, so a new option is allowed as soon as it can be composed, and nothing else is: those of conf/ and of the
folders given by --config-dir. Packages named in the environment variable BOARDLAB_TRUST are allowed as well.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from inspect import isclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import yaml

from ..core.errors import UserError, require
from ..core.package import canonical, rename_targets
from ..core.runs.config_file import LOADER

TARGET = "_target_"
MAIN = "train"  # the command whose configuration is saved
TRUST = "BOARDLAB_TRUST"  # environment variable: names of packages, separated by commas
ROOT = ""  # the owner of the keys of the whole configuration
GROUP = "@"  # before the name of a group; alone, the key for the groups that a node is chosen from
PATH = "/"  # before each key of the path to a plain mapping of the root
NULL = "null"
REFERENCE = re.compile(r"\$\{([\w.]+)\}")  # to the value of another key
PACKAGE = re.compile(r"^# @package (\S+)$", re.MULTILINE)


class Place(NamedTuple):
    owner: str  # a class, a group (arguments of any of its options), or the path of a plain mapping of the root
    key: str
    depth: int = 0  # mappings and lists, with arbitrary keys, between an argument of a class and the value

    def below(self, key: str) -> "Place":
        """Return the place of a key in a plain mapping; mappings of the root have fixed keys."""
        if self == ANYWHERE:
            return self
        if self.owner == ROOT or self.owner.startswith(PATH):
            return Place(f"{self.owner}{PATH}{self.key}", key)
        return self._replace(depth=self.depth + 1)


ANYWHERE = Place("*", "*")  # in the arguments of a trusted class: any value, and any class that conf/ names


class Targets:
    """The allowed classes, read from folders of config groups."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders
        self._allowed: defaultdict[Place, set[str]] = defaultdict(set)  # classes, groups, references and null
        for folder, path in [(one, path) for one in folders for path in sorted(one.rglob("*.yaml"))]:
            group = path.parent.relative_to(folder).as_posix()
            if not group.startswith("hydra") and (group != "." or path.stem == MAIN):
                try:
                    self._read("" if group == "." else group, path.read_text())
                except (yaml.YAMLError, ValueError, TypeError, AttributeError) as error:
                    raise UserError(f"{path} is not a config of a group: {error}") from error
        filled = [place for place in list(self._allowed) if self._classes([place])]
        self._allowed[ANYWHERE] = self._classes(filled)
        self._above_classes = {place._replace(depth=depth) for place in filled for depth in range(place.depth)}

    def check(self, config: dict[str, Any], name: str) -> None:
        """Raise `UserError` if a class is not allowed or missing at its place; messages begin with `name`."""
        for key, value in config.items():
            self._check(value, [Place(ROOT, key)], f"{name}: {key}")

    def _check(self, node: Any, places: list[Place], where: str) -> None:
        classes, target = self._classes(places), None
        if isinstance(node, dict) and TARGET in node:
            target = node[TARGET]
            known = f"it can be {', '.join(sorted(classes))}" if classes else "no class is allowed here"
            fits = isinstance(target, str) and (target in classes or _is_trusted(target))
            advice = f"{known}; if you trust the code of an extension, give its folder: --config-dir=mine/conf"
            require(fits, f"{where} has _target_ {str(target)[:200]!r}, which is refused: {advice}")
        elif ANYWHERE not in places and (
            classes or (not isinstance(node, dict | list) and not self._above_classes.isdisjoint(places))
        ):
            null = node is None and NULL in self._refs(places)
            require(
                null, f"{where} is {str(node)[:80]!r}, which is refused: it must be a class or a mapping of classes"
            )
        for key, child in _children(node):
            special = key == "defaults" or (key.startswith("_") and key.endswith("_"))  # Hydra would interpret them
            require(not special, f"{where}.{key} is refused: the key is not allowed in a saved configuration")
            self._check(child, self._below(places, key, target), f"{where}.{key}")

    def _below(self, places: list[Place], key: str, target: str | None) -> list[Place]:
        """Return the places of a key: in a class and the groups it was chosen from, or in a plain mapping."""
        groups = [ref for ref in self._refs(places) if ref.startswith(GROUP)]
        if target is None:
            own = [place.below(key) for place in places]
        else:
            own = [ANYWHERE if _is_trusted(target) else Place(target, key)]
        return own + [Place(group, key) for group in groups]

    def _classes(self, places: list[Place], seen: frozenset[str] = frozenset()) -> set[str]:
        """Return the classes allowed at any of these places."""
        refs = self._refs(places, seen)
        groups = {ref for ref in refs if ref.startswith(GROUP)}
        return (refs - groups - {NULL}) | self._refs([Place(group, TARGET) for group in groups], seen)

    def _refs(self, places: list[Place], seen: frozenset[str] = frozenset()) -> set[str]:
        """Return the entries of these places, with references resolved."""
        found = {ref for place in places for ref in self._allowed.get(place, ())}
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
        """Add the entries of one file."""
        tree = rename_targets(yaml.load(text, LOADER) or {}, canonical)
        mounts = list(_mounts(group, tree.pop("defaults", [])))
        package = PACKAGE.search(text)
        for path, mounted, optional in mounts:
            _node_at(tree, path).setdefault(GROUP, []).extend([GROUP + mounted, *([NULL] if optional else [])])
        if package is None and group:
            self._add_keys(GROUP + group, tree)
            if TARGET in tree:  # its arguments are accepted in every option of the group
                self._allowed[Place(GROUP + group, TARGET)].add(tree.pop(TARGET))
                self._add_keys(GROUP + group, tree)
            return
        whole: dict[str, Any] = {}
        _node_at(whole, _keys(package[1] if package else "")).update(tree)
        for key, node in whole.items():
            if isinstance(node, dict) and any((folder / key).is_dir() for folder in self._folders):
                node.setdefault(GROUP, []).append(GROUP + key)
        self._add_keys(ROOT, {key: node for key, node in whole.items() if key != "hydra"})

    def _add_keys(self, owner: str, node: dict[str, Any]) -> None:
        target = node.get(TARGET, owner)
        reference = REFERENCE.fullmatch(target)
        owner = GROUP + reference[1].removesuffix(f".{TARGET}") if reference else target
        for key, child in _children(node):
            referenced = reference is not None and isinstance(child, str)  # like the class itself
            if key != GROUP and not referenced:
                self._add(Place(owner, key), child)

    def _add(self, place: Place, value: Any) -> None:
        if value is None:
            self._allowed[place].add(NULL)
        elif isinstance(value, str) and REFERENCE.fullmatch(value):
            self._allowed[place].add(value)
        elif isinstance(value, dict) and (TARGET in value or GROUP in value):
            groups = value.get(GROUP, [])
            self._allowed[place] |= {*groups, *([value[TARGET]] if TARGET in value else [])}
            for owner in [group for group in groups if group != NULL] or [value[TARGET]]:
                self._add_keys(owner, value)
        else:
            for key, child in _children(value):
                self._add(place.below(key), child)


def _is_trusted(target: str) -> bool:
    """Return whether a class is defined in a package that the user trusts. A run can never extend that trust.

    What such a package imports, such as `numpy.load`, is not trusted, whatever name leads to it.
    """
    package = target.partition(".")[0]
    if package not in [name.strip() for name in os.environ.get(TRUST, "").split(",") if name.strip()]:
        return False
    module, _, name = target.rpartition(".")
    try:
        found = getattr(import_module(module), name, None)
    except (ImportError, ValueError):  # ValueError: no module is named
        return False
    return isclass(found) and found.__module__.partition(".")[0] == package


def _children(node: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        yield from ((key, child) for key, child in node.items() if key != TARGET)
    elif isinstance(node, list):
        yield from ((str(number), child) for number, child in enumerate(node))


def _mounts(group: str, defaults: list[Any]) -> Iterator[tuple[list[str], str, bool]]:
    """Yield the keys at which a defaults list mounts an option of another group, its name, and if it may be null."""
    for entry in defaults:
        name, option = next(iter(entry.items())) if isinstance(entry, dict) else (entry, None)
        words, _, package = name.removeprefix("optional ").partition("@")
        if words.startswith("override ") or (option is None and not isinstance(entry, dict) and not package):
            continue  # mounted elsewhere, or another file of the same group that this one extends
        path = PurePosixPath(words if isinstance(entry, dict) else PurePosixPath(words).parent)
        absolute = PurePosixPath("/") / group / path  # an absolute path is unchanged
        optional = isinstance(entry, dict) and option is None
        yield _keys(package or words.strip("/").replace("/", ".")), absolute.as_posix().strip("/"), optional


def _keys(package: str) -> list[str]:
    return [key for key in package.split(".") if key not in ("", "_global_", "_here_")]


def _node_at(tree: dict[str, Any], path: list[str]) -> dict[str, Any]:
    for key in path:
        if not isinstance(tree.get(key), dict):
            tree[key] = {}
        tree = tree[key]
    return tree
