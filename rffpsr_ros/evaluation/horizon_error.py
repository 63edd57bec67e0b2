"""Forecast error by horizon, as the paper's authors measure it.

A model filters through each test trajectory from its initial state. At every origin t, having seen
the ticks before t, it forecasts the observations of ticks t to t + H - 1 from the actions of those
ticks. With ``start=9`` (0-based), ``horizon=10`` and ``clip`` at the range of the training
observations this is exactly the evaluation behind the authors' figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import Range, forecasts, targets_by_origin
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

BLOCK_HORIZONS = 5
"""A block is at least so many times as long as the horizon."""
MOST_BLOCKS = 40
"""Long recordings have so many blocks, which are the longer for it."""


@dataclass(frozen=True)
class HorizonErrors:
    """Squared errors by trajectory, horizon 1..H and observation; NaN where nothing was scored.

    Attributes
    ----------
    squared_errors
        (N, H, d_o), mean over a trajectory's origins.
    target_variances
        (N, H, d_o), the same of the forecast that knows the mean of all scored targets.
    counts
        (N, H, d_o), how many targets were scored.
    observation_names
        One name per observation.
    block_errors
        (B, H, d_o), what each block of consecutive origins adds to `mse_by_observation`; blocks
        are long enough that errors of one say little about those of the next. The same
        trajectories give the same blocks, whatever the model.
    """

    squared_errors: Array
    target_variances: Array
    counts: NDArray[np.int64]
    observation_names: tuple[str, ...]
    block_errors: Array

    @property
    def horizon(self) -> int:
        """Return the number of horizons H."""
        return int(self.squared_errors.shape[1])

    @property
    def mse(self) -> Array:
        """Return the mean squared error (H,): the sum of `mse_by_observation`."""
        total: Array = self.mse_by_observation.sum(axis=1)
        return total

    @property
    def mse_by_observation(self) -> Array:
        """Return the mean over origins, then over trajectories, (H, d_o)."""
        return self._over_trajectories(self.squared_errors)

    @property
    def mse_by_trajectory(self) -> Array:
        """Return the mean squared error (N, H), summed over observations."""
        total: Array = self.squared_errors.sum(axis=2)
        return total

    @property
    def rmse(self) -> Array:
        """Return the root of the mean squared error (H, d_o), in the observations' units."""
        root: Array = np.sqrt(self.mse_by_observation)
        return root

    @property
    def fit_percent(self) -> Array:
        """Return ``100 (1 - |y - forecast| / |y - mean of y|)``, (H, d_o); 100 is perfect.

        Undefined (NaN) where the targets do not vary.
        """
        variance = self.variances
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.sqrt(self.mse_by_observation / variance)
        fit: Array = np.where(variance > 0, 100 * (1 - ratio), np.nan)
        return fit

    @property
    def variances(self) -> Array:
        """Return the variance of what was forecast, (H, d_o)."""
        return self._over_trajectories(self.target_variances)

    def _over_trajectories(self, values: Array) -> Array:
        """Return the mean (H, d_o) over the trajectories that have targets."""
        scored = self.counts > 0
        total = np.where(scored, values, 0.0).sum(axis=0)
        mean: Array = total / np.where(scored.any(axis=0), scored.sum(axis=0), np.nan)
        return mean


def horizon_errors(
    model: PredictiveModel[Any],
    trajectories: Sequence[Trajectory],
    horizon: int = 10,
    start: int = 9,
    clip: Range | None = None,
    progress: Callable[[float], None] | None = None,
) -> HorizonErrors:
    """Return the errors of ``model`` on ``trajectories`` at horizons 1 to ``horizon``.

    Parameters
    ----------
    start
        First origin (0-based tick), so the number of ticks a model has seen before it is judged.
    clip
        Lowest and highest forecast (d_o,) each; see `observation_range`.
    progress
        Called with the share of forecasts that are made.

    Raises
    ------
    InputError
        If no trajectory holds ``start + horizon`` ticks, or no target in them is present.
    """
    if horizon < 1 or start < 0:
        raise InputError(f"horizon is {horizon} and start {start}; they must be >= 1 and >= 0")
    if all(len(trajectory) < start + horizon for trajectory in trajectories):
        raise _nothing_to_score(start + horizon)  # before any array is as long as the horizon
    targets = [targets_by_origin(trajectory, horizon, start) for trajectory in trajectories]
    means = _mean_target(targets, start + horizon)
    origins, made = sum(map(len, targets)), 0
    length = max(BLOCK_HORIZONS * horizon, -(-origins // MOST_BLOCKS))
    errors, variances, counts, blocks = [], [], [], []
    for trajectory, target in zip(trajectories, targets, strict=True):
        count = np.isfinite(target).sum(axis=0)
        square = np.zeros(count.shape)
        block = _blocks(len(target), length)
        by_block = np.zeros((block[-1] + 1 if len(block) else 0, *count.shape))
        for first, forecast in forecasts(model, trajectory, horizon, start, clip):
            here = slice(first - start, first - start + len(forecast))
            squares = np.nan_to_num((forecast - target[here]) ** 2, nan=0.0, posinf=np.inf)
            square += squares.sum(axis=0)
            np.add.at(by_block, block[here], squares)
            made += len(forecast)
            if progress is not None:
                progress(made / origins)
        scored = np.where(count, count, np.nan)
        errors.append(square / scored)
        variances.append(np.nansum((target - means) ** 2, axis=0) / scored)
        counts.append(count)
        blocks.append(by_block / scored)
    told = np.maximum((np.stack(counts) > 0).sum(axis=0), 1)
    return HorizonErrors(
        np.stack(errors),
        np.stack(variances),
        np.stack(counts),
        trajectories[0].observation_names,
        np.nan_to_num(np.concatenate(blocks), nan=0.0, posinf=np.inf) / told,
    )


def simulation_rmse(
    model: PredictiveModel[Any], trajectory: Trajectory, start: int, clip: Range | None = None
) -> Array:
    """Return the RMSE (d_o,) of one forecast of all ticks from ``start`` to the end.

    The model has seen the ticks before ``start``; from then on it is given the actions only.

    Raises
    ------
    InputError
        If the trajectory is not longer than ``start`` ticks.
    """
    errors = horizon_errors(model, [trajectory], len(trajectory) - start, start, clip)
    rmse: Array = np.sqrt(np.nanmean(errors.squared_errors[0], axis=0))
    return rmse


def observation_range(trajectories: Sequence[Trajectory]) -> Range:
    """Return the lowest and highest value (d_o,) of each observation."""
    observations = np.concatenate([trajectory.observations for trajectory in trajectories])
    return np.nanmin(observations, axis=0), np.nanmax(observations, axis=0)


def _blocks(origins: int, length: int) -> NDArray[np.int64]:
    """Return for each origin its block, of at least ``length`` origins where there are as many."""
    return np.arange(origins) * max(1, origins // length) // max(1, origins)


def _mean_target(targets: Sequence[Array], needed: int) -> Array:
    """Return the mean of all targets (H, d_o)."""
    total = sum((np.nansum(target, axis=0) for target in targets), start=np.zeros(()))
    count = sum((np.isfinite(target).sum(axis=0) for target in targets), start=np.zeros(()))
    if not np.any(count):
        raise _nothing_to_score(needed)
    mean: Array = total / np.where(count, count, np.nan)
    return mean


def _nothing_to_score(needed: int) -> InputError:
    return InputError(
        f"nothing to score: no trajectory has an observation among {needed} ticks or more;"
        " give longer trajectories, a shorter horizon or an earlier start"
    )
