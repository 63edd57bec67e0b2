"""Which ridges the regression before refinement gets."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import pytest

from rffpsr_ros.psr.initialisation import InitialPredictor, PredictorRegression, Ridges
from rffpsr_ros.psr.ridge_choice import RidgeChoices, choose_ridges

RIDGES = (1e-9, 1e-6, 1e-3)
CHOICES = RidgeChoices(arx=(1e-4, 1e-2), state=RIDGES, narx=RIDGES, patience=3, steady=5.0)
ALONE = Ridges(1e-4, None, None)
WITHIN = {ALONE: 2.0, Ridges(1e-2, None, None): 3.0}
"""Of the ARX term alone."""


def choice(
    within: Mapping[Ridges, float],
    beyond: Mapping[Ridges, float] | None = None,
    arx: int = 3,
    narx: object = "features",
) -> Ridges:
    """Return the ridges that are chosen, from scores by ridges: 9 within and 2 beyond else."""
    regression = SimpleNamespace(
        arx_size=arx, structure=SimpleNamespace(narx=narx), predictor=lambda ridges: ridges
    )

    def score(predictor: InitialPredictor) -> float:
        return (WITHIN | dict(within)).get(cast(Ridges, predictor), 9.0)

    def score_beyond(predictor: InitialPredictor) -> float:
        return (beyond or {}).get(cast(Ridges, predictor), 2.0)

    starts = choose_ridges(cast(PredictorRegression, regression), CHOICES, score, score_beyond)
    chosen = cast(Ridges, starts.best)
    told = [starts.notes[f"{name}_ridge"] for name in Ridges._fields]
    assert told == [chosen.arx if arx else None, *chosen[1:]]
    assert starts.score == score(starts.best)
    light = cast(Ridges, starts.light)
    assert light.arx == chosen.arx
    assert all(one is not None and one <= 1e-3 for one in light[1:])
    return chosen


def beside(state: float | None, narx: float | None) -> Ridges:
    return Ridges(1e-4, state, narx)


@pytest.mark.parametrize("best", [beside(None, 1e-6), beside(1e-3, None), beside(1e-9, None)])
def test_a_term_that_only_harms_has_no_weight(best: Ridges) -> None:
    assert choice({best: 1.0}) == best
    assert choice({}) == ALONE


@pytest.mark.parametrize("narx", RIDGES)
def test_the_first_term_is_chosen_anew_beside_the_second(narx: float) -> None:
    steps = [beside(1e-3, one) for one in (1e-6, narx)]
    within = {beside(None, 1e-6): 1.0, beside(1e-6, 1e-6): 0.8, steps[0]: 0.5, steps[1]: 0.4}
    assert choice(within) == steps[1]


def test_without_features_of_a_window_there_is_the_state_alone() -> None:
    best = beside(1e-6, None)
    assert choice({best: 1.0, beside(None, 1e-3): 0.1}, narx=None) == best


STEADY = {ALONE: 2.0, beside(None, 1e-9): 4.0, beside(None, 1e-6): 3.0, beside(None, 1e-3): 2.5}


@pytest.mark.parametrize(
    ("beyond", "ridge"),
    [
        (STEADY, 1e-9),
        # What runs away further out is not chosen, however good it is within.
        (STEADY | {beside(None, 1e-9): 1e9}, 1e-6),
        (STEADY | {beside(None, 1e-9): float("inf"), beside(None, 1e-6): 11.0}, 1e-3),
        (dict.fromkeys(STEADY, 99.0) | {ALONE: 1.0}, None),
    ],
)
def test_the_best_ridge_that_is_steady_is_chosen(
    beyond: Mapping[Ridges, float], ridge: float | None
) -> None:
    within = {beside(None, 1e-9): 0.1, beside(None, 1e-6): 0.2, beside(None, 1e-3): 0.9}
    assert choice(within, beyond) == beside(None, ridge)


def test_without_an_arx_term_there_is_nothing_to_be_steady_beside() -> None:
    within = {beside(None, 1e-9): 0.1, beside(None, 1e-6): 0.2, beside(None, 1e-3): 0.9}
    assert choice(within, dict.fromkeys(STEADY, 1e9), arx=0) == beside(None, 1e-9)
