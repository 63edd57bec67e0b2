"""What a subscription asks for follows the publishers, and whom it hears as it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from rffpsr_ros.nodes.shared.topic_inputs import TopicInput

TYPE = "std_msgs/msg/Float64"
WEAK = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
STRONG = QoSProfile(depth=1)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def topic_input(*offered: QoSProfile, type_name: str = TYPE) -> Any:
    """Return an input whose topic has such publishers."""
    infos = [SimpleNamespace(topic_type=type_name, qos_profile=profile) for profile in offered]
    node = SimpleNamespace(resolve_topic_name=str, get_publishers_info_by_topic=lambda topic: infos)
    one: Any = TopicInput(node, "/seen", "", "receive", lambda source, receive_ns, data: None)
    one.type = TYPE
    return one


@pytest.mark.parametrize(
    ("asked", "offered", "heard"),
    [
        (WEAK, [WEAK], True),
        (WEAK, [STRONG], True),
        (STRONG, [STRONG], True),
        (STRONG, [WEAK], False),
        (STRONG, [WEAK, STRONG], True),
        (STRONG, [LATCHED], True),
        (LATCHED, [LATCHED], True),
        (LATCHED, [STRONG], False),
        (LATCHED, [STRONG, LATCHED], True),
        (STRONG, [], False),
    ],
)
def test_a_subscription_hears_who_offers_what_it_asks_for(
    asked: QoSProfile, offered: list[QoSProfile], heard: bool
) -> None:
    one = topic_input(*offered)
    one._subscription, one._profile = "there", asked
    assert one.hears_somebody() == heard


def test_nobody_is_heard_without_a_subscription_or_a_publisher_of_the_type() -> None:
    assert not topic_input(STRONG).hears_somebody()
    other = topic_input(STRONG, type_name="std_msgs/msg/Bool")
    other._subscription, other._profile = "there", STRONG
    assert not other.hears_somebody()


@pytest.mark.parametrize(
    ("offered", "asked"),
    [([LATCHED], LATCHED), ([LATCHED, STRONG], STRONG), ([LATCHED, WEAK], WEAK)],
)
def test_it_asks_for_the_strongest_that_every_publisher_offers(
    offered: list[QoSProfile], asked: QoSProfile
) -> None:
    profile = topic_input(*offered).follows(1)
    assert (profile.reliability, profile.durability) == (asked.reliability, asked.durability)


@pytest.mark.parametrize("recording", [False, True])
@pytest.mark.parametrize("offered", [[LATCHED, STRONG], [WEAK]])
def test_a_learner_keeps_what_it_hears_while_an_episode_is_on(
    recording: bool, offered: list[QoSProfile]
) -> None:
    from rffpsr_ros.nodes.learner.learner_node import LearnerNode

    one = topic_input(*offered)
    one._subscription, one._profile = "there", LATCHED if len(offered) > 1 else STRONG
    asked: list[QoSProfile] = []
    one.subscribe = lambda profile, times, overridable: asked.append(profile)
    node: Any = SimpleNamespace(
        _keeper=SimpleNamespace(episode="one" if recording else None),
        _inputs={"/seen": one},
        _value=lambda name: 1,
        _complaints=SimpleNamespace(topic=lambda *said: None),
        _receive_times=None,
    )
    LearnerNode._listen(node)
    assert bool(asked) == (not recording or len(offered) == 1), "who is heard stays, else not"
