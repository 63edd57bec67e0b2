"""How much memory learning takes, predicted before it begins.

Sums of what the stages hold at once; the amount of data enters only up to the size of a subsample.
"""

from __future__ import annotations

from collections.abc import Sequence

from rffpsr_ros.data.principal_directions import OVERSAMPLING
from rffpsr_ros.data.subsample import SUBSAMPLE
from rffpsr_ros.data.summary import STRETCH
from rffpsr_ros.data.window_source import BLOCK
from rffpsr_ros.data.windows import CHUNK
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.two_stage_fit import two_stage_options
from rffpsr_ros.psr.feature_set import JUDGING_WINDOWS, PROJECTION_WINDOWS
from rffpsr_ros.psr.fourier_features import MEDIAN_POINTS
from rffpsr_ros.psr.two_stage import TwoStageOptions
from rffpsr_ros.recordings.trajectory import Trajectory

DOUBLE, SINGLE = 8, 4


def learning_memory(options: RFFPSROptions, train: Sequence[Trajectory]) -> int:
    """Return bytes that learning from these trajectories takes at the most.

    What the process holds before it begins is not in it.
    """
    columns = len(train[0].observation_names), len(train[0].action_names)
    return _memory(two_stage_options(columns, options), sum(columns), sum(map(len, train)))


def _memory(options: TwoStageOptions, columns: int, ticks: int) -> int:
    """Return the bytes for ``ticks`` rows of ``columns`` numbers."""
    window = (options.past + options.future + 1) * columns
    shared = min(ticks, PROJECTION_WINDOWS + JUDGING_WINDOWS) * window * DOUBLE * 3
    subsample = min(ticks, SUBSAMPLE) * DOUBLE
    # As recorded, filled, standardised, what was seen, in segments; and features and states.
    kept = subsample * (6 * columns + 1)
    features = options.observation_rank + options.action_rank
    followed = 4 * (features + options.state_rank) + 2 * (features + columns)
    # Beside features and states: segments, and histories from which beliefs are regressed.
    followed = subsample * (followed + 3 * options.past * columns)
    return shared + kept + max(_projecting(options), _passing(options, columns, ticks), followed)


def _projecting(options: TwoStageOptions) -> int:
    """Return bytes held while projections are found."""
    size = 2 * options.features
    waves = PROJECTION_WINDOWS * size * SINGLE
    products = CHUNK * size * DOUBLE * 2 + 4 * size * (options.rank + OVERSAMPLING) * DOUBLE
    return max(waves + products, 4 * MEDIAN_POINTS**2 * DOUBLE)


def _passing(options: TwoStageOptions, columns: int, ticks: int) -> int:
    """Return bytes held during a pass over blocks of windows."""
    pair = options.rank * options.rank
    block = min(ticks, max(BLOCK, STRETCH)) * columns * DOUBLE * 4
    chunk = CHUNK * SINGLE * (12 * pair + 4 * (options.past + options.future + 1) * columns)
    inputs, targets = options.rank + 1, 2 * pair
    if options.stage_one == "conditional":
        inputs, targets = (options.rank + 1) * options.rank, options.rank
    sums = 3 * 3 * DOUBLE * (inputs * inputs + inputs * targets + pair * options.state_rank)
    beside = 3 * (options.state_rank * options.action_rank) ** 2 * DOUBLE
    return block + chunk + sums + beside
