"""What each operation of a graph is in C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from rffpsr_ros.export.graph import Node
from rffpsr_ros.numerics.arrays import Array


class Tables(Protocol):
    """Keeps fixed numbers."""

    def __call__(self, values: Array) -> str:
        """Return the name of an array of these numbers."""
        ...


Lines = list[str]

VECTOR = 8
"""Numbers that a processor takes at a time; tables of products are padded to whole vectors."""


def loop(count: int, body: str, index: str = "i") -> str:
    """Return a loop of one statement."""
    return f"for (int {index} = 0; {index} < {count}; ++{index}) {body}"


def statements(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    """Return what computes a node into a variable, an array or a number, that is declared."""
    if node.operation in ELEMENTWISE:
        return [_elementwise(node, target, taken)]
    return WRITTEN[node.operation](node, target, taken, keep)


ELEMENTWISE: Mapping[str, str] = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "minimum": "{1} < {0} ? {1} : {0}",
    "maximum": "{0} < {1} ? {1} : {0}",
    "less": "{0} < {1} ? ONE : ZERO",
    "at_most": "{0} <= {1} ? ONE : ZERO",
    "is_nan": "{0} != {0} ? ONE : ZERO",
    "root": "ROOT({0})",
    "exponential": "EXPONENTIAL({0})",
    "where": "{0} > HALF ? {1} : {2}",
}
"""Of the numbers at one place."""


def _elementwise(node: Node, target: str, taken: Sequence[str]) -> str:
    def at(name: str, one: Node) -> str:
        return name if one.shape == () else f"{name}[i]"

    numbers = [at(name, one) for name, one in zip(taken, node.inputs, strict=True)]
    value = ELEMENTWISE[node.operation].format(*numbers)
    if node.shape == ():
        return f"{target} = {value};"
    return loop(node.size, f"{target}[i] = {value};")


def _product(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    # Column after column: sums of independent rows can be taken side by side.
    table = _padded(node.fixed["matrix"].T)
    count, width = table.shape
    return [f"combine({keep(table)}, {taken[0]}, {count}, {width}, {target});"]


def _padded(table: Array) -> Array:
    """Return a table (n, m) with columns of zeros, as many as `room` has."""
    return np.pad(table, ((0, 0), (0, room(table.shape[1]) - table.shape[1])))


def room(size: int) -> int:
    """Return for how many numbers there is to be room, so that vectors are whole."""
    return -(-max(size, 1) // VECTOR) * VECTOR


def _bilinear(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    states, features, _ = node.fixed["tensor"].shape
    table, both = _padded(node.fixed["tensor"].reshape(states * features, -1)), f"{target}_both"
    value = f"{both}[i * {features} + j] = {taken[0]}[i] * {taken[1]}[j];"
    return [
        f"real {both}[{len(table)}];",
        loop(states, loop(features, value, "j")),
        f"combine({keep(table)}, {both}, {len(table)}, {table.shape[1]}, {target});",
    ]


def _fold_left(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    tensor = node.fixed["tensor"]
    return [f"combine({keep(tensor)}, {taken[0]}, {len(tensor)}, {node.size}, {target});"]


def _fold_right(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    states, features, columns = node.fixed["tensor"].shape
    table = f"{keep(node.fixed['tensor'])} + i * {features * columns}"
    call = f"combine({table}, {taken[0]}, {features}, {columns}, {target} + i * {columns});"
    return [loop(states, call)]


def _matmul(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    (rows, inner), (_, columns) = (one.shape for one in node.inputs)
    left, right = taken
    if columns == 1:
        return [f"multiply({left}, {right}, {rows}, {inner}, {target});"]
    call = f"combine({right}, {left} + i * {inner}, {inner}, {columns}, {target} + i * {columns});"
    return [loop(rows, call)]


def _transpose(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    rows, columns = node.inputs[0].shape
    inner = loop(columns, f"{target}[j * {rows} + i] = {taken[0]}[i * {columns} + j];", "j")
    return [loop(rows, inner)]


def _waves(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    return [f"waves_of({taken[0]}, {node.inputs[0].size}, {target});"]


def _wave_slopes(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    frequencies, projection = node.fixed["frequencies"], node.fixed["projection"]
    (count, columns), rows = frequencies.shape, len(projection)
    table, turned, width = keep(frequencies), f"{target}_turned", room(rows)
    weights = keep(_padded(projection.T))
    return [
        f"real {turned}[{count}];",
        f"for (int i = 0; i < {rows}; ++i) {{",
        f"    for (int k = 0; k < {count}; ++k) {{",
        f"        {turned}[k] = {weights}[({count} + k) * {width} + i] * {taken[0]}[k]",
        f"            - {weights}[k * {width} + i] * {taken[0]}[{count} + k];",
        "    }",
        f"    combine({table}, {turned}, {count}, {columns}, {target} + i * {columns});",
        "}",
    ]


def _join(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    lines, place = [], 0
    for one, name in zip(node.inputs, taken, strict=True):
        value = f"{name}[i]" if one.shape else name
        lines.append(loop(one.size, f"{target}[{place} + i] = {value};"))
        place += one.size
    return lines


def _take(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    """Write what is no mere part of the input, see `alias`."""
    places, source = node.fixed["places"], node.inputs[0]
    if source.shape == ():
        return [loop(node.size, f"{target}[i] = {taken[0]};")]
    if node.shape == ():
        return [f"{target} = {taken[0]}[{int(places[0])}];"]
    steps = np.diff(places)
    lines, start = [], 0
    ends = [*(np.flatnonzero(steps != 1) + 1).tolist(), len(places)]
    if len(ends) * 4 <= len(places):  # runs
        for end in ends:
            first = int(places[start])
            lines.append(loop(end - start, f"{target}[{start} + i] = {taken[0]}[{first} + i];"))
            start = end
        return lines
    table = keep(places)
    return [loop(node.size, f"{target}[i] = {taken[0]}[{table}[i]];")]


def _reshape(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    """Write a number as an array of one, see `alias`."""
    return [f"{target}[0] = {taken[0]};"]


def _total(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    source = node.inputs[0]
    if source.shape == ():
        return [f"{target} = {taken[0]};"]
    return [f"{target} = ZERO;", loop(source.size, f"{target} += {taken[0]}[i];")]


def _least(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    size, name = node.inputs[0].size, taken[0]
    if node.operation == "least":
        body = f"{target} = {name}[i] < {target} ? {name}[i] : {target};"
        return [f"{target} = {name}[0];", loop(size, body)]
    return [
        "{",
        "    int first = 0;",
        f"    {loop(size, f'first = {name}[i] < {name}[first] ? i : first;')}",
        f"    {target} = (real)first;",
        "}",
    ]


def _pick(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    table = keep(node.fixed["table"])
    if node.shape == ():
        return [f"{target} = {table}[(int){taken[0]}];"]
    return [f"{target} = {table} + (int){taken[0]} * {node.size};"]


def _factor(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    size = node.shape[0]
    return [
        loop(node.size, f"{target}[i] = {taken[0]}[i];"),
        f"eliminate({target}, {size});",
    ]


def _solve(node: Node, target: str, taken: Sequence[str], keep: Tables) -> Lines:
    size, (factored, right) = node.inputs[0].shape[0], taken
    if node.size == size:
        copied = loop(size, f"{target}[i] = {right}[i];")
        return [copied, f"substitute({factored}, {size}, {target});"]
    columns, column = node.size // size, f"{target}_column"
    return [
        f"for (int j = 0; j < {columns}; ++j) {{",
        f"    real {column}[{size}];",
        f"    {loop(size, f'{column}[i] = {right}[i * {columns} + j];')}",
        f"    substitute({factored}, {size}, {column});",
        f"    {loop(size, f'{target}[i * {columns} + j] = {column}[i];')}",
        "}",
    ]


WRITTEN: Mapping[str, Callable[[Node, str, Sequence[str], Tables], Lines]] = {
    "product": _product,
    "bilinear": _bilinear,
    "fold_left": _fold_left,
    "fold_right": _fold_right,
    "matmul": _matmul,
    "transpose": _transpose,
    "waves": _waves,
    "wave_slopes": _wave_slopes,
    "join": _join,
    "take": _take,
    "reshape": _reshape,
    "total": _total,
    "least": _least,
    "first_of_least": _least,
    "pick": _pick,
    "factor": _factor,
    "solve": _solve,
}


def alias(node: Node, taken: Sequence[str]) -> str | None:
    """Return where a value already stands, if it is a part of another."""
    if node.operation == "reshape":
        source = node.inputs[0]
        if (node.shape == ()) == (source.shape == ()):
            return taken[0]
        return f"{taken[0]}[0]" if node.shape == () else None
    if node.operation != "take" or node.inputs[0].shape == () or not node.size:
        return None
    places: Any = node.fixed["places"]
    first = int(places[0])
    if node.shape == ():
        return f"{taken[0]}[{first}]"
    return f"({taken[0]} + {first})" if (np.diff(places) == 1).all() else None
