"""Linear ARX that goes on: its sums over rows take in new recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rffpsr_ros.data.scaling import standardise
from rffpsr_ros.models.arx.learner import model_of
from rffpsr_ros.models.arx.model import LinearARXModel
from rffpsr_ros.models.arx.regression import Shape, Sums
from rffpsr_ros.recordings.trajectory import Trajectory


def sums_of(model: LinearARXModel, recordings: Sequence[Trajectory]) -> Sums:
    """Return the sums over the rows of recordings, with the model's history and scalings."""
    parts, shape = model.parts, _shape(model)
    runs = standardise(recordings, parts.observation_scaling, parts.action_scaling)
    return Sums.merged((Sums.of(run, shape) for run in runs), shape)


def with_sums(
    model: LinearARXModel, sums: Sums, recordings: Sequence[Trajectory]
) -> LinearARXModel:
    """Return the model that has learned from the rows of such sums; history and ridge stay.

    The range that it has been trained on takes in that of ``recordings``.
    """
    options, parts = model.record.options, model.parts
    ranges = {
        "observation_scaling": [run.observations for run in recordings],
        "action_scaling": [run.actions for run in recordings],
    }
    scalings = [getattr(parts, name).widened(np.concatenate(rows)) for name, rows in ranges.items()]
    scores = dict(model.record.metrics.get("held_out_scores", {}))
    shape = _shape(model)
    learned = model_of(
        model.signature, sums, shape.past, options["ridge"], scores, shape, *scalings
    )
    return learned.replaced(record=replace(learned.record, notes=model.record.notes))


def _shape(model: LinearARXModel) -> Shape:
    options, signature = model.record.options, model.signature
    columns = len(signature.observation_names), len(signature.action_names)
    return Shape(options["past"], options["future"], *columns)
