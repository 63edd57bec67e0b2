"""Prediction bands for a model that was just learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rffpsr_ros.data.subsample import subsample
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.calibration import FOLDS, calibrate
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory

BANDS = ("held-out", "folds", "none")
"""Bands from what learning missed by on held-out parts if there were any; from folds; or none."""


def measure_bands(
    model: PredictiveModel[Any],
    learner: Learner,
    trajectories: Sequence[Trajectory],
    progress: Progress,
    method: str = BANDS[0],
) -> PredictiveModel[Any]:
    """Return the model with bands by one of the methods `BANDS`, or a note why it has none."""
    if method == "none":
        return model.replaced(bands=None)
    if method == "held-out" and model.bands is not None:
        return model
    known = subsample(trajectories, np.random.default_rng(0))
    try:
        return model.replaced(bands=calibrate(learner.fit, known, progress=progress))
    except InputError as problem:
        note = f"no prediction bands, which learn from {FOLDS} parts of the recordings: {problem}"
        return model.replaced(record=replace(model.record, notes=(*model.record.notes, note)))
