"""What does not fit an excitation is found before anything is observed, where that can be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.excitation.excitation_node import ExcitationNode
from rffpsr_ros.nodes.excitation.policy import Play, known_names, make_play
from rffpsr_ros.nodes.shared.diagnostics import QUIET_SECONDS, Complaints
from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.events import Tick

STATE = "sensor_msgs/msg/JointState"
JOINTS = Channel("arm", "/joint_states", STATE, ("position.a", "sin(velocity.b)"))
SOME = Channel("arm", "/joint_states", STATE, ("position",))
IMAGE = Channel("eye", "/image", "sensor_msgs/msg/Image", ("image(4x4)",))
SETTINGS = {
    "signal": "uniform",
    "hold": 0.0,
    "announce": 0,
    "feedback": "linear",
    "feedback_gains": [1.0, 2.0],
    "feedback_target": [0.0],
    "blind_probability": 0.5,
}
LIMIT = np.ones(1)


def test_fields_tell_their_columns_where_they_can() -> None:
    assert known_names([JOINTS]) == ("arm.position.a", "arm.sin(velocity.b)")
    for unknown in (SOME, IMAGE):
        assert known_names([JOINTS, unknown]) is None


@pytest.mark.parametrize(
    ("names", "changed", "said"),
    [
        (("a", "b"), {}, ""),
        (("a",), {}, "feedback_gains has 2 numbers; 1 actions by 1 observations"),
        (("a", "b"), {"feedback": "swimmer"}, "feedback 'swimmer' moves 2 torques"),
        (None, {}, ""),
        (None, {"announce": 3}, "announce is 3, but with feedback"),
        (
            None,
            {"signal": "sine", "frequency": 10.5},
            "frequency 10.5 Hz does not fit .* 10 Hz",
        ),
        (None, {"signal": "sine", "frequency": 10.0}, ""),
    ],
)
def test_what_does_not_fit_is_refused(names: Any, changed: dict[str, Any], said: str) -> None:
    settings = {**SETTINGS, **changed}.__getitem__

    def make() -> Play:
        return make_play(settings, -LIMIT, LIMIT, names, np.random.default_rng(0), 0.05)

    if not said:
        assert make().plan is None
        return
    with pytest.raises(InputError, match=said):
        make()


def test_what_is_wrong_with_observations_is_said_again_once_it_was_in_order() -> None:
    """Complaints go by a clock that is set by hand."""
    now = [0.0]
    said: list[str] = []
    logger = SimpleNamespace(error=said.append, info=said.append)
    node: Any = SimpleNamespace(
        _complaints=Complaints(logger, lambda: now[0]),
        _due_ns=None,
        _ahead_ns=0,
        _active=True,
        _act=lambda *_: None,
        _sampler=SimpleNamespace(feed=lambda *given: given[-1](), observation_names=()),
    )
    node._follow = lambda *given: ExcitationNode._follow(node, *given)
    source: Any = SimpleNamespace(topic="/seen", read_stamp=lambda data, receive_ns: receive_ns)

    def fails() -> list[Any]:
        raise InputError("no such field")

    def ticks() -> list[Tick]:
        return [Tick(0, 0, 0, np.zeros(1), np.zeros(1))]

    def arrive(data: Any) -> None:
        now[0] += QUIET_SECONDS
        ExcitationNode._receive(node, source, 0, data)

    for data in (fails, fails, ticks, fails):
        arrive(data)
    assert said == ["no such field", "observations are in order again", "no such field"]
