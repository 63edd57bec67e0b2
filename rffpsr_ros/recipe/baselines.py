"""The plain models that compete with what was learned, and whose forecasts are blended with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recipe.window_lengths import WEIGHTS_PER_TICK
from rffpsr_ros.recordings.trajectory import Trajectory

Model = PredictiveModel[Any]

SUBSPACE_PAST = 10
"""Ticks of the past in subspace identification's windows, at the most."""


class Baseline(NamedTuple):
    """A plain model of all recordings, and how to learn it anew from some of them.

    Order, or ridge and window, chosen once on all recordings by folds of the learner's own, stay as
    they are: one or two numbers give away next to nothing of a part held out, and choosing takes
    most of the time.
    """

    model: Model
    again: Callable[[Sequence[Trajectory]], Model]


def baseline_candidates(
    options: RFFPSROptions, trajectories: Sequence[Trajectory]
) -> dict[str, Baseline]:
    """Return the baselines by name; none where the model itself is to have no ARX term.

    Two are linear; the third knows nothing of the robot, and is hard to beat where it hardly moves.
    The mean is none: where a test drives a robot further than it was taught, it misleads.
    """
    if not options.arx_past:
        return {}
    makers = (_linear_arx, _n4sid, _last_observation)
    found: dict[str, Baseline] = {}
    for maker in makers:
        try:
            baseline = maker(options, trajectories)
        except InputError:  # The recordings have too many gaps, or are too short, for this one.
            continue
        if baseline is not None:
            found[maker.__name__.removeprefix("_")] = baseline
    return found


def _linear_arx(options: RFFPSROptions, trajectories: Sequence[Trajectory]) -> Baseline:
    horizon = options.horizon or options.future
    model = LinearARX(options.arx_past, horizon).fit(trajectories)
    chosen = model.record.options
    return Baseline(model, LinearARX(chosen["past"], horizon, chosen["ridge"]).fit)


def _n4sid(options: RFFPSROptions, trajectories: Sequence[Trajectory]) -> Baseline | None:
    """Return subspace identification's; None where its windows are large beside the recordings."""
    past, future = min(options.arx_past, SUBSPACE_PAST), options.future
    columns = len(trajectories[0].observation_names) + len(trajectories[0].action_names)
    if (past + future) * columns > WEIGHTS_PER_TICK * sum(map(len, trajectories)):
        return None
    model = N4SID(past, future).fit(trajectories)
    return Baseline(model, N4SID(past, future, model.record.options["order"]).fit)


def _last_observation(options: RFFPSROptions, trajectories: Sequence[Trajectory]) -> Baseline:
    return Baseline(LastObservation().fit(trajectories), LastObservation().fit)
