"""A model run along a bag: its forecasts with the recorded actions, or as a node makes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.forecasting.replay import Replay
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import forecasts
from rffpsr_ros.models.usable import usable
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recordings.bags.reader import BagSampler
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.events import SegmentEnd, Tick

RECORDED = "recorded"
"""The future actions that a recording alone knows."""


class BagForecast(NamedTuple):
    """A forecast (H, d_o) made at ``made_ns``, when ``seen`` (d_o,) had just been observed.

    ``segment`` counts the uninterrupted runs of the bag from 0. At a segment's start nothing was
    seen: all NaN. ``assumes`` says which future actions it was given.
    """

    segment: int
    made_ns: int
    seen: Array
    values: Array
    assumes: str
    half_width: Array | None = None
    """Of the band around the values, (H, d_o); None for a model without bands."""
    lead: int | None = None
    """How many ticks ahead a node's topic ``predicted`` looked; None where no node ran."""


@dataclass
class TimedSegment:
    """An uninterrupted run of ticks with their times."""

    start_ns: int = 0
    stamps_ns: list[int] = field(default_factory=list)
    observations: list[Array] = field(default_factory=list)
    actions: list[Array] = field(default_factory=list)

    def add(self, tick: Tick) -> None:
        """Append a tick."""
        if not self.stamps_ns:
            self.start_ns = tick.start_ns
        self.stamps_ns.append(tick.stamp_ns)
        self.observations.append(tick.observation)
        self.actions.append(tick.action)


def segments(bag: BagSampler) -> Iterator[TimedSegment]:
    """Yield the segments of a bag, each as soon as it has ended."""
    segment = TimedSegment()
    for event in bag.events():
        if isinstance(event, Tick):
            segment.add(event)
        elif segment.stamps_ns:
            yield segment
            segment = TimedSegment()


def run_along(
    model: PredictiveModel[Any],
    bag: BagSampler,
    horizon: int,
    every: int = 1,
    coverage: float = 0.9,
    progress: Progress = silent,
) -> Iterator[BagForecast]:
    """Yield the forecasts of ``model`` at every ``every``-th tick of a bag, in order of time.

    The last is made where ``horizon`` recorded actions are still to come. Bands are those of the
    model file. Forecasts that are no usable numbers are left out.
    """
    half_width = model.bands and model.bands.half_width(coverage, horizon)
    begun = 0.0
    for number, segment in enumerate(segments(bag)):
        read = bag.share_read or 0.0
        trajectory = Trajectory(
            segment.observations,
            segment.actions,
            bag.sampler.configuration.period,
            bag.sampler.observation_names,
            bag.sampler.action_names,
        )
        nothing = np.full(trajectory.observations.shape[1], np.nan)
        for first, chunk in forecasts(model, trajectory, horizon):
            progress("forecasting", begun + (read - begun) * first / len(trajectory))
            for tick, values in enumerate(chunk, first):
                if tick % every or not usable(values):
                    continue
                made_ns = segment.stamps_ns[tick - 1] if tick else segment.start_ns
                seen = trajectory.observations[tick - 1] if tick else nothing
                yield BagForecast(number, made_ns, seen, values, RECORDED, half_width)
        begun = read


def replay(run: Replay, progress: Progress = silent) -> Iterator[BagForecast]:
    """Yield the forecasts that a node makes which is fed the bag, and close it."""
    number = 0
    for outcome in run.outcomes():
        if isinstance(outcome, SegmentEnd):
            number += 1
        elif outcome.forecast is not None:
            progress("forecasting", run.share_read or 0.0)
            made_ns, values, _, assumes, half_width = outcome.forecast
            seen, lead = outcome.tick.observation, run.follower.options.lead
            yield BagForecast(number, made_ns, seen, values, assumes, half_width, lead)
