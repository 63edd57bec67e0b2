"""Which ridges the regression before refinement gets."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import pytest

from rffpsr_ros.psr.initialisation import (
    InitialPredictor,
    PredictorRegression,
    RidgeChoices,
    choose_ridges,
)

CHOICES = RidgeChoices(arx=(1e-4, 1e-2), remainder=(1e-9, 1e-6, 1e-3), steady=5.0)
WITHIN = {(1e-4, None): 2.0, (1e-2, None): 3.0}
"""Of the ARX term alone, by its ridge."""


def chosen(
    within: Mapping[float, float], beyond: Mapping[float | None, float], arx: int = 3
) -> float | None:
    """Return the remainder's ridge, from scores by ridge; None is the ARX term alone."""
    regression = SimpleNamespace(arx_size=arx, predictor=lambda *ridges: ridges)

    def score(predictor: InitialPredictor) -> float:
        arx_ridge, ridge = cast(tuple[float, float | None], predictor)
        return WITHIN[arx_ridge, None] if ridge is None else within[ridge]

    def score_beyond(predictor: InitialPredictor) -> float:
        return beyond[cast(tuple[float, float | None], predictor)[1]]

    starts = choose_ridges(cast(PredictorRegression, regression), CHOICES, score, score_beyond)
    assert starts.notes["arx_ridge"] == (1e-4 if arx else None)
    ridge: float | None = starts.notes["remainder_ridge"]
    assert cast(tuple[float, float | None], starts.best)[1] == ridge
    assert starts.score == (2.0 if ridge is None else within[ridge])
    return ridge


STEADY = {None: 2.0, 1e-9: 4.0, 1e-6: 3.0, 1e-3: 2.5}


@pytest.mark.parametrize(
    ("within", "beyond", "ridge"),
    [
        ({1e-9: 0.1, 1e-6: 0.2, 1e-3: 0.9}, STEADY, 1e-9),
        # What runs away further out is not chosen, however good it is within.
        ({1e-9: 0.1, 1e-6: 0.2, 1e-3: 0.9}, STEADY | {1e-9: 1e9}, 1e-6),
        ({1e-9: 0.1, 1e-6: 0.2, 1e-3: 0.9}, STEADY | {1e-9: float("inf"), 1e-6: 11.0}, 1e-3),
        ({1e-9: 0.1, 1e-6: 0.2, 1e-3: 0.9}, dict.fromkeys(STEADY, 99.0) | {None: 1.0}, None),
        # Nor what is worse than the ARX term alone.
        ({1e-9: 9.0, 1e-6: 8.0, 1e-3: 2.1}, STEADY, None),
    ],
)
def test_the_best_ridge_that_is_steady_is_chosen(
    within: Mapping[float, float], beyond: Mapping[float | None, float], ridge: float | None
) -> None:
    assert chosen(within, beyond) == ridge


def test_without_an_arx_term_there_is_nothing_to_be_steady_beside() -> None:
    found = chosen({1e-9: 0.1, 1e-6: 0.2, 1e-3: 0.9}, dict.fromkeys(STEADY, 1e9), arx=0)
    assert found == 1e-9
