"""Models made of models: ensembles, and what stands in front of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from rffpsr_ros.export.graph import (
    Node,
    at_most,
    clip,
    constant,
    filled,
    given,
    join,
    less,
    maximum,
    minimum,
    pick,
    product,
    reshape,
    take,
    total,
    where,
)
from rffpsr_ros.export.program import Ahead, Description, SeenTick
from rffpsr_ros.models.compressed.model import CompressedModel
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.ensemble.reach import Reach
from rffpsr_ros.models.low_passed.model import LowPassedModel
from rffpsr_ros.numerics.arrays import Array

_FAR = 1e30
"""What stands for an infinite distance; single precision holds it, too."""

Describe = Callable[[PredictiveModel[Any]], Description]


def describe_ensemble(model: EnsembleModel, describe: Describe) -> Description:
    """Return what an ensemble computes, of the members that take part in any forecast.

    A forecast carries what the members carry, and which tick it is at.
    """
    _, all_weights, limits, bounds, reach = model.parts
    needed: Array = np.array(all_weights.any(axis=(0, 1)))
    if limits is not None:
        needed[limits.fallback] = True
    places = np.flatnonzero(needed)
    members = [describe(model.parts.members[place]) for place in places]
    weights = all_weights[:, :, places].transpose(0, 2, 1)  # (H, M, d_o)
    horizon, count, observed = weights.shape
    distances = None if reach is None or count < 2 else _distances(reach, all_weights, places)
    starts = np.cumsum([0, *(len(member.initial) for member in members)])
    carries = (member.begin(given("state", len(member.initial))) for member in members)
    ends = np.cumsum([0, *(carry.size for carry in carries)])

    def of_members(state: Node) -> list[Node]:
        return [state[starts[i] : starts[i + 1]] for i in range(count)]

    def update(state: Node, tick: SeenTick) -> Node:
        pairs = zip(members, of_members(state), strict=True)
        return join([member.update(own, tick) for member, own in pairs])

    def begin(state: Node) -> Node:
        pairs = zip(members, of_members(state), strict=True)
        return join([*(member.begin(own) for member, own in pairs), constant([0.0])])

    def step(carry: Node, action: Node) -> Ahead:
        own = [carry[ends[i] : ends[i + 1]] for i in range(count)]
        ahead = [member.step(one, action) for member, one in zip(members, own, strict=True)]
        place = take(carry, np.array([ends[-1]]), 1)
        here = reshape(pick(weights, minimum(reshape(place), horizon - 1.0)), count * observed)
        forecasts = [one.observation for one in ahead]
        if limits is not None:
            instead = forecasts[int(np.flatnonzero(places == limits.fallback)[0])]
            forecasts = [_believed(one, instead, limits.low, limits.high) for one in forecasts]
        if distances is not None:
            near = pick(distances, minimum(reshape(place), float(horizon)))
            forecasts = _held_back(forecasts, here, near)
        blended = constant(np.zeros(observed))
        for i, forecast in enumerate(forecasts):
            blended = blended + here[i * observed : (i + 1) * observed] * forecast
        if bounds is not None:
            blended = clip(blended, *bounds)
        following = [*(one.carry for one in ahead), minimum(place + 1.0, float(horizon))]
        return Ahead(join(following), blended)

    initial = np.concatenate([member.initial for member in members])
    smooth = all(member.smooth for member in members)
    return Description(initial, update, begin, step, smooth)


def _believed(forecast: Node, instead: Node, low: Any, high: Any) -> Node:
    inside = constant(np.ones(forecast.size))
    if np.isfinite(low).any():
        inside = inside * at_most(constant(low), forecast)
    if np.isfinite(high).any():
        inside = inside * at_most(forecast, constant(high))
    return where(inside, forecast, instead)


def _distances(reach: Reach, weights: Array, places: Array) -> Array:
    """Return how far the members at places may go (H + 1, M * d_o); behind the last row, anywhere.

    What is infinite is a large number here, that a single one can hold, too.
    """
    own = np.moveaxis(reach.beside(weights)[..., places], 1, 2)
    rows = np.concatenate([own, np.full((1, *own.shape[1:]), np.inf)])
    finite: Array = np.minimum(rows, _FAR)
    return finite.reshape(len(rows), -1)


def _held_back(forecasts: Sequence[Node], weights: Node, distances: Node) -> list[Node]:
    """Return forecasts within their distances (M * d_o) of the others with a weight (M * d_o)."""
    size = forecasts[0].size
    nothing, far, far_below = (constant(np.full(size, value)) for value in (0.0, _FAR, -_FAR))
    parts = [slice(i * size, (i + 1) * size) for i in range(len(forecasts))]
    taking = [less(nothing, weights[part]) for part in parts]
    highs = [where(*one, far_below) for one in zip(taking, forecasts, strict=True)]
    lows = [where(*one, far) for one in zip(taking, forecasts, strict=True)]
    held = []
    for i, (forecast, part) in enumerate(zip(forecasts, parts, strict=True)):
        high = reduce(maximum, highs[:i] + highs[i + 1 :])
        low = reduce(minimum, lows[:i] + lows[i + 1 :])
        distance = distances[part]
        within = minimum(maximum(forecast, low - distance), high + distance)
        held.append(where(less(distance, far), within, forecast))
    return held


def describe_compressed(model: CompressedModel, describe: Describe) -> Description:
    """Return what a model of components computes, of observations in their own units."""
    inner = describe(model.parts.inner)
    mean, directions = model.parts.projection

    def update(state: Node, tick: SeenTick) -> Node:
        missing = less(constant(0.5), total(tick.missing))
        components = product(directions.T, tick.observation - constant(mean))
        nothing = constant(np.zeros(directions.shape[1]))
        seen = where(missing, nothing, components)
        return inner.update(state, SeenTick(tick.action, seen, filled(missing, seen.size)))

    def step(carry: Node, action: Node) -> Ahead:
        following, forecast = inner.step(carry, action)
        return Ahead(following, product(directions, forecast) + constant(mean))

    return Description(inner.initial, update, inner.begin, step, inner.smooth)


def describe_low_passed(model: LowPassedModel, describe: Describe) -> Description:
    """Return what a model of actions and of running means of them computes.

    The state, and what a forecast carries, end with the means.
    """
    inner, filters = describe(model.parts.inner), model.parts.filters
    held, squared = len(inner.initial), filters.squared

    def after(means: Node, action: Node) -> Node:
        standard = (action - constant(filters.mean)) / constant(filters.deviation)
        own = take(standard, filters.column)
        driving = where(constant(squared), own * own, own)
        return means + constant(filters.shares) * (driving - means)

    def update(state: Node, tick: SeenTick) -> Node:
        means = after(state[held:], tick.action)
        seen = SeenTick(join([tick.action, means]), tick.observation, tick.missing)
        return join([inner.update(state[:held], seen), means])

    def begin(state: Node) -> Node:
        return join([inner.begin(state[:held]), state[held:]])

    def step(carry: Node, action: Node) -> Ahead:
        carried = carry.size - len(squared)
        means = after(carry[carried:], action)
        following, forecast = inner.step(carry[:carried], join([action, means]))
        return Ahead(join([following, means]), forecast)

    initial = np.concatenate([inner.initial, filters.initial])
    return Description(initial, update, begin, step, inner.smooth)
