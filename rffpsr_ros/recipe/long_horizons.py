"""Blending beyond the horizon that models were trained for, by the error of long simulations.

What does best ten ticks ahead may drift away in a hundred. Where recordings are long enough,
output-error models, which learn from the error of whole simulations, join the candidates there, and
ensemble weights are decided anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel, stack_states
from rffpsr_ros.models.ensemble.model import OutputLimits
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.blend import ensemble_weights, judged_blocks, observation_deviation, score
from rffpsr_ros.recipe.candidates import Candidate, OutputErrorCandidate, output_error_paths
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory

OUTPUT_ERROR = "output_error"


class LongHorizons(NamedTuple):
    """Output-error models, and the weights with which all candidates forecast beyond."""

    candidate: Candidate
    weights: Array  # (1, d_o, C + 1), the output-error models' last
    scores: Mapping[str, float]
    """Of all candidates, by simulation error."""


class Simulations(NamedTuple):
    """Simulations on blocks of each fold, judged from ``beyond`` ticks on."""

    blocks: Sequence[Sequence[Trajectory]]
    past: int
    beyond: int
    origins: int
    settling: float

    def targets(self) -> list[Array]:
        """Return what is forecast, a group (n, 1, d_o) for each block."""
        return [
            self._beyond(_windows(block.observations, *self._origins(block)))
            for of_fold in self.blocks
            for block in of_fold
        ]

    def forecasts(self, by_fold: Sequence[PredictiveModel[Any]]) -> list[Array]:
        """Return the forecasts of models, one a fold, as `targets`."""
        return [
            self._beyond(self._simulated(model, block))
            for model, of_fold in zip(by_fold, self.blocks, strict=True)
            for block in of_fold
        ]

    def _simulated(self, model: PredictiveModel[Any], block: Trajectory) -> Array:
        """Return forecasts (n, H, d_o) from all origins of a block."""
        origins, horizon = self._origins(block)
        states, state = [], model.initial_state()
        for tick in range(origins[-1] + 1):
            if tick in origins:
                states.append(state)
            state = model.update(state, block.actions[tick], block.observations[tick])
        plans = _windows(block.actions, origins, horizon)
        with np.errstate(over="ignore", invalid="ignore"):
            return model.predict(stack_states(states), plans)

    def _origins(self, block: Trajectory) -> tuple[range, int]:
        """Return from where a block is forecast, and how far: to its end from the last of them."""
        last = int(self.settling * len(block))
        start, horizon = min(self.past, last), len(block) - last
        return range(start, last + 1, max((last - start) // self.origins, 1)), horizon

    def _beyond(self, rows: Array) -> Array:
        """Return what of rows (n, H, d_o) lies beyond as one horizon (m, 1, d_o)."""
        return rows[:, self.beyond :].reshape(-1, 1, rows.shape[2])


def blend_long_horizons(
    candidates: Sequence[Candidate],
    limits: OutputLimits | None,
    prepared: Preparation,
    settings: RecipeSettings,
) -> LongHorizons | None:
    """Return what forecasts beyond the horizon; None where nothing is long enough to tell.

    Nor where the model itself is to have no ARX or no NARX term.
    """
    options = prepared.options
    if not (options.arx_past and options.narx_features):
        return None
    blocks = [_long(of_fold, settings) for of_fold in judged_blocks(prepared, settings)]
    paths = output_error_paths(prepared, settings)
    if not all(blocks) or not paths:
        return None
    simulations = Simulations(
        blocks,
        options.past,
        options.rollout_horizon,
        settings.long_origins,
        settings.settling,
    )
    targets, deviation = simulations.targets(), observation_deviation(prepared)
    forecasts = [simulations.forecasts(candidate.by_fold) for candidate in candidates]

    def errors_of(made: Sequence[Array]) -> list[Array]:
        if limits is not None:
            instead = forecasts[limits.fallback]
            made = [limits(one, other) for one, other in zip(made, instead, strict=True)]
        return [target - forecast for target, forecast in zip(targets, made, strict=True)]

    def simulation_errors(candidate: OutputErrorCandidate) -> list[Array]:
        return errors_of(simulations.forecasts(candidate.by_fold))

    patience = settings.simulation_patience
    try:
        trials = [_best_ridge(path, simulation_errors, deviation, patience) for path in paths]
    except InputError:
        return None
    best = min(trials, key=lambda one: one.score)
    errors = [*map(errors_of, forecasts), best.errors]
    weights = ensemble_weights(errors, deviation, settings)
    members = best.candidate.members(prepared, _wanted(weights[..., -1], settings))
    names = [*(candidate.name for candidate in candidates), OUTPUT_ERROR]
    scores = {name: score(one, deviation) for name, one in zip(names, errors, strict=True)}
    return LongHorizons(Candidate(OUTPUT_ERROR, members, best.candidate.by_fold), weights, scores)


def _wanted(weights: Array, settings: RecipeSettings) -> int:
    """Return how many output-error models are worth keeping, with such weights (1, d_o)."""
    if not weights.any():
        return 0
    return settings.simulation_models if weights.mean() >= settings.large_weight else 1


class SimulationTrial(NamedTuple):
    """The result of output-error models of one ridge."""

    score: float
    candidate: OutputErrorCandidate
    errors: list[Array]


def _best_ridge(
    path: Iterator[OutputErrorCandidate],
    errors_of: Callable[[OutputErrorCandidate], list[Array]],
    deviation: Array,
    patience: int,
) -> SimulationTrial:
    """Return the models of the ridge with which they do best.

    Raises
    ------
    InputError
        If a fold has no stretch that is long enough.
    """
    best, later = None, 0
    for candidate in path:
        errors = errors_of(candidate)
        reached = score(errors, deviation)
        later += 1
        if best is None or reached < best.score:
            best, later = SimulationTrial(reached, candidate, errors), 0
        if later == patience:
            break
    assert best is not None
    return best


def _long(blocks: Sequence[Trajectory], settings: RecipeSettings) -> list[Trajectory]:
    """Return a few of the blocks that are long enough, evenly spread."""
    enough = [block for block in blocks if len(block) >= settings.block_ticks]
    return evenly_spread(enough, settings.long_blocks)


def _windows(values: Array, origins: range, length: int) -> Array:
    """Return the values (n, length, d) of the ticks from each of n origins on."""
    windows = sliding_window_view(values, length, axis=0).swapaxes(1, 2)
    return np.asarray(windows[np.array(origins)])
