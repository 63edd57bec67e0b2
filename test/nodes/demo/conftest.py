"""A ROS of its own for what the demonstration starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def domain(ros_environment: None, tmp_path: Path) -> Iterator[None]:
    """Enter a domain of its own, and leave it."""
    from rffpsr_ros.nodes.demo.processes import enter_a_ros_of_its_own

    before = dict(os.environ)
    enter_a_ros_of_its_own(tmp_path)
    yield
    os.environ.clear()
    os.environ.update(before)
