"""The filter node over real DDS, in a process of its own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.recordings.trajectory import Trajectory

PERIOD_NS = 50_000_000
START_NS = 1_000_000_000_000


def joint_state(stamp_ns: int, name: list[str], **values: Any) -> Any:
    from sensor_msgs.msg import JointState

    message = JointState(name=name, **values)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
    return message


def _ns(stamp: Any) -> int:
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def test_forecasts_arrive_and_can_be_listened_to_in_every_form(
    ros: Any, synthetic_model: Path
) -> None:
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray
    from trajectory_msgs.msg import JointTrajectory

    node = ros.start("filter_node", model_path=synthetic_model, horizon=7, lead=3)
    peer = ros.peer
    prediction = peer.collect("/rffpsr_filter/prediction", Float64MultiArray)
    band = peer.collect("/rffpsr_filter/band", Float64MultiArray)
    trajectory = peer.collect("/rffpsr_filter/trajectory", JointTrajectory)
    predicted = peer.collect("/rffpsr_filter/predicted", JointState)
    error = peer.collect("/rffpsr_filter/error", JointState)
    belief = peer.collect("/rffpsr_filter/state", Float64MultiArray)
    observe = peer.publisher("/joint_states", JointState)
    peer.publisher("/command", JointState)
    peer.matched("/joint_states", "/command")
    node.wait_for("serving")
    for topic in ("prediction", "band", "trajectory", "predicted", "error", "state"):
        peer.heard(f"/rffpsr_filter/{topic}")
    for tick in range(40):
        stamp = START_NS + tick * PERIOD_NS
        peer.publish("/command", joint_state(stamp, ["a"], effort=[0.1 * np.sin(tick)]))
        observe.publish(joint_state(stamp + 1000, ["o"], position=[np.sin(0.3 * tick)]))
        peer.spin()
    peer.until(lambda: len(prediction) >= 35, "35 forecasts")
    peer.until(lambda: len(error) >= 30 and min(len(trajectory), len(band)) >= 35, "errors")
    assert [d.size for d in prediction[-1].layout.dim] == [7, 1]
    assert "hold" in prediction[-1].layout.dim[0].label
    assert [d.size for d in band[-1].layout.dim] == [2, 5, 1]  # made for 5 ticks ahead
    low, high = np.reshape(band[-1].data, (2, 5))
    assert (low < high).all()
    np.testing.assert_allclose((low + high) / 2, prediction[len(band) - 1].data[:5])
    assert len(trajectory[-1].points) == 7
    lead = trajectory[-1].points[6].time_from_start
    assert lead.sec * 10**9 + lead.nanosec == 7 * PERIOD_NS
    ahead = {_ns(t.header.stamp) + 3 * PERIOD_NS: t.points[2].positions[0] for t in trajectory}
    for one in predicted[-10:]:
        assert one.position[0] == ahead[_ns(one.header.stamp)]
    expected = {_ns(one.header.stamp): one.position[0] for one in predicted}
    for one in error[-10:]:
        seen = np.sin(0.3 * round((_ns(one.header.stamp) - START_NS - 1000) / PERIOD_NS))
        assert one.position[0] == seen - expected[_ns(one.header.stamp)]
    assert len(belief[-1].data) == len(load_model(synthetic_model).initial_state()[0])
    assert node.end() == 0


def test_the_age_of_what_forecasts_rest_on_is_told(ros: Any, synthetic_model: Path) -> None:
    from diagnostic_msgs.msg import DiagnosticArray
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    node = ros.start("filter_node", model_path=synthetic_model)
    peer = ros.peer
    prediction = peer.collect("/rffpsr_filter/prediction", Float64MultiArray)
    peer.publisher("/joint_states", JointState)
    peer.publisher("/command", JointState)
    peer.matched("/joint_states", "/command")
    node.wait_for("serving")
    peer.heard("/rffpsr_filter/prediction")
    began_ns = time.time_ns()
    for tick in range(10):
        stamp = START_NS + tick * PERIOD_NS
        peer.publish("/command", joint_state(stamp, ["a"], effort=[0.1]))
        peer.publish("/joint_states", joint_state(stamp + 1000, ["o"], position=[0.2]))
        peer.spin()
    peer.until(lambda: prediction, "a forecast")

    def ages_ns() -> list[float]:
        values = [value for array in told for one in array.status for value in one.values]
        return [float(value.value) * 1e6 for value in values if value.key.startswith("age of the")]

    told = peer.collect("/diagnostics", DiagnosticArray)
    peer.until(lambda: len(ages_ns()) >= 2, "how old what forecasts rest on is")
    newest_ns, shown = START_NS + 10 * PERIOD_NS, 1e-5  # digits of diagnostics
    for age_ns in ages_ns():
        assert (1 - shown) * (began_ns - newest_ns) < age_ns
        assert age_ns < (1 + shown) * (time.time_ns() - START_NS)
    assert node.end() == 0


def test_the_events_executor_hands_out_messages_too(ros: Any, synthetic_model: Path) -> None:
    pytest.importorskip("rclpy.experimental.events_executor")
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    node = ros.start("filter_node", model_path=synthetic_model, executor="events")
    peer = ros.peer
    prediction = peer.collect("/rffpsr_filter/prediction", Float64MultiArray)
    peer.publisher("/joint_states", JointState)
    peer.publisher("/command", JointState)
    peer.matched("/joint_states", "/command")
    node.wait_for("serving")
    peer.heard("/rffpsr_filter/prediction")
    for tick in range(10):
        stamp = START_NS + tick * PERIOD_NS
        peer.publish("/command", joint_state(stamp, ["a"], effort=[0.1]))
        peer.publish("/joint_states", joint_state(stamp + 1000, ["o"], position=[0.2]))
        peer.spin()
    peer.until(lambda: prediction, "a forecast")
    assert node.end() == 0


def test_a_model_that_cannot_adapt_is_not_told_to(
    ros: Any, synthetic_model: Path, tmp_path: Path
) -> None:
    learned = load_model(synthetic_model)
    run = Trajectory(np.zeros((9, 1)), np.zeros((9, 1)), learned.signature.period)
    path = tmp_path / "last.psr"
    LastObservation().fit([run]).replaced(signature=learned.signature).save(path)
    node = ros.start("filter_node", model_path=path)
    node.wait_for("serving")
    assert not ros.peer.set_parameter("/rffpsr_filter", "adapt", True)
    assert ros.peer.set_parameter("/rffpsr_filter", "horizon", 5)
    assert node.end() == 0


def test_in_silence_forecasts_are_marked_stale(ros: Any, synthetic_model: Path) -> None:
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    node = ros.start("filter_node", model_path=synthetic_model, horizon=20, stale_after=0.1)
    peer = ros.peer
    prediction = peer.collect("/rffpsr_filter/prediction", Float64MultiArray)
    observe = peer.publisher("/joint_states", JointState)
    peer.publisher("/command", JointState)
    peer.matched("/joint_states", "/command")
    node.wait_for("serving")
    peer.heard("/rffpsr_filter/prediction")

    def assumed() -> str:
        return str(prediction[-1].layout.dim[0].label) if prediction else ""

    for tick in range(10):
        stamp = START_NS + tick * PERIOD_NS
        peer.publish("/command", joint_state(stamp, ["a"], effort=[0.1]))
        observe.publish(joint_state(stamp + 1000, ["o"], position=[np.sin(0.3 * tick)]))
        peer.spin()
    peer.until(lambda: "stale by" in assumed(), "a forecast that is marked stale")
    stale = [m for m in prediction if "stale by" in m.layout.dim[0].label]
    assert [d.size for d in stale[-1].layout.dim] == [20, 1]
    before, stamp = len(prediction), START_NS + 10 * PERIOD_NS
    peer.publish("/command", joint_state(stamp, ["a"], effort=[0.1]))
    observe.publish(joint_state(stamp + 1000, ["o"], position=[0.2]))
    peer.until(
        lambda: any("stale" not in m.layout.dim[0].label for m in prediction[before:]),
        "a forecast that is not",
    )
    assert node.end() == 0
