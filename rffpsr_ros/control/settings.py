"""What is asked of control, in words and numbers, and what of it fits a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.control.gauss_newton import GaussNewton
from rffpsr_ros.control.limits import ActionLimits
from rffpsr_ros.control.plan_cost import PlanCost
from rffpsr_ros.control.problem import Solver
from rffpsr_ros.control.sampling import PathIntegral
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.input_gate import InputRange
from rffpsr_ros.numerics.arrays import Array

SOLVERS = ("auto", "gauss_newton", "mppi")
SHARE_OF_A_TICK = 0.5
"""What planning may take of a tick where nobody says otherwise."""


@dataclass(frozen=True)
class ControlSettings:
    """Settings as a user gives them: lists hold one number for all columns, or one for each.

    The parameters of the controller node have these names and explain them.
    """

    horizon: int = 20
    solver: str = "auto"
    budget: float = 0.0
    samples: int = 256
    seed: int = 0
    limits_low: Sequence[float] = (0.0,)
    limits_high: Sequence[float] = (0.0,)
    limits_rate: Sequence[float] = (0.0,)
    safe_command: Sequence[float] = (0.0,)
    tracking_weight: Sequence[float] = (1.0,)
    effort_weight: Sequence[float] = (1e-4,)
    change_weight: Sequence[float] = (1e-2,)
    constraints_low: Sequence[float] = (0.0,)
    constraints_high: Sequence[float] = (0.0,)
    constraints_weight: float = 100.0
    constraints_coverage: float = 0.0


class ControlTask(NamedTuple):
    """Settings made to fit a model."""

    objective: PlanCost
    limits: ActionLimits
    safe: Array
    """The command (d_a,) where there is no control."""
    solver: Solver
    budget: float
    """Seconds."""


def task_of(settings: ControlSettings, model: PredictiveModel[Any]) -> ControlTask:
    """Return what is to be done with a model, as it runs.

    Raises
    ------
    InputError
        If settings do not fit it or each other.
    """
    signature, known = model.signature, model.trained_range
    observed, acted = len(signature.observation_names), len(signature.action_names)
    limits = _limits(settings, known.actions, acted, signature.period)
    safe = _each(settings.safe_command, acted, "safe_command", "action")
    if ((safe < limits.low) | (safe > limits.high)).any():
        raise InputError(
            f"safe_command is {safe.tolist()}, outside of the limits from {limits.low.tolist()} to"
            f" {limits.high.tolist()}; it must be a command that may be sent"
        )
    low, high = _constraints(settings, model, observed)
    objective = PlanCost(
        _scale(known.observations, observed),
        limits.half_range,
        _weights(settings.tracking_weight, observed, "tracking_weight", "observation"),
        _weights(settings.effort_weight, acted, "effort_weight", "action"),
        _weights(settings.change_weight, acted, "change_weight", "action"),
        safe,
        low,
        high,
        settings.constraints_weight,
    )
    budget = settings.budget / 1000 or SHARE_OF_A_TICK * signature.period
    return ControlTask(objective, limits, safe, _solver(settings, model), budget)


def _limits(
    settings: ControlSettings, known: InputRange | None, columns: int, period: float
) -> ActionLimits:
    low = _each(settings.limits_low, columns, "limits.low", "action")
    high = _each(settings.limits_high, columns, "limits.high", "action")
    if not (low.any() or high.any()):
        if known is None:
            raise InputError(
                "the model does not know which commands it was trained on; write limits.low and"
                " limits.high"
            )
        low, high = known.low.copy(), known.high.copy()
    rate = _weights(settings.limits_rate, columns, "limits.rate", "action")
    if (low > high).any():
        raise InputError(
            f"limits.low is {low.tolist()} and limits.high {high.tolist()}; no low one may be above"
            " its high one"
        )
    return ActionLimits(low, high, np.where(rate > 0, rate * period, np.inf))


def _constraints(
    settings: ControlSettings, model: PredictiveModel[Any], columns: int
) -> tuple[Array, Array]:
    """Return the limits (H, d_o) of observations, drawn in by the bands if that is asked for."""
    low = _each(settings.constraints_low, columns, "constraints.low", "observation", True)
    high = _each(settings.constraints_high, columns, "constraints.high", "observation", True)
    free = low == high  # no room at all is no limit
    low, high = np.where(free, -np.inf, low), np.where(free, np.inf, high)
    if (low > high).any():
        raise InputError(
            f"constraints.low is {low.tolist()} and constraints.high {high.tolist()}; no low one"
            " may be above its high one"
        )
    shape = settings.horizon, columns
    shrink: Any = 0.0
    if settings.constraints_coverage:
        if model.bands is None:
            raise InputError(
                "constraints.coverage is given, but the model brings no bands; train it with"
                " bands, or set constraints.coverage to 0.0"
            )
        width = model.bands.half_width(settings.constraints_coverage, settings.horizon)
        last = width[min(settings.horizon, model.bands.horizon) - 1]
        shrink = np.nan_to_num(np.where(np.isnan(width), last, width))
    middle = np.where(free, 0.0, (np.nan_to_num(low) + np.nan_to_num(high)) / 2)
    both = np.isfinite(low) & np.isfinite(high)
    low, high = np.broadcast_to(low, shape) + shrink, np.broadcast_to(high, shape) - shrink
    # Where no room is left beyond the bands the middle is the best there is.
    crossed = both & (low > high)
    return np.where(crossed, middle, low), np.where(crossed, middle, high)


def _solver(settings: ControlSettings, model: PredictiveModel[Any]) -> Solver:
    """Return the solver asked for; of itself, Gauss and Newton's where there are derivatives."""
    if settings.solver not in SOLVERS:
        raise InputError(f"solver is '{settings.solver}'; it must be one of {', '.join(SOLVERS)}")
    if settings.solver != "mppi":
        try:
            rest = np.zeros((2, len(model.signature.action_names)))
            model.jacobian(model.initial_state(), rest)
        except InputError as problem:
            if settings.solver != "auto":
                raise InputError(f"{problem}; set solver to mppi") from None
        else:
            return GaussNewton()
    return PathIntegral(settings.samples, settings.seed)


def _scale(known: InputRange | None, columns: int) -> Array:
    if known is None:
        return np.ones(columns)
    width = (known.high - known.low) / 2
    return np.where(np.isfinite(width) & (width > 0), width, 1.0)


def _weights(given: Sequence[float], columns: int, name: str, what: str) -> Array:
    values = _each(given, columns, name, what)
    if (values < 0).any():
        raise InputError(f"{name} is {values.tolist()}; no number may be negative")
    return values


def _each(
    given: Sequence[float], columns: int, name: str, what: str, infinite: bool = False
) -> Array:
    """Return a number for each column (columns,)."""
    values = np.asarray(given, dtype=np.float64).ravel()
    if len(values) not in (1, columns):
        raise InputError(
            f"{name} has {len(values)} numbers; give one, or one for each of {columns} {what}s"
        )
    if np.isnan(values).any() or (not infinite and np.isinf(values).any()):
        raise InputError(f"{name} is {values.tolist()}; every number must be finite")
    return np.broadcast_to(values, columns).copy()
