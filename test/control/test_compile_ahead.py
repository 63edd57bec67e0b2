"""What planning needs is asked for ahead of it, of every model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.control.compile_ahead import main, warm_up
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.contract import PredictiveModel
from test.nonlinear_runs import nonlinear_runs


@pytest.fixture(scope="module")
def linear() -> PredictiveModel[Any]:
    return LinearARX(past=3, future=4).fit(nonlinear_runs(2, 80))


class Asked:
    """A model that notes what it is asked for."""

    def __init__(self, model: PredictiveModel[Any]) -> None:
        self.asked: list[tuple[str, tuple[int, ...]]] = []
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def predict(self, state: Any, actions: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        self.asked.append(("predict", actions.shape))
        return self._model.predict(state, actions)

    def jacobian_along(self, state: Any, actions: Any, forecast: Any) -> Any:
        self.asked.append(("jacobian", forecast.shape))
        return self._model.jacobian_along(state, actions, forecast)


def test_forecasts_of_one_plan_and_of_several_and_derivatives(
    linear: PredictiveModel[Any],
) -> None:
    noting: Any = Asked(linear)
    warm_up(noting, 6)
    assert {(name, len(shape)) for name, shape in noting.asked} == {
        ("predict", 2),
        ("predict", 3),
        ("jacobian", 2),
    }


def test_a_model_file_is_warmed_up(linear: PredictiveModel[Any], tmp_path: Path) -> None:
    linear.save(tmp_path / "model.psr")
    assert main(["0", str(tmp_path / "model.psr"), "5"]) == 0
