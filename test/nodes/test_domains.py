"""Tests do not meet nodes of others, not even of those that were killed."""

from pathlib import Path

import pytest

from benchmarks.live_nodes import free_domain


@pytest.mark.usefixtures("ros_environment")
def test_a_node_that_outlives_who_started_it_keeps_its_domain(tmp_path: Path) -> None:
    with free_domain(tmp_path) as ros:
        node = ros.start("simulator_node", system="synthetic")
        node.wait_for("simulating")
        ros.nodes.clear()  # as if nobody were left to end it
    try:
        with free_domain(tmp_path) as another:
            assert node.alive
            assert another.domain != ros.domain
    finally:
        node.end()
