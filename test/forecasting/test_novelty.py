"""Surprises and inputs outside the trained range are told apart, and counted together."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.forecasting.novelty import JUDGED, RARE, Novelty
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.bands import conformal_bands
from rffpsr_ros.recordings.trajectory import Trajectory

USUAL, INSIDE = np.array([0.5]), np.zeros((3, 1))


def novelty(bands: bool = True) -> Novelty:
    generator = np.random.default_rng(0)
    run = Trajectory(generator.uniform(-1, 1, (200, 1)), generator.uniform(-1, 1, (200, 1)), 0.1)
    model = LinearARX(past=2, future=2).fit([run])
    errors = np.linspace(-1, 1, 1001)[:, None, None]
    return Novelty(model.replaced(bands=conformal_bands(errors) if bands else None))


def test_nothing_is_told_before_there_is_anything() -> None:
    assert novelty().score is None
    assert novelty().surprises is None
    assert novelty().outside is None


def test_surprises_and_strange_inputs_are_told_apart_and_counted_together() -> None:
    one = novelty()
    outside = np.array([[0.0], [1.5], [0.0]])
    for innovation, observations, actions in (
        (USUAL, INSIDE, INSIDE),
        (USUAL + 0.495, INSIDE, INSIDE),
        (-USUAL - 0.495, outside, INSIDE),
        (USUAL, INSIDE, -outside),
        (np.array([np.nan]), np.full((3, 1), np.nan), INSIDE),
    ):
        one.take(innovation, observations, actions)
    assert (one.surprises, one.outside, one.score) == (2 / 5, 2 / 5, 3 / 5)
    for _ in range(JUDGED):
        one.take(USUAL, INSIDE, INSIDE)
    assert one.score == 0.0


def test_what_training_showed_is_hardly_ever_new() -> None:
    one = novelty()
    for innovation in np.linspace(-1, 1, JUDGED):
        one.take(np.array([innovation]), INSIDE, INSIDE)
    assert one.score is not None
    assert one.score <= 2 * (1 - RARE)


def test_without_bands_inputs_alone_can_be_new() -> None:
    one = novelty(bands=False)
    one.take(1e3 * USUAL, INSIDE, INSIDE)
    assert one.score == 0.0
    one.take(USUAL, INSIDE + 2.0, INSIDE)
    assert one.score == 0.5
