"""A model tried before it is put into service: two ticks, and forecasts that must be numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.state_batches import CompactState
from rffpsr_ros.numerics.arrays import Array

HORIZON = 3
"""Ticks that trial forecasts look ahead."""


def inference_model_tried(model: PredictiveModel[Any], compiled: bool) -> PredictiveModel[Any]:
    """Return the model as it runs live, see `PredictiveModel.inference_model`, after a trial.

    Raises
    ------
    InputError
        If it fails, or what it forecasts are not finite numbers.
    """
    try:
        with np.errstate(all="ignore"):
            served = model.inference_model(compiled)
    except Exception as fault:
        raise _unfit(f"cannot be prepared ({_sentence(fault)})") from fault
    check_serves(served)
    return served


def check_serves(model: PredictiveModel[Any]) -> None:
    """Follow two ticks of the signature's columns, one of them unseen, and forecast after each.

    What the model expects without having seen anything stands in for a robot: no model may fail
    on that.

    Raises
    ------
    InputError
        If the model fails, or its states or forecasts are not finite numbers of the right shape.
    """
    try:
        with np.errstate(all="ignore"):
            _try(model)
    except InputError:
        raise
    except Exception as fault:  # of parts that someone else wrote: whatever they may cause
        raise _unfit(f"fails at its first tick ({_sentence(fault)})") from fault


def _try(model: PredictiveModel[Any]) -> None:
    names = model.signature.observation_names, model.signature.action_names
    plan = np.zeros((HORIZON, len(names[1])))
    state = model.initial_state()
    usual = _checked(model.predict(state, plan), len(names[0]))[0]
    for observation in (usual, np.full_like(usual, np.nan)):
        state = model.update(state, plan[0], observation)
        _check_state(state)
        _checked(model.predict(state, plan), len(names[0]))
    if model.history_length:
        ticks = model.history_length
        history = np.tile(usual, (ticks, 1)), np.zeros((ticks, len(names[1])))
        state = model.state_from_history(*history)
        _check_state(state)
        _checked(model.predict(state, plan), len(names[0]))


def _checked(forecast: Array, columns: int) -> Array:
    """Return a forecast that is as it should be."""
    if np.shape(forecast) != (HORIZON, columns):
        raise _unfit(f"forecasts {np.shape(forecast)} numbers, not {(HORIZON, columns)}")
    if not np.isfinite(forecast).all():
        raise _unfit("forecasts numbers that are not finite")
    return forecast


def _check_state(state: Any) -> None:
    if not all(np.isfinite(part).all() for part in _leaves(state)):
        raise _unfit("reaches a state that is not finite")


def _leaves(state: Any) -> Iterator[Any]:
    if isinstance(state, CompactState):
        state = state.plain
    if isinstance(state, tuple):
        for part in state:
            yield from _leaves(part)
    else:
        yield state


def _unfit(what: str) -> InputError:
    return InputError(f"the model {what}, so it cannot be served; train it again")


def _sentence(fault: Exception) -> str:
    return shown(f"{type(fault).__name__}: {fault}", 120)
