"""The regression before refinement, against the penalised least squares that it stands for."""

from typing import cast

import numpy as np
import pytest

from rffpsr_ros.data.moments import Regression
from rffpsr_ros.psr.filter_step import Dynamics
from rffpsr_ros.psr.initialisation import PredictorRegression, Ridges
from rffpsr_ros.psr.predictor import FixedStructure

SIZES = 4, 6, 5
"""Inputs of ARX term, state and NARX term."""


@pytest.mark.parametrize(
    "ridges",
    [
        Ridges(1e-3, 0.1, 1e-6),
        Ridges(1e-3, None, 1e-6),
        Ridges(1e-2, 0.1, None),
        Ridges(1e-1, None, None),
    ],
)
def test_every_term_has_the_weights_of_its_own_ridge(ridges: Ridges) -> None:
    draw = np.random.default_rng(0)
    inputs, targets = draw.standard_normal((50, sum(SIZES))), draw.standard_normal((50, 2))
    regression = Regression.zeros(2, sum(SIZES))
    regression.add(inputs, targets)
    dynamics = Dynamics(np.zeros((6, 1)), np.zeros((6, 1)), np.zeros(1))
    whitened = draw.standard_normal((5, 5))  # is for the steps of refinement alone
    structure = cast(FixedStructure, None)  # is handed on
    moments = PredictorRegression(structure, dynamics, regression, *SIZES[:2], whitened)
    made = moments.predictor(ridges)
    found = made.parameters.arx, made.parameters.prediction, made.parameters.narx
    places = np.split(np.arange(sum(SIZES)), np.cumsum(SIZES)[:-1])
    kept = [place for place, ridge in zip(places, ridges, strict=True) if ridge is not None]
    roots = np.concatenate(
        [
            np.full(len(place), np.sqrt(50 * ridge))
            for place, ridge in zip(places, ridges, strict=True)
            if ridge is not None
        ]
    )
    rows = np.vstack([inputs[:, np.concatenate(kept)], np.diag(roots)])
    expected = np.zeros((sum(SIZES), 2))
    padded = np.vstack([targets, np.zeros((len(roots), 2))])
    expected[np.concatenate(kept)] = np.linalg.lstsq(rows, padded, rcond=None)[0]
    np.testing.assert_allclose(np.vstack(found), expected, rtol=0, atol=1e-10)
    assert made.coordinates["narx"] is whitened
