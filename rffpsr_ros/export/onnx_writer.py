"""Models as ONNX graphs, for onnxruntime: three files, the state handed in and out.

Numbers are floats; systems of equations are made and solved in doubles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rffpsr_ros.export.graph import Node, constant, ordered
from rffpsr_ros.export.program import Program
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.numerics.arrays import Array

OPSET, IR_VERSION = 17, 8
"""What onnxruntime reads from 1.12 (2022) on."""


def onnx_files(
    program: Program, signature: Signature, name: str, horizon: int = 0
) -> dict[str, str | bytes]:
    """Return the files: the initial state, the update, and forecasts of any horizon."""
    observed, acted = len(signature.observation_names), len(signature.action_names)
    size = len(program.initial)
    graphs = {
        "initial": _function({}, {"state": constant(program.initial)}),
        "update": _function(
            {"state": (size,), "action": (acted,), "observation": (observed,)},
            {"state_after": program.update},
        ),
        "predict": _forecast(program, size, acted, observed),
    }
    return {f"{name}_{kind}.onnx": model for kind, model in graphs.items()}


class GraphText:
    """The nodes of one ONNX graph, or of a part of it that is repeated.

    Parameters
    ----------
    tables
        Fixed numbers by name, of the whole file.
    prefix
        Of the names of values, so that no two graphs of a file share one.
    """

    def __init__(self, tables: dict[str, Array], prefix: str = "") -> None:
        self.nodes: list[Any] = []
        self.tables, self._prefix, self._count = tables, prefix, 0
        self._names: dict[int, str] = {}

    def table(self, values: Array | Sequence[int]) -> str:
        """Return the name of fixed numbers: whole ones as int64, doubles as they are."""
        array = np.asarray(values)
        if array.dtype.kind in "iu":
            array = array.astype(np.int64)
        key = array.tobytes() + f"{array.dtype}{array.shape}".encode()
        name = f"table_{hashlib.sha256(key).hexdigest()[:20]}"
        self.tables[name] = array
        return name

    def make(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """Add a node, and return the name of what it gives."""
        from onnx import helper

        self._count += 1
        name = f"{self._prefix}{operation.lower()}_{self._count}"
        self.nodes.append(helper.make_node(operation, list(inputs), [name], **attributes))
        return name

    def called(self, value: str, name: str) -> None:
        """Give a value another name as well."""
        from onnx import helper

        self.nodes.append(helper.make_node("Identity", [value], [name]))

    def shaped(self, value: str, shape: Sequence[int]) -> str:
        """Return a value in another shape."""
        return self.make("Reshape", value, self.table(np.array(shape, np.int64)))

    def number(self, truth: str) -> str:
        """Return truths as 1 and 0."""
        from onnx import TensorProto

        return self.make("Cast", truth, to=TensorProto.FLOAT)

    def in_doubles(self, node: Node) -> str:
        """Return a matrix in doubles, its sums and products of matrices too."""
        from onnx import TensorProto

        if node.operation == "constant":
            return self.table(node.fixed["value"])
        if node.operation in ("add", "matmul"):
            sides = [self.in_doubles(one) for one in node.inputs]
            return self.make("Add" if node.operation == "add" else "MatMul", *sides)
        return self.make("Cast", self._names[id(node)], to=TensorProto.DOUBLE)

    def write(self, outputs: Sequence[Node], given: Mapping[str, str]) -> list[str]:
        """Add what outputs need, and return their names."""
        found = self._names
        for node in ordered(outputs):
            if node.operation == "given":
                found[id(node)] = given[node.fixed["name"]]
            else:
                taken = [found[id(one)] for one in node.inputs]
                found[id(node)] = WRITTEN[node.operation](self, node, *taken)
        return [found[id(node)] for node in outputs]


def _function(inputs: Mapping[str, tuple[int, ...]], outputs: Mapping[str, Node]) -> bytes:
    tables: dict[str, Array] = {}
    text = GraphText(tables)
    for name, value in zip(
        outputs, text.write(list(outputs.values()), {name: name for name in inputs}), strict=True
    ):
        text.called(value, name)
    return _file(text, tables, inputs, {name: node.shape for name, node in outputs.items()})


def _forecast(program: Program, size: int, acted: int, observed: int) -> bytes:
    """Return the forecast as a Scan over the rows of a plan."""
    from onnx import helper

    tables: dict[str, Array] = {}
    text = GraphText(tables)
    (carry,) = text.write([program.begin], {"state": "state"})
    body = GraphText(tables, "tick_")
    names = body.write(list(program.step), {"carry": "tick_carry", "action": "tick_action"})
    for value, name in zip(names, ("tick_after", "tick_forecast"), strict=True):
        body.called(value, name)
    repeated = helper.make_graph(
        body.nodes,
        "tick",
        [_typed("tick_carry", (program.carried,)), _typed("tick_action", (acted,))],
        [_typed("tick_after", (program.carried,)), _typed("tick_forecast", (observed,))],
    )
    text.nodes.append(
        helper.make_node(
            "Scan",
            [carry, "actions"],
            ["carry_after", "forecast"],
            body=repeated,
            num_scan_inputs=1,
        )
    )
    inputs = {"state": (size,), "actions": ("horizon", acted)}
    return _file(text, tables, inputs, {"forecast": ("horizon", observed)})


def _file(
    text: GraphText,
    tables: Mapping[str, Array],
    inputs: Mapping[str, Sequence[int | str]],
    outputs: Mapping[str, Sequence[int | str]],
) -> bytes:
    from onnx import checker, helper, numpy_helper

    graph = helper.make_graph(
        text.nodes,
        "model",
        [_typed(name, shape) for name, shape in inputs.items()],
        [_typed(name, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(values, name) for name, values in tables.items()],
    )
    model = helper.make_model(
        graph,
        producer_name="rffpsr_ros",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    checker.check_model(model)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def _typed(name: str, shape: Sequence[int | str]) -> Any:
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


def _constant(text: GraphText, node: Node) -> str:
    return text.table(node.fixed["value"].astype(np.float32))


def _product(text: GraphText, node: Node, vector: str) -> str:
    return text.make("MatMul", text.table(node.fixed["matrix"].astype(np.float32)), vector)


def _bilinear(text: GraphText, node: Node, left: str, right: str) -> str:
    states, features, columns = node.fixed["tensor"].shape
    both = text.make("MatMul", text.shaped(left, (states, 1)), text.shaped(right, (1, features)))
    table = node.fixed["tensor"].reshape(-1, columns).astype(np.float32)
    return text.make("MatMul", text.shaped(both, (states * features,)), text.table(table))


def _compare(operation: str) -> Callable[..., str]:
    def write(text: GraphText, node: Node, *taken: str) -> str:
        return text.number(text.make(operation, *taken))

    return write


def _plain(operation: str, **attributes: Any) -> Callable[..., str]:
    def write(text: GraphText, node: Node, *taken: str) -> str:
        return text.make(operation, *taken, **attributes)

    return write


def _waves(text: GraphText, node: Node, phases: str) -> str:
    return text.make("Concat", text.make("Cos", phases), text.make("Sin", phases), axis=0)


def _where(text: GraphText, node: Node, truth: str, chosen: str, other: str) -> str:
    true = text.make("Greater", truth, text.table(np.array(0.5, np.float32)))
    return text.make("Where", true, chosen, other)


def _join(text: GraphText, node: Node, *parts: str) -> str:
    pairs = zip(node.inputs, parts, strict=True)
    flat = [text.shaped(part, (one.size,)) for one, part in pairs]
    return text.make("Concat", *flat, axis=0)


def _take(text: GraphText, node: Node, value: str) -> str:
    source, places = node.inputs[0], node.fixed["places"]
    flat = value if len(source.shape) == 1 else text.shaped(value, (source.size,))
    taken = text.make("Gather", flat, text.table(places), axis=0)
    return taken if len(node.shape) == 1 else text.shaped(taken, node.shape)


def _first_of_least(text: GraphText, node: Node, value: str) -> str:
    return text.number(text.make("ArgMin", value, axis=0, keepdims=0))


def _pick(text: GraphText, node: Node, place: str) -> str:
    from onnx import TensorProto

    table = text.table(node.fixed["table"].astype(np.float32))
    return text.make("Gather", table, text.make("Cast", place, to=TensorProto.INT64), axis=0)


def _solve(text: GraphText, node: Node, matrix: str, right: str) -> str:
    """Write Gauss-Jordan elimination, in doubles; a positive definite matrix needs no pivoting.

    Step k takes (column k - e_k) times row k, over its pivot, from all rows.
    """
    from onnx import TensorProto, helper

    size = node.inputs[0].shape[0]
    columns = node.size // size
    shaped = text.make("Cast", text.shaped(right, (size, columns)), to=TensorProto.DOUBLE)
    sides = [text.in_doubles(node.inputs[0].inputs[0]), shaped]
    both = text.make("Concat", *sides, axis=1)
    own = f"{both}_"
    step = GraphText(text.tables, own)
    row = step.make("Gather", f"{own}rows", f"{own}k", axis=0)
    scaled = step.make("Div", row, step.make("Gather", row, f"{own}k", axis=0))
    column = step.make("Gather", f"{own}rows", f"{own}k", axis=1)
    here = step.make("Equal", step.table(np.arange(size)), f"{own}k")
    unit = step.make("Cast", here, to=TensorProto.DOUBLE)
    factors = step.shaped(step.make("Sub", column, unit), (size, 1))
    change = step.make("Mul", factors, step.shaped(scaled, (1, size + columns)))
    step.called(step.make("Sub", f"{own}rows", change), f"{own}after")
    step.called(f"{own}go", f"{own}on")
    shape = [size, size + columns]
    body = helper.make_graph(
        step.nodes,
        f"{own}step",
        [
            helper.make_tensor_value_info(f"{own}k", TensorProto.INT64, []),
            helper.make_tensor_value_info(f"{own}go", TensorProto.BOOL, []),
            helper.make_tensor_value_info(f"{own}rows", TensorProto.DOUBLE, shape),
        ],
        [
            helper.make_tensor_value_info(f"{own}on", TensorProto.BOOL, []),
            helper.make_tensor_value_info(f"{own}after", TensorProto.DOUBLE, shape),
        ],
    )
    done = text.make("Loop", text.table(np.array(size)), "", both, body=body)
    places = text.table(np.arange(size, size + columns))
    found = text.make("Gather", done, places, axis=1)
    return text.shaped(text.make("Cast", found, to=TensorProto.FLOAT), node.shape)


WRITTEN: Mapping[str, Callable[..., str]] = {
    "constant": _constant,
    "product": _product,
    "bilinear": _bilinear,
    "matmul": _plain("MatMul"),
    "transpose": _plain("Transpose"),
    "waves": _waves,
    "add": _plain("Add"),
    "subtract": _plain("Sub"),
    "multiply": _plain("Mul"),
    "divide": _plain("Div"),
    "minimum": _plain("Min"),
    "maximum": _plain("Max"),
    "less": _compare("Less"),
    "at_most": _compare("LessOrEqual"),
    "is_nan": _compare("IsNaN"),
    "root": _plain("Sqrt"),
    "exponential": _plain("Exp"),
    "where": _where,
    "join": _join,
    "take": _take,
    "reshape": lambda text, node, value: text.shaped(value, node.shape),
    "total": _plain("ReduceSum", keepdims=0),
    "least": _plain("ReduceMin", keepdims=0),
    "first_of_least": _first_of_least,
    "pick": _pick,
    "factor": lambda text, node, matrix: matrix,
    "solve": _solve,
}
"""Each operation, given its node and the names of what it takes."""
