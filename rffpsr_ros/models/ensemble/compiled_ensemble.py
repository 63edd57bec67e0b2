"""An ensemble in one compiled call: all members' updates, and their blended forecasts.

Calls, states and results of single members cost more than what they compute. So the members' parts
lie in one array, and their states in another. A member whose state compiled code does not follow,
at an episode's start, after something unusual, or because there is no such code, is kept apart and
updated by itself until it can be packed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.ensemble.state import PackedState
from rffpsr_ros.models.ensemble.weights import WeightsByLength
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.ensemble.ensemble_kernels import forecast, forecast_many, update_all
from rffpsr_ros.psr.runtime.lanes import lanes_and_room
from rffpsr_ros.psr.runtime.packed_ensemble import MOST, packed_ensemble

if TYPE_CHECKING:
    from rffpsr_ros.models.ensemble.model import OutputLimits


class Course(NamedTuple):
    """What a forecast of some length takes."""

    places: tuple[int, ...]
    chosen: Array
    """(C,): each one's row among packed members, or -1 if it forecasts by itself."""
    weights: Array
    """(C, H, d_o)"""
    distance: Array
    """(C, H, d_o), their reach; (0, 0, 0): nothing holds them."""
    fallback: int
    """Who among those that take part replaces the others; -1: nobody."""


class CompiledEnsemble:
    """One tick of all members, and their blended forecast, each in one call of compiled code.

    Parameters
    ----------
    members
        As they run live.
    weights, limits, bounds
        As the ensemble's.
    columns
        d_o and d_a.

    Raises
    ------
    OSError
        If there is no room to keep what was compiled.
    """

    def __init__(
        self,
        members: Sequence[PredictiveModel[Any]],
        weights: WeightsByLength,
        limits: OutputLimits | None,
        bounds: Bounds | None,
        columns: tuple[int, int],
    ) -> None:
        self._given = members, weights, limits, bounds, columns
        self._members, self._weights, self._limits = members, weights, limits
        self._observed, self._acted = columns
        own = np.full((4, columns[0]), np.inf)
        own[::2] *= -1
        if limits is not None:
            own[:2] = limits.low, limits.high
        if bounds is not None:
            own[2:] = bounds
        # By member; what follows counts packed ones only.
        self._packings = [member.packing() for member in members]
        self._packings[MOST:] = [None] * len(self._packings[MOST:])
        packed = [one.member for one in self._packings if one is not None]
        self._rows = np.cumsum([one is not None for one in self._packings]) - 1
        ends = np.cumsum([0, *(one.room for one in packed)]).tolist()
        self._slices = [
            slice(ends[row], ends[row + 1]) if one is not None else slice(0)
            for one, row in zip(self._packings, self._rows, strict=True)
        ]
        self._size = ends[-1]
        room = lanes_and_room(max((one.rank for one in packed), default=0))[1]
        self._packed = packed_ensemble(packed, columns, own, room)
        self._nobody: tuple[Any, ...] = (None,) * len(members)
        self._courses: dict[int, Course] = {}
        self._compile()

    def __reduce__(self) -> tuple[object, ...]:
        """Let copies and other processes prepare their own."""
        return type(self), self._given

    def _compile(self) -> None:
        """Compile now, or read from the cache: not when the first message has arrived."""
        state = self._together(tuple(member.initial_state() for member in self._members))
        action, nothing = np.zeros(self._acted), np.full(self._observed, np.nan)
        self.predict(self.update(state, action, nothing), action[None])

    def unpacked(self, state: PackedState) -> list[Any]:
        """Return the members' own states."""
        return [
            self._unpacked(state.numbers, place) if own is None else own
            for place, own in enumerate(state.apart)
        ]

    def update(self, state: Any, action: Array, observation: Array) -> PackedState:
        """Return the state after an action (d_a,) and an observation (d_o,)."""
        if not isinstance(state, PackedState):
            state = self._together(state.members)
        newest, after = np.empty(self._acted + self._observed), np.empty(self._size)
        newest[: self._acted], newest[self._acted :] = action, observation
        left = update_all(self._packed, state.numbers, newest, after)
        if not left and state.apart is self._nobody:
            return PackedState(after, self._nobody, self)
        apart = list(self._nobody)
        for place, own in enumerate(state.apart):
            if own is None and not left >> self._rows[place] & 1:
                continue
            before = self._unpacked(state.numbers, place) if own is None else own
            following = self._members[place].advance(before, action, observation)
            apart[place] = self._put(following, place, after)
        return self._state(after, apart)

    def predict(self, state: PackedState, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), given the next H actions."""
        # Compiled code takes arrays of another order, or not to be written to, for another type.
        plans = np.array(actions if actions.ndim > 2 else actions[None], np.float64, order="C")
        count, horizon, _ = plans.shape
        course = self._courses.get(horizon) or self._course(horizon)
        places, chosen, weights, distance, fallback = course
        each = np.empty((len(places), count, horizon, self._observed))
        if state.apart is not self._nobody or -1 in course.chosen:
            chosen = chosen.copy()
            for row, place in enumerate(places):
                own = state.apart[place]
                if own is None and chosen[row] >= 0:
                    continue
                own = self._unpacked(state.numbers, place) if own is None else own
                each[row] = self._members[place].forecast(own, actions)
                chosen[row] = -1
        blended = np.empty(each.shape[1:])
        call = forecast if count == 1 else forecast_many
        call(self._packed, state.numbers, plans, chosen, weights, distance, each, fallback, blended)
        return blended if actions.ndim > 2 else blended[0]

    def _course(self, horizon: int) -> Course:
        """Return what a forecast of so many steps takes, from now on known."""
        places, weights, distance = self._weights.of(horizon)
        chosen = [
            self._rows[place] if one is not None and horizon <= one.longest else -1
            for place in places
            for one in [self._packings[place]]
        ]
        fallback = -1 if self._limits is None else places.index(self._limits.fallback)
        far = np.empty((0, 0, 0)) if distance is None else distance
        weights, far = (np.array(table, order="C") for table in (weights, far))
        course = Course(places, np.array(chosen), weights, far, fallback)
        if len(self._courses) < MOST:
            self._courses[horizon] = course
        return course

    def _together(self, members: Sequence[Any]) -> PackedState:
        """Return members' states as one state."""
        numbers = np.empty(self._size)
        return self._state(
            numbers, [self._put(own, place, numbers) for place, own in enumerate(members)]
        )

    def _state(self, numbers: Array, apart: Sequence[Any]) -> PackedState:
        nobody = all(own is None for own in apart)
        return PackedState(numbers, self._nobody if nobody else tuple(apart), self)

    def _put(self, own: Any, place: int, numbers: Array) -> Any:
        """Write a member's state to its place; return it if it cannot be packed."""
        packing = self._packings[place]
        packed = None if packing is None else packing.pack(own)
        numbers[self._slices[place]] = 0 if packed is None else packed
        return own if packed is None else None

    def _unpacked(self, numbers: Array, place: int) -> Any:
        packing = self._packings[place]
        assert packing is not None, "others are always apart"
        return packing.unpack(numbers[self._slices[place]])
