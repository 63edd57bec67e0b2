"""Models as CasADi functions, for Opti, do-mpc and acados.

Everything is written in CasADi's own operations, so that it differentiates, and writes C code of,
whatever is built on these functions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rffpsr_ros.export.graph import Node, ordered
from rffpsr_ros.export.program import Program
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.numerics.arrays import Array

FACTORISED = "ldl"
"""CasADi's own solver of symmetric systems: it differentiates, and needs no other library."""

HUGE = 1e300
"""What is no number is not less than this, nor more."""


def casadi_functions(
    program: Program, signature: Signature, name: str, horizon: int
) -> dict[str, Any]:
    """Return the functions by what they do: initial, update, step, predict, jacobian.

    ``begin`` and ``step`` are parts of ``predict`` for whoever makes a multiple-shooting problem:
    ``carry = begin(state)``, then ``carry, observation = step(carry, action)``. Plans and forecasts
    are matrices of one column a tick, (d_a, H) and (d_o, H), as CasADi's own tools have them;
    ``jacobian`` is (d_o H, d_a H), columns below each other.
    """
    import casadi

    observed, acted = len(signature.observation_names), len(signature.action_names)
    state = casadi.MX.sym("state", len(program.initial))
    action = casadi.MX.sym("action", acted)
    observation = casadi.MX.sym("observation", observed)
    carry = casadi.MX.sym("carry", program.carried)

    def function(kind: str, given: Mapping[str, Any], **outputs: Node) -> Any:
        found = _expressions(list(outputs.values()), given)
        return casadi.Function(
            f"{name}_{kind}", list(given.values()), found, list(given), list(outputs)
        )

    begin = function("begin", {"state": state}, carry=program.begin)
    step = function(
        "step",
        {"carry": carry, "action": action},
        next=program.step.carry,
        forecast=program.step.observation,
    )
    actions = casadi.MX.sym("actions", acted, horizon)
    forecasts, carried = [], begin(state)
    for h in range(horizon):
        carried, forecast = step(carried, actions[:, h])
        forecasts.append(forecast)
    forecast = casadi.horzcat(*forecasts)
    start = casadi.DM(program.initial)
    given, names = [state, actions], ["state", "actions"]
    functions = {
        "initial": casadi.Function(f"{name}_initial", [], [start], [], ["state"]),
        "update": function(
            "update",
            {"state": state, "action": action, "observation": observation},
            state_after=program.update,
        ),
        "begin": begin,
        "step": step,
        "predict": casadi.Function(f"{name}_predict", given, [forecast], names, ["forecast"]),
    }
    if program.by_carry is not None:
        found = casadi.jacobian(casadi.vec(forecast), casadi.vec(actions))
        functions["jacobian"] = casadi.Function(
            f"{name}_jacobian", given, [forecast, found], names, ["forecast", "jacobian"]
        )
    return functions


def casadi_files(
    program: Program, signature: Signature, name: str, horizon: int
) -> dict[str, str | bytes]:
    """Return the functions as files that ``casadi.Function.load`` reads."""
    files: dict[str, str | bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, function in casadi_functions(program, signature, name, horizon).items():
            path = Path(folder) / f"{name}_{kind}.casadi"
            function.save(str(path))
            files[path.name] = path.read_bytes()
    return files


def _expressions(outputs: Sequence[Node], given: Mapping[str, Any]) -> list[Any]:
    """Return outputs as CasADi's expressions; matrices are kept in its order, column by column."""
    found: dict[int, Any] = {}
    for node in ordered(outputs):
        if node.operation == "given":
            found[id(node)] = given[node.fixed["name"]]
        else:
            taken = [found[id(one)] for one in node.inputs]
            found[id(node)] = WRITTEN[node.operation](node, *taken)
    return [found[id(node)] for node in outputs]


def _flat(node: Node, value: Any) -> Any:
    """Return a value's numbers below each other, row by row."""
    import casadi

    return casadi.vec(value.T) if len(node.shape) == 2 else value


def _shaped(node: Node, flat: Any) -> Any:
    """Return numbers below each other, row by row, in a node's shape."""
    import casadi

    if len(node.shape) < 2:
        return flat
    return casadi.reshape(flat, node.shape[1], node.shape[0]).T


def _constant(values: Array) -> Any:
    import casadi

    return casadi.DM(values)


def _bilinear(node: Node, left: Any, right: Any) -> Any:
    import casadi

    tensor = node.fixed["tensor"]
    matrix = tensor.reshape(-1, tensor.shape[2]).T
    return casadi.mtimes(_constant(matrix), casadi.kron(left, right))


def _product(node: Node, vector: Any) -> Any:
    import casadi

    return casadi.mtimes(_constant(node.fixed["matrix"]), vector)


def _matmul(node: Node, left: Any, right: Any) -> Any:
    import casadi

    return casadi.mtimes(left, right)


def _waves(node: Node, phases: Any) -> Any:
    import casadi

    return casadi.vertcat(casadi.cos(phases), casadi.sin(phases))


def _where(node: Node, truth: Any, chosen: Any, other: Any) -> Any:
    import casadi

    return casadi.if_else(truth > 0.5, chosen, other)


def _is_nan(node: Node, value: Any) -> Any:
    import casadi

    # No comparison holds of what is no number; and `value == value` would be simplified.
    return 1 - casadi.logic_and(value >= -HUGE, value <= HUGE)


def _join(node: Node, *parts: Any) -> Any:
    import casadi

    pairs = zip(node.inputs, parts, strict=True)
    return casadi.vertcat(*(_flat(one, part) for one, part in pairs))


def _take(node: Node, value: Any) -> Any:
    flat = _flat(node.inputs[0], value)
    places = node.fixed["places"].tolist()
    if node.inputs[0].size == 1:
        import casadi

        return _shaped(node, casadi.repmat(flat, len(places), 1))
    return _shaped(node, flat[places])


def _first_of_least(node: Node, value: Any) -> Any:
    import casadi

    size = node.inputs[0].size
    least = casadi.mmin(value)
    places = casadi.if_else(value <= least, casadi.DM(range(size)), casadi.DM([size] * size))
    return casadi.mmin(places)


def _pick(node: Node, place: Any) -> Any:
    import casadi

    table = node.fixed["table"]
    count = len(table)
    here = casadi.fabs(casadi.DM(range(count)) - place) < 0.5
    flat = casadi.mtimes(_constant(table.reshape(count, -1).T), here)
    return _shaped(node, flat)


def _solve(node: Node, matrix: Any, right: Any) -> Any:
    import casadi

    return casadi.solve(matrix, right, FACTORISED)


def _named(name: str) -> Callable[..., Any]:
    def call(node: Node, *taken: Any) -> Any:
        import casadi

        return getattr(casadi, name)(*taken)

    return call


WRITTEN: Mapping[str, Callable[..., Any]] = {
    "constant": lambda node: _constant(node.fixed["value"]),
    "product": _product,
    "bilinear": _bilinear,
    "matmul": _matmul,
    "transpose": lambda node, value: value.T,
    "waves": _waves,
    "add": lambda node, a, b: a + b,
    "subtract": lambda node, a, b: a - b,
    "multiply": lambda node, a, b: a * b,
    "divide": lambda node, a, b: a / b,
    "minimum": _named("fmin"),
    "maximum": _named("fmax"),
    "less": lambda node, a, b: a < b,
    "at_most": lambda node, a, b: a <= b,
    "is_nan": _is_nan,
    "root": _named("sqrt"),
    "exponential": _named("exp"),
    "where": _where,
    "join": _join,
    "take": _take,
    "reshape": lambda node, value: _shaped(node, _flat(node.inputs[0], value)),
    "total": lambda node, value: _named("sum1")(node, _flat(node.inputs[0], value)),
    "least": _named("mmin"),
    "first_of_least": _first_of_least,
    "pick": _pick,
    "factor": lambda node, matrix: matrix,
    "solve": _solve,
}
"""Each operation, given its node and the values that it takes; derivatives are CasADi's own."""
