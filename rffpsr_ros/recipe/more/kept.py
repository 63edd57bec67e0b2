"""What a model was learned with, kept beside it so that learning can go on.

Sums over all recordings - of both stages, for each of the models, and of the linear ARX - and a
sample of the recordings themselves, each with the model that has not learned from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from rffpsr_ros.data.subsample import STRETCH, evenly_spread
from rffpsr_ros.data.window_source import StandardisedRecording, WindowSource
from rffpsr_ros.models.arx.model import LinearARXModel
from rffpsr_ros.models.arx.more import sums_of
from rffpsr_ros.models.arx.regression import Sums
from rffpsr_ros.models.contract import PredictiveModel, Signature
from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData, TwoStageFit, two_stage_options
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds
from rffpsr_ros.psr.streaming import KeptSums, KeptTwoStages, keep_two_stages
from rffpsr_ros.recipe.everything import options_of
from rffpsr_ros.recipe.more.behind import core_of
from rffpsr_ros.recordings.trajectory import Trajectory

KEPT_TICKS = 4500
"""Ticks of recordings that are kept, at the most: refinement goes on from them and new ones."""

SHORTEST = 200
"""Ticks of a stretch of a recording, at the least."""

EVERYONE = -1
"""Stands for the model that has not learned from a recording where all have."""


class KeptRecording(NamedTuple):
    """A recording, or a stretch of one."""

    observations: Annotated[Array, holds("T", "d_o", missing=True)]
    actions: Annotated[Array, holds("T", "d_a")]
    held_out_by: int
    """The place of the model that has not learned from it, or `EVERYONE`."""

    def trajectory(self, like: Signature) -> Trajectory:
        """Return it as a trajectory."""
        names = like.observation_names, like.action_names
        return Trajectory(self.observations, self.actions, like.period, *names)

    @classmethod
    def of(cls, trajectory: Trajectory, held_out_by: int) -> KeptRecording:
        """Return a trajectory's ticks."""
        observations, actions = trajectory.observations, trajectory.actions
        return cls(np.ascontiguousarray(observations), np.ascontiguousarray(actions), held_out_by)


class KeptArx(NamedTuple):
    """The sums of a linear ARX."""

    regression: KeptSums
    squares: Annotated[Array, holds("d_y", least=0)]

    @classmethod
    def of(cls, sums: Sums) -> KeptArx:
        """Return those of a regression."""
        return cls(KeptSums.of(sums.regression), sums.squares)

    def sums(self, share: float = 1.0) -> Sums:
        """Return sums that can be added to, in which each row counts a ``share`` of what it did."""
        return Sums(self.regression.regression().scaled(share), share * self.squares)


class KeptEverything(NamedTuple):
    """What is kept where models of everything may serve."""

    by_fold: PredictiveModel[Any]
    """The ensemble with the models on folds in their place, which judge."""
    stages: KeptTwoStages | None
    """Of all recordings; None where no family is served by one model."""


class Kept(NamedTuple):
    """All that is kept of a learning."""

    stages: tuple[KeptTwoStages, ...]
    """Of the RFF-PSR models on each fold; none where these have no weight."""
    everything: KeptEverything | None
    arx: KeptArx | None
    recordings: tuple[KeptRecording, ...]
    learned: Annotated[int, holds(least=0)]
    """From how many recordings was learned in all."""
    ticks: Annotated[float, holds(least=0)]
    """And what their ticks count."""


class Learned(NamedTuple):
    """A model, and what is kept for learning to go on."""

    model: PredictiveModel[Any]
    kept: Kept


def members_of(model: PredictiveModel[Any]) -> tuple[PredictiveModel[Any], ...]:
    """Return the members of an ensemble, or the model itself."""
    return model.parts.members if isinstance(model, EnsembleModel) else (model,)


def judged(model: PredictiveModel[Any], kept: Kept) -> PredictiveModel[Any]:
    """Return the model that is judged on what its members have not learned from.

    It is the one behind all that stands before it.
    """
    model = core_of(model)
    if kept.everything is None:
        return model
    return kept.everything.by_fold.replaced(signature=model.signature)  # with its channels


def keep(
    model: PredictiveModel[Any],
    fitted: Sequence[TwoStageFit],
    folds: Sequence[TrainingData],
    everything: tuple[TwoStageFit, TrainingData] | None,
) -> Kept:
    """Return what is to be kept of models that learned from folds, one of each.

    ``fitted`` are what their two stages found; ``everything`` is that of all recordings, where one
    model of these serves for a family, and the recordings.
    """
    members = members_of(model)
    own = [member for member in members if isinstance(member, RFFPSRModel)]
    # Where there are more families than one, they share the two stages of each fold.
    options = [options_of(member) for member in own[: len(folds)]]
    stages = tuple(map(_stages, fitted, folds, options))
    alone = len(folds) == 1
    pieces = [(run, place) for place, fold in enumerate(folds) for run in fold.held_out]
    if alone:  # of recordings too short to hold anything out, the same are learned from
        held = folds[0].held_out
        rest = [run for run in folds[0].train if not any(run is one for one in held)]
        pieces += [(run, EVERYONE) for run in rest]
    every = [run for run, _ in pieces]
    arx = next((one for one in members if isinstance(one, LinearARXModel)), None)
    ticks = sum(map(len, every))
    kept_everything = None
    if own and isinstance(model, EnsembleModel):
        whole = None if everything is None else _stages(*everything, options[0])
        kept_everything = KeptEverything(model, whole)
    return Kept(
        stages,
        kept_everything,
        None if arx is None else KeptArx.of(sums_of(arx, every)),
        thinned([KeptRecording.of(run, place) for run, place in pieces], KEPT_TICKS),
        len(every),
        float(ticks),
    )


def _stages(fit: TwoStageFit, fold: TrainingData, options: RFFPSROptions) -> KeptTwoStages:
    scalings = fit.prepared.observation_scaling, fit.prepared.action_scaling
    recordings = [StandardisedRecording(run, *scalings) for run in fold.train]
    source = WindowSource(recordings, options.past, options.future)
    columns = len(fit.signature.observation_names), len(fit.signature.action_names)
    features = fit.stages.features.astype(np.float64)
    projection = fit.stages.system.state_projection
    return keep_two_stages(features, projection, source, two_stage_options(columns, options))


def thinned(recordings: Sequence[KeptRecording], ticks: int) -> tuple[KeptRecording, ...]:
    """Return about so many ticks of recordings, evenly spread, of each model's held-out ones alike.

    Long ones are cut into stretches.
    """
    if sum(len(one.actions) for one in recordings) <= ticks:
        return tuple(recordings)
    holders = sorted({one.held_out_by for one in recordings})
    chosen: list[KeptRecording] = []
    for holder in holders:
        pieces = [
            KeptRecording(one.observations[first:last], one.actions[first:last], holder)
            for one in recordings
            if one.held_out_by == holder
            for first, last in _stretches(len(one.actions), ticks // (4 * len(holders)))
        ]
        size = sum(len(one.actions) for one in pieces) / len(pieces)
        chosen += evenly_spread(pieces, max(1, int(ticks / len(holders) / size)))
    return tuple(chosen)


def _stretches(length: int, wanted: int) -> list[tuple[int, int]]:
    """Return where stretches of a recording begin and end, each about as long as is wanted."""
    count = max(1, length // min(max(wanted, SHORTEST), STRETCH))
    return [(length * i // count, length * (i + 1) // count) for i in range(count)]
