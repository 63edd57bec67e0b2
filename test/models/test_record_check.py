"""Errors in a training record are numbers by horizon and by observation, or the file is refused."""

from typing import Any

import pytest

from rffpsr_ros.models.record_check import RecordError, check_errors, check_rate, check_texts


@pytest.mark.parametrize(
    "metrics",
    [
        {},
        {"validation_mse": [0.1, None, 3], "beyond_mse": None, "one_mse": 0.5},
        {"cross_validation": {"arx": {"mse": [0.1], "score": "odd"}}},
        {"validation_mse_by_observation": [[0.1, None], [1, 2.0]]},
        {"validation_mse_by_observation": []},
        {"notes": "anything", "members": [{"mse": "not read"}]},
    ],
)
def test_what_training_writes_passes(metrics: Any) -> None:
    check_errors(metrics)


@pytest.mark.parametrize(
    "metrics",
    [
        {"validation_mse": "0.1"},
        {"validation_mse": [True]},
        {"validation_mse": [[1.0]]},
        {"validation_mse": [10**400]},
        {"validation_mse": {"1": "x", "mse": 1, "inner_mse": ["x"]}},
        {"a": {"b": {"mse": [{}]}}},
        {"validation_mse_by_observation": [1]},
        {"validation_mse_by_observation": {"a": 1}},
        {"validation_mse_by_observation": [[1.0], [1.0, 2.0]]},
        {"validation_mse_by_observation": [["x"]]},
        {"training_mse_by_observation": "x"},
    ],
)
def test_what_its_readers_could_not_take_is_refused(metrics: Any) -> None:
    with pytest.raises(RecordError, match=r"^'record\.metrics"):
        check_errors(metrics)


def test_names_are_shown_on_one_line() -> None:
    check_texts(
        {"observation_names": ["sin(\u00e9)"], "channels": {"a": {"topic": "/a", "n": [1]}}}
    )


@pytest.mark.parametrize(
    "signature",
    [
        {"observation_names": ["a\nERROR: all is lost"]},
        {"action_units": ["m\u202e"]},
        {"channels": {"a": {"b\n": 1}}},
        {"channels": {"a": [{"topic": "/" * 401}]}},
    ],
)
def test_names_that_would_forge_a_log_are_refused(signature: Any) -> None:
    with pytest.raises(RecordError, match="no name"):
        check_texts(signature)


@pytest.mark.parametrize("channels", [None, {}, {"rate": 10}, {"rate": 10.001}, {"rate": "x"}])
def test_the_rate_of_training_passes(channels: Any) -> None:
    check_rate(0.1, channels)


@pytest.mark.parametrize("rate", [1e9, 10**9, 0, -10, 20.0, 1e308])
def test_another_rate_is_refused(rate: float) -> None:
    with pytest.raises(RecordError, match=r"0\.1 s and channels of"):
        check_rate(0.1, {"rate": rate})


def test_errors_may_be_told_by_the_observation_s_name() -> None:
    check_errors({"validation": {"model": {"mse_by_observation": {"x": [0.1, None]}}}})
    with pytest.raises(RecordError, match="no list of numbers"):
        check_errors({"mse_by_observation": {"x": "much"}})
