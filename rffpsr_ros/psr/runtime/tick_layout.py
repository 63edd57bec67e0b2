"""Weights and feature maps rearranged for rows of ticks: what `PreparedStep` multiplies by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.runtime.fused_feature_map import FeatureTerm, RowMap, side_by_side


class Layout(NamedTuple):
    """Sizes of flat rows of ticks; a tick is (action, observation)."""

    observed: int  # d_o
    acted: int  # d_a
    arx_past: int  # n
    narx_past: int  # m

    @property
    def columns(self) -> int:
        """Return the size of a tick."""
        return self.observed + self.acted

    @property
    def reach(self) -> int:
        """Return how many whole ticks before the one at hand features take."""
        return max(self.narx_past, 1)

    def window(self, past: int) -> Array:
        """Return the places of [last n o, last n a, a_t] among n ticks and an action."""
        ticks = self.columns * np.arange(past + 1)[:, None]
        observations = ticks[:past] + self.acted + np.arange(self.observed)
        return np.concatenate([observations.ravel(), (ticks + np.arange(self.acted)).ravel()])


class TickMaps(NamedTuple):
    """What is read off rows of ticks.

    The NARX term's outputs are already expected observations, with the ARX term's constant in them.
    """

    arx: Array  # (n d + d_a, d_o), of n ticks and an action; no rows: no ARX term
    recorded: RowMap  # [NARX term | phi^o | phi^a] of a tick and the `reach` ticks before it
    predicted: RowMap  # [NARX term of a tick | phi^o of the one before], o_t not in the row
    action: RowMap  # phi^a of an action


def layout_of(parameters: TrainableParameters, structure: FixedStructure) -> Layout:
    """Return the layout that a predictor needs."""
    return Layout(
        len(structure.start.observation),
        len(structure.start.action),
        structure.arx_past if len(parameters.arx) else 0,
        0 if structure.narx is None else structure.narx_past,
    )


def arx_of_rows(parameters: TrainableParameters, layout: Layout) -> tuple[Array, Array]:
    """Return W_arx (n d + d_a, d_o) for n ticks and an action, and its constant (d_o,)."""
    if not len(parameters.arx):
        return np.zeros((0, layout.observed)), np.zeros(layout.observed)
    arx = np.empty((len(parameters.arx) - 1, layout.observed))
    arx[layout.window(layout.arx_past)] = parameters.arx[:-1]
    return arx, parameters.arx[-1]


def tick_maps(
    parameters: TrainableParameters,
    structure: FixedStructure,
    layout: Layout,
    dtype: type[np.floating],
) -> TickMaps:
    """Return the maps, computing in ``dtype``; the ARX term stays in double precision."""
    arx, constant = arx_of_rows(parameters, layout)
    nothing = FeatureMap(np.zeros((0, 0)), np.zeros((0, 0)))
    narx = FeatureTerm(nothing, np.zeros((0, layout.observed)), np.zeros(0, int))
    if structure.narx is not None:
        start = (layout.reach - layout.narx_past) * layout.columns
        narx = FeatureTerm(structure.narx, parameters.narx, start + layout.window(layout.narx_past))
    tick = layout.reach * layout.columns
    size = tick + layout.columns
    return TickMaps(
        arx,
        side_by_side(
            [
                narx,
                _plain(structure.observation, tick + layout.acted, layout.observed),
                _plain(structure.action, tick, layout.acted),
            ],
            size,
            constant,
            dtype,
        ),
        side_by_side(
            [narx, _plain(structure.observation, tick - layout.observed, layout.observed)],
            size - layout.observed,
            constant,
            dtype,
        ),
        side_by_side([_plain(structure.action, 0, layout.acted)], layout.acted, np.zeros(0), dtype),
    )


def _plain(features: Features, start: int, size: int) -> FeatureTerm:
    """Return features of the ``size`` values from place ``start`` on."""
    return FeatureTerm(features, None, start + np.arange(size))
