"""Graphs as the bodies of C functions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from rffpsr_ros.export.c_language.operations import alias, loop, room, statements
from rffpsr_ros.export.c_language.regions import Region, branches, regions
from rffpsr_ros.export.graph import Node, ordered
from rffpsr_ros.numerics.arrays import Array

NUMBERS_A_LINE = 8


class ConstantTables:
    """Fixed numbers as static arrays, those of equal contents once."""

    def __init__(self) -> None:
        self._names: dict[bytes, str] = {}
        self.lines: list[str] = []

    def __call__(self, values: Array) -> str:
        """Return the name of an array of these numbers, whole ones as integers."""
        whole = np.issubdtype(values.dtype, np.integer)
        flat = np.ascontiguousarray(values).ravel()
        key = hashlib.sha256(flat.tobytes() + str(flat.dtype).encode()).digest()
        if key not in self._names:
            name = self._names[key] = f"table_{len(self._names)}"
            texts = [number(one) if not whole else str(int(one)) for one in flat]
            self.lines.append(f"static const {'int' if whole else 'real'} {name}[{len(flat)}] = {{")
            for first in range(0, len(texts), NUMBERS_A_LINE):
                self.lines.append("    " + ", ".join(texts[first : first + NUMBERS_A_LINE]) + ",")
            self.lines.append("};")
        return self._names[key]


def number(value: float) -> str:
    """Return a number as C has it, to the last bit."""
    value = float(value)
    if value != value:
        return "NAN"
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)


class Body:
    """The statements of one function.

    Parameters
    ----------
    loops
        Outputs by the loop that they are wanted in, "" for none.
    moved
        What each loop's directions move.
    given
        The C names of what is handed in, by node name.
    tables
        Takes fixed numbers.
    """

    def __init__(
        self,
        loops: Mapping[str, Sequence[Node]],
        moved: Mapping[str, Node],
        given: Mapping[str, str],
        tables: ConstantTables,
    ) -> None:
        self._given, self._tables = given, tables
        self._nodes = ordered([node for group in loops.values() for node in group])
        self._regions = regions(loops, moved)
        self._names: dict[int, str] = {}
        self._count = 0
        self.used: set[str] = set()

    def name(self, node: Node) -> str:
        """Return how a value that was computed is called."""
        return self._names[id(node)]

    def lines(self, region: Region = (), indent: str = "    ") -> list[str]:
        """Return the statements of a region."""
        found = []
        for node in self._nodes:
            if self._regions[id(node)] == region:
                found += [indent + line for line in self._written(node, indent)]
        return found

    def _written(self, node: Node, indent: str) -> list[str]:
        if node.operation == "given":
            self._names[id(node)] = self._given[node.fixed["name"]]
            self.used.add(node.fixed["name"])
            return []
        if node.operation == "constant":
            value = node.fixed["value"]
            text = number(value[()]) if node.shape == () else self._tables(value)
            self._names[id(node)] = f"(real){text}" if node.shape == () else text
            return []
        taken = [] if branches(node) else [self._names[id(one)] for one in node.inputs]
        elsewhere = alias(node, taken) if taken else None
        if elsewhere is not None:
            self._names[id(node)] = elsewhere
            return []
        target = self._names[id(node)] = f"v{self._count}"
        self._count += 1
        if node.operation == "pick" and node.shape:
            (line,) = statements(node, target, taken, self._tables)
            return [f"const real *{line}"]
        declared = f"real {target};" if node.shape == () else f"real {target}[{room(node.size)}];"
        if branches(node):
            return [declared, *self._branched(node, target)]
        return [declared, *statements(node, target, taken, self._tables)]

    def _branched(self, node: Node, target: str) -> list[str]:
        """Return an ``if`` that computes what it needs."""
        lines = [f"if ({self._names[id(node.inputs[0])]} > HALF) {{"]
        for place in (1, 2):
            region = (*self._regions[id(node)], (id(node), place))
            lines += self.lines(region)
            source = self._names[id(node.inputs[place])]
            if node.shape == ():
                lines.append(f"    {target} = {source};")
            else:
                lines.append("    " + loop(node.size, f"{target}[i] = {source}[i];"))
            lines.append("} else {" if place == 1 else "}")
        return lines
