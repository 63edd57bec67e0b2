"""Commands on the action topics of a channel configuration: one place that publishes them."""

from __future__ import annotations

from typing import Any

from rclpy.duration import Duration
from rclpy.time import Time

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared.command_writer import CommandWriter
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.signals.channels import ChannelConfiguration

DEPTH = 10
_AFTER = Duration(nanoseconds=1)


class CommandOutput:
    """Publishes actions (d_a,) on the topics, and in the fields, of a configuration's channels.

    Attributes
    ----------
    columns
        d_a.
    topics
        Their names as remapped.

    Raises
    ------
    InputError
        If a channel cannot be written, or two have one topic.
    """

    def __init__(self, node: Any, configuration: ChannelConfiguration) -> None:
        self._node = node
        self._writers = _writers(configuration)
        self.columns = sum(writer.width for writer in self._writers.values())
        self.topics = tuple(map(node.resolve_topic_name, self._writers))
        self._publishers = {
            topic: node.create_publisher(writer.message_class, topic, DEPTH)
            for topic, writer in self._writers.items()
        }
        self.sent = False
        """Whether anything was sent so far."""

    def send(self, action: Array, answered_ns: int = 0) -> None:
        """Publish an action (d_a,) that answers what was seen at a time; headers say when.

        That is now. Simulated time stands still meanwhile: so that a command which answers what was
        seen never counts as sent at that very moment, as `ReceiveTimes` has it, it is a nanosecond
        later. Nor does it count as sent before: what is seen may arrive sooner than its time does.
        """
        clock = self._node.get_clock()
        now = clock.now()
        if clock.ros_time_is_active:
            now = max(now, Time(nanoseconds=answered_ns, clock_type=now.clock_type))
        now += _AFTER
        self.sent = True
        start = 0
        for topic, writer in self._writers.items():
            message = writer.write(action[start : start + writer.width].tolist())
            start += writer.width
            if hasattr(message, "header"):
                message.header.stamp = now.to_msg()
            self._publishers[topic].publish(message)

    def arrived(self, patience: float) -> None:
        """Wait, for so many seconds at most, until all reliable listeners have what was sent."""
        for publisher in self._publishers.values():
            publisher.wait_for_all_acked(Duration(nanoseconds=round(patience * 1e9)))

    def close(self) -> None:
        """Publish no more."""
        for publisher in self._publishers.values():
            self._node.destroy_publisher(publisher)
        self._publishers = {}


def _writers(configuration: ChannelConfiguration) -> dict[str, CommandWriter]:
    """Return a writer for each action topic."""
    writers: dict[str, CommandWriter] = {}
    for channel in configuration.actions:
        if channel.topic in writers:
            raise InputError(
                f"two action channels have the topic {channel.topic}; to publish commands on it"
                " write all its fields in one"
            )
        writers[channel.topic] = CommandWriter(channel)
    return writers
