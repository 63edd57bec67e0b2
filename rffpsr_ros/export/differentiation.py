"""The derivative of a graph along one direction, as another graph (forward mode)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rffpsr_ros.export.graph import (
    Node,
    Tangent,
    constant,
    fold_left,
    fold_right,
    join,
    less,
    matmul,
    product,
    reshape,
    total,
    transpose,
    where,
)


def along(outputs: Sequence[Node], moved: Mapping[Node, Node]) -> list[Node]:
    """Return the outputs' derivatives where some nodes move along others of their shape.

    What does not depend on the direction is shared with the graph itself.
    """
    found: dict[int, tuple[Node, Tangent]] = {id(n): (n, tangent) for n, tangent in moved.items()}

    def of(node: Node) -> Tangent:
        if id(node) not in found:
            if node.along is not None:
                tangent = node.along(of)
            else:
                taken = [of(one) for one in node.inputs]
                still = all(one is None for one in taken)
                tangent = None if still else RULES[node.operation](node, *taken)
            found[id(node)] = node, tangent
        return found[id(node)][1]

    return [_known(of(node), node) for node in outputs]


def _known(tangent: Tangent, node: Node) -> Node:
    return constant(np.zeros(node.shape)) if tangent is None else tangent


def _added(left: Tangent, right: Tangent) -> Tangent:
    if left is None or right is None:
        return right if left is None else left
    return left + right


def _whole(tangent: Tangent, node: Node) -> Tangent:
    """Return the tangent of one number where it meets many."""
    if tangent is None or tangent.shape == node.shape:
        return tangent
    return tangent * constant(np.ones(node.shape))


def _product_rule(node: Node, left: Tangent, right: Tangent) -> Tangent:
    a, b = node.inputs
    return _added(
        None if left is None else _whole(left * b, node),
        None if right is None else _whole(a * right, node),
    )


def _quotient_rule(node: Node, above: Tangent, below: Tangent) -> Tangent:
    _, b = node.inputs
    first = None if above is None else _whole(above / b, node)
    second = None if below is None else _whole(node * below / b * -1.0, node)
    return _added(first, second)


def _bilinear(node: Node, left: Tangent, right: Tangent) -> Tangent:
    q, a = node.inputs
    tensor = node.fixed["tensor"]
    return _added(
        None if left is None else matmul(left, fold_right(tensor, a)),
        None if right is None else matmul(right, fold_left(tensor, q)),
    )


def _matmul(node: Node, left: Tangent, right: Tangent) -> Tangent:
    a, b = node.inputs
    return _added(
        None if left is None else matmul(left, b), None if right is None else matmul(a, right)
    )


def _chosen(node: Node, truth: Tangent, left: Tangent, right: Tangent) -> Tangent:
    decided, a, b = node.inputs
    return where(decided, _known(left, a), _known(right, b))


def _extreme(node: Node, left: Tangent, right: Tangent) -> Tangent:
    a, b = node.inputs
    second = less(b, a) if node.operation == "minimum" else less(a, b)
    zero = constant(np.zeros(node.shape))
    first, other = _whole(left, node) or zero, _whole(right, node) or zero
    return where(second, other, first)


def _waves(node: Node, phases: Tangent) -> Tangent:
    assert phases is not None
    count = phases.size
    return join([node[count:] * phases * -1.0, node[:count] * phases])


RULES: Mapping[str, Callable[..., Tangent]] = {
    "product": lambda node, x: product(node.fixed["matrix"], x),
    "bilinear": _bilinear,
    "fold_left": lambda node, q: fold_left(node.fixed["tensor"], q),
    "fold_right": lambda node, a: fold_right(node.fixed["tensor"], a),
    "matmul": _matmul,
    "waves": _waves,
    "transpose": lambda node, a: transpose(a),
    "add": lambda node, a, b: _added(_whole(a, node), _whole(b, node)),
    "subtract": lambda node, a, b: _added(
        _whole(a, node), None if b is None else _whole(b * -1.0, node)
    ),
    "multiply": _product_rule,
    "divide": _quotient_rule,
    "minimum": _extreme,
    "maximum": _extreme,
    "less": lambda node, a, b: None,
    "at_most": lambda node, a, b: None,
    "root": lambda node, a: a / (node * 2.0),
    "exponential": lambda node, a: a * node,
    "where": _chosen,
    "join": lambda node, *parts: join(
        _known(part, one) for part, one in zip(parts, node.inputs, strict=True)
    ),
    "take": lambda node, a: Node("take", (a,), node.shape, node.fixed),
    "reshape": lambda node, a: reshape(a, *node.shape),
    "total": lambda node, a: total(a),
    "pick": lambda node, place: None,
}
"""From a node and the tangents of what it takes to its own; what has none here carries one."""
