"""A real ROS for every test: its own domain, nodes as processes, and a peer that talks to them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.live_nodes import NodeProcess, Peer, Ros, free_domain, learn, wait_until
from rffpsr_ros.simulation.swimmer import Swimmer
from rffpsr_ros.simulation.synthetic import SyntheticSystem

__all__ = ["NodeProcess", "Peer", "Ros", "wait_until"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts nodes."""
    for item in items:
        if isinstance(item, pytest.Function) and "ros_environment" in item.fixturenames:
            item.add_marker("real_nodes")


@pytest.fixture(scope="session")
def ros_environment() -> Iterator[None]:
    """Keep ROS on this machine and out of the home folder."""
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        patch.setenv("ROS_LOG_DIR", folder)
        yield


@pytest.fixture
def ros(ros_environment: None, tmp_path: Path) -> Iterator[Ros]:
    """Return a domain that no other test of this machine uses at the same time."""
    with free_domain(tmp_path) as ros:
        yield ros


@pytest.fixture(scope="session")
def synthetic_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a model of the paper's synthetic system."""
    return learn(SyntheticSystem(), tmp_path_factory.mktemp("models"), "synthetic")


@pytest.fixture(scope="session")
def swimmer_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a model of the swimmer."""
    return learn(Swimmer(), tmp_path_factory.mktemp("models"), "swimmer")
