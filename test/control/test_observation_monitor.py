"""What is seen speaks against control where it should, and nowhere else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.control.monitor import ObservationMonitor, Tolerance
from rffpsr_ros.models.bands import COVERAGES, Bands
from rffpsr_ros.models.input_gate import InputRange, TrainedRange
from rffpsr_ros.numerics.arrays import Array

SETTLED = 3


def predict(state: Array, actions: Array) -> Array:
    """Return the forecast of two integrators."""
    return np.asarray(state + np.cumsum(actions, axis=0))


def monitor(**tolerance: Any) -> ObservationMonitor:
    model: Any = SimpleNamespace(
        signature=SimpleNamespace(observation_names=("left", "right"), period=0.1),
        trained_range=TrainedRange(InputRange(np.full(2, -10.0), np.full(2, 10.0))),
        known_range=TrainedRange(InputRange(np.full(2, -10.0), np.full(2, 10.0))),
        bands=Bands(np.array(COVERAGES), np.full((len(COVERAGES), 1, 2), 0.1)),
        history_length=0,
        predict=predict,
    )
    one = ObservationMonitor(model, Tolerance(settle_ticks=SETTLED, **tolerance))
    for _ in range(SETTLED):
        one.tick(np.zeros(2), np.zeros(2), np.zeros(2))
    return one


def test_nothing_speaks_against_a_robot_that_does_what_is_expected() -> None:
    one = monitor()
    position = np.zeros(2)
    for _ in range(30):
        position = position + 0.3
        one.tick(position, np.full(2, 0.3), position + 0.05)
        assert one.against == []
    assert one.error_ratio == pytest.approx(0.5)


def test_control_waits_until_the_belief_has_settled() -> None:
    one = monitor()
    one.begin()
    for ticks in range(1, SETTLED + 1):
        assert one.against != []
        one.tick(np.zeros(2), np.zeros(2), np.zeros(2))
        assert (one.against == []) == (ticks == SETTLED)


def test_an_observation_may_be_missing_for_a_moment() -> None:
    one = monitor(stale_ticks=3.0)
    half = np.array([0.0, np.nan])
    for _ in range(2):
        one.tick(np.zeros(2), np.zeros(2), half)
    assert one.against == []
    one.tick(np.zeros(2), np.zeros(2), half)
    assert one.against == ["'right' is no longer observed"]
    one.tick(np.zeros(2), np.zeros(2), np.zeros(2))
    assert one.against == []


def test_the_range_has_a_margin() -> None:
    one = monitor(range_margin=0.1, error_limit=0.0)
    one.tick(np.zeros(2), np.zeros(2), np.array([11.9, 0.0]))
    assert one.against == []
    one.tick(np.zeros(2), np.zeros(2), np.array([12.1, 0.0]))
    assert one.against == ["'left' is outside of the range trained on (range_margin)"]
    free = monitor(range_margin=0.0, error_limit=0.0)
    free.tick(np.zeros(2), np.zeros(2), np.array([1e9, 0.0]))
    assert free.against == []


def test_an_error_beyond_its_limit_is_told() -> None:
    one = monitor(error_limit=5.0)
    one.tick(np.zeros(2), np.zeros(2), np.array([0.0, 0.49]))
    assert one.against == []
    one.tick(np.zeros(2), np.zeros(2), np.array([0.0, 0.51]))
    assert one.against == ["'right' is far off its forecast (error_limit)"]


def test_the_action_that_acted_counts() -> None:
    one = monitor()
    one.tick(np.zeros(2), np.full(2, 5.0), np.full(2, 5.0))
    assert one.against == []


def test_frozen_sensors_are_told_from_a_robot_at_rest() -> None:
    one = monitor(error_limit=0.0)
    for _ in range(10):
        one.tick(np.zeros(2), np.zeros(2), np.zeros(2))
        assert one.against == []
    one.tick(np.zeros(2), np.array([0.3, 0.0]), np.zeros(2))
    assert one.against == ["observations stay the very same while they should change"]


def test_a_state_that_is_not_known_is_not_judged_by() -> None:
    one = monitor()
    one.tick(None, np.zeros(2), np.zeros(2))
    one.tick(np.full(2, 7.0), np.zeros(2), np.full(2, 7.0))
    assert one.against == []
