"""What is written of a model: its state as one vector, and how it follows and forecasts."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rffpsr_ros.export.differentiation import along
from rffpsr_ros.export.graph import Node, constant, given, is_nan, where
from rffpsr_ros.numerics.arrays import Array


class SeenTick(NamedTuple):
    """What happened in a tick."""

    action: Node  # (d_a,)
    observation: Node  # (d_o,), 0 where missing
    missing: Node  # (d_o,), 1 where missing


class Ahead(NamedTuple):
    """One tick of a forecast."""

    carry: Node  # what the next tick starts from
    observation: Node  # what is forecast (d_o,)


class Direction(NamedTuple):
    """How a tick of a forecast changes where something moves."""

    moved: Node  # the direction
    carry: Node
    observation: Node


class Description(NamedTuple):
    """A model of any kind as the graphs of its functions; the state is one vector (n,).

    A forecast carries a vector of its own from tick to tick.
    """

    initial: Array
    """(n,): the state at an episode's start."""
    update: Callable[[Node, SeenTick], Node]
    """From a state and what happened to the next state."""
    begin: Callable[[Node], Node]
    """From a state to what the first tick of a forecast starts from."""
    step: Callable[[Node, Node], Ahead]
    """From what a tick starts from, and its action, to what follows."""
    smooth: bool = True
    """Whether forecasts have derivatives by the actions."""


class Program(NamedTuple):
    """The graphs that writers write, of values given by name.

    ``state``, ``action`` and ``observation`` for the update, ``carry`` and ``action`` for a tick of
    a forecast; ``moved`` is the direction along which a tick's derivatives are taken.
    """

    initial: Array
    update: Node
    begin: Node
    step: Ahead
    by_carry: Direction | None
    """Where the carry moves; None where forecasts are not smooth."""
    by_action: Direction | None

    @property
    def carried(self) -> int:
        """Return the size of what a forecast carries from tick to tick."""
        return self.begin.size


def program_of(description: Description, observed: int, acted: int) -> Program:
    """Return the graphs of a description, for d_o observations and d_a actions."""
    state, action = given("state", len(description.initial)), given("action", acted)
    seen = given("observation", observed)
    missing = is_nan(seen)
    known = where(missing, constant([0.0] * observed), seen)
    begin = description.begin(state)
    carry = given("carry", begin.size)
    step = description.step(carry, action)
    by_carry = by_action = None
    if description.smooth:
        by_carry = _direction(step, carry)
        by_action = _direction(step, action)
    update = description.update(state, SeenTick(action, known, missing))
    return Program(description.initial, update, begin, step, by_carry, by_action)


def _direction(step: Ahead, node: Node) -> Direction:
    moved = given("moved", node.size)
    return Direction(moved, *along(step, {node: moved}))
