"""What the house promises of itself: rooms, and who may look at what."""

import ast
import inspect
from collections import defaultdict
from pathlib import Path

import pytest

import relvec

HOUSE = Path(relvec.__file__).parent
MODULES = {path: ast.parse(path.read_text()) for path in sorted(HOUSE.rglob("*.py"))}


def room(path):
    """The folder, or the file, that a module is in."""
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def defined(tree):
    """Private names that a module gives to anything."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def used(tree):
    """Private names that a module takes from an object or another module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "relvec"
        ):
            yield from (each.name for each in node.names if is_private(each.name))


def test_no_room_uses_what_is_private_to_another():
    own = defaultdict(set)
    for path, tree in MODULES.items():
        own[room(path)] |= set(filter(is_private, defined(tree)))
    somewhere = set().union(*own.values())
    intrusions = [
        f"{path.relative_to(HOUSE)}: {name}"
        for path, tree in MODULES.items()
        for name in used(tree)
        if name in somewhere and name not in own[room(path)]
    ]

    assert intrusions == []


def test_no_estimator_is_copied_or_swapped_for_another():
    """A fit is a value; the estimator takes its attributes from it."""
    for path, tree in MODULES.items():
        if room(path) not in {"estimators", "lssvm", "modelling", "kernel_search"}:
            continue
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        stored = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        }
        assert "__dict__" not in stored, path
        assert not {"copy", "deepcopy"} & names, path


@pytest.mark.parametrize("make", [relvec.RVR, relvec.RVC, relvec.LSSVR, relvec.LSSVC])
def test_few_parameters(make):
    assert len(inspect.signature(make).parameters) <= 22
