"""Bands measured on folds, and their coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rffpsr_ros.evaluation.calibration import calibrate, coverage, residuals
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.recordings.trajectory import Trajectory


def runs(count: int, ticks: int, seed: int, noise: float = 0.3) -> list[Trajectory]:
    """Return runs of a noisy linear system with two observations."""
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        actions, state = draw.uniform(-1, 1, ticks), np.zeros(2)
        seen = []
        for action in actions:
            state = np.array([[0.9, 0.2], [-0.2, 0.9]]) @ state + np.array([0.0, action])
            seen.append(state + noise * draw.normal(size=2))
        found.append(Trajectory(np.array(seen), actions, 0.1))
    return found


def learn(train: Sequence[Trajectory]) -> PredictiveModel[Any]:
    return LinearARX(past=3, future=5).fit(train)


def test_bands_cover_what_they_promise_on_recordings_never_seen() -> None:
    train, test = runs(9, 80, 0), runs(40, 80, 1)
    model = learn(train)
    model = model.replaced(bands=calibrate(learn, train, horizon=5))
    measured = coverage(model, test, 0.9, horizon=5)
    assert measured is not None
    np.testing.assert_allclose(measured.fixed, 0.9, atol=0.03)
    np.testing.assert_allclose(measured.adapted, 0.9, atol=0.03)


def test_adapted_bands_hold_where_the_noise_has_grown() -> None:
    model = learn(runs(9, 80, 0))
    model = model.replaced(bands=calibrate(learn, runs(9, 80, 0), horizon=5))
    measured = coverage(model, runs(2, 4000, 2, noise=1.2), 0.9, horizon=5)
    assert measured is not None
    assert measured.fixed.max() < 0.6
    np.testing.assert_allclose(measured.adapted, 0.9, atol=0.05)


def test_every_fold_is_judged_by_a_model_that_has_not_seen_it() -> None:
    data = runs(4, 60, 3)
    shown: list[set[int]] = []

    def note(train: Sequence[Trajectory]) -> PredictiveModel[Any]:
        shown.append({data.index(one) for one in train})
        return Mean().fit(train)

    bands = calibrate(note, data, horizon=4, start=2, count=4)
    assert shown == [{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}]
    errors = np.concatenate(
        [residuals(Mean().fit([d for d in data if d is not one]), [one], 4, 2) for one in data]
    )
    assert len(errors) == 4 * (60 - 2 - 4 + 1)
    np.testing.assert_array_equal(
        bands.half_width(0.5, 4), np.sort(np.abs(errors), axis=0)[len(errors) // 2]
    )


def test_one_recording_is_cut_and_a_model_without_bands_covers_nothing() -> None:
    bands = calibrate(learn, runs(1, 300, 4), horizon=5)
    assert np.isfinite(bands.widths).all()
    assert coverage(Mean().fit(runs(1, 60, 5)), runs(1, 60, 6)) is None
