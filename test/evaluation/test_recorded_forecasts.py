"""Recorded forecasts are measured as the model that made them is."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.evaluation.recorded_forecasts import RecordedForecasts
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.models.forecasts import forecasts
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import simulate

RUN = simulate(SyntheticSystem(), np.random.default_rng(0).uniform(-0.5, 0.5, (60, 1)))


def test_errors_are_those_of_the_model_that_was_recorded() -> None:
    model = LastObservation().fit([RUN])
    ((first, made),) = forecasts(model, RUN, 5)
    assert first == 0
    recorded = RecordedForecasts.of(Signature.of(RUN), dict(enumerate(made)))
    for start in (0, 9):
        expected = horizon_errors(model, [RUN], 5, start).squared_errors
        found = horizon_errors(recorded, [RUN], 5, start).squared_errors
        np.testing.assert_array_equal(found, expected)


def test_what_was_not_told_is_missing() -> None:
    recorded = RecordedForecasts.of(Signature.of(RUN), {2: np.ones((3, 1))})
    state = recorded.initial_state()
    for _ in range(2):
        state = recorded.update(state, np.zeros(1), np.zeros(1))
    np.testing.assert_array_equal(
        recorded.predict(state, np.zeros((5, 1)))[:, 0], [1, 1, 1, np.nan, np.nan]
    )
    assert np.isnan(recorded.predict(recorded.initial_state(), np.zeros((2, 1)))).all()
