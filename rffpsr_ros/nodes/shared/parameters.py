"""Parameters of nodes: what they are, how they are declared and checked.

The parameters of a node stand in its `interface`; reading them needs no ROS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.nodes.shared.rclpy_internals import parameter_overrides

Value = bool | int | float | str | list[str] | list[float]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a node.

    ``lowest`` and ``highest`` bound numbers (None: no bound), ``choices`` are the texts allowed
    (none: any). A fixed parameter cannot be changed while the node runs.
    """

    name: str
    default: Value
    description: str
    lowest: float | None = None
    highest: float | None = None
    choices: tuple[str, ...] = ()
    fixed: bool = True

    @property
    def range(self) -> str:
        """What values are allowed, in words; empty if all of the type are."""
        if self.choices:
            return ", ".join(f"`{choice}`" for choice in self.choices)
        low = "" if self.lowest is None else f"{self.lowest:g}"
        # A bound that only keeps the type's limits says nothing to a reader.
        high = "" if self.highest is None or self.highest >= 1e9 else f"{self.highest:g}"
        if low and high:
            return f"{low} to {high}"
        return f"at least {low}" if low else f"at most {high}" if high else ""


MODEL_FOLDERS = Parameter(
    "model_folders",
    [""],
    "Folders below which `model_path` may lie when it is set while the node runs. Always allowed"
    " are the folder of the `model_path` that the node was started with and `rffpsr/models` in"
    " `ROS_HOME`.",
)
AUTOSTART = Parameter(
    "autostart", True, "Configure and activate without being told to by a lifecycle manager."
)
EXECUTOR = Parameter(
    "executor",
    "direct",
    "`direct` waits for messages, reads and makes them past rclpy, in a fraction of its processor"
    " time (docs/scaling.md); `single_threaded` is rclpy's own way throughout; `events` waits by"
    " rclpy's events executor, which is experimental, and does not know how long messages waited.",
    choices=("direct", "single_threaded", "events"),
)
RESET_ON_TIME_JUMP = Parameter(
    "reset_on_time_jump",
    True,
    "Begin anew when ROS time or stamps go back, as in a bag played in a loop.",
)
QUEUE_DEPTH = Parameter(
    "queue_depth", 1000, "Messages of a topic that may wait to be taken.", 1, 100_000
)


class DeclaredParameters:
    """A node's parameters: declared, checked when they change, and read by name.

    Names that were given but look like misspelt ones are warned of.

    Parameters
    ----------
    node, table
        Whose, and which.
    changed
        Called after values were set.
    refuses
        Called with all values as they would be, by name, before some are set; returns why they
        cannot be, empty if they can. Those that the node starts with are asked about as well.

    Raises
    ------
    InputError
        As `declare`, or if ``refuses`` says so.
    """

    def __init__(
        self,
        node: Any,
        table: Sequence[Parameter],
        changed: Callable[[], None] | None = None,
        refuses: Callable[[Mapping[str, Any]], str] | None = None,
    ) -> None:
        self._node, self._table = node, table
        self._changed, self._refuses = changed, refuses
        declare(node, table)
        self._read()
        for sentence in misspelt(parameter_overrides(node), self._values):
            node.get_logger().warning(sentence)
        if refuses is not None and (reason := refuses(self._values)):
            raise InputError(reason)
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._take)

    def __call__(self, name: str) -> Any:
        """Return the value of a parameter."""
        return self._values[name]

    def _read(self) -> None:
        self._values = {one.name: self._node.get_parameter(one.name).value for one in self._table}

    def _check(self, changed: Iterable[Any]) -> Any:
        from rcl_interfaces.msg import SetParametersResult

        changes = list(changed)
        reason = refusal(self._table, changes)
        if not reason and self._refuses is not None:
            known = {one.name: one.value for one in changes if one.name in self._values}
            reason = self._refuses({**self._values, **known})
        return SetParametersResult(successful=not reason, reason=reason)

    def _take(self, changed: Iterable[Any]) -> None:
        self._read()
        if self._changed is not None:
            self._changed()


def declare(node: Any, table: Iterable[Parameter]) -> None:
    """Declare every parameter of a table on a node; ROS then enforces types, ranges and choices.

    Raises
    ------
    InputError
        If a value given at the start has the wrong type or is out of range.
    """
    from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
    from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException

    for parameter in table:
        descriptor = ParameterDescriptor(
            description=parameter.description,
            read_only=parameter.fixed,
            additional_constraints=parameter.range if parameter.choices else "",
        )
        if isinstance(parameter.default, float):
            low, high = _bounds(parameter, float)
            descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        elif isinstance(parameter.default, int) and not isinstance(parameter.default, bool):
            low, high = _bounds(parameter, int)
            descriptor.integer_range = [IntegerRange(from_value=low, to_value=high)]
        try:
            value = node.declare_parameter(parameter.name, parameter.default, descriptor).value
        except (InvalidParameterTypeException, InvalidParameterValueException) as problem:
            raise InputError(_wrong_value(parameter, str(problem))) from None
        if parameter.choices and value not in parameter.choices:
            raise InputError(
                f"parameter '{parameter.name}' is {shown(value)}; {what_is_right(parameter)}"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(
                f"parameter '{parameter.name}' is not finite; {what_is_right(parameter)}"
            )


def refusal(table: Iterable[Parameter], changed: Iterable[Any]) -> str:
    """Return why changed parameters (name, value) cannot be accepted; empty if they can be.

    Meant for the callback that ROS calls before it sets parameters; it knows choices as well.
    """
    known = {parameter.name: parameter for parameter in table}
    for change in changed:
        parameter = known.get(change.name)
        if parameter is None:
            continue
        if parameter.choices and change.value not in parameter.choices:
            return f"parameter '{change.name}' is {shown(change.value)}; {what_is_right(parameter)}"
        if isinstance(change.value, float) and not math.isfinite(change.value):
            return f"parameter '{change.name}' is not finite; {what_is_right(parameter)}"
    return ""


def misspelt(given: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return a sentence for every name that is not known but looks like one that is.

    Other unknown names may belong to another node: parameter files are shared.
    """
    names = list(known)
    sentences = []
    for name in given:
        if name not in names and (close := get_close_matches(name, names, n=1, cutoff=0.8)):
            sentences.append(f"parameter '{name}' is unknown; did you mean '{close[0]}'?")
    return sentences


def _bounds(parameter: Parameter, kind: type) -> tuple[Any, Any]:
    low = -(2**31) if parameter.lowest is None else parameter.lowest
    high = 2**31 if parameter.highest is None else parameter.highest
    return kind(low), kind(high)


def _wrong_value(parameter: Parameter, problem: str) -> str:
    if isinstance(parameter.default, float) and "INTEGER" in problem.upper():
        return f"parameter '{parameter.name}' must be a floating-point number: write 50.0, not 50"
    if isinstance(parameter.default, list) and "INTEGER" in problem.upper():
        return f"parameter '{parameter.name}' must be floating-point numbers: write [1.0], not [1]"
    return f"parameter '{parameter.name}' has a wrong value; {what_is_right(parameter)}"


def what_is_right(parameter: Parameter) -> str:
    """Return what values a parameter takes, as the end of a sentence on one that it does not."""
    kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    kind = kinds.get(type(parameter.default), "a list")
    if parameter.choices:
        return "it must be one of " + ", ".join(parameter.choices)
    return f"it must be {kind}" + (f", {parameter.range}" if parameter.range else "")
