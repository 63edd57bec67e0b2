"""The finished ensemble: its members, the bands of its forecasts, and the record of its training.

Bands are made from what the blend missed on held-out parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rffpsr_ros.data.saturation import learned_bounds
from rffpsr_ros.models.bands import conformal_bands
from rffpsr_ros.models.contract import PredictiveModel, Signature, TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts, OutputLimits
from rffpsr_ros.models.ensemble.reach import Reach
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.blend import Blend, observation_deviation, score
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recipe.family_choice import Selection
from rffpsr_ros.recipe.held_out_gain import HELD_OUT, held_out_gain
from rffpsr_ros.recipe.long_horizons import LongHorizons
from rffpsr_ros.recipe.prepare import Preparation


def calibrate(
    prepared: Preparation,
    selections: Sequence[Selection],
    candidates: Sequence[Candidate],
    blend: Blend,
    beyond: LongHorizons | None,
) -> EnsembleModel:
    """Return the ensemble of all candidates that have a weight or are fallen back on."""
    parts = _ensemble_parts(candidates, blend, beyond)
    metrics = _metrics(prepared, selections, candidates, blend, beyond)
    notes = prepared.notes + _notes(selections, candidates, blend, beyond, metrics)
    bounds = learned_bounds([trajectory.observations for trajectory in prepared.recordings])
    return EnsembleModel(
        Signature.of(prepared.recordings[0]),
        TrainingRecord(asdict(_leading(selections, blend).options), metrics, notes),
        parts._replace(bounds=bounds),
        conformal_bands(np.concatenate(blend.blended)),
    )


def _ensemble_parts(
    candidates: Sequence[Candidate], blend: Blend, beyond: LongHorizons | None
) -> EnsembleParts:
    """Return the members for all horizons, and those beyond."""
    if beyond is None:
        return members_taking_part(candidates, blend.weights, blend.limits, blend.reach)
    joining = len(beyond.joining)
    none = np.zeros((*blend.weights.shape[:2], joining))
    within = np.concatenate([blend.weights, none], axis=2)
    weights, reach = np.concatenate([within, beyond.weights]), blend.reach
    if reach is not None:
        reach = reach.over(len(weights), others=joining)
    return members_taking_part([*candidates, *beyond.joining], weights, blend.limits, reach)


def of_fold(
    prepared: Preparation, candidates: Sequence[Candidate], blend: Blend, fold: int
) -> EnsembleModel:
    """Return the ensemble of those models that have not learned from what a fold holds out."""
    alone = [one._replace(members=one.by_fold[fold : fold + 1]) for one in candidates]
    parts = members_taking_part(alone, blend.weights, blend.limits, blend.reach)
    signature = Signature.of(prepared.recordings[0])
    return EnsembleModel(signature, TrainingRecord(), parts)


def members_taking_part(
    candidates: Sequence[Candidate],
    weights: Array,
    limits: OutputLimits | None,
    reach: Reach | None = None,
) -> EnsembleParts:
    """Return the models of all who have a weight (H, d_o, C) or are fallen back on.

    Models of one candidate share its weight. The fallback's place, among candidates when given, is
    then that among members.
    """
    models: list[PredictiveModel[Any]] = []
    shared: list[Array] = []
    of_candidates: list[int] = []
    limited = limits
    for place, candidate in enumerate(candidates):
        weight = weights[..., place]
        falls_back = limits is not None and limits.fallback == place
        if falls_back and limits is not None:
            limited = limits._replace(fallback=len(models))
        if weight.any() or falls_back:
            models += candidate.members
            shared += [weight / len(candidate.members)] * len(candidate.members)
            of_candidates += [place] * len(candidate.members)
    if reach is not None:
        reach = reach.of(of_candidates)
    return EnsembleParts(tuple(models), np.stack(shared, -1), limited, reach=reach)


def _metrics(
    prepared: Preparation,
    selections: Sequence[Selection],
    candidates: Sequence[Candidate],
    blend: Blend,
    beyond: LongHorizons | None,
) -> dict[str, Any]:
    """Return errors, scores and weights, by name of the candidate."""
    deviation = observation_deviation(prepared)
    names = [candidate.name for candidate in candidates]
    errors = dict(zip(names, blend.errors, strict=True)) | {"ensemble": blend.blended}
    squares = mean_squares(blend.blended)
    return {
        "cross_validation": {
            name: {
                "mse": mean_squares(one).sum(axis=1).tolist(),
                "score": score(one, deviation),
            }
            for name, one in errors.items()
        },
        "trials": {name: score for one in selections for name, score in one.scores.items()},
        "ensemble_weights": {
            name: blend.weights[..., place].mean(axis=1).tolist()
            for place, name in enumerate(names)
        },
        HELD_OUT: held_out_gain(blend, names, deviation, prepared.recordings[0].observation_names),
        "validation_mse": squares.sum(axis=1).tolist(),
        "validation_mse_by_observation": squares.tolist(),
        "long_horizons": {} if beyond is None else dict(beyond.scores),
        "far_horizons": {} if beyond is None else dict(beyond.far_scores),
        "members": [dict(model.record.metrics) for one in selections for model in one.models],
    }


def mean_squares(errors: Sequence[Array]) -> Array:
    """Return mean squared errors (H, d_o), over groups that count alike."""
    return np.asarray(np.nanmean([np.nanmean(group**2, axis=0) for group in errors], axis=0))


def _notes(
    selections: Sequence[Selection],
    candidates: Sequence[Candidate],
    blend: Blend,
    beyond: LongHorizons | None,
    metrics: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return in words what was chosen, and why."""
    names = [candidate.name for candidate in candidates]
    judged = {name: one["score"] for name, one in metrics["cross_validation"].items()}
    notes = [
        f"{sum(len(one.models) for one in selections)} RFF-PSR models, each with a part of all"
        " recordings held out; error on the parts held out, relative to the variance, lower is"
        f" better: {_listed(judged, '.3g')}"
    ]
    if metrics["trials"]:
        trials = _listed(metrics["trials"], ".3g")
        notes.append(f"candidate configurations on the first folds, with scores: {trials}")
    notes += selections[0].models[0].record.notes
    first, last = (
        _listed(dict(zip(names, blend.weights[h].mean(axis=0), strict=True)), ".2f")
        for h in (0, -1)
    )
    notes.append(f"ensemble weights at horizon 1: {first}; at horizon {len(blend.weights)}: {last}")
    if beyond is not None:
        ticks, told = len(blend.weights), beyond.told
        notes.append(_weighted(beyond.weights[told], beyond.scores, ticks + told + 1))
        if beyond.far_scores:
            furthest = ticks + len(beyond.weights)
            notes.append(_weighted(beyond.weights[-1], beyond.far_scores, furthest))
    return tuple(notes)


def _weighted(weights: Array, scores: Mapping[str, float], horizon: int) -> str:
    """Return the weights (d_o, C) of a horizon beyond the usual ones in words."""
    by_name = dict(zip(scores, weights.mean(axis=0), strict=True))
    return (
        f"ensemble weights at horizon {horizon}: {_listed(by_name, '.2f')}, by simulation error:"
        f" {_listed(scores, '.3g')}"
    )


def _leading(selections: Sequence[Selection], blend: Blend) -> Selection:
    """Return the selection with the largest weight; candidates begin with these, in this order."""
    weights = blend.weights[..., : len(selections)].mean(axis=(0, 1))
    return selections[int(np.argmax(weights))]


def _listed(values: Mapping[str, float], form: str) -> str:
    """Return names and values in words."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())
