"""Learning a model of a robot that moves by the same law wherever it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.moving_origin.model import MovingOriginModel, MovingOriginParts
from rffpsr_ros.models.training_set import shared_signature
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory


class MovingOrigin(InMemoryLearner[MovingOriginModel]):
    """Learner of a `MovingOriginModel`: any learner, and observations known to be free."""

    def __init__(self, inner: Learner, free: Sequence[int]) -> None:
        """Take the learner, and the columns of observations on which the law does not depend."""
        self.inner, self.free = inner, tuple(free)

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> MovingOriginModel:
        names = shared_signature(train, validation).observation_names
        unknown = [one for one in self.free if one not in range(len(names))]
        if unknown:
            raise InputError(f"there is no observation {unknown[0]}; 0 is {names[0]}")
        model = self.inner.fit(train, validation, progress=progress)
        return about_moving_origin(model, self.free, [*train, *(validation or ())])


def about_moving_origin(
    inner: PredictiveModel[Any], free: Sequence[int], recordings: Sequence[Trajectory]
) -> MovingOriginModel:
    """Return the model with an origin that moves where columns are free, amid the recordings."""
    rows = np.concatenate([one.observations for one in recordings])
    places = np.zeros(rows.shape[1], dtype=int)
    places[list(free)] = 1
    parts = MovingOriginParts(inner, places, np.nanmedian(rows, axis=0))
    return MovingOriginModel(inner.signature, inner.record, parts, inner.bands)
