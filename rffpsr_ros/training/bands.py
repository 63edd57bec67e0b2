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
"""Ways to bands: what learning met on held-out parts if it met any, always folds, or no bands."""


def measure_bands(
    model: PredictiveModel[Any],
    learner: Learner,
    trajectories: Sequence[Trajectory],
    progress: Progress,
    way: str = BANDS[0],
) -> PredictiveModel[Any]:
    """Return the model with bands in one of the `BANDS` ways, or with a note why it has none."""

    def learn(train: Sequence[Trajectory]) -> PredictiveModel[Any]:
        return learner.fit(train)

    if way == "none":
        return model.replaced(bands=None)
    if way == "held-out" and model.bands is not None:
        return model
    try:
        known = subsample(trajectories, np.random.default_rng(0))
        return model.replaced(bands=calibrate(learn, known, progress=progress))
    except InputError as problem:
        note = f"no prediction bands, which learn from {FOLDS} parts of the recordings: {problem}"
        return model.replaced(record=replace(model.record, notes=(*model.record.notes, note)))
