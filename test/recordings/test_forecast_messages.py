"""Forecast messages survive serialisation, and every value stands where its type's text says."""

from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from rffpsr_ros.recordings.forecast_messages import (
    FORECAST_TYPES,
    PREDICTED_TYPE,
    PREDICTION_TYPE,
    TRAJECTORY_TYPE,
    band_bounds,
    band_message,
    predicted_message,
    prediction_message,
    trajectory_message,
)

STORE = get_typestore(Stores.ROS2_JAZZY)
FORECAST = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, np.nan]])
NAMES = ("imu.x", "imu.y")
STAMP_NS = 12_300_000_000


def make(type_name: str, **fields: Any) -> Any:
    return STORE.types[type_name](**fields)


def reread(message: Any, type_name: str) -> Any:
    return STORE.deserialize_cdr(STORE.serialize_cdr(message, type_name), type_name)


def test_prediction_is_addressed_as_the_layout_says() -> None:
    message = reread(prediction_message(make, FORECAST), PREDICTION_TYPE)
    horizon, observation = message.layout.dim
    assert [horizon.label, observation.label] == ["horizon", "observation"]
    assert (horizon.size, observation.size) == FORECAST.shape
    assert horizon.stride == FORECAST.size
    for step in range(3):
        for column in range(2):
            at = message.layout.data_offset + observation.stride * step + column
            np.testing.assert_equal(message.data[at], FORECAST[step, column])


def test_band_is_the_lower_bounds_and_then_the_upper() -> None:
    width = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    message = reread(band_message(make, band_bounds(FORECAST, width), 0.9), PREDICTION_TYPE)
    assert message.layout.dim[0].label == "bound, 90 % band"
    assert [(d.size, d.stride) for d in message.layout.dim] == [(2, 12), (3, 6), (2, 2)]
    bounds = np.reshape(message.data, (2, 3, 2))
    np.testing.assert_array_equal(bounds, [FORECAST - width, FORECAST + width])


def test_trajectory_points_lie_ahead_of_the_time_it_was_made_at() -> None:
    message = reread(
        trajectory_message(make, FORECAST, NAMES, STAMP_NS, period=0.6), TRAJECTORY_TYPE
    )
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (12, 300_000_000)
    assert message.joint_names == list(NAMES)
    ahead = [(p.time_from_start.sec, p.time_from_start.nanosec) for p in message.points]
    assert ahead == [(0, 600_000_000), (1, 200_000_000), (1, 800_000_000)]
    np.testing.assert_equal(np.array([p.positions for p in message.points]), FORECAST)


def test_predicted_is_stamped_with_the_time_it_is_for() -> None:
    message = reread(predicted_message(make, FORECAST[1], NAMES, STAMP_NS), PREDICTED_TYPE)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (12, 300_000_000)
    assert message.name == list(NAMES)
    np.testing.assert_equal(message.position, FORECAST[1])
    assert len(message.velocity) == len(message.effort) == 0


@pytest.mark.parametrize("type_name", FORECAST_TYPES.values())
def test_types_are_those_of_every_distribution(type_name: str) -> None:
    assert type_name in STORE.types
    assert type_name in get_typestore(Stores.ROS2_HUMBLE).types
