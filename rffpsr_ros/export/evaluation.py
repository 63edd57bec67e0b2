"""What the operations of a graph mean, in NumPy: what every writer has to reproduce."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rffpsr_ros.export.graph import Node, ordered
from rffpsr_ros.numerics.arrays import Array


def evaluate(outputs: Sequence[Node], values: Mapping[str, Array]) -> list[Array]:
    """Return the outputs, given the values of what is handed in, by name."""
    found: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for node in ordered(outputs):
            if node.operation == "given":
                value = np.asarray(values[node.fixed["name"]], float)
            else:
                taken = [found[id(one)] for one in node.inputs]
                value = MEANING[node.operation](node.fixed, *taken)
            found[id(node)] = np.asarray(value, float).reshape(node.shape)
    return [found[id(node)] for node in outputs]


def _wave_slopes(fixed: Mapping[str, Any], waves: Array) -> Array:
    (cosines, sines), projection = np.split(waves, 2), fixed["projection"]
    count = len(cosines)
    turned = projection[:, count:] * cosines - projection[:, :count] * sines
    return np.asarray(turned @ fixed["frequencies"])


MEANING: Mapping[str, Callable[..., Any]] = {
    "constant": lambda f: f["value"],
    "product": lambda f, x: f["matrix"] @ x,
    "bilinear": lambda f, q, a: np.einsum("i,a,iac->c", q, a, f["tensor"], optimize=True),
    "fold_left": lambda f, q: np.tensordot(q, f["tensor"], 1),
    "fold_right": lambda f, a: np.einsum("a,iac->ic", a, f["tensor"]),
    "matmul": lambda f, a, b: a @ b,
    "transpose": lambda f, a: a.T,
    "waves": lambda f, phases: np.concatenate([np.cos(phases), np.sin(phases)]),
    "wave_slopes": _wave_slopes,
    "add": lambda f, a, b: a + b,
    "subtract": lambda f, a, b: a - b,
    "multiply": lambda f, a, b: a * b,
    "divide": lambda f, a, b: a / b,
    "minimum": lambda f, a, b: np.minimum(a, b),
    "maximum": lambda f, a, b: np.maximum(a, b),
    "less": lambda f, a, b: a < b,
    "at_most": lambda f, a, b: a <= b,
    "is_nan": lambda f, a: np.isnan(a),
    "root": lambda f, a: np.sqrt(a),
    "exponential": lambda f, a: np.exp(a),
    "where": lambda f, truth, a, b: np.where(truth > 0.5, a, b),
    "join": lambda f, *parts: np.concatenate([part.ravel() for part in parts]),
    "take": lambda f, a: a.ravel()[f["places"]],
    "reshape": lambda f, a: a,
    "total": lambda f, a: a.sum(),
    "least": lambda f, a: a.min(),
    "first_of_least": lambda f, a: a.argmin(),
    "pick": lambda f, place: f["table"][int(place)],
    "factor": lambda f, a: a,
    "solve": lambda f, a, b: np.linalg.solve(a, b),
}
"""Each operation, given what is fixed and the values that it takes."""
