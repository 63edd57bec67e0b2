"""Following a bag, or a node's log of what it was fed, exactly as a node would follow it live."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower, Outcome
from rffpsr_ros.forecasting.future_actions import MODES, plan_in
from rffpsr_ros.forecasting.model_channels import channels_of
from rffpsr_ros.forecasting.sequence_log import CONTROL_TOPIC, PLAN_TOPIC
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.recordings.bags.message_types import MessageTypes
from rffpsr_ros.recordings.bags.opening import open_bag
from rffpsr_ros.recordings.bags.source import share_of
from rffpsr_ros.recordings.bags.topic_reader import TopicReader, topics_in

MOST_TICKS = 10_000
"""The longest horizon that a node takes; between forecasts, a hundred times as many."""


class Replay:
    """One bag, read once from front to back through a follower.

    In a log of what a node was fed, the node's own options, resets and plans are followed.

    Parameters
    ----------
    model
        As `Follower` takes it.
    path
        The bag.
    options
        How to follow, unless the bag itself says it.
    types
        Message types for bags that do not define them; default: none.

    Raises
    ------
    InputError
        If the bag cannot be read, lacks a topic of the model, or has it with another type.
    """

    def __init__(
        self,
        model: PredictiveModel[Any],
        path: Path,
        options: FollowOptions,
        types: MessageTypes | None = None,
    ) -> None:
        self.path = path
        configuration = channels_of(model)
        self._source = open_bag(path)
        try:
            topics = topics_in(self._source, configuration, path)
            self.logged = {
                own: self._source.topics[own]
                for own in (CONTROL_TOPIC, PLAN_TOPIC)
                if own in self._source.topics
            }
            store = (types or MessageTypes()).store_for(
                [*topics.values(), *self.logged.values()], path.name, self._source.ros_distro
            )
        except Exception:
            self._source.close()
            raise
        self._readers = {
            topic.name: TopicReader(name, topic.type, self._source, store, configuration.stamps)
            for name, topic in topics.items()
        }
        self._own = {
            topic.name: TopicReader(name, topic.type, self._source, store, configuration.stamps)
            for name, topic in self.logged.items()
        }
        self._read, self._all = 0, [*self._readers, *self._own]
        self.follower = Follower(
            model, options, {reader.name: reader.lazy for reader in self._readers.values()}
        )

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the bag."""
        self._source.close()

    @property
    def share_read(self) -> float | None:
        """Return which share of the messages is read; None if the bag does not say how many."""
        return share_of(self._read, [self._source.topics[name] for name in self._all])

    def outcomes(self) -> Iterator[Outcome]:
        """Yield steps and segment ends in order.

        Raises
        ------
        InputError
            If a field does not fit the messages.
        """
        with closing(self._source):
            for topic, receive_ns, data in self._source.messages({*self._readers, *self._own}):
                self._read += 1
                if topic in self._own:
                    self._control(topic, receive_ns, data)
                    continue
                reader = self._readers[topic]
                stamp_ns, message = reader.read(data, receive_ns)
                try:
                    yield from self.follower.feed(reader.name, stamp_ns, message)
                except InputError:
                    if not self.logged:
                        raise
                    # The node complained of this message, and went on.

    def _control(self, topic: str, receive_ns: int, data: bytes) -> None:
        """Do what a node noted of itself.

        Raises
        ------
        InputError
            If the entry is none that a node writes.
        """
        message = self._own[topic].lazy(data)
        try:
            if topic == PLAN_TOPIC:
                columns = len(self.follower.model.signature.action_names)
                with suppress(InputError):  # of which the node complained, and went on
                    self.follower.take_plan(plan_in(message, columns), receive_ns)
                return
            entry = json.loads(message.data)
            if "options" in entry:
                options = replace(self.follower.options, **entry["options"])
                _check_options(options)
                self.follower.change(options)
            if "reset" in entry:
                self.follower.reset(str(entry["reset"]), entry["start"])
        except InputError:
            raise
        except Exception as problem:  # A damaged entry fails in many ways.
            raise InputError(
                f"the log {self.path} has an entry on {topic} that no node writes: {shown(problem)}"
            ) from None


def _check_options(options: FollowOptions) -> None:
    """Refuse options that a node does not have.

    Raises
    ------
    InputError
        If one is of another kind than it should be, or out of range.
    """
    for name, value in options.to_mapping().items():
        usual = getattr(FollowOptions(), name)
        right = type(value) is type(usual) or (isinstance(usual, float) and type(value) is int)
        if name == "rejection_threshold":
            right = all(type(one) in (int, float) and one >= 0 for one in value) and len(value) > 0
        elif right and not isinstance(value, (str, bool)):
            most = 100 * MOST_TICKS if name == "publish_every" else MOST_TICKS
            right = 0 < value < 1 if name == "coverage" else 1 <= value <= most
        if name == "future_actions":
            right = value in MODES
        if name == "start":
            right = value in ("running", "episode")
        if not right:
            raise InputError(f"a log sets the option {name} to {shown(value)}, which no node has")
