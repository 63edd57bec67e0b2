"""`RFFPSR()` without the linear models of its blend: its RFF-PSR models alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.more.behind import behind_the_same, core_of
from rffpsr_ros.recordings.trajectory import Trajectory


class MembersAlone(RFFPSR):
    """Learns as `RFFPSR` does, and leaves the others' weights to the RFF-PSR models."""

    def fit(
        self,
        train: Iterable[Trajectory],
        validation: Iterable[Trajectory] | None = None,
        **others: Any,
    ) -> PredictiveModel[Any]:
        """Return the model that `RFFPSR` returns, without its other members."""
        return members_alone(super().fit(train, validation, **others))


def members_alone(model: PredictiveModel[Any]) -> PredictiveModel[Any]:
    """Return a model's RFF-PSR members, weighted as they are to each other.

    Where they have no weight at all they count alike; an ensemble without any is returned as it is.
    """
    core = core_of(model)
    return behind_the_same(_alone(core), model) if isinstance(core, EnsembleModel) else model


def _alone(model: EnsembleModel) -> PredictiveModel[Any]:
    members, weights = model.parts.members, model.parts.weights
    own = [place for place, one in enumerate(members) if isinstance(one, RFFPSRModel)]
    if not own:
        return model
    left = weights[..., own]
    total = left.sum(axis=-1, keepdims=True)
    shared = np.where(total > 0, left / np.where(total > 0, total, 1.0), 1 / len(own))
    bounds = model.parts.bounds
    parts = EnsembleParts(tuple(members[place] for place in own), shared, bounds=bounds)
    return EnsembleModel(model.signature, model.record, parts, model.bands)
