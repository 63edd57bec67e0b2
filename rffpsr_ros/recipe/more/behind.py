"""What stands before a model: filters of its actions, an origin that moves."""

from __future__ import annotations

from typing import Any

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.low_passed.model import LowPassedModel, behind_filters
from rffpsr_ros.models.moving_origin.model import MovingOriginModel


def core_of(model: PredictiveModel[Any]) -> PredictiveModel[Any]:
    """Return what forecasts in the end: the model behind all that stands before it."""
    while isinstance(model, LowPassedModel | MovingOriginModel):
        model = model.parts.inner
    return model


def free_names(model: PredictiveModel[Any]) -> tuple[str, ...]:
    """Return the observations that are followed about an origin that moves."""
    while isinstance(model, LowPassedModel):
        model = model.parts.inner
    if not isinstance(model, MovingOriginModel):
        return ()
    names = zip(model.signature.observation_names, model.parts.free, strict=True)
    return tuple(name for name, free in names if free)


def behind_the_same(
    core: PredictiveModel[Any], model: PredictiveModel[Any]
) -> PredictiveModel[Any]:
    """Return a model like the core of another one, behind the same as that."""
    if isinstance(model, LowPassedModel):
        return behind_filters(behind_the_same(core, model.parts.inner), model.parts.filters)
    if isinstance(model, MovingOriginModel):
        inner = behind_the_same(core, model.parts.inner)
        parts = model.parts._replace(inner=inner)
        return MovingOriginModel(inner.signature, inner.record, parts, inner.bands)
    return core
