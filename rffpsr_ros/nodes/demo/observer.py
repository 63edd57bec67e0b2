"""The demonstration's own node: calls services, and watches ticks, forecasts and training."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile

from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.recorded_forecasts import RecordedForecasts
from rffpsr_ros.forecasting.future_actions import PLAN
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.nodes.shared.executors import executor_in_order
from rffpsr_ros.nodes.shared.message_classes import message_class
from rffpsr_ros.nodes.shared.receive_times import ReceiveTimes
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.forecast_messages import PREDICTION_TYPE, TRAJECTORY_TYPE
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.events import SegmentEnd, Tick
from rffpsr_ros.signals.sampler import Sampler
from rffpsr_ros.signals.stamps import stamp_of

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
DEPTH = 1000
PATIENCE = 1800.0
"""Seconds after which what was waited for counts as never coming, on any machine."""
WORD_SECONDS = 15.0
"""So often it is told what is waited for."""


class Observer:
    """Watches the topics of a channel configuration on the simulation's time.

    Attributes
    ----------
    configuration
        As given.
    ticks
        Of the segment under way, as the sampler gives them.
    forecasts
        What the filter said since actions are announced, (H, d_o), by the stamp of the last tick
        that it had seen.
    learner
        Message and values of the learner's newest status.
    """

    def __init__(
        self,
        configuration: ChannelConfiguration,
        check: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        self.configuration = configuration
        self.ticks: list[Tick] = []
        self.forecasts: dict[int, Array] = {}
        self.learner: tuple[str, dict[str, str]] = ("", {})
        self._check = check
        self._say = say
        rclpy.init()
        self.node = rclpy.create_node("rffpsr_demo")
        # In another order a command without a header would seem to act a tick later, or sooner.
        self._executor = executor_in_order()
        self._executor.add_node(self.node)
        self._now_ns = 0
        self._planned = False
        self._times = ReceiveTimes(lambda _: self._now_ns)
        self._sampler = Sampler(configuration)
        self._subscribe("rosgraph_msgs/msg/Clock", "/clock", self._on_clock)
        for topic, type_name in configuration.topics.items():
            self._subscribe(type_name, topic, self._taker(topic))
        self._subscribe(PREDICTION_TYPE, "/rffpsr_filter/prediction", self._on_assumed)
        self._subscribe(TRAJECTORY_TYPE, "/rffpsr_filter/trajectory", self._on_forecast)
        status = "diagnostic_msgs/msg/DiagnosticStatus"
        self._subscribe(status, "/rffpsr_learner/status", self._on_status, LATCHED)

    def close(self) -> None:
        """Leave ROS."""
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()

    def call(self, service: str) -> str:
        """Call a Trigger service as a user would, and return its answer.

        Raises
        ------
        InputError
            If it refuses.
        """
        from std_srvs.srv import Trigger

        client: Any = self.node.create_client(Trigger, service)
        self.until(client.service_is_ready, f"the service {service}")
        future = client.call_async(Trigger.Request())
        self.until(future.done, f"an answer of {service}")
        answer: Any = future.result()
        self.node.destroy_client(client)
        if not answer.success:
            raise InputError(f"{service} refuses: {answer.message}")
        return str(answer.message)

    def until(self, condition: Callable[[], Any], what: str, silently: bool = False) -> None:
        """Watch until a condition holds; tell now and then what is waited for, unless silently.

        A slow or busy machine takes as long as it takes: what ends the waiting is a node that ends.

        Raises
        ------
        InputError
            If a node ended, or after `PATIENCE` all the same.
        """
        began = time.monotonic()
        next_word = began + WORD_SECONDS
        while not condition():
            self._check()
            now = time.monotonic()
            if now - began > PATIENCE:
                raise InputError(f"waited {PATIENCE / 60:.0f} minutes in vain for {what}")
            if now > next_word and not silently:
                self._say(f"Waiting for {what} ({now - began:.0f} s so far).")
                next_word = now + WORD_SECONDS
            self._executor.spin_once(timeout_sec=0.1)

    def is_heard_by(self, node: str, topics: Iterable[str]) -> bool:
        """Tell whether a node has subscribed to all of these topics."""
        return all(
            any(info.node_name == node for info in self.node.get_subscriptions_info_by_topic(topic))
            for topic in topics
        )

    def watch(self, ticks: int) -> None:
        """Watch for so many more ticks."""
        start = len(self.ticks)
        self.until(lambda: len(self.ticks) >= start + ticks, f"{ticks} ticks")

    def run_of(
        self, ticks: Sequence[Tick], horizon: int
    ) -> tuple[Trajectory, RecordedForecasts, int]:
        """Return ticks as a run, the newest forecast at each, and how many arrived."""
        run = Trajectory(
            np.stack([tick.observation for tick in ticks]),
            np.stack([tick.action for tick in ticks]),
            self._sampler.configuration.period,
            self._sampler.observation_names,
            self._sampler.action_names,
        )
        newest = np.full((horizon, run.observations.shape[1]), np.nan)
        told, arrived = {}, 0
        for seen, tick in enumerate(ticks, start=1):
            made = self.forecasts.get(tick.stamp_ns)
            arrived += made is not None
            # A tick later the old forecast's second row is for the next tick.
            newest = np.concatenate([newest[1:], newest[-1:]]) if made is None else made
            told[seen] = newest
        return run, RecordedForecasts.of(Signature.of(run), told), arrived

    def _subscribe(
        self, type_name: str, topic: str, take: Callable[[Any], None], profile: Any = DEPTH
    ) -> None:
        self.node.create_subscription(message_class(type_name), topic, take, profile)

    def _on_clock(self, message: Any) -> None:
        self._now_ns = stamp_ns(message.clock)

    def _taker(self, topic: str) -> Callable[[Any], None]:
        def take(message: Any) -> None:
            receive_ns = self._times.next()
            if receive_ns is None:
                return
            for event in self._sampler.feed(topic, stamp_of(message, receive_ns), message):
                if isinstance(event, SegmentEnd):
                    self.ticks.clear()
                else:
                    self.ticks.append(event)

        return take

    def _on_assumed(self, message: Any) -> None:
        self._planned = message.layout.dim[0].label.endswith(PLAN)

    def _on_forecast(self, message: Any) -> None:
        if self._planned:
            rows = [point.positions for point in message.points]
            self.forecasts[stamp_ns(message.header.stamp)] = np.array(rows)

    def _on_status(self, message: Any) -> None:
        self.learner = (message.message, {pair.key: pair.value for pair in message.values})


def stamp_ns(stamp: Any) -> int:
    """Return a builtin_interfaces/msg/Time in nanoseconds."""
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)
