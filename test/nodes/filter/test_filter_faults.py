"""Whatever goes wrong around the filter node, it lives, says so, and predicts again."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.live_robot import PERIOD_NS, START_NS, Robot
from rffpsr_ros.models.storage import read_model_file


class Watched:
    """A filter node under test, its robot, and what it publishes."""

    def __init__(self, ros: Any, model: Path, *remaps: str, **parameters: Any) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from std_msgs.msg import Float64MultiArray

        self.ros = ros
        self.peer = ros.peer
        self.robot = Robot(ros.peer)
        self.node = ros.start("filter_node", *remaps, model_path=model, **parameters)
        self.forecasts = ros.peer.collect("/rffpsr_filter/prediction", Float64MultiArray)
        self.diagnostics = ros.peer.collect("/diagnostics", DiagnosticArray)

    def begin(self) -> None:
        """Wait until the node listens."""
        self.node.wait_for("serving")
        self.peer.matched("/joint_states", "/command")
        self.peer.heard("/rffpsr_filter/prediction")

    def predicts(self) -> None:
        """Check that the node gives forecasts while the robot behaves."""
        before = len(self.forecasts)

        def more() -> bool:
            self.robot.run(1)
            return len(self.forecasts) >= before + 10

        self.peer.until(more, "forecasts after a fault")
        assert self.node.alive
        assert np.isfinite(self.forecasts[-1].data).all()
        assert self.node.count("Traceback") == 0

    def told(self, aspect: str, text: str) -> None:
        """Wait until the diagnostics say something of an aspect."""

        def said() -> bool:
            return any(
                status.name.endswith(aspect) and text in status.message + str(status.values)
                for array in self.diagnostics[-2:]
                for status in array.status
            )

        self.peer.until(said, f"'{text}' in the diagnostics of {aspect}")


def time_goes_back(watched: Watched) -> None:
    watched.robot.now_ns = START_NS
    watched.robot.run(3)
    watched.node.wait_for("segment ended (time_jump)")


def nothing_but_nan_and_inf(watched: Watched) -> None:
    for value in (float("nan"), float("inf"), -float("inf")):
        for _ in range(4):
            watched.robot.tick(position=[value])


def values_far_outside(watched: Watched) -> None:
    for _ in range(5):
        watched.robot.tick(position=[1e6])


def a_joint_missing(watched: Watched) -> None:
    for _ in range(4):
        watched.robot.tick(name=["other"], position=[0.3])
    for _ in range(4):
        watched.robot.tick(name=[], position=[])


def joints_in_another_order(watched: Watched) -> None:
    for _ in range(4):
        position = [5.0, float(watched.robot.state[0])]
        watched.robot.tick(name=["other", "o"], position=position)


def late_and_duplicate_messages(watched: Watched) -> None:
    before = len(watched.forecasts)
    for _ in range(20):
        watched.robot.tick()
        watched.robot.see()  # once more
        watched.robot.see(late_ns=PERIOD_NS // 2)
    watched.peer.until(lambda: len(watched.forecasts) >= before + 20, "a forecast per tick")
    assert len(watched.forecasts) <= before + 21
    watched.told("inputs", "late messages")


def five_seconds_of_silence(watched: Watched) -> None:
    watched.peer.wait(1.5)
    watched.told("inputs", "silent")
    watched.robot.now_ns += 5 * 10**9
    watched.robot.run(2)
    watched.node.wait_for("segment ended (gap)")


def a_publisher_restart(watched: Watched) -> None:
    watched.peer.forget("/joint_states")
    watched.peer.wait(0.3)
    watched.robot.connect()
    watched.peer.matched("/joint_states")


def a_command_that_is_not_finite(watched: Watched) -> None:
    for _ in range(3):
        watched.robot.command(effort=[float("nan")])
        watched.robot.tick()


FAULTS: list[Callable[[Watched], None]] = [
    time_goes_back,
    nothing_but_nan_and_inf,
    values_far_outside,
    a_joint_missing,
    joints_in_another_order,
    late_and_duplicate_messages,
    five_seconds_of_silence,
    a_publisher_restart,
    a_command_that_is_not_finite,
]


def test_after_every_fault_of_the_inputs_it_predicts_again(ros: Any, synthetic_model: Path) -> None:
    watched = Watched(ros, synthetic_model)
    watched.begin()
    watched.predicts()
    for fault in FAULTS:
        print(fault.__name__)
        fault(watched)
        watched.predicts()
    assert watched.node.count("[ERROR]") == 0
    watched.told("forecast", "belief resets: gap")
    assert watched.node.end(within=2.0) == 0


def test_joints_are_found_by_name_in_every_message(ros: Any, synthetic_model: Path) -> None:
    """The same run, with the joints in another order every time, gives the same forecasts."""
    runs = []
    for shuffled in (False, True):
        watched = Watched(ros, synthetic_model, start="episode")
        watched.begin()
        # In order, however busy the machine.
        watched.robot.between = partial(watched.peer.taken_by, "/rffpsr_filter")
        for tick in range(20):
            order = -1 if shuffled and tick % 2 else 1
            watched.robot.tick(name=["other", "o"][::order], position=[7.0, 0.1 * tick][::order])
        watched.peer.wait(0.5)
        runs.append([list(forecast.data) for forecast in watched.forecasts[-10:]])
        assert watched.node.end() == 0
    assert len(runs[0]) == 10
    assert runs[0] == runs[1]


def test_a_wrong_message_type_is_one_error_line(ros: Any, synthetic_model: Path) -> None:
    from std_msgs.msg import String

    stranger = ros.another_peer()
    stranger.publisher("/joint_states", String)
    watched = Watched(ros, synthetic_model)
    watched.peer.forget("/joint_states")
    watched.node.wait_for("carries std_msgs/msg/String")
    watched.told("inputs", "carries std_msgs/msg/String")
    watched.peer.wait(1.0)
    assert watched.node.count("[ERROR]") == 1
    stranger.forget("/joint_states")
    watched.robot.connect()
    watched.begin()
    watched.predicts()


def test_simulated_time_that_starts_late(ros: Any, synthetic_model: Path) -> None:
    from rosgraph_msgs.msg import Clock

    watched = Watched(ros, synthetic_model, use_sim_time=True)
    watched.begin()
    watched.robot.run(5)
    watched.node.wait_for("waiting for /clock")
    assert watched.forecasts == []
    clock = watched.peer.publisher("/clock", Clock)
    watched.peer.matched("/clock")
    normal = watched.robot.tick

    def with_clock(**changes: Any) -> None:
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(watched.robot.now_ns, 10**9)
        clock.publish(message)
        watched.peer.wait(0.002)
        normal(**changes)

    watched.robot.tick = with_clock  # type: ignore[method-assign]
    watched.predicts()
    watched.robot.now_ns = START_NS  # the simulation is reset
    watched.predicts()


def test_a_model_that_is_missing_corrupt_or_replaced(
    ros: Any, synthetic_model: Path, swimmer_model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "model.psr"
    watched = Watched(ros, path)
    watched.node.wait_for("does not exist")
    path.write_bytes(synthetic_model.read_bytes()[:2000])
    watched.node.wait_for("is damaged")
    assert watched.node.count("[ERROR]") == 2
    copy_atomically(synthetic_model, path)
    watched.begin()
    watched.predicts()

    path.write_bytes(b"nonsense")  # while running: the old model stays in service
    watched.told("model", "call ~/reload")
    for _ in range(2):
        answer = watched.peer.call("/rffpsr_filter/reload")
        assert not answer.success
        assert "not a model file" in answer.message
    watched.predicts()
    assert watched.node.count("is not a model file") == 1

    copy_atomically(swimmer_model, path)
    answer = watched.peer.call("/rffpsr_filter/reload")
    assert answer.success, answer.message
    watched.told("model", str(read_model_file(swimmer_model).header["checksum"]))
    copy_atomically(synthetic_model, path)
    assert watched.peer.call("/rffpsr_filter/reload").success
    watched.peer.matched("/joint_states", "/command")
    watched.predicts()


def copy_atomically(source: Path, target: Path) -> None:
    part = target.with_suffix(".part")
    shutil.copy(source, part)
    part.replace(target)


def test_two_filters_in_one_domain(ros: Any, synthetic_model: Path) -> None:
    from std_msgs.msg import Float64MultiArray

    one = Watched(ros, synthetic_model)
    other = ros.start("filter_node", "__ns:=/second", model_path=synthetic_model, horizon=3)
    forecasts = ros.peer.collect("/second/rffpsr_filter/prediction", Float64MultiArray)
    one.begin()
    other.wait_for("serving")
    ros.peer.heard("/second/rffpsr_filter/prediction")
    ros.peer.matched("/joint_states", "/command", listeners=2)
    one.predicts()

    def more() -> bool:  # the second may have learned later that it is listened to
        one.robot.run(1)
        return len(forecasts) >= 8

    ros.peer.until(more, "forecasts of the second filter")
    assert forecasts[-1].layout.dim[0].size == 3
    assert one.forecasts[-1].layout.dim[0].size == 10
    assert one.node.end() == other.end() == 0


def test_plans_that_do_not_fit_are_refused_in_one_line(ros: Any, synthetic_model: Path) -> None:
    from std_msgs.msg import Float64MultiArray

    watched = Watched(ros, synthetic_model, future_actions="topic")
    watched.begin()
    watched.peer.publisher("/rffpsr_filter/planned_actions", Float64MultiArray)
    watched.peer.matched("/rffpsr_filter/planned_actions")
    watched.predicts()
    for data in ([], [float("nan")]):
        watched.peer.publish("/rffpsr_filter/planned_actions", Float64MultiArray(data=data))
        watched.predicts()
    watched.node.wait_for("it must hold whole rows of 1")
    watched.node.wait_for("not finite")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["first line", "serving", "working"])
def test_it_ends_in_order_whenever_asked(
    ros: Any, synthetic_model: Path, tmp_path: Path, number: int, moment: str
) -> None:
    model = tmp_path / "none.psr" if moment == "first line" else synthetic_model
    logs = tmp_path / "sequences"
    watched = Watched(ros, model, log_sequence=logs)
    if moment == "first line":
        watched.peer.until(lambda: watched.node.lines, "a first line")
    elif moment == "serving":
        watched.node.wait_for("serving")
    else:
        watched.begin()
        watched.predicts()
    assert watched.node.end(number, within=2.0) == 0
    assert watched.node.count("Traceback") == 0
    if moment == "working":
        (log,) = logs.iterdir()
        assert sorted(os.listdir(log)) == ["metadata.yaml", f"{log.name}.mcap"]
