"""The filter's log on a disk that is full, and on one that is not."""

from __future__ import annotations

import gc
import resource
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")

from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.nodes.filter.sequence_logger import SequenceLogger


class Said:
    """What was complained of."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    def error(self, topic: str, text: str) -> None:
        self.errors.append(text)


@contextmanager
def full_disk() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_ends_the_log_with_one_sentence_and_leaves_nothing_open(
    tmp_path: Path,
) -> None:
    said = Said()
    logger = SequenceLogger(str(tmp_path), said)  # type: ignore[arg-type]
    options = FollowOptions()
    logger.begin({"/command": "std_msgs/msg/Float64"}, options, "0" * 64)
    logger.message("/command", 1_000_000, b"\0\1\0\0" + np.float64(2.0).tobytes())
    with warnings.catch_warnings(record=True) as warned, full_disk():
        warnings.simplefilter("always")
        logger.flush()
        logger.message("/command", 2_000_000, b"\0\1\0\0" + np.float64(2.0).tobytes())
        logger.close()
        gc.collect()
    assert len(said.errors) == 1
    assert said.errors[0].startswith("the sequence is no longer logged: ")
    assert [str(one.message) for one in warned] == []
