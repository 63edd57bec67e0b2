"""Products without what nobody takes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rffpsr_ros.export.graph import Node, bilinear, ordered, product, take
from rffpsr_ros.numerics.arrays import Array


def trimmed(outputs: Sequence[Node]) -> list[Node]:
    """Return the same values by products that have only those rows that are taken of them.

    What stays as it is is shared with the graph handed in. Derivatives that were said of a node
    (`Node.along`) are not carried on.
    """
    nodes = ordered(outputs)
    needed = _needed(nodes, outputs)
    found: dict[int, Node] = {}
    for node in nodes:
        inputs = tuple(found[id(one)] for one in node.inputs)
        if id(node) in needed:
            found[id(node)] = _narrowed(node, inputs, needed[id(node)])
        elif node.operation == "take" and id(node.inputs[0]) in needed:
            places = np.searchsorted(needed[id(node.inputs[0])], node.fixed["places"])
            found[id(node)] = take(inputs[0], places, *node.shape)
        elif inputs != node.inputs:
            found[id(node)] = replace(node, inputs=inputs, along=None)
        else:
            found[id(node)] = node
    return [found[id(node)] for node in outputs]


def _needed(nodes: Sequence[Node], outputs: Sequence[Node]) -> Mapping[int, Array]:
    """Return which rows are taken, in order, of the products of which some are not, by node id."""
    taken = {id(node): np.zeros(node.size, bool) for node in nodes if node.operation in NARROWED}
    for node in nodes:
        for one in node.inputs:
            if id(one) in taken:
                taken[id(one)][node.fixed["places"] if node.operation == "take" else ...] = True
    for node in outputs:
        if id(node) in taken:
            taken[id(node)][:] = True
    return {key: np.flatnonzero(rows) for key, rows in taken.items() if not rows.all()}


def _narrowed(node: Node, inputs: Sequence[Node], rows: Array) -> Node:
    if node.operation == "product":
        return product(node.fixed["matrix"][rows], *inputs)
    return bilinear(node.fixed["tensor"][..., rows], *inputs)


NARROWED = "product", "bilinear"
