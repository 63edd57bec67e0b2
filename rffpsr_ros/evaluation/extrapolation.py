"""How much of what a model is judged on lies beyond what it was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.input_gate import InputRange
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

TOLERATED = 0.01
"""The share of ticks that nobody need be told of: a new recording now and then goes a little
further."""
HAIR = 0.01
"""Share of the range's width by which nobody is farther than seen: a top speed is never the same
to the last digit."""


class Extrapolation(NamedTuple):
    """A column that leaves the range trained on."""

    name: str
    share: float
    """Of the ticks at which something was seen."""
    furthest: float
    """How far beyond the range, as a share of its width; infinite where it had none."""

    def as_json(self) -> dict[str, Any]:
        """Return JSON types."""
        return self._asdict() | {"furthest": self.furthest if np.isfinite(self.furthest) else None}


def extrapolations(
    model: PredictiveModel[Any], trajectories: Sequence[Trajectory]
) -> list[Extrapolation]:
    """Return the columns that leave the model's range at some ticks, the most frequent first."""
    if not trajectories:
        return []
    known, signature = model.known_range, model.signature
    sides = (
        (known.observations, signature.observation_names, "observations"),
        (known.actions, signature.action_names, "actions"),
    )
    found = []
    for limits, names, what in sides:
        if limits is not None:
            rows = np.concatenate([getattr(one, what) for one in trajectories])
            found += _of_columns(limits, names, rows)
    return sorted(found, key=lambda one: -one.share)


def told(found: Sequence[Extrapolation]) -> str:
    """Return a sentence on columns that leave their range more than now and then; "" if none."""
    often = [one for one in found if one.share > TOLERATED]
    if not often:
        return ""
    columns = ", ".join(
        f"{one.name} at {100 * one.share:.0f} % of the ticks{_further(one)}" for one in often
    )
    return f"beyond what the model was trained on, where forecasts are less sure: {columns}"


def _further(one: Extrapolation) -> str:
    return f" (by up to {100 * one.furthest:.0f} % of its range)" if one.furthest < 1e3 else ""


def _of_columns(limits: InputRange, names: Sequence[str], rows: Array) -> list[Extrapolation]:
    beyond = np.fmax(limits.low - rows, rows - limits.high)
    seen = np.maximum(np.isfinite(rows).sum(axis=0), 1)
    width = limits.high - limits.low
    share = (beyond > HAIR * width).sum(axis=0) / seen
    with np.errstate(divide="ignore"):
        furthest = np.nanmax(np.fmax(beyond, 0.0), axis=0, initial=0.0) / width
    columns = zip(names, share.tolist(), furthest.tolist(), strict=True)
    return [Extrapolation(name, often, far) for name, often, far in columns if often > 0]
