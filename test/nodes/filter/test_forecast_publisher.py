"""What the filter publishes: only what someone listens to, and the same whichever way."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.forecasting.follower import Forecast, Step
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.signals.events import Tick

SIGNATURE = Signature(("elbow", "wrist"), ("torque",), 0.05)
NUMBERS = np.random.default_rng(0).normal(size=(8, 3, 2))


class Output:
    """As much of a publisher as is asked: who listens, and what was published."""

    def __init__(self, kind: Any) -> None:
        self.listeners = 0
        self.published: list[Any] = []
        self._kind = kind

    def get_subscription_count(self) -> int:
        return self.listeners

    def publish(self, message: Any) -> None:
        from rclpy.serialization import deserialize_message

        if isinstance(message, bytes):
            message = deserialize_message(message, self._kind)
        self.published.append(message)


class Node:
    """As much of a node as is asked."""

    def __init__(self, executor: str) -> None:
        self.outputs: dict[str, Output] = {}
        self._executor = executor

    def create_publisher(self, kind: Any, topic: str, depth: int) -> Output:
        return self.outputs.setdefault(topic.removeprefix("~/"), Output(kind))

    def get_parameter(self, name: str) -> Any:
        return SimpleNamespace(value={"executor": self._executor}[name])


def publisher(node: Node, told: Callable[[int], None] = lambda origin_ns: None) -> Any:
    from rffpsr_ros.nodes.filter.forecast_publisher import ForecastPublisher

    outputs = ForecastPublisher(node, told)
    outputs.promise(0.1, {"deadline": 1.0, "publish_every": 1}.__getitem__)
    return outputs


def test_who_listens_is_looked_for_and_asking_changes_nothing(
    ros_environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [10**12]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])
    node = Node("direct")
    outputs = publisher(node)
    outputs.look()
    assert not outputs.wanted
    node.outputs["state"].listeners = 1
    now[0] += 10**9
    outputs.look()
    assert not outputs.wanted  # the belief takes no forecast
    node.outputs["band"].listeners = 1
    now[0] += 10**9
    assert not outputs.wanted
    outputs.look()
    assert outputs.wanted
    node.outputs["band"].listeners = 0
    outputs.look()  # too soon
    assert outputs.wanted
    now[0] += 10**9
    outputs.look()
    assert not outputs.wanted


def test_the_direct_way_gives_the_messages_of_rclpys_own(ros_environment: None) -> None:
    said, origins = {}, list[int]()
    for executor in ("direct", "single_threaded"):
        node = Node(executor)
        outputs = publisher(node, origins.append)
        for output in node.outputs.values():
            output.listeners = 1
        outputs.look()
        for number, values in enumerate(NUMBERS):
            stamp_ns = 10**18 + number * 50_000_000
            words = "hold" if number < 5 else "plan"  # the messages are drafted anew
            forecast = Forecast(stamp_ns, values, np.zeros((3, 1)), words, np.abs(values))
            tick = Tick(number, stamp_ns - 50_000_000, stamp_ns, np.zeros(1), values[0] + 0.5)
            belief = SimpleNamespace(signature=SIGNATURE)
            follower = SimpleNamespace(
                model=belief, options=SimpleNamespace(coverage=0.9), state=Belief(values[0])
            )
            outputs.publish(Step(tick, True, forecast), follower, 2)
        said[executor] = {name: output.published for name, output in node.outputs.items()}
    assert said["direct"] == said["single_threaded"]
    assert origins == 2 * [10**18 + number * 50_000_000 for number in range(len(NUMBERS))]
    counts = {name: len(published) for name, published in said["direct"].items()}
    assert counts.pop("error") == len(NUMBERS) - 2  # a forecast at lead 2 is judged 2 ticks later
    assert set(counts.values()) == {len(NUMBERS)}
    assert counts.keys() == {"prediction", "band", "trajectory", "predicted", "state"}


class Belief(tuple[np.ndarray[Any, Any]]):
    """A state of one array."""

    _fields = ("belief",)

    def __new__(cls, belief: np.ndarray[Any, Any]) -> Belief:
        return super().__new__(cls, (belief,))
