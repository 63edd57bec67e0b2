"""The derivatives of one forecast in one call of compiled code."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.kernel_features import KernelMap
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.runtime.derivative_kernels import MapSlopes, Predictor, rollout_jacobian
from rffpsr_ros.psr.runtime.tick_layout import arx_of_rows, layout_of
from rffpsr_ros.psr.sigmoid_features import SigmoidMap


class CompiledDerivatives:
    """What `RolloutDerivatives` and the chain along the horizon give, of one plan.

    Compiled, or read from what was kept, at the first call.

    Parameters
    ----------
    parameters, structure
        The fitted predictor, of which there is a compiled step: see `compilable`.
    """

    def __init__(self, parameters: TrainableParameters, structure: FixedStructure) -> None:
        self._given = (parameters, structure)
        layout = layout_of(parameters, structure)
        columns, past = layout.columns, layout.narx_past
        read = np.hstack([parameters.prediction, parameters.extended, parameters.covariance])
        read = read.reshape(len(parameters.initial), -1, read.shape[1]).astype(np.float32)
        nothing = FeatureMap(np.zeros((0, 0)), np.zeros((0, layout.observed)))
        narx: Features = nothing
        places = np.zeros(0, np.int64)
        if structure.narx is not None and len(parameters.narx):
            assert not isinstance(structure.narx, KernelMap), "see compilable"
            narx, places = structure.narx.weighted(parameters.narx), layout.window(past)
        limits = np.full((2, columns), np.inf)
        limits[0] *= -1
        if structure.limits is not None:
            low, high = structure.limits[::2], structure.limits[1::2]
            limits[:] = np.concatenate(low[::-1]), np.concatenate(high[::-1])
        bounds = np.full((2, layout.observed), np.inf)
        bounds[0] *= -1
        if structure.bounds is not None:
            bounds[:] = structure.bounds
        self._before = past if len(places) else 0
        self._predictor = Predictor(
            np.ascontiguousarray(read),
            _slopes(structure.action),
            _slopes(structure.observation),
            _slopes(narx),
            places.astype(np.int64),
            np.ascontiguousarray(arx_of_rows(parameters, layout)[0].T),
            limits,
            np.ascontiguousarray(np.tile(limits, past + 1)[:, places]),
            bounds,
            np.array(structure.conditioning, dtype=np.float64),
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Let copies and other processes prepare their own."""
        return type(self), self._given

    def warm_up(self) -> None:
        """Compile, or read what was kept.

        Raises
        ------
        OSError
            If there is no room to keep what was compiled.
        """
        layout = layout_of(*self._given)
        belief = np.ones(len(self._given[0].initial))
        past = np.zeros((max(self._before, 1), layout.columns))
        self.jacobian(belief, past, np.zeros((1, layout.acted)), np.zeros((1, layout.observed)))

    def jacobian(self, belief: Array, past: Array, plan: Array, forecast: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a), all in standard units; the past is (P, d)."""
        found = np.empty((*forecast.shape, plan.size))
        before = past[len(past) - self._before :]
        belief, before, plan, forecast = map(np.ascontiguousarray, (belief, before, plan, forecast))
        rollout_jacobian(self._predictor, belief, before, plan, forecast, found)
        return found.reshape(*forecast.shape, *plan.shape)


def _slopes(features: Features) -> MapSlopes:
    assert not isinstance(features, KernelMap), "see compilable"
    if isinstance(features, SigmoidMap):
        directions, offsets, projection = features
        by_value, along = projection, directions
    else:
        directions, projection = features
        count = len(directions)
        offsets = np.zeros(0)
        by_value = np.concatenate([projection[count:], -projection[:count]])
        along = np.concatenate([directions, directions])
    root = np.sqrt(max(len(directions), 1))
    width = by_value.shape[1] * along.shape[1]
    slopes = (by_value[:, :, None] * along[:, None, :]).reshape(len(along), width)
    parts = directions.T, offsets, projection / root, slopes / root
    return MapSlopes(*(np.ascontiguousarray(part, dtype=np.float32) for part in parts))
