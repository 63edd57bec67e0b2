"""Digests of what a measured figure depends on: source code and data."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tasks import Material
from rffpsr_ros.recordings.trajectory import Trajectory

_CHECKOUT = Path(__file__).resolve().parent.parent
_OURS = ("rffpsr_ros", "benchmarks")
_FACADE = "rffpsr_ros"
"""Offers names of every module; who imports it does not depend on all of them."""


def source_digest(module: str) -> str:
    """Return a digest of a module of this project and of all modules that it imports.

    Comments, docstrings and layout do not count.
    """
    digest = hashlib.sha256()
    for name in sorted(modules_behind(module)):
        digest.update(f"{name}\n{_code(name)}\n".encode())
    return digest.hexdigest()[:16]


def data_digest(material: Material) -> str:
    """Return a digest of all trajectories."""
    digest = hashlib.sha256()
    parts = {"train": material.train, "validation": material.validation, **material.tests}
    for name, trajectories in parts.items():
        digest.update(f"{name} {len(trajectories)}\n".encode())
        for trajectory in trajectories:
            _add(digest, trajectory)
    return digest.hexdigest()[:16]


def digest_of(value: Any) -> str:
    """Return a digest of a value of JSON types."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _add(digest: Any, trajectory: Trajectory) -> None:
    for values in (trajectory.observations, trajectory.actions):
        # Simulations differ in their last bits from one numerical library to the next.
        rounded = np.round(values, 9) + 0.0
        digest.update(f"{values.shape} {trajectory.period}\n".encode())
        digest.update(np.ascontiguousarray(rounded).tobytes())


def forget_sources() -> None:
    """Read sources anew from now on: they are read once in a process."""
    _imports.cache_clear()
    _code.cache_clear()


def modules_behind(module: str) -> set[str]:
    """Return the module and all modules of this project that it imports, however indirectly."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found and _path(name) is not None:
            found.add(name)
            waiting += _imports(name)
    return found


@cache
def _imports(name: str) -> tuple[str, ...]:
    return tuple(_imported_names(_tree(name)))


def _imported_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (n for n in names if n.split(".")[0] in _OURS and n != _FACADE)


@cache
def _code(name: str) -> str:
    """Return the module's source without comments and docstrings, in one layout."""
    tree = _tree(name)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [line for line in body if not _is_string(line)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_string(line: ast.stmt) -> bool:
    return (
        isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    )


def _tree(name: str) -> ast.Module:
    path = _path(name)
    assert path is not None
    return ast.parse(path.read_text(encoding="utf-8"))


def _path(name: str) -> Path | None:
    """Return a module's file; None for a package's folder without one, and for other names."""
    place = _CHECKOUT.joinpath(*name.split("."))
    module = place.with_name(place.name + ".py")
    if module.exists():
        return module
    package = place / "__init__.py"
    return package if package.exists() else None
