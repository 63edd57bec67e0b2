"""Blending beyond the horizon that models were trained for, by the error of long simulations.

What does best ten ticks ahead may drift away in a hundred. Where recordings are long enough,
output-error models, which learn from the error of whole simulations, join the candidates there, and
ensemble weights are decided anew: for twice as far, for four times and so on, and between these by
interpolation. Where recordings are far longer still, so once more: a slow drift tells in thousands
of ticks only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.ensemble.model import OutputLimits
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.recipe.blend import ensemble_weights, judged_blocks, observation_deviation, score
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recipe.output_error_trials import NAME as OUTPUT_ERROR
from rffpsr_ros.recipe.output_error_trials import output_error_trial
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.simulations import (
    SimulationJudge,
    Simulations,
    far_simulations_on,
    long_blocks,
    simulations_on,
    very_long_blocks,
)


class LongHorizons(NamedTuple):
    """Output-error models, and the weights with which all candidates forecast beyond."""

    joining: Sequence[Candidate]
    """The output-error models; nobody where these do not compete."""
    weights: Array  # (R, d_o, C), or C + 1, the output-error models' last
    """From the first tick beyond the horizon on; those of the last row hold ever after."""
    told: int
    """Of these rows the one that the longest spans of simulations tell most of."""
    scores: Mapping[str, float]
    """Of all candidates, by simulation error."""
    far_scores: Mapping[str, float]
    """By that of far longer simulations; none where nothing is long enough for these."""


def blend_long_horizons(
    candidates: Sequence[Candidate],
    within: Array,
    limits: OutputLimits | None,
    prepared: Preparation,
    settings: RecipeSettings,
    workers: Workers = THIS_PROCESS,
) -> LongHorizons | None:
    """Return what forecasts beyond the horizon; None where nothing is long enough to tell.

    Nor where the model itself is to have no ARX or no NARX term. Up to the horizon, candidates have
    the weights ``within`` (H, d_o, C).
    """
    options = prepared.options
    longest = max(map(len, prepared.recordings))
    if not (options.arx_past and options.narx_features and longest >= settings.simulated_ticks):
        return None
    blocks = [long_blocks(of_fold, settings) for of_fold in judged_blocks(prepared, settings)]
    if not all(blocks):
        return None
    near = simulations_on(blocks, options, settings)
    made = [near.forecasts(candidate.by_fold) for candidate in candidates]
    deviation = observation_deviation(prepared)
    judge = _judge(near, limits, made, deviation)
    errors = list(map(judge.errors, made))
    trial = output_error_trial(prepared, judge, errors, settings, workers)
    tried = [] if trial is None else [trial]
    names = [*(one.name for one in candidates), *(OUTPUT_ERROR for _ in tried)]
    errors += [one.errors for one in tried]
    joined = np.concatenate([within, np.zeros((*within.shape[:2], len(tried)))], axis=2)
    spans = _by_span(near, errors, deviation, settings)
    models = [*(one.by_fold for one in candidates), *(one.by_fold for one in tried)]
    far = _far(prepared, models, limits, deviation, settings)
    anchors = {near.beyond: joined[-1]}
    anchors |= {ahead: one for ahead, one in spans.items() if far is None or ahead < far.ahead}
    told = max(anchors)
    if far is not None:
        anchors[far.ahead] = far.weights
    weights = _interpolated(anchors)
    return LongHorizons(
        [one.candidate(prepared, weights[..., -1], settings, workers) for one in tried],
        weights,
        told - near.beyond - 1,
        _scores(names, errors, deviation),
        {} if far is None else _scores(names, far.errors, deviation),
    )


class _Far(NamedTuple):
    """What far longer simulations tell."""

    ahead: int
    """From so many ticks ahead on."""
    weights: Array  # (d_o, C)
    errors: Sequence[Sequence[Array]]


def _far(
    prepared: Preparation,
    models: Sequence[Sequence[PredictiveModel[Any]]],
    limits: OutputLimits | None,
    deviation: Array,
    settings: RecipeSettings,
) -> _Far | None:
    """Return what simulations tell that are far longer; None where nothing is long enough."""
    blocks = [very_long_blocks(fold.held_out, settings) for fold in prepared.folds]
    if not all(blocks):
        return None
    far = far_simulations_on(blocks, settings)
    made = [far.forecasts(by_fold) for by_fold in models]
    errors = list(map(_judge(far, limits, made, deviation).errors, made))
    return _Far(far.beyond + 1, ensemble_weights(errors, deviation, settings)[0], errors)


def _by_span(
    simulations: Simulations,
    errors: Sequence[Sequence[Array]],
    deviation: Array,
    settings: RecipeSettings,
) -> dict[int, Array]:
    """Return weights (d_o, C) for each span of ticks ahead, by the tick in its middle."""
    return {
        round(np.sqrt(span.start * span.stop)): ensemble_weights(
            [simulations.within(span, one) for one in errors], deviation, settings
        )[0]
        for span in simulations.spans()
    }


def _interpolated(anchors: Mapping[int, Array]) -> Array:
    """Return weights (R, d_o, C) for each tick after the first anchor, up to the last.

    Linear in the logarithm of how far ahead that is, from weights (d_o, C) at each anchor.
    """
    first, *_, last = anchors
    known = np.stack(list(anchors.values()))
    at = np.log(list(anchors))
    ahead = np.log(np.arange(first + 1, last + 1))
    rows = [np.interp(ahead, at, column) for column in known.reshape(len(known), -1).T]
    return np.stack(rows, axis=-1).reshape(-1, *known.shape[1:])


def _judge(
    simulations: Simulations,
    limits: OutputLimits | None,
    made: Sequence[Sequence[Array]],
    deviation: Array,
) -> SimulationJudge:
    """Return the judge of simulations, given what candidates forecast."""
    fallback = None if limits is None else made[limits.fallback]
    return SimulationJudge(simulations, simulations.targets(), limits, fallback, deviation)


def _scores(
    names: Sequence[str], errors: Sequence[Sequence[Array]], deviation: Array
) -> dict[str, float]:
    return {name: score(one, deviation) for name, one in zip(names, errors, strict=True)}
