"""Kinds that look at a window of the newest ticks: RFF-ARX, output error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.export.graph import (
    Node,
    clip,
    constant,
    join,
    less,
    matmul,
    pick,
    product,
    reshape,
    take,
    waves,
    where,
)
from rffpsr_ros.export.kinds.gaps import mended, silent_after, unbroken
from rffpsr_ros.export.kinds.shared import Vector, features, put_row, restored, standardised
from rffpsr_ros.export.program import Ahead, Description, SeenTick
from rffpsr_ros.models.output_error.model import OutputErrorModel
from rffpsr_ros.models.rff_arx.model import RFFARXModel


class TickGraphs:
    """The window as part of a state; before a first tick, what it showed.

    Parameters
    ----------
    model
        Whose window it is.
    """

    def __init__(self, model: RFFARXModel | OutputErrorModel) -> None:
        self._parts = model.parts
        self.past, self.observed = model.past, len(model.parts.observation_scaling.mean)
        self.acted = len(model.parts.action_scaling.mean)
        start = model.initial_state()
        self.initial = np.concatenate(
            [start.observations.ravel(), start.actions.ravel(), [0.0], start.silent]
        )
        self.vector = Vector(
            {
                "seen": self.past * self.observed,
                "acted": self.past * self.acted,
                "any": 1,
                "silent": self.observed,
            }
        )

    def window(self, state: Node) -> Node:
        """Return the ticks of a state, observations before actions."""
        return state[: self.past * (self.observed + self.acted)]

    def after(self, state: Node, seen: Node, acted: Node) -> Node:
        """Return the window after n ticks, observations (n d_o,) and actions (n d_a,)."""
        known = self.vector.number(state, "any")
        parts = []
        for name, newest, width in (
            ("seen", seen, self.observed),
            ("acted", acted, self.acted),
        ):
            before = self.vector.part(state, name)
            first = take(newest, np.tile(np.arange(width), self.past))
            before = where(less(known, 0.5), first, before)
            joined = join([before, newest])
            parts.append(joined[joined.size - before.size :])
        silent = self.vector.part(state, "silent")
        return self.vector.after(seen=parts[0], acted=parts[1], any=constant([1.0]), silent=silent)

    def update(self, forecast: Callable[[Node, Node], Node]) -> Callable[[Node, SeenTick], Node]:
        """Return the update, given what forecasts a tick (d_o,) from a state and an action."""

        def updated(state: Node, tick: SeenTick) -> Node:
            acted = standardised(self._parts.action_scaling, tick.action)
            seen = standardised(self._parts.observation_scaling, tick.observation)
            silent = self.vector.part(state, "silent")
            expected = where(unbroken(silent, tick), seen, forecast(state, acted))
            seen = where(tick.missing, expected, seen)
            before = self.vector.part(state, "seen")
            state = self.vector.after(
                seen=mended(before, seen - expected, silent, self.observed),
                acted=self.vector.part(state, "acted"),
                any=self.vector.part(state, "any"),
                silent=silent_after(silent, tick),
            )
            return self.after(state, seen, acted)

        return updated


def describe_output_error(model: OutputErrorModel) -> Description:
    """Return what an output-error model computes; a forecast carries the window."""
    parts, ticks = model.parts, TickGraphs(model)
    recurrence, seen = parts.recurrence, ticks.past * ticks.observed
    linear, nonlinear = np.split(parts.weights[1:], [len(recurrence.low)])

    def following(carry: Node, acted: Node) -> Node:
        window = join([carry, acted])
        found = features(recurrence.features, clip(window, recurrence.low, recurrence.high))
        change = product(linear.T, window) + product(nonlinear.T, found)
        last = carry[seen - ticks.observed : seen]
        return clip(last + (change + constant(parts.weights[0])), *recurrence.bounds)

    def begin(state: Node) -> Node:
        return ticks.window(state)

    def step(carry: Node, action: Node) -> Ahead:
        acted = standardised(parts.action_scaling, action)
        expected = following(carry, acted)
        after = join([carry[:seen], expected])[ticks.observed :]
        acts = join([carry[seen:], acted])[ticks.acted :]
        return Ahead(join([after, acts]), restored(parts.observation_scaling, expected))

    update = ticks.update(lambda state, acted: following(begin(state), acted))
    return Description(ticks.initial, update, begin, step)


def describe_rff_arx(model: RFFARXModel) -> Description:
    """Return what direct regressions on random features compute, horizon by horizon.

    A forecast carries the window before the block at hand, the phases so far, and the block.

    Raises
    ------
    InputError
        If every horizon sees all actions.
    """
    parts, ticks, future = model.parts, TickGraphs(model), model.future
    if parts.features.one_shot:
        raise InputError(
            "this RFF-ARX model sees all actions at every horizon (one_shot), so that its forecasts"
            " depend on later actions; train one without it"
        )
    units = len(parts.features.history)
    carried = Vector(
        {
            "window": len(ticks.initial),
            "place": 1,
            "phases": units,
            "plan": future * ticks.acted,
            "forecast": future * ticks.observed,
        }
    )
    by_action = parts.features.future.transpose(1, 0, 2)
    weights = parts.weights.transpose(0, 2, 1) / np.sqrt(units)

    def phases_of(window: Node) -> Node:
        return product(parts.features.history, ticks.window(window))

    def begin(state: Node) -> Node:
        nothing = constant(np.zeros(future * (ticks.acted + ticks.observed)))
        return join([state, constant([0.0]), phases_of(state), nothing])

    def ahead(carry: Node, acted: Node) -> tuple[Node, Node]:
        place = carried.number(carry, "place")
        phases = carried.part(carry, "phases") + matmul(pick(by_action, place), acted)
        found = waves(phases / pick(parts.features.bandwidths, place))
        expected = matmul(pick(weights, place), found)
        plan = put_row(carried.part(carry, "plan"), acted, place)
        forecast = put_row(carried.part(carry, "forecast"), expected, place)
        last = less(constant(future - 1.5), place)
        window = carried.part(carry, "window")
        window = where(last, ticks.after(window, forecast, plan), window)
        following = carried.after(
            window=window,
            place=reshape(where(last, constant(0.0), place + 1.0), 1),
            phases=where(last, phases_of(window), phases),
            plan=plan,
            forecast=forecast,
        )
        return following, expected

    def step(carry: Node, action: Node) -> Ahead:
        following, expected = ahead(carry, standardised(parts.action_scaling, action))
        return Ahead(following, restored(parts.observation_scaling, expected))

    update = ticks.update(lambda state, acted: ahead(begin(state), acted)[1])
    return Description(ticks.initial, update, begin, step)
