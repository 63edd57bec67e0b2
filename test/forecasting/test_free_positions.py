"""A vehicle far from where it was recorded: nothing of its position is absurd, new or outside."""

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.evaluation.extrapolation import extrapolations
from rffpsr_ros.forecasting.adaptation.adaptive_model import AdaptiveModel
from rffpsr_ros.forecasting.drift import DriftTest
from rffpsr_ros.forecasting.novelty import Novelty
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.guard import Guard
from rffpsr_ros.models.low_passed.learner import LowPassed
from rffpsr_ros.models.moving_origin.learner import MovingOrigin
from test.travels import moved, travels

FREE = MovingOrigin(LinearARX(past=4, future=8), [0])
LEARNERS: dict[str, Any] = {"free": FREE, "free, behind filters": LowPassed(FREE, (9,))}
RUN = moved(travels(count=1, seed=3)[0], 1e5)
HORIZON = 8


def told_by(model: PredictiveModel[Any]) -> tuple[float | None, bool, list[str]]:
    """Return the share of new inputs, whether a tick is outside, and columns that extrapolate."""
    novelty, drift = Novelty(model), DriftTest(model, HORIZON)
    seen = RUN.observations[: HORIZON + 1]
    novelty.take(np.zeros(2), seen, RUN.actions[: HORIZON + 1])
    drift.take(np.zeros((HORIZON, 2)), seen)
    return novelty.outside, drift.outside[-1], [one.name for one in extrapolations(model, [RUN])]


@pytest.mark.parametrize("name", LEARNERS)
def test_where_a_free_position_is_does_not_matter(name: str) -> None:
    model = LEARNERS[name].fit(travels())
    for served in (model, AdaptiveModel(model, HORIZON)):
        outside, drifted, names = told_by(served)
        assert (outside, drifted) == (0, False)
        assert "x" not in names
        assert not np.isnan(Guard(served).gate.observations(RUN.observations)).any()


def test_elsewhere_it_does() -> None:
    outside, drifted, names = told_by(FREE.inner.fit(travels()))
    assert (outside, drifted) == (1, True)
    assert names[0] == "x"


def test_adaptation_follows_and_stays_with_the_model_there() -> None:
    model = AdaptiveModel(FREE.fit(travels()), HORIZON)
    state = model.initial_state()
    for action, observation in zip(RUN.actions[:100], RUN.observations[:100], strict=True):
        state = model.update(state, action, observation)
    forecast = model.predict(state, RUN.actions[100 : 100 + HORIZON])
    np.testing.assert_allclose(forecast, RUN.observations[100 : 100 + HORIZON], atol=2.0)
