"""A predictor in one array: where its parts stand, and how they get there.

Every further argument would cost a call of compiled code as much as a small product of matrices.
First come start and shape of every part, in the order of their places, then the parts: those in
double precision, and those in single precision, whose starts count such numbers. Starts count from
the predictor's own, so that several may stand in one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.kernel_features import KernelMap
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.runtime.tick_layout import Layout, arx_of_rows, layout_of
from rffpsr_ros.psr.sigmoid_features import SigmoidMap

# Places are no literals to the compiler, which would compile each caller anew for each of them.
PLACES = cast("tuple[int, ...]", tuple(np.arange(23)))
FIRST = PLACES[0]
"""Where the only predictor of an array begins."""

# Each map is frequencies (i, D) in quarter turns, and what becomes of cosines and sines (r, 2 D);
# or, of sigmoids, directions and below them offsets (i + 1, D), and what becomes of tangents (r, D)
NARX = PLACES[0]  # of the last `narx_past` ticks and an action, to expected observations
OBSERVATION = PLACES[2]
ACTION = PLACES[4]
# (r_a p, d_o + p r_o + r_o (r_o + 1) / 2): prediction, next state, covariance; after them, where
# they replace missing observations, expected features (r_a p, r_o)
READ_OFF = PLACES[6]
COMMANDED = PLACES[7]  # (2 p, columns of `READ_OFF`): what features of each `COMMAND` make of it
# Room to work in, each of one row: a map's values, phases and waves, and what was computed.
POINT, PHASES, WAVES, ACTED, READ, FEATURES, NARX_VALUES = PLACES[8:15]
ARX = PLACES[15]  # (d_o, b), of the last b values of a row that ends with an action
SCALING = PLACES[16]  # (2, d): mean and deviation of raw values
LIMITS = PLACES[17]  # (2, d): of what features represent
OUTPUT_BOUNDS = PLACES[18]  # (2, d_o): expected observations are held between them
# Each of one row:
CONSTANT = PLACES[19]  # (d_o,)
INNOVATION_WEIGHTS = PLACES[20]  # (d_o,)
# lambda, the cap; what is usual: a belief's squared norms, mean innovations; and at the end a one
# where the state has a say in what is expected: learned features may do without
BOUNDS = PLACES[21]
COMMAND = PLACES[22]  # (2, d_a + 1): the last two actions, and a one behind the later of them;
# commands are often held, and forecasts in hindsight need the one before


class ToBeCompiled(NamedTuple):
    """A predictor, and what its ticks are measured by; see `CompiledStep`."""

    parameters: TrainableParameters
    structure: FixedStructure
    mean: Array
    deviation: Array
    innovation_weights: Array
    usual: tuple[float, ...]
    expected: Array | None


def compilable(parameters: TrainableParameters, structure: FixedStructure) -> bool:
    """Tell whether there is a compiled form of a predictor."""
    maps = (structure.observation, structure.action, *filter(None, [structure.narx]))
    size = structure.observation.size
    known = not any(isinstance(features, KernelMap) for features in maps)
    acted = len(structure.start.action) > 0  # a command that never changes is never looked at
    return acted and known and parameters.covariance.shape[1] == size * (size + 1) // 2


def packed(
    parameters: TrainableParameters,
    structure: FixedStructure,
    mean: Array,
    deviation: Array,
    innovation_weights: Array,
    usual: tuple[float, ...],
    expected: Array | None,
) -> Array:
    """Return a predictor in one array; see `CompiledStep` for what is given."""
    layout = layout_of(parameters, structure)
    maps = (
        *_narx(parameters, structure, layout),
        *_map(structure.observation),
        *_map(structure.action),
    )
    arx, constant = arx_of_rows(parameters, layout)
    limits = np.full((2, layout.columns), np.inf)
    limits[0] *= -1
    if structure.limits is not None:
        low, high = structure.limits[::2], structure.limits[1::2]
        limits[:] = np.concatenate(low[::-1]), np.concatenate(high[::-1])
    read = np.hstack([parameters.prediction, parameters.extended, parameters.covariance])
    if expected is not None:
        read = np.hstack([read, expected])
    states, width = len(parameters.initial), read.shape[1]
    by_action = read.reshape(states, -1, width).swapaxes(0, 1).reshape(-1, width)
    frequencies = maps[::2]
    point, count = (max(one.shape[axis] for one in frequencies) for axis in (0, 1))
    rooms = point, count, 2 * count, structure.action.size, width, structure.observation.size
    held = structure.bounds or (np.full(layout.observed, -np.inf), np.full(layout.observed, np.inf))
    told = float(parameters.prediction.any())
    bounds = structure.conditioning.regularisation, structure.conditioning.cap, *usual, told
    no_command = np.full((2, layout.acted + 1), np.nan)
    no_command[:, -1] = 1, 0
    rows = constant, innovation_weights, np.array(bounds)
    return in_one_array(
        [
            *maps,
            by_action,
            np.zeros((2 * states, width)),
            *(np.zeros((1, size)) for size in (*rooms, layout.observed)),
        ],
        [
            arx.T,
            np.stack([mean, deviation]),
            limits,
            np.stack(held),
            *(row[None] for row in rows),
            no_command,
        ],
    )


ROOMS = (COMMANDED, POINT, PHASES, WAVES, ACTED, READ, FEATURES, NARX_VALUES, COMMAND)
"""Parts that calls of compiled code write to; all others stay as they were packed."""


def in_one_array(singles: Sequence[Array], doubles: Sequence[Array]) -> Array:
    """Return matrices behind a header of their starts and shapes, which are integers."""
    header, start = [], 3 * (len(singles) + len(doubles))
    for part in doubles:
        header += [start, *part.shape]
        start += part.size
    start *= 2
    for place, part in enumerate(singles):
        header[3 * place : 3 * place] = [start, *part.shape]
        start += part.size
    odd = np.zeros(sum(part.size for part in singles) % 2)
    small = np.concatenate([*map(np.ravel, singles), odd], dtype=np.float32)
    places = np.array(header, np.int64).view(np.float64)
    return np.concatenate([places, *map(np.ravel, doubles), small.view(np.float64)])


def _narx(
    parameters: TrainableParameters, structure: FixedStructure, layout: Layout
) -> tuple[Array, Array]:
    """Return the NARX term as a map of rows of ticks to expected observations."""
    if structure.narx is None:
        return np.empty((0, 0)), np.empty((layout.observed, 0))
    directions, output = _map(structure.narx)
    window = layout.window(layout.narx_past)
    ordered = directions.copy()  # offsets stay below
    ordered[window] = directions[: len(window)]
    return ordered, parameters.narx.T @ output


def _map(features: Features) -> tuple[Array, Array]:
    """Return directions (i, D) or (i + 1, D), and what becomes of waves or tangents (r, .)."""
    assert not isinstance(features, KernelMap), "see compilable"
    if isinstance(features, SigmoidMap):
        directions = np.vstack([features.directions.T, features.offsets])
        return directions, features.projection.T / np.sqrt(max(len(features.offsets), 1))
    count = max(len(features.frequencies), 1)
    return features.frequencies.T / (np.pi / 2), features.projection.T / np.sqrt(count)
