"""Which executor runs a node, and what happens where rclpy lacks what the direct one takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rffpsr_ros.errors import InputError


def node_with(executor: str, lines: list[str]) -> Any:
    """Return as much of a node as is asked."""
    return SimpleNamespace(
        get_parameter=lambda name: SimpleNamespace(value={"executor": executor}[name]),
        get_logger=lambda: SimpleNamespace(warning=lines.append),
    )


@pytest.fixture
def started(ros_environment: None) -> Any:
    """Have ROS initialised, as executors want it."""
    import rclpy

    rclpy.init()
    yield
    rclpy.shutdown()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("direct", "DirectExecutor"),
        ("single_threaded", "SingleThreadedExecutor"),
        ("events", "EventsExecutor"),
    ],
)
def test_the_parameter_chooses(started: None, name: str, kind: str) -> None:
    from rffpsr_ros.nodes.shared.executors import make_executor, works_on_bytes

    if name == "events":
        pytest.importorskip("rclpy.experimental.events_executor")
    lines: list[str] = []
    executor = make_executor(node_with(name, lines), bool)
    assert type(executor).__name__ == kind
    assert works_on_bytes(node_with(name, lines)) == (name != "single_threaded")
    assert lines == []
    executor.shutdown()


def test_without_a_name_of_rclpy_everything_is_rclpys_own_and_one_line_says_so(
    started: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rffpsr_ros.nodes.shared import rclpy_internals
    from rffpsr_ros.nodes.shared.executors import make_executor, works_on_bytes

    monkeypatch.setattr(rclpy_internals, "OF_DIRECT", {"rclpy.node:Node.gone": "Gone."})
    lines: list[str] = []
    node = node_with("direct", lines)
    assert not works_on_bytes(node)
    executor = make_executor(node, bool)
    assert type(executor).__name__ == "SingleThreadedExecutor"
    assert lines == [
        "this rclpy has no rclpy.node:Node.gone: the executor is single_threaded instead of direct"
    ]
    executor.shutdown()


def test_an_executor_that_this_ros_lacks_is_one_sentence(
    ros_environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from rffpsr_ros.nodes.shared.executors import make_executor

    monkeypatch.setitem(sys.modules, "rclpy.experimental.events_executor", None)
    with pytest.raises(InputError, match="no events executor; set the parameter executor to"):
        make_executor(node_with("events", []), bool)
