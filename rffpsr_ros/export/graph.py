"""A small language for what a model computes: operations on arrays, each made once.

A kind of model is described in it once, and each writer knows its operations once. All values are
real; what is true is 1, what is false 0. Shapes are fixed. Where two values meet number by number,
they have one shape, or one of them is a single number, of shape ().
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from rffpsr_ros.numerics.arrays import Array

Shape: TypeAlias = tuple[int, ...]
Tangent: TypeAlias = "Node | None"
"""The derivative of a value along one direction; None: it does not depend on what moves."""


@dataclass(frozen=True, eq=False)
class Node:
    """A value: an operation, what it takes, and what is fixed of it.

    ``along`` replaces the derivative that follows from the operation: given what finds the tangent
    of any other value, it returns that of this one.
    """

    operation: str
    inputs: tuple[Node, ...]
    shape: Shape
    fixed: Mapping[str, Any] = field(default_factory=dict)
    along: Callable[[Callable[[Node], Tangent]], Tangent] | None = None

    @property
    def size(self) -> int:
        """Return how many numbers it has."""
        return int(np.prod(self.shape, dtype=int))

    def __add__(self, other: Node | float) -> Node:
        return _each("add", self, other)

    def __sub__(self, other: Node | float) -> Node:
        return _each("subtract", self, other)

    def __mul__(self, other: Node | float) -> Node:
        return _each("multiply", self, other)

    def __truediv__(self, other: Node | float) -> Node:
        return _each("divide", self, other)

    def __getitem__(self, part: slice) -> Node:
        return take(self, np.arange(self.size)[part])


def given(name: str, *shape: int) -> Node:
    """Return what is handed in under a name."""
    return Node("given", (), shape, {"name": name})


def differentiated(node: Node, along: Callable[[Callable[[Node], Tangent]], Tangent]) -> Node:
    """Return the same value with a derivative that is said, see `Node`."""
    return replace(node, along=along)


def constant(value: Array | float | Sequence[float]) -> Node:
    """Return a fixed value."""
    array = np.asarray(value, dtype=np.float64)
    return Node("constant", (), array.shape, {"value": array})


def product(matrix: Array, vector: Node) -> Node:
    """Return a fixed matrix (m, n) times a vector (n,)."""
    return Node("product", (vector,), (len(matrix),), {"matrix": np.asarray(matrix, float)})


def bilinear(tensor: Array, left: Node, right: Node) -> Node:
    """Return the sum over i and a of left_i right_a tensor_ia, for a fixed tensor (p, r, c)."""
    fixed = {"tensor": np.asarray(tensor, float)}
    return Node("bilinear", (left, right), (tensor.shape[2],), fixed)


def fold_left(tensor: Array, left: Node) -> Node:
    """Return the sum over i of left_i tensor_i (r, c)."""
    return Node("fold_left", (left,), tensor.shape[1:], {"tensor": np.asarray(tensor, float)})


def fold_right(tensor: Array, right: Node) -> Node:
    """Return the sum over a of right_a tensor_ia (p, c)."""
    shape = (tensor.shape[0], tensor.shape[2])
    return Node("fold_right", (right,), shape, {"tensor": np.asarray(tensor, float)})


def matmul(left: Node, right: Node) -> Node:
    """Return a product of matrices (m, k) and (k, n); a vector is a column, or a row on the left.

    What stands for the vector is left out of the result's shape.
    """
    rows = left if len(left.shape) == 2 else reshape(left, 1, left.size)
    columns = right if len(right.shape) == 2 else reshape(right, right.size, 1)
    found = Node("matmul", (rows, columns), (rows.shape[0], columns.shape[1]))
    shape = left.shape[:-1] + right.shape[1:]
    return found if found.shape == shape else reshape(found, *shape)


def transpose(matrix: Node) -> Node:
    """Return a matrix (m, n) as (n, m)."""
    return Node("transpose", (matrix,), matrix.shape[::-1])


def waves(phases: Node) -> Node:
    """Return the cosines and sines (2 D,) of phases (D,)."""
    return Node("waves", (phases,), (2 * phases.size,))


def wave_slopes(frequencies: Array, projection: Array, found: Node) -> Node:
    """Return the derivatives (r, d) of projection (r, 2 D) times waves, by their vector."""
    fixed = {"frequencies": np.asarray(frequencies, float), "projection": projection}
    return Node("wave_slopes", (found,), (len(projection), frequencies.shape[1]), fixed)


def minimum(left: Node, right: Node | float) -> Node:
    """Return the lesser, number by number."""
    return _each("minimum", left, right)


def maximum(left: Node, right: Node | float) -> Node:
    """Return the greater, number by number."""
    return _each("maximum", left, right)


def less(left: Node, right: Node | float) -> Node:
    """Return whether left < right, number by number."""
    return _each("less", left, right)


def at_most(left: Node, right: Node | float) -> Node:
    """Return whether left <= right, number by number; false where one is not a number."""
    return _each("at_most", left, right)


def negation(truth: Node) -> Node:
    """Return what is true where this is false."""
    return constant(1.0) - truth


def is_nan(value: Node) -> Node:
    """Return which numbers are missing."""
    return Node("is_nan", (value,), value.shape)


def root(value: Node) -> Node:
    """Return square roots."""
    return Node("root", (value,), value.shape)


def exponential(value: Node) -> Node:
    """Return e to the power of each number."""
    return Node("exponential", (value,), value.shape)


def where(truth: Node, chosen: Node, other: Node) -> Node:
    """Return ``chosen`` where it is true, else ``other``; by one truth, or number by number.

    By one truth, what only the one not taken needs need not be computed.
    """
    assert chosen.shape == other.shape, (chosen.shape, other.shape)
    assert truth.shape in ((), chosen.shape), (truth.shape, chosen.shape)
    return Node("where", (truth, chosen, other), chosen.shape)


def join(parts: Iterable[Node]) -> Node:
    """Return values side by side as one vector."""
    kept = tuple(part for part in parts if part.size)
    return Node("join", kept, (sum(part.size for part in kept),))


def take(value: Node, places: Array, *shape: int) -> Node:
    """Return the numbers at places, counted row by row."""
    indices = np.asarray(places, dtype=np.intp)
    return Node("take", (value,), shape or indices.shape, {"places": indices.ravel()})


def reshape(value: Node, *shape: int) -> Node:
    """Return the same numbers in another shape."""
    return Node("reshape", (value,), shape)


def filled(number: Node, size: int) -> Node:
    """Return one number (size,) times."""
    return take(number, np.zeros(size, dtype=np.intp))


def total(value: Node) -> Node:
    """Return the sum of all numbers."""
    return Node("total", (value,), ())


def least(value: Node) -> Node:
    """Return the least number."""
    return Node("least", (value,), ())


def first_of_least(value: Node) -> Node:
    """Return the place of the first of the least numbers."""
    return Node("first_of_least", (value,), ())


def pick(table: Array, place: Node) -> Node:
    """Return the entry of a fixed table (K, ...) at a whole number."""
    return Node("pick", (place,), table.shape[1:], {"table": np.asarray(table, float)})


def factor(matrix: Node) -> Node:
    """Return what `solve` needs of a symmetric positive definite matrix (n, n)."""
    return Node("factor", (matrix,), matrix.shape)


def solve(factored: Node, right: Node) -> Node:
    """Return the solution x of A x = b, given what `factor` made of A, for b (n,) or (n, m)."""
    return Node("solve", (factored, right), right.shape)


def clip(value: Node, low: Array, high: Array) -> Node:
    """Return a value held between fixed bounds."""
    low, high = np.broadcast_to(low, value.shape), np.broadcast_to(high, value.shape)
    if np.isfinite(low).any():
        value = maximum(value, constant(low))
    return minimum(value, constant(high)) if np.isfinite(high).any() else value


def all_of(truths: Node) -> Node:
    """Return whether all are true; of none they are."""
    return at_most(total(negation(truths)), 0.5)


def either(left: Node, right: Node) -> Node:
    """Return where one or both are true."""
    return maximum(left, right)


def ordered(outputs: Iterable[Node]) -> list[Node]:
    """Return all nodes that the outputs need, each after what it takes."""
    found: dict[int, Node] = {}
    stack = [(node, False) for node in reversed(list(outputs))]
    while stack:
        node, ready = stack.pop()
        if id(node) in found:
            continue
        if ready:
            found[id(node)] = node
        else:
            stack.append((node, True))
            stack += [(one, False) for one in reversed(node.inputs) if id(one) not in found]
    return list(found.values())


def _each(operation: str, left: Node, right: Node | float) -> Node:
    other = right if isinstance(right, Node) else constant(right)
    assert left.shape == other.shape or () in (left.shape, other.shape), (left.shape, other.shape)
    return Node(operation, (left, other), left.shape or other.shape)
