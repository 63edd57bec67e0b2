"""Blending beyond the horizon that models were trained for, by the error of long simulations.

What does best ten ticks ahead may drift away in a hundred. Where recordings are long enough,
output-error models, which learn from the error of whole simulations, join the candidates there, and
ensemble weights are decided anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rffpsr_ros.models.ensemble.model import OutputLimits
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.recipe.blend import ensemble_weights, judged_blocks, observation_deviation, score
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recipe.output_error_trials import output_error_trial
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.simulations import SimulationJudge, long_blocks, simulations_on


class LongHorizons(NamedTuple):
    """Output-error models, and the weights with which all candidates forecast beyond."""

    candidate: Candidate
    weights: Array  # (1, d_o, C + 1), the output-error models' last
    scores: Mapping[str, float]
    """Of all candidates, by simulation error."""


def blend_long_horizons(
    candidates: Sequence[Candidate],
    limits: OutputLimits | None,
    prepared: Preparation,
    settings: RecipeSettings,
    workers: Workers = THIS_PROCESS,
) -> LongHorizons | None:
    """Return what forecasts beyond the horizon; None where nothing is long enough to tell.

    Nor where the model itself is to have no ARX or no NARX term.
    """
    options = prepared.options
    longest = max(map(len, prepared.recordings))
    if not (options.arx_past and options.narx_features and longest >= settings.simulated_ticks):
        return None
    blocks = [long_blocks(of_fold, settings) for of_fold in judged_blocks(prepared, settings)]
    if not all(blocks):
        return None
    simulations = simulations_on(blocks, options.past, options.rollout_horizon, settings)
    forecasts = [simulations.forecasts(candidate.by_fold) for candidate in candidates]
    deviation = observation_deviation(prepared)
    fallback = None if limits is None else forecasts[limits.fallback]
    judge = SimulationJudge(simulations, simulations.targets(), limits, fallback, deviation)
    trial = output_error_trial(prepared, judge, settings, workers)
    if trial is None:
        return None
    errors = [*map(judge.errors, forecasts), trial.errors]
    weights = ensemble_weights(errors, deviation, settings)
    joining = trial.candidate(prepared, weights[..., -1], settings, workers)
    names = [one.name for one in (*candidates, joining)]
    scores = {name: score(one, deviation) for name, one in zip(names, errors, strict=True)}
    return LongHorizons(joining, weights, scores)
