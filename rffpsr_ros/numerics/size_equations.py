"""Sizes by name: what each is, found from the shapes of arrays, and whether all of them agree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache


class SizesError(ValueError):
    """Sizes do not agree."""


class _UnknownError(Exception):
    """Sizes that are not known yet stand in an expression."""

    def __init__(self, names: set[tuple[int, str]]) -> None:
        super().__init__(names)
        self.names = names


class Scope:
    """The sizes of one part: its own, and those that it shares under names of its own."""

    def __init__(self, outer: Scope | None = None, names: Mapping[str, str] | None = None) -> None:
        self.outer, self.names = outer, names or {}

    def within(self, names: Mapping[str, str]) -> Scope:
        """Return the scope of a part that knows sizes of this one under the names given."""
        return Scope(self, names)


@dataclass
class SizeEquations:
    """Collects what sizes must be, and solves for the names."""

    _known: dict[tuple[int, str], int] = field(default_factory=dict)
    _open: list[tuple[Scope, str, int, str]] = field(default_factory=list)
    _scopes: list[Scope] = field(default_factory=list)

    def add(self, scope: Scope, expression: str, size: int, what: str) -> None:
        """Require that an expression, or one of several parted by ``|``, is ``size``."""
        self._scopes.append(scope)  # kept alive: its identity stands for it
        self._open.append((scope, expression, size, what))

    def solve(self) -> None:
        """Find every size.

        Raises
        ------
        SizesError
            If two statements about a size differ, or one cannot be told.
        """
        before = -1
        while self._open and len(self._open) != before:
            before = len(self._open)
            # Names by themselves first: they make the plainest sentences.
            self._open.sort(key=lambda one: not one[1].isidentifier())
            self._open = [one for one in self._open if not self._settled(*one)]
        for _, expression, size, what in self._open:
            raise SizesError(f"{what} is {size}, which does not tell {expression}")

    def value(self, scope: Scope, expression: str) -> int:
        """Return a size that is known by now."""
        try:
            return self._evaluate(scope, _parsed(expression))
        except _UnknownError as fault:
            raise SizesError(f"nothing tells {expression}") from fault

    def names(self, scope: Scope, expression: str) -> set[str]:
        """Return the sizes that an expression depends on, by their names where they are shared."""
        found = set()
        for node in ast.walk(_parsed(expression)):
            if isinstance(node, ast.Name):
                shared = scope.outer is not None and node.id in scope.names
                outer = scope.outer if shared else None
                found |= {node.id} if outer is None else self.names(outer, scope.names[node.id])
        return found

    def _settled(self, scope: Scope, expression: str, size: int, what: str) -> bool:
        """Return whether a statement was used: checked, or solved for its one unknown size."""
        open_ways, values = [], []
        for way in _ways(_parsed(expression)):
            try:
                values.append(self._evaluate(scope, way))
            except _UnknownError as fault:
                open_ways.append((way, fault.names))
        if size in values:
            return True
        if not open_ways:
            wanted = " or ".join(map(str, values))
            raise SizesError(f"{what} is {size}, not {expression} = {wanted}")
        if len(open_ways) > 1 or len(open_ways[0][1]) > 1:
            return False
        ((way, (unknown,)),) = [(way, tuple(names)) for way, names in open_ways]
        root = _root(lambda x: self._with(unknown, x, scope, way), size)
        del self._known[unknown]
        if root is None:  # nothing times a size does not tell it
            return False
        self._known[unknown] = root
        if self._known[unknown] < 0 or self._evaluate(scope, way) != size:
            raise SizesError(f"{what} is {size}, which is never {expression}")
        return True

    def _with(self, unknown: tuple[int, str], value: int, scope: Scope, tree: ast.expr) -> int:
        self._known[unknown] = value
        return self._evaluate(scope, tree)

    def _evaluate(self, scope: Scope, tree: ast.expr) -> int:
        if isinstance(tree, ast.Constant):
            assert isinstance(tree.value, int)
            return tree.value
        if isinstance(tree, ast.Name):
            return self._size(scope, tree.id)
        assert isinstance(tree, ast.BinOp)
        sides, unknown = [], set()
        for side in (tree.left, tree.right):
            try:
                sides.append(self._evaluate(scope, side))
            except _UnknownError as fault:
                unknown |= fault.names
        if unknown:
            raise _UnknownError(unknown)
        return _OPERATIONS[type(tree.op)](*sides)

    def _size(self, scope: Scope, name: str) -> int:
        if scope.outer is not None and name in scope.names:
            return self._evaluate(scope.outer, _parsed(scope.names[name]))
        if (id(scope), name) not in self._known:
            raise _UnknownError({(id(scope), name)})
        return self._known[id(scope), name]


_OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
}


@lru_cache(maxsize=256)
def _parsed(expression: str) -> ast.expr:
    return ast.parse(expression, mode="eval").body


def _ways(tree: ast.expr) -> list[ast.expr]:
    """Return the alternatives that ``|`` parts."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitOr):
        return [*_ways(tree.left), *_ways(tree.right)]
    return [tree]


def _root(function: Callable[[int], int], value: int) -> int | None:
    """Return where a function that is linear, or nearly so, takes a value; None: anywhere."""
    at_zero = function(0)
    slope = function(1) - at_zero
    if slope:
        return (value - at_zero) // slope
    return None if value == at_zero else -1
