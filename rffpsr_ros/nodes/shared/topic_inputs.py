"""Raw subscriptions to the topics of a channel configuration, for the filter and the learner.

A message is taken as bytes: its stamp is read from them, they are logged or recorded as they are,
and decoded only when a tick needs their values.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared.executors import with_times, works_on_bytes
from rffpsr_ros.nodes.shared.lateness import Lateness
from rffpsr_ros.nodes.shared.message_classes import decoder, has_header_first, message_class
from rffpsr_ros.nodes.shared.receive_times import ReceiveTimes
from rffpsr_ros.signals.stamps import receive_time, stamp_of, stamp_of_cdr

RATE_WINDOW = 64
"""Messages over which an input's rate is measured."""

Receive = Callable[["TopicInput", int, bytes], None]
"""Called with the input, the time of receipt (ns) and the bytes of each message."""


class TopicInput:
    """One topic: its subscription, once its type is known, and what is to be said of it.

    Attributes
    ----------
    topic
        As in the configuration; remapping happens below.
    type
        The message type; empty until the graph tells, if the configuration does not.
    count
        Messages received.
    waited_ns
        How late the newest message was taken, see `Lateness`.
    problem
        Why nothing can be received; empty if nothing speaks against it.
    """

    def __init__(self, node: Any, topic: str, type_name: str, stamps: str, receive: Receive):
        self.topic = topic
        self.type = type_name
        self.count = self.waited_ns = 0
        self.problem = ""
        self._node = node
        self._stamps = stamps
        self._receive = receive
        self._times: ReceiveTimes | None = None
        self._subscription: Any = None
        self._profile: QoSProfile | None = None
        self._lateness = Lateness()
        self._recent: deque[int] = deque(maxlen=RATE_WINDOW)
        self.resolved = node.resolve_topic_name(topic)
        self.read_stamp: Callable[[bytes, int], int] = receive_time
        self._decode: Callable[[bytes], Any] | None = None
        if type_name:
            self._know(type_name)

    def subscribe(self, profile: QoSProfile, times: ReceiveTimes, overridable: bool) -> None:
        """Begin to receive; a subscription that was there is replaced."""
        self.unsubscribe()
        self._times = times
        self._profile = profile
        kinds = QoSOverridingOptions.with_default_policies() if overridable else None
        self._subscription = self._node.create_subscription(
            message_class(self.type),
            self.topic,
            with_times(self._node, self._take),
            profile,
            raw=True,
            qos_overriding_options=kinds,
        )

    def unsubscribe(self) -> None:
        """End receiving."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    @property
    def subscribed(self) -> bool:
        """Whether there is a subscription."""
        return self._subscription is not None

    def publishers(self) -> list[Any]:
        """Return what the graph tells of the topic's publishers."""
        return list(self._node.get_publishers_info_by_topic(self.resolved))

    def look_around(self) -> None:
        """Learn the type from the graph, or note that all publishers send another one."""
        types = sorted({info.topic_type for info in self.publishers()})
        self.problem = ""
        if not self.type and len(types) == 1:
            try:
                self._know(types[0])
            except InputError as problem:
                self.problem = str(problem)
        else:
            self.problem = type_problem(self.resolved, types, self.type)

    def follows(self, depth: int) -> QoSProfile:
        """Return the strongest quality of service that every present publisher offers."""
        profiles = self._offered()
        reliable = all(p.reliability == ReliabilityPolicy.RELIABLE for p in profiles)
        latched = all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
        return QoSProfile(
            history=HistoryPolicy.KEEP_LAST,
            depth=depth,
            reliability=(
                ReliabilityPolicy.RELIABLE
                if reliable and profiles
                else ReliabilityPolicy.BEST_EFFORT
            ),
            durability=(
                DurabilityPolicy.TRANSIENT_LOCAL
                if latched and profiles
                else DurabilityPolicy.VOLATILE
            ),
        )

    def hears_somebody(self) -> bool:
        """Tell whether a present publisher offers what the present subscription asks for."""
        mine = self._profile
        if not self.subscribed or mine is None:
            return False
        weakest = ReliabilityPolicy.BEST_EFFORT, DurabilityPolicy.VOLATILE
        return any(
            mine.reliability in (weakest[0], offered.reliability)
            and mine.durability in (weakest[1], offered.durability)
            for offered in self._offered()
        )

    def asks_other_than(self, profile: QoSProfile) -> bool:
        """Tell whether the present subscription asks for something else than a profile does."""
        mine = self._profile
        return mine is None or (mine.reliability, mine.durability) != (
            profile.reliability,
            profile.durability,
        )

    def decode(self, data: Any) -> Any:
        """Return the message in some bytes; None if they are damaged."""
        assert self._decode is not None, "the type of what arrived is known"
        return self._decode(data)

    def rate(self) -> float:
        """Return the messages per second, lately; 0 if there were too few to tell."""
        recent = self._recent
        if len(recent) < 2 or recent[-1] <= recent[0]:
            return 0.0
        return (len(recent) - 1) * 1e9 / (recent[-1] - recent[0])

    def age(self, now_ns: int) -> float | None:
        """Return the seconds since the last message; None if there was none."""
        return (now_ns - self._recent[-1]) / 1e9 if self._recent else None

    def _offered(self) -> list[QoSProfile]:
        """Return what the publishers of the type that is wanted offer."""
        return [info.qos_profile for info in self.publishers() if info.topic_type == self.type]

    def _know(self, type_name: str) -> None:
        self._decode = decoder(type_name, works_on_bytes(self._node))
        self.type = type_name
        first = has_header_first(type_name)
        if self._stamps == "receive" or first is None:
            self.read_stamp = receive_time
        elif first:
            self.read_stamp = stamp_of_cdr
        else:
            self.read_stamp = self._decoded_stamp

    def _decoded_stamp(self, data: bytes, receive_ns: int) -> int:
        message = self.decode(data)
        return receive_ns if message is None else stamp_of(message, receive_ns)

    def _take(self, data: bytes, info: Mapping[str, int]) -> None:
        assert self._times is not None
        self.waited_ns = self._lateness.of(
            time.time_ns(), info["source_timestamp"], info["received_timestamp"]
        )
        receive_ns = self._times.next(info["received_timestamp"])
        if receive_ns is None:
            return
        self.count += 1
        self._recent.append(receive_ns)
        self._receive(self, receive_ns, data)


def type_problem(topic: str, published: Sequence[str], needed: str) -> str:
    """Return why nothing of a topic can be received, by the types published; empty if it can."""
    if not published or needed in published:
        return ""
    return (
        f"topic {topic} carries {' and '.join(published)}, but {needed or 'one type'} is needed;"
        " remap the topic or correct its publisher"
    )


def sensor_profile(depth: int) -> QoSProfile:
    """Return the profile that every publisher is compatible with."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.VOLATILE,
    )


def make_inputs(
    node: Any, topics: Mapping[str, str], stamps: str, receive: Receive
) -> dict[str, TopicInput]:
    """Return an input for each topic (type by topic), not yet subscribed."""
    return {
        topic: TopicInput(node, topic, type_name, stamps, receive)
        for topic, type_name in topics.items()
    }
