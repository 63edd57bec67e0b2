"""A log of everything a follower was fed, as a bag, so that what it did can be replayed exactly.

Beside the messages themselves, the bag holds plans and what else was done to the follower on two
topics of its own. Log times increase strictly, because a bag is read in the order of its log times.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rosbags.typesys.store import Typestore

from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.bags.writer import BagWriter

CONTROL_TOPIC = "/rffpsr/control"
CONTROL_TYPE = "std_msgs/msg/String"
PLAN_TOPIC = "/rffpsr/plan"
PLAN_TYPE = "std_msgs/msg/Float64MultiArray"


class SequenceLog:
    """Writes the log; `flush` it every now and then, then a kill loses only what was logged since.

    Receive times must not go back, because there is no other time in a bag: begin another log.

    Parameters
    ----------
    path
        The bag's folder; it must not exist yet.
    typestore
        Knows the types of all topics, and those of the two topics of the log.
    topics
        Message type by topic.
    start_ns
        The time of receipt of the first message.

    Raises
    ------
    InputError
        If the folder exists or cannot be created, or a type is unknown.
    """

    def __init__(
        self, path: Path, typestore: Typestore, topics: Mapping[str, str], start_ns: int
    ) -> None:
        self.path = path
        self._bag = BagWriter(path, "mcap", typestore=typestore)
        # What is known before the first message is logged just before it.
        self.last_ns = start_ns - 1000
        for topic, type_name in (
            *topics.items(),
            (CONTROL_TOPIC, CONTROL_TYPE),
            (PLAN_TOPIC, PLAN_TYPE),
        ):
            self._bag.add_topic(topic, type_name)

    def message(self, topic: str, receive_ns: int, data: bytes) -> None:
        """Log a message that is about to be fed."""
        self.last_ns = max(receive_ns, self.last_ns + 1)
        self._bag.write_raw(topic, self.last_ns, data)

    def options(self, options: FollowOptions, model_checksum: str) -> None:
        """Log how the model follows from now on."""
        self._control({"options": options.to_mapping(), "model": model_checksum})

    def reset(self, reason: str, start: str) -> None:
        """Log that the follower was reset."""
        self._control({"reset": reason, "start": start})

    def plan(self, plan: Array, receive_ns: int) -> None:
        """Log a plan (n, d_a) that is about to be taken."""
        make = self._bag.message
        dimension = "std_msgs/msg/MultiArrayDimension"
        rows, columns = plan.shape
        layout = make(
            "std_msgs/msg/MultiArrayLayout",
            dim=[
                make(dimension, label="horizon", size=rows, stride=rows * columns),
                make(dimension, label="action", size=columns, stride=columns),
            ],
            data_offset=0,
        )
        self.last_ns = max(receive_ns - 1, self.last_ns)
        self._write(PLAN_TOPIC, make(PLAN_TYPE, layout=layout, data=np.ravel(plan)))

    def flush(self) -> None:
        """Let everything so far survive a kill."""
        self._bag.flush()

    def close(self) -> None:
        """Complete the bag."""
        self._bag.close()

    def _control(self, entry: Mapping[str, Any]) -> None:
        self._write(CONTROL_TOPIC, self._bag.message(CONTROL_TYPE, data=json.dumps(entry)))

    def _write(self, topic: str, message: Any) -> None:
        self.last_ns += 1
        self._bag.write(topic, self.last_ns, message)
