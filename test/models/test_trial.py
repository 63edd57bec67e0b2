"""A model is tried before it is served: what fails or is no number is refused in one sentence."""

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower
from rffpsr_ros.models.baselines.last_observation import (
    LastObservationModel,
    LastObservationParts,
    LastObservationState,
)
from rffpsr_ros.models.contract import Signature, TrainingRecord
from rffpsr_ros.models.trial import check_serves
from rffpsr_ros.numerics.arrays import Array


class Odd(LastObservationModel):
    """Fails in one way at a time."""

    fault = ""

    def initial_state(self) -> Any:
        return self._made("initial_state", super().initial_state())

    def advance(self, state: Any, action: Array, observation: Array) -> Any:
        return self._made("update", super().advance(state, action, observation))

    def forecast(self, state: Any, actions: Array) -> Any:
        return self._made("predict", super().forecast(state, actions))

    def state_from_history(self, observations: Array, actions: Array) -> Any:
        return self._made("state_from_history", super().state_from_history(observations, actions))

    @property
    def history_length(self) -> int:
        return 3

    def inference_model(self, compiled: bool = True) -> Any:
        return self._made("inference_model", self)

    def _made(self, where: str, result: Any) -> Any:
        if not self.fault.startswith(where + " "):
            return result
        if self.fault.endswith("fails"):
            raise KeyError("x\ny")
        value = {"nan": np.nan, "infinite": np.inf, "longer": 0.0}[self.fault.split()[1]]
        if self.fault.endswith("longer"):
            return np.concatenate([result, result])
        if where == "predict":
            return result + value
        return LastObservationState(result.observation + value)


CHANNELS = {
    "rate": 10.0,
    "observation": {"inputs": ["a"], "a": {"topic": "/a", "fields": ["data"]}},
    "action": {"inputs": ["u"], "u": {"topic": "/u", "fields": ["data"]}},
}


def odd(fault: str) -> Odd:
    kind = type("Faulty", (Odd,), {"fault": fault})
    signature = Signature(("a",), ("u",), 0.1, CHANNELS)
    model: Odd = kind(signature, TrainingRecord(), LastObservationParts(np.ones(1)))
    return model


FAULTS = [
    "initial_state fails",
    "initial_state nan",
    "update fails",
    "update infinite",
    "predict fails",
    "predict nan",
    "predict longer",
    "state_from_history fails",
    "state_from_history nan",
]


def test_a_model_without_fault_passes() -> None:
    check_serves(odd(""))


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_told(fault: str) -> None:
    with pytest.raises(InputError, match=r"^the model .*; train it again$") as refused:
        check_serves(odd(fault))
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("fault", [*FAULTS, "inference_model fails"])
def test_nothing_follows_a_robot_that_fails_its_trial(fault: str) -> None:
    Follower(odd(""))
    with pytest.raises(InputError, match="the model"):
        Follower(odd(fault))


def test_options_stay_where_the_other_form_fails() -> None:
    follower = Follower(odd(""))
    kind: Any = type(follower._loaded)
    kind.fault = "predict nan"
    with pytest.raises(InputError, match="not finite"):
        follower.change(FollowOptions(compiled=False, horizon=3))
    assert follower.options == FollowOptions()
