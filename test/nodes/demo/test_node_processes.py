"""Nodes as processes: that they end with what started them, and what is said of a missing one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.demo.processes import DOMAINS, NodeProcesses, is_empty

STARTS_ONE_AND_WAITS = """
import sys, time
from pathlib import Path
from rffpsr_ros.nodes.demo.processes import NodeProcesses

with NodeProcesses(Path(sys.argv[1]), {}) as nodes:
    nodes.start_command("node", [sys.executable, "-c", sys.argv[2]])
    time.sleep(600)
"""
TELLS_WHEN_ASKED_TO_END = """
import pathlib, signal, sys, time

def end(number, frame):
    pathlib.Path("asked").touch()
    sys.exit()

signal.signal(signal.SIGINT, end)
pathlib.Path("listens").touch()
time.sleep(600)
"""
PATIENCE = 60.0


def test_nodes_are_asked_to_end_when_what_started_them_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS_ONE_AND_WAITS, str(tmp_path), TELLS_WHEN_ASKED_TO_END]
    with subprocess.Popen(command, cwd=tmp_path) as demonstration:
        wait_for(tmp_path / "listens")
        demonstration.send_signal(signal.SIGKILL)
    wait_for(tmp_path / "asked")


def test_a_domain_is_not_empty_while_a_node_is_in_it(ros_environment: None, domain: None) -> None:
    import rclpy

    own = int(os.environ["ROS_DOMAIN_ID"])
    assert own in DOMAINS
    assert is_empty(own)
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=own)
    node = rclpy.create_node("somebody", context=context)
    assert not is_empty(own)
    node.destroy_node()
    rclpy.shutdown(context=context)
    assert is_empty(own)


def test_a_command_that_is_not_installed_is_said_so(tmp_path: Path) -> None:
    with (
        NodeProcesses(tmp_path, {}) as nodes,
        pytest.raises(InputError, match="the command no_such_command is not installed"),
    ):
        nodes.start_command("node", ["no_such_command"])


def wait_for(path: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < end, f"no file '{path.name}'"
        time.sleep(0.02)
