"""The default recipe: models learned on folds, and blended with plain ones by what they missed.

Each of a few RFF-PSR models learns with another part of the recordings held out, which tells it
when to stop; together they have learned from everything. On the held-out parts they compete with
linear models that have not seen these parts either. The errors there decide, horizon by horizon,
how the forecasts are added up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from rffpsr_ros.data.folds import Fold, folds
from rffpsr_ros.data.saturation import learned_bounds
from rffpsr_ros.data.summary import check_summary, summarise
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.bands import conformal_bands
from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel, OutputLimits
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.two_stage_fit import needed_windows
from rffpsr_ros.models.training_set import training_signature
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.recipe.baselines import baseline_candidates
from rffpsr_ros.recipe.blend import Candidate, best_shares, blended, members_taking_part, score
from rffpsr_ros.recipe.fold_learner import FoldLearner
from rffpsr_ros.recipe.held_out_errors import (
    JUDGED_TICKS,
    held_out_errors,
    held_out_targets,
    judged_blocks,
)
from rffpsr_ros.recipe.long_horizons import LongHorizons, long_horizons
from rffpsr_ros.recipe.select import models_on_folds
from rffpsr_ros.recordings.trajectory import Trajectory

WHOLE_FROM = 9
"""From so many recordings on, whole ones are held out; fewer are cut, if they are long enough."""

ROUNDS = 4
"""A long recording is cut so many times in a row, so that each part is like the rest."""

LIMIT_MARGIN = 0.5
"""How far beyond the range of the recordings forecasts are believed, as a fraction of it."""


def cross_validation_folds(
    trajectories: Sequence[Trajectory], options: RFFPSROptions
) -> list[Fold]:
    """Return the folds; none if recordings are too few or too short to do without a part."""
    shortest = 2 * (options.past + options.future + 1)
    past, future = options.past, options.future
    check_summary(summarise(trajectories, past, future), trajectories[0], past, future, 0)
    count = options.models(sum(map(len, trajectories)))
    try:
        parts = folds(trajectories, count, shortest, WHOLE_FROM, ROUNDS, JUDGED_TICKS)
        for part in parts:
            learn_from, judge_by = (summarise(t, past, future) for t in part)
            check_summary(learn_from, trajectories[0], past, future, needed_windows(options))
            check_summary(judge_by, trajectories[0], past, future, 1)
    except InputError:
        return []
    return parts


def fit_ensemble(
    trajectories: Sequence[Trajectory],
    parts: Sequence[Fold],
    options: RFFPSROptions,
    progress: Progress,
    notes: tuple[str, ...] = (),
    workers: Workers = THIS_PROCESS,
) -> EnsembleModel:
    """Return the blend of the models learned on folds and of plain ones.

    ``notes`` say what was decided before. The ``workers`` share the minibatches of refinement.
    """
    horizon = options.horizon or options.future
    judged = [judged_blocks(part.held_out) for part in parts]

    def told(number: int) -> Progress:
        def of_fold(stage: str, fraction: float, error: float | None = None) -> None:
            progress(f"model {number + 1} of {len(parts)}, {stage}", fraction, error)

        return of_fold

    learners = [
        FoldLearner(part, number, told(number), workers) for number, part in enumerate(parts)
    ]
    learned, chosen, tried = models_on_folds(learners, options)

    def missed(by_fold: Sequence[PredictiveModel[Any]]) -> list[Array]:
        return [
            errors
            for model, blocks in zip(by_fold, judged, strict=True)
            for errors in held_out_errors(model, blocks, options.past, horizon)
        ]

    candidates = [Candidate("rff_psr", learned, learned, missed(learned))]
    progress("plain models", 0.0)
    for name, baseline in baseline_candidates(options, trajectories).items():
        try:
            by_fold = [baseline.again(part.train) for part in parts]
        except InputError:  # One part's recordings do not suffice for it.
            continue
        candidates.append(Candidate(name, [baseline.model], by_fold, missed(by_fold)))
    came = [
        rows for blocks in judged for _, rows in held_out_targets(blocks, options.past, horizon)
    ]
    candidates, limits = _limited(candidates, came, trajectories)
    far = None
    if options.arx_past and options.narx_features:
        progress("long forecasts", 0.0)
        far = long_horizons(
            candidates, limits, parts, judged, trajectories, options.past, horizon, options.seed
        )
    model = _blend(candidates, chosen, trajectories, tried, limits, far)
    model.record = replace(model.record, notes=notes + model.record.notes)
    return model


def _limited(
    candidates: Sequence[Candidate], came: Sequence[Array], trajectories: Sequence[Trajectory]
) -> tuple[list[Candidate], OutputLimits | None]:
    """Return the candidates with the best plain one in place of forecasts far out of range.

    ``OutputLimits.fallback`` is the place among candidates. Without a plain one there are none.
    """
    if len(candidates) == 1:
        return list(candidates), None
    rows = np.concatenate([trajectory.observations for trajectory in trajectories])
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    deviation = np.nanstd(rows, axis=0)
    scores = [score(candidate.errors, deviation) for candidate in candidates[1:]]
    fallback = 1 + int(np.argmin(scores))
    span = LIMIT_MARGIN * (high - low)
    limits = OutputLimits(low - span, high + span, fallback)
    plain = candidates[fallback].errors

    def limited(candidate: Candidate) -> Candidate:
        errors = [
            target - limits(target - error, target - instead)
            for target, error, instead in zip(came, candidate.errors, plain, strict=True)
        ]
        return candidate._replace(errors=errors)

    return [limited(candidate) for candidate in candidates], limits


def _blend(
    candidates: Sequence[Candidate],
    options: RFFPSROptions,
    trajectories: Sequence[Trajectory],
    tried_ways: Mapping[str, float],
    limits: OutputLimits | None,
    far: LongHorizons | None,
) -> EnsembleModel:
    """Return the ensemble of the candidates, weighed by their errors."""
    deviation = np.nanstd(np.concatenate([t.observations for t in trajectories]), axis=0)
    errors = [candidate.errors for candidate in candidates]
    shares = best_shares(errors, deviation)
    missed = blended(errors, shares)
    everywhere, taking_part = shares, list(candidates)
    if far is not None:
        taking_part.append(far.candidate)
        none = np.zeros((*shares.shape[:2], 1))
        everywhere = np.concatenate([np.concatenate([shares, none], axis=2), far.shares])
    members, weights, limits = members_taking_part(taking_part, everywhere, limits)
    tried = {c.name: c.errors for c in candidates} | {"ensemble": missed}
    metrics = {
        "cross_validation": {
            name: {
                "mse": _mean_squares(errors).sum(axis=1).tolist(),
                "score": score(errors, deviation),
            }
            for name, errors in tried.items()
        },
        "tried": dict(tried_ways),
        "shares": {
            candidate.name: shares[..., place].mean(axis=1).tolist()
            for place, candidate in enumerate(candidates)
        },
        "validation_mse": _mean_squares(missed).sum(axis=1).tolist(),
        "validation_mse_by_observation": _mean_squares(missed).tolist(),
        "far": {} if far is None else dict(far.scores),
        "members": [dict(member.record.metrics) for member in candidates[0].members],
    }
    record = TrainingRecord(asdict(options), metrics, _notes(candidates, shares, metrics, far))
    signature = training_signature(trajectories)
    bounds = learned_bounds([trajectory.observations for trajectory in trajectories])
    model = EnsembleModel(signature, record, members, weights, limits, bounds)
    model.bands = conformal_bands(np.concatenate(missed))
    return model


def _notes(
    candidates: Sequence[Candidate],
    shares: Array,
    metrics: Mapping[str, Any],
    far: LongHorizons | None,
) -> tuple[str, ...]:
    """Return in words what was chosen, and why."""
    scores = ", ".join(
        f"{name} {tried['score']:.3g}" for name, tried in metrics["cross_validation"].items()
    )
    first, last = (
        ", ".join(
            f"{candidate.name} {shares[h, :, place].mean():.2f}"
            for place, candidate in enumerate(candidates)
        )
        for h in (0, -1)
    )
    count = len(candidates[0].members)
    return (
        f"{count} RFF-PSR models, each with another part of all recordings held out; error on the"
        f" parts held out, relative to the variance, lower is better: {scores}",
        *_trials(metrics["tried"]),
        *candidates[0].members[0].record.notes,
        f"shares in the forecast of the next tick: {first}; at horizon {len(shares)}: {last}",
        *_beyond(far),
    )


def _beyond(far: LongHorizons | None) -> list[str]:
    if far is None:
        return []
    shares = ", ".join(
        f"{name} {share:.2f}"
        for name, share in zip(far.scores, far.shares.mean(axis=(0, 1)), strict=True)
    )
    scores = ", ".join(f"{name} {reached:.3g}" for name, reached in far.scores.items())
    return [f"shares beyond that: {shares}, by error in long runs: {scores}"]


def _trials(tried: Mapping[str, float]) -> list[str]:
    scores = ", ".join(f"{way} {score:.3g}" for way, score in tried.items())
    return [f"tried on the first folds, with scores: {scores}"] if tried else []


def _mean_squares(errors: Sequence[Array]) -> Array:
    """Return mean squared errors (H, d_o), over groups that count alike."""
    return np.asarray(np.nanmean([np.nanmean(group**2, axis=0) for group in errors], axis=0))
