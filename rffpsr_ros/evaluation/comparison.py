"""Several models on the same trajectories, by the same evaluation."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import HorizonErrors, horizon_errors
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.models.forecasts import Range
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recordings.trajectory import Trajectory


@dataclass(frozen=True)
class Entry:
    """One model's part of a comparison.

    ``training_seconds`` is the processor time of learning, None for a finished model;
    ``step_seconds`` the wall time of one tick: an update and a share of the forecasts.
    """

    model: PredictiveModel[Any]
    errors: HorizonErrors
    training_seconds: float | None
    step_seconds: float


@dataclass(frozen=True)
class Comparison:
    """Entries by name, in the order given, and what they were judged on."""

    entries: Mapping[str, Entry]
    horizon: int
    start: int
    clipped: bool
    period: float

    @property
    def errors(self) -> dict[str, HorizonErrors]:
        """Return the errors by name."""
        return {name: entry.errors for name, entry in self.entries.items()}


def compare(
    models: Mapping[str, PredictiveModel[Any] | Learner],
    test: Sequence[Trajectory],
    train: Sequence[Trajectory] = (),
    validation: Sequence[Trajectory] | None = None,
    horizon: int = 10,
    start: int = 9,
    clip: Range | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Return the errors of models, and of what learners learn from ``train``, on ``test``.

    Raises
    ------
    InputError
        If there is nothing to compare, or nothing to score.
    """
    if not models or not test:
        raise InputError("nothing to compare; give at least one model and one test trajectory")
    entries = {}
    for name, given in models.items():
        seconds = None
        progress(f"judging {name}", 0.0)
        if isinstance(given, PredictiveModel):
            model = given
        else:
            began = time.process_time()
            model = given.fit(train, validation)
            seconds = time.process_time() - began
        began = time.perf_counter()
        done = partial(progress, f"judging {name}")
        errors = horizon_errors(model, test, horizon, start, clip, done)
        step = (time.perf_counter() - began) / sum(map(len, test))
        entries[name] = Entry(model, errors, seconds, step)
    return Comparison(entries, horizon, start, clip is not None, test[0].period)
