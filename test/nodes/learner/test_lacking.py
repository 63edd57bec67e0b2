"""What is said of an episode that lacks something: topics and fields by their names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rffpsr_ros.nodes.learner.lacking import Ends, lacking
from rffpsr_ros.signals.channel import Channel

ARM = Channel("arm", "/joint_states", fields=("position.elbow", "position.wrist"))
TOLD = Channel("told", "/command", fields=("data",))


def joints(**positions: float) -> Any:
    return SimpleNamespace(name=list(positions), position=list(positions.values()))


def said(channel: Channel, *messages: Any) -> str:
    """Return what is said of an episode with these messages on a channel's topic."""
    ends = Ends(lambda _: lambda number: messages[int(number)])
    for number in range(len(messages)):
        ends.take(channel.topic, str(number).encode())
    return lacking([channel], ends)


@pytest.mark.parametrize(
    ("messages", "lacks"),
    [
        ((), "no message on /joint_states"),
        ((joints(elbow=1.0, wrist=2.0),), ""),
        # What one of them shows is not missing throughout.
        ((joints(elbow=1.0), joints(), joints(wrist=2.0)), ""),
        ((joints(elbow=1.0), joints(elbow=1.0)), "no finite number for arm.position.wrist on /jo"),
        ((joints(elbow=float("nan"), wrist=1.0),), "no finite number for arm.position.elbow on /j"),
        ((None, None), "no finite number for arm.position.elbow, arm.position.wrist on /joint_"),
        ((SimpleNamespace(data=1.0),), "on /joint_states: field path 'position.elbow': "),
    ],
)
def test_topics_and_fields_are_named(messages: tuple[Any, ...], lacks: str) -> None:
    assert said(ARM, *messages).startswith(lacks)
    assert bool(said(ARM, *messages)) == bool(lacks)


def test_a_command_that_has_an_initial_value_need_not_be_sent() -> None:
    assert said(TOLD) == "no message on /command"
    assert said(Channel("told", "/command", fields=("data",), initial=(0.0,))) == ""


@pytest.mark.parametrize("lacks", ["", "no message on /command"])
def test_the_answer_of_end_episode_says_it(lacks: str) -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    from rffpsr_ros.nodes.learner.learner_node import LearnerNode

    keeper = SimpleNamespace(episode="one", end=lambda: "a bag", lacks=lacks, quiet=[])
    node: Any = SimpleNamespace(_ready=lambda: keeper, _tell=lambda: None)
    answer = LearnerNode._end_episode(node)
    assert answer == "kept as a bag" + (", but it lacks: no message on /command" if lacks else "")
