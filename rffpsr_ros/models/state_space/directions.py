"""Which directions features begin with: of many drawn, those that tell of what a line misses.

Steps move directions, but not far: of a few drawn by chance some never find what bends. Of many
forward selection takes those with which the linear system's errors are regressed best: what a state
does wrong shows in the errors of its tick and of the next few. Of few ticks these are mostly noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.state_space.dynamics import StateSpace, feature_map
from rffpsr_ros.models.state_space.simulation import first_states, simulate
from rffpsr_ros.models.state_space.stretches import cut_stretches
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.forward_selection import selected_units

SPREAD = 0.7
"""Directions are longer or shorter by up to this, on a logarithmic scale."""

LATER = 3
"""Errors up to so many ticks later are regressed, too."""

LENGTH, STRETCHES = 200, 30
"""Ticks that the linear system follows at a time, and how often, at the most."""

TINY = 1e-9
"""Added to mean squares, in standard units: some inputs never vary."""


def drawn_directions(count: int, seen: int, generator: np.random.Generator) -> Array:
    """Return directions (count, seen), the last column that of the constant."""
    length = np.exp(generator.uniform(-SPREAD, SPREAD, (count, 1)))
    return np.asarray(length * generator.standard_normal((count, seen)) / np.sqrt(seen - 1))


def with_telling_features(system: StateSpace, directions: Array, runs: Sequence[Run]) -> StateSpace:
    """Return a linear system whose idle features have those of ``directions`` that tell most.

    The first ones where there are no more, or where ``runs`` are too short to say.
    """
    wanted, drawn = len(system.directions), len(directions)
    powers, reach = np.resize(system.powers, drawn), np.resize(system.reach, drawn)
    candidates = system._replace(directions=directions, powers=powers, reach=reach)
    places = list(range(wanted))
    if drawn > wanted:
        places = _telling(*_followed(system, candidates, runs), drawn, wanted) or places
    return system._replace(
        directions=directions[places], powers=powers[places], reach=reach[places]
    )


def _telling(inputs: Array, errors: Array, drawn: int, wanted: int) -> list[int]:
    """Return the places of the ``wanted`` features that tell most; none of too few ticks."""
    if len(errors) <= inputs.shape[1] - drawn:
        return []
    products = inputs.T @ inputs / len(inputs)
    products[np.diag_indices_from(products)] += TINY
    cross, powers = inputs.T @ errors / len(inputs), np.mean(errors**2, axis=0)
    return selected_units(products, cross, powers, drawn, 1, wanted)


def _followed(
    system: StateSpace, candidates: StateSpace, runs: Sequence[Run]
) -> tuple[Array, Array]:
    """Return [s, x, a, 1] of ticks (T, .), and the errors of these and later ones (T, .).

    States and errors are those of the ``system``, features s those of the ``candidates``.
    """
    stretches = cut_stretches(runs, LENGTH, STRETCHES)
    everywhere = np.ones_like(stretches.corrected)
    following = stretches._replace(corrected=everywhere)
    found = simulate(system, following, first_states(system, following))
    missed = np.where(stretches.counted, stretches.observations - found.expected, np.nan)
    ticks = max(len(missed) - LATER, 0)
    errors = np.concatenate([missed[k : ticks + k] for k in range(LATER + 1)], axis=2)
    ones = np.ones((*stretches.actions.shape[:2], 1))
    linear = np.concatenate([found.states[:-1], stretches.actions, ones], axis=2)
    features = feature_map(candidates)(linear @ candidates.directions.T)
    inputs = np.concatenate([features, linear], axis=2)[:ticks]
    known = np.isfinite(errors).all(axis=2)
    return inputs[known], errors[known]
