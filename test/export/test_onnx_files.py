"""What onnxruntime makes of the files computes what the model computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.export.files import exported
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
WORST = 1e-4


class Sessions:
    """The files of a model, served."""

    def __init__(self, model: PredictiveModel[Any]) -> None:
        files = exported(model, "onnx", "robot")
        assert set(files) == {f"robot_{kind}.onnx" for kind in ("initial", "update", "predict")}
        self._served = {name: onnxruntime.InferenceSession(data) for name, data in files.items()}
        (self.state,) = self._run("initial")

    def update(self, action: Array, observation: Array) -> None:
        (self.state,) = self._run(
            "update", state=self.state, action=action, observation=observation
        )

    def predict(self, plan: Array) -> Array:
        (forecast,) = self._run("predict", state=self.state, actions=plan)
        return np.asarray(forecast, np.float64)

    def _run(self, kind: str, **given: Array) -> Any:
        floats = {name: values.astype(np.float32) for name, values in given.items()}
        return self._served[f"robot_{kind}.onnx"].run(None, floats)


def test_it_follows_and_forecasts_as_the_model_does(case: Any) -> None:
    served = Sessions(case.model)

    def compare(plan: Array, expected: Array) -> None:
        scale = np.abs(expected).max()
        np.testing.assert_allclose(served.predict(plan), expected, WORST, WORST * scale)

    case.follow(served.update, compare)


def test_files_are_the_same_each_time(ensemble: PredictiveModel[Any]) -> None:
    assert exported(ensemble, "onnx", "robot") == exported(ensemble, "onnx", "robot")


def test_files_say_what_they_take(ensemble: PredictiveModel[Any]) -> None:
    data = exported(ensemble, "onnx", "robot")["robot_predict.onnx"]
    session = onnxruntime.InferenceSession(data)
    taken = {one.name: one.shape for one in session.get_inputs()}
    assert taken["actions"] == ["horizon", 2]
    assert [one.shape for one in session.get_outputs()] == [["horizon", 2]]
    assert session.get_modelmeta().producer_name == "rffpsr_ros"
