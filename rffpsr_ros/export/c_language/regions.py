"""Where in a function each value is computed: at once, in one branch only, or once per direction.

A `where` by one truth becomes an ``if``; what only one of its values needs moves into that branch.
What a direction of a derivative moves is computed in a loop over directions, all else before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rffpsr_ros.export.graph import Node, ordered

Region = tuple[object, ...]
"""The way to it: names of loops, and (id of a `where`, place of its input) for branches."""


def branches(node: Node) -> bool:
    """Tell whether a node becomes an ``if``."""
    return node.operation == "where" and node.inputs[0].shape == () and node.size > 0


def regions(loops: Mapping[str, Sequence[Node]], moved: Mapping[str, Node]) -> dict[int, Region]:
    """Return each node's region, by its id.

    ``loops`` are the outputs by the name of the loop that they are wanted in; "" is none. ``moved``
    is what each loop's directions move.
    """
    outputs = [node for group in loops.values() for node in group]
    nodes = ordered(outputs)
    inside = {name: _depending(nodes, node) for name, node in moved.items()}
    uses: dict[int, list[Region]] = {id(node): [] for node in nodes}
    for name, group in loops.items():
        for node in group:
            uses[id(node)].append((name,) if name else ())
    found: dict[int, Region] = {}
    for node in reversed(nodes):
        region = _common(uses[id(node)])
        own = [name for name, members in inside.items() if id(node) in members]
        region = _outside_loops(region, own)
        found[id(node)] = region
        for place, one in enumerate(node.inputs):
            deeper = branches(node) and place > 0
            uses[id(one)].append((*region, (id(node), place)) if deeper else region)
    return found


def _depending(nodes: Iterable[Node], moved: Node) -> set[int]:
    found = {id(moved)}
    for node in nodes:
        if any(id(one) in found for one in node.inputs):
            found.add(id(node))
    return found


def _common(ways: Sequence[Region]) -> Region:
    """Return the innermost region that holds all."""
    shared = []
    for steps in zip(*ways, strict=False):
        if any(step != steps[0] for step in steps):
            break
        shared.append(steps[0])
    return tuple(shared)


def _outside_loops(region: Region, own: Sequence[str]) -> Region:
    """Return the way up to the first loop that the value does not depend on."""
    kept: list[object] = []
    for step in region:
        if isinstance(step, str) and step not in own:
            break
        kept.append(step)
    return tuple(kept)
