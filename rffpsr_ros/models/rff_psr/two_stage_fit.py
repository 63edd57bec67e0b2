"""What an RFF-PSR's learning does once, for all candidate configurations."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.folds import hold_out
from rffpsr_ros.data.preparation import Prepared, prepare
from rffpsr_ros.data.subsample import SUBSAMPLE, subsample
from rffpsr_ros.data.summary import DataSummary, check_summary
from rffpsr_ros.data.window_source import StandardisedRecording, WindowSource
from rffpsr_ros.errors import counted
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.importance import WeightedRecording, importance
from rffpsr_ros.psr.two_stage import (
    FitFeatures,
    TwoStageOptions,
    TwoStageResult,
    two_stage_regression,
)
from rffpsr_ros.recordings.trajectory import Trajectory

_SUBSAMPLE_STREAM, _ANOTHER_STREAM = 1, 2
"""Set random numbers apart from all others of the same seed: the subsample's, and those of what
follows the two stages of another seed."""


class TwoStageFit(NamedTuple):
    """Recordings made ready, and what two-stage regression found in them."""

    signature: Signature
    prepared: Prepared
    stages: TwoStageResult
    seed: int
    generator: np.random.Generator
    """As the two stages left it; `numbers` gives what goes on from there."""
    notes: tuple[str, ...]
    holds_out: bool
    """Whether what models are judged by was not learned from."""

    def numbers(self, seed: int) -> np.random.Generator:
        """Return the random numbers of what follows; by another seed it turns out otherwise."""
        if seed == self.seed:
            return copy.deepcopy(self.generator)
        return np.random.default_rng([seed, _ANOTHER_STREAM])


class TrainingData(NamedTuple):
    """Recordings to learn from, those held out to judge by, and the summary of the former."""

    train: Sequence[Trajectory]
    held_out: Sequence[Trajectory]
    summary: DataSummary

    @property
    def holds_out(self) -> bool:
        """Whether anything is held out: recordings that are too short are learned from whole."""
        return not any(one is another for one in self.held_out for another in self.train)

    def check(self, options: RFFPSROptions) -> None:
        """Refuse data of which nothing can be learned.

        Raises
        ------
        InputError
            If a column is missing or constant, or there are too few windows.
        """
        needed = needed_windows(options)
        check_summary(self.summary, self.train[0], options.past, options.future, needed)


def needed_windows(options: RFFPSROptions) -> int:
    """Return how many complete windows a model needs to learn from."""
    return 2 * (options.rank + 1)


def shortest_part(options: RFFPSROptions) -> int:
    """Return the least ticks of parts that recordings are cut into, to learn from or judge by."""
    windows = 2 * (options.past + options.future + 1)
    return max(windows, options.past + 2 * options.rollout_horizon)


def with_validation(
    train: Sequence[Trajectory], validation: Sequence[Trajectory] | None, options: RFFPSROptions
) -> tuple[Sequence[Trajectory], Sequence[Trajectory], tuple[str, ...]]:
    """Return what to learn from, what to judge by, and a note of how the latter was chosen.

    Without validation recordings whole trajectories, or the ends of a few, are held out.
    """
    if validation:
        return train, validation, ()
    train, held_out = hold_out(train, shortest_part(options))
    note = f"held out to stop learning by: {counted(len(held_out), 'recording')}, or ends of them"
    return train, held_out, (note,)


def fit_two_stages(
    data: TrainingData,
    options: RFFPSROptions,
    settings: FitSettings,
    fit: FitFeatures,
    progress: Progress,
    workers: Workers = THIS_PROCESS,
) -> TwoStageFit:
    """Return what two-stage regression finds in the training recordings.

    ``fit`` finds the features. The ``workers`` pass over all recordings in the two stages; what
    follows them works on a subsample of very long ones.
    """
    notes = []
    train = data.train
    generator = np.random.default_rng([options.seed, _SUBSAMPLE_STREAM])
    learned_from, judged_by = (
        subsample(part, generator, workers) for part in (train, data.held_out)
    )
    if (ticks := sum(map(len, train))) > SUBSAMPLE:
        notes.append(f"two stages on all {ticks} ticks, what follows them on {SUBSAMPLE}")
    fill_past = options.arx_past or settings.fill_past
    prepared = prepare(learned_from, judged_by, data.summary, fill_past)
    scalings = prepared.observation_scaling, prepared.action_scaling
    recordings = [StandardisedRecording(trajectory, *scalings) for trajectory in train]
    windows = WindowSource(recordings, options.past, options.future, workers)
    weighted = None
    if (weighting := importance(train, options.past, options.future)) is not None:
        counted = [WeightedRecording(run, *scalings, weighting) for run in train]
        weighted = WindowSource(counted, options.past, options.future, workers)
        notes.append(weighting.describe())
    signature = Signature.of(train[0])
    generator = np.random.default_rng(options.seed)
    columns = len(signature.observation_names), len(signature.action_names)
    sizes = two_stage_options(columns, options)
    stages = two_stage_regression(windows, sizes, generator, progress, weighted, fit)
    return TwoStageFit(
        signature, prepared, stages, options.seed, generator, tuple(notes), data.holds_out
    )


def two_stage_options(columns: tuple[int, int], options: RFFPSROptions) -> TwoStageOptions:
    """Return the two stages' options, with the ranks that d_o and d_a decide."""
    return TwoStageOptions(
        past=options.past,
        future=options.future,
        features=options.features,
        rank=options.rank,
        observation_rank=options.observation_rank or min(options.rank, 3 + 3 * columns[0]),
        action_rank=options.action_rank or min(options.rank, 2 + 3 * columns[1]),
        tolerance=options.tolerance,
        bandwidth=options.bandwidth,
        stage_one=options.stage_one,
        conditioning=options.conditioning,
        ridge=options.ridge,
        stage_two_ridge=options.ridge,
        stage_one_regularisation=options.regularisation,
        state_rank=options.state_rank,
    )
