"""Units that repeat with every whole turn of an angle, for angles that wind up.

Where a rotor turns many times, what depends on its angle repeats in a small part of the recorded
range: frequencies drawn for that range are far too low, and none is found by moving them. But it is
known: angles are in radians.
"""

from __future__ import annotations

import itertools

import numpy as np

from rffpsr_ros.numerics.arrays import Array

TURN = 2 * np.pi
"""A whole turn, in radians; observations of a smaller range do not wind up."""

MIXED = 10
"""Drawn directions that each turning one is offered with, too."""

MOST = 200
"""Units that are offered, at the most."""


def radians(span: Array, deviation: Array) -> tuple[float, ...]:
    """Return the radians in a standard unit of each observation (d_o,); 0 where it does not wind.

    ``span`` (d_o,) is how far recordings reach, in standard units.
    """
    return tuple(np.where(span * deviation > TURN, deviation, 0.0).tolist())


def turning_units(drawn: Array, newest: int, turns: tuple[float, ...]) -> Array:
    """Return units (n, d) of windows of which each repeats with every turn.

    In windows the newest observations stand from the place ``newest`` on, ``turns`` (d_o,) are the
    radians of their standard units. There is one unit for each angle and for the sum and difference
    of each two; then each of these with the rest of some of the ``drawn`` directions (D, d) beside
    it, of which the angles themselves are left out.
    """
    winding = np.flatnonzero(turns)
    alone = np.zeros((len(winding), drawn.shape[1]))
    alone[np.arange(len(winding)), newest + winding] = np.asarray(turns)[winding]
    pairs = [
        one + sign * other for one, other in itertools.combinations(alone, 2) for sign in (1, -1)
    ]
    pure = np.array([*alone, *pairs]).reshape(-1, drawn.shape[1])
    rest = drawn[:MIXED].copy()
    rest[:, newest + winding] = 0.0
    mixed = (pure[:, None] + rest).reshape(-1, drawn.shape[1])
    return np.concatenate([pure, mixed])[:MOST]
