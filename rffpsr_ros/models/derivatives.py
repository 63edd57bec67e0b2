"""What kinds of models have in common where they differentiate forecasts by actions."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.numerics.arrays import Array


def no_derivatives(forecast: Array, actions: Array) -> Array:
    """Return the derivatives (..., H, d_o, H, d_a) of a forecast (..., H, d_o) without actions."""
    return np.zeros((*forecast.shape, *actions.shape[-2:]))


def in_units(jacobian: Array, observation: Scaling, action: Scaling) -> Array:
    """Return derivatives (..., H, d_o, H, d_a) between standard units in the data's units."""
    return np.asarray(jacobian * observation.deviation[:, None, None] / action.deviation)


def unit_plans(horizon: int, acted: int) -> Array:
    """Return H d_a plans (H, d_a), each with a single one."""
    return np.eye(horizon * acted).reshape(-1, horizon, acted)


def by_plan(responses: Array, horizon: int, acted: int) -> Array:
    """Return responses (..., H d_a, H, d_o) to unit plans as derivatives (..., H, d_o, H, d_a)."""
    moved = np.moveaxis(responses, -3, -1)
    return moved.reshape(*moved.shape[:-1], horizon, acted)
