"""Units that repeat with every whole turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.refinement import feature_learning
from rffpsr_ros.psr.refinement.whole_turns import MIXED, MOST, TURN, radians, turning_units
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory

DEVIATION = np.array([5.0, 0.3, 20.0])


def test_what_covers_more_than_a_turn_winds_up() -> None:
    span = np.array([1.2, 30.0, 0.4])
    assert radians(span, DEVIATION) == (0.0, 0.3, 20.0)
    assert radians(np.zeros(3), DEVIATION) == (0.0, 0.0, 0.0)


def test_units_repeat_with_every_turn_of_each_angle() -> None:
    draw = np.random.default_rng(0)
    drawn, newest = draw.normal(size=(50, 8)), 3  # three changes, three newest values, two actions
    units = turning_units(drawn, newest, (5.0, 0.0, 20.0))
    assert len(units) == 4 * (1 + MIXED)
    window = draw.normal(size=8)
    for angle in (0, 2):
        turned = window.copy()
        turned[newest + angle] += TURN / DEVIATION[angle]
        phases = units @ np.array([window, turned]).T
        np.testing.assert_allclose(np.cos(phases[:, 0]), np.cos(phases[:, 1]), atol=1e-9)
    assert not units[:4, :newest].any()
    pure = [[5.0, 0.0, 0.0], [0.0, 0.0, 20.0], [5.0, 0.0, 20.0], [5.0, 0.0, -20.0]]
    np.testing.assert_array_equal(units[:4, newest : newest + 3], pure)
    np.testing.assert_array_equal(units[4 : 4 + MIXED, 6:], drawn[:MIXED, 6:])


def test_of_very_many_angles_some_are_offered() -> None:
    units = turning_units(np.ones((20, 40)), 0, (1.0,) * 30)
    assert units.shape == (MOST, 40)


def rotor(seed: int, ticks: int = 400) -> Trajectory:
    """Return a driven rotor with a weight on one side, which turns over many times."""
    draw = np.random.default_rng(seed)
    actions = np.repeat(draw.uniform(-12, 12, ticks // 8), 8)
    angle = speed = 0.0
    seen = np.empty(ticks)
    for tick, action in enumerate(actions):
        seen[tick] = angle + 0.002 * draw.standard_normal()
        for _ in range(5):
            speed += 0.01 * (action - 6 * np.sin(angle) - 0.3 * speed)
            angle += 0.01 * speed
    return Trajectory(seen, actions, 0.05)


@pytest.mark.long
def test_a_rotor_that_winds_up_is_forecast_by_its_angle_within_a_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs, test = [rotor(seed) for seed in range(5)], rotor(99)
    assert np.ptp(test.observations) > 2 * TURN
    options: dict[str, Any] = {"folds": 1, "narx_learning": "on", "narx_units": "waves"}

    def missed() -> float:
        model = RFFPSR(**options, features=30, iterations=60).fit(runs)
        assert isinstance(model.parts.structure.narx, FeatureMap)
        return float(np.mean(errors_by_origin(model, test, 10, 20)[:, -1] ** 2))

    found = missed()
    monkeypatch.setattr(feature_learning, "turning_units", lambda drawn, *_: drawn[:0])
    assert found < 0.3 * missed()
