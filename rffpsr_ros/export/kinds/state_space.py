"""Nonlinear state space: the system's step, by features that saturate and by powers."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.export.graph import (
    Node,
    clip,
    constant,
    either,
    join,
    negation,
    product,
    where,
)
from rffpsr_ros.export.kinds.shared import Vector, restored, saturated, standardised
from rffpsr_ros.export.program import Ahead, Description, SeenTick
from rffpsr_ros.models.state_space.dynamics import HOLD, SATURATING, SQUARE, StateSpace
from rffpsr_ros.models.state_space.model import StateSpaceModel
from rffpsr_ros.numerics.arrays import Array


def describe_state_space(model: StateSpaceModel) -> Description:
    """Return what a nonlinear system computes; the state is its own, and what was seen so far."""
    parts, system = model.parts, model.parts.system
    start = model.initial_state()
    observed = len(start.seen)
    vector = Vector({"position": system.states, "seen": observed})
    never = constant(np.zeros(observed))

    def update(state: Node, tick: SeenTick) -> Node:
        position, before = vector.part(state, "position"), vector.part(state, "seen")
        seen = standardised(parts.observation_scaling, tick.observation)
        known = negation(tick.missing)
        if system.integrators.any():
            others, told = system.states - observed, known * negation(before)
            at = where(told, seen, position[others:])
            position = join([position[:others], at]) if others else at
        inputs = _inputs(system, position, standardised(parts.action_scaling, tick.action))
        expected = clip(product(system.output, inputs), *system.bounds)
        error = where(tick.missing, never, seen - expected)
        after = _following(system, inputs) + product(system.gain, error)
        return vector.after(position=after, seen=either(before, known))

    def begin(state: Node) -> Node:
        return vector.part(state, "position")

    def step(carry: Node, action: Node) -> Ahead:
        inputs = _inputs(system, carry, standardised(parts.action_scaling, action))
        expected = clip(product(system.output, inputs), *system.bounds)
        return Ahead(_following(system, inputs), restored(parts.observation_scaling, expected))

    return Description(np.concatenate([start.position, np.zeros(observed)]), update, begin, step)


def _inputs(system: StateSpace, position: Node, acted: Node) -> Node:
    """Return [x, a, 1, s(W [x, a, 1])]."""
    linear = join([position, acted, constant([1.0])])
    seen = product(system.directions, linear)
    held = clip(seen, -system.reach, system.reach)
    square = held * held
    powers = where(_truths(system.powers == SQUARE), square, square * held)
    return join([linear, where(_truths(system.powers == SATURATING), saturated(held), powers)])


def _following(system: StateSpace, inputs: Node) -> Node:
    return clip(product(system.transition, inputs), np.array(-HOLD), np.array(HOLD))


def _truths(known: Array) -> Node:
    return constant(known.astype(float))
