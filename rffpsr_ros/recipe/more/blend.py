"""The ensemble once its members have learned more: its weights, limits and bands anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rffpsr_ros.data.saturation import learned_bounds
from rffpsr_ros.data.summary import summarise
from rffpsr_ros.models.bands import conformal_bands
from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts, OutputLimits
from rffpsr_ros.models.ensemble.reach import Reach
from rffpsr_ros.models.output_error.model import OutputErrorModel
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.blend import Blend, blend, observation_deviation
from rffpsr_ros.recipe.calibrate import mean_squares
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recipe.everything import families_of, options_of
from rffpsr_ros.recipe.held_out_gain import HELD_OUT, held_out_gain
from rffpsr_ros.recipe.more.kept import KeptRecording
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings


def blended_anew(
    model: EnsembleModel,
    members: Sequence[PredictiveModel[Any]],
    mix: Sequence[KeptRecording],
    folds: int,
    settings: RecipeSettings,
) -> EnsembleModel:
    """Return the ensemble of members that have learned more, weighted anew.

    RFF-PSR models are judged by what each has not learned from, the others as they were before.
    """
    runs = [one.trajectory(model.signature) for one in mix]
    parts = []
    for place in range(folds):
        held = [run for run, one in zip(runs, mix, strict=True) if one.held_out_by == place]
        parts.append(TrainingData(runs, held, summarise(runs, 1, 1)))
    prepared = Preparation(options_of(model), runs, parts, ())
    own, others = families_of(model, folds), _others(members)
    groups = [*own, *others]
    candidates = [
        Candidate(str(number), [members[i] for i in places], [members[i] for i in places])
        for number, places in enumerate(own)
    ] + [
        Candidate(
            members[places[0]].kind,
            [members[i] for i in places],
            [model.parts.members[places[0]]] * folds,
        )
        for places in others
    ]
    fewer = replace(
        settings.following(False, prepared.options.rollout_horizon),
        judged_blocks=settings.more_judged_blocks,
    )
    blended = blend(candidates, len(own), prepared, fewer)
    weights = _shared(blended.weights, groups, model.parts.weights)
    limits = _limits(blended, groups, model.parts.limits)
    reach = _reach(blended, groups, weights)
    bounds = learned_bounds([run.observations for run in runs]) if model.parts.bounds else None
    squares = mean_squares(blended.blended)
    metrics = {
        **model.record.metrics,
        HELD_OUT: held_out_gain(
            blended,
            [candidate.name for candidate in candidates],
            observation_deviation(prepared),
            model.signature.observation_names,
        ),
        "validation_mse": squares.sum(axis=1).tolist(),
        "validation_mse_by_observation": squares.tolist(),
        "members": [dict(members[i].record.metrics) for places in own for i in places],
    }
    return EnsembleModel(
        model.signature,
        TrainingRecord(model.record.options, metrics, ()),
        EnsembleParts(tuple(members), weights, limits, bounds, reach),
        conformal_bands(np.concatenate(blended.blended)),
    )


def _others(members: Sequence[PredictiveModel[Any]]) -> list[list[int]]:
    """Return the places of the members of each kind but RFF-PSR.

    Output-error models are not among them: they forecast beyond the horizon that is judged.
    """
    others: dict[str, list[int]] = {}
    for place, member in enumerate(members):
        if not isinstance(member, RFFPSRModel | OutputErrorModel):
            others.setdefault(member.kind, []).append(place)
    return list(others.values())


def _shared(weights: Array, groups: Sequence[Sequence[int]], before: Array) -> Array:
    """Return the members' weights of those of their kinds (H, d_o, C).

    Beyond the horizon that is judged they stay as they were.
    """
    members = before.shape[2]
    shared = np.zeros((*weights.shape[:2], members))
    for group, places in enumerate(groups):
        shared[..., places] = weights[..., group, None] / len(places)
    return np.concatenate([shared, before[len(shared) :]])


def _reach(blended: Blend, groups: Sequence[Sequence[int]], weights: Array) -> Reach | None:
    """Return the members' reach, that of their kinds; beyond the horizon nothing limits it."""
    if blended.reach is None:
        return None
    horizons, _, members = weights.shape
    kinds = np.full(members, len(groups))  # of nobody
    for group, places in enumerate(groups):
        kinds[places] = group
    return blended.reach.over(horizons, others=1).of(kinds)


def _limits(
    blended: Blend, groups: Sequence[Sequence[int]], before: OutputLimits | None
) -> OutputLimits | None:
    """Return limits that hold those of before and those of the new recordings."""
    if blended.limits is None or before is None:
        return before
    low, high, fallback = blended.limits
    place = groups[fallback][0]
    return OutputLimits(np.minimum(low, before.low), np.maximum(high, before.high), place)
