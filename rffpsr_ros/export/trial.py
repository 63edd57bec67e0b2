"""A trial before anything is written: the graphs must follow and forecast as the model does."""

from __future__ import annotations

from typing import Any

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.export.evaluation import evaluate
from rffpsr_ros.export.program import Program
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.input_gate import InputRange
from rffpsr_ros.numerics.arrays import Array

TICKS, HORIZON = 25, 4
SAME = 1e-7
"""Difference, relative to the largest number forecast, that rounding may make in so few ticks."""


def check_program(program: Program, model: PredictiveModel[Any]) -> None:
    """Refuse a model whose graphs do not compute what it computes, gaps included.

    Raises
    ------
    InputError
        If forecasts differ.
    """
    generator = np.random.default_rng(0)
    signature, known = model.signature, model.trained_range
    seen = _within(known.observations, len(signature.observation_names), generator)
    acted = _within(known.actions, len(signature.action_names), generator)
    seen[10:12] = np.nan
    seen[15, 0] = np.nan
    state, vector = model.initial_state(), program.initial
    for tick in range(TICKS):
        state = model.update(state, acted[tick], seen[tick])
        given = {"state": vector, "action": acted[tick], "observation": seen[tick]}
        (vector,) = evaluate([program.update], given)
    expected = model.predict(state, acted[TICKS:])
    (carry,) = evaluate([program.begin], {"state": vector})
    forecast = np.empty_like(expected)
    for h, action in enumerate(acted[TICKS:]):
        carry, forecast[h] = evaluate(program.step[:2], {"carry": carry, "action": action})
    scale = max(float(np.abs(expected).max()), 1e-12)
    if not np.abs(forecast - expected).max() <= SAME * scale:
        raise InputError(
            "what would be exported forecasts otherwise than the model; the model is too sensitive"
            " to rounding to be computed elsewhere, or it holds parts that are not known here"
        )


def _within(known: InputRange | None, columns: int, generator: np.random.Generator) -> Array:
    """Return values (ticks, d) like those of training."""
    low, high = (-np.ones(columns), np.ones(columns)) if known is None else known
    middle, half = (low + high) / 2, (high - low) / 2
    steps = generator.uniform(-1, 1, (TICKS + HORIZON, columns))
    return np.asarray(middle + 0.5 * half * steps)
