"""The controller node over real DDS, in a process of its own, before a simulated robot."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.live_robot import PERIOD_NS, SYSTEM, Robot

LIMIT, RATE, SAFE = 0.4, 4.0, 0.05
STEP = RATE * PERIOD_NS / 1e9
HORIZON = 8
NODE = "/rffpsr_controller"
COMMON: dict[str, Any] = {
    "horizon": HORIZON,
    "limits__low": f"[{-LIMIT}]",
    "limits__high": f"[{LIMIT}]",
    "limits__rate": f"[{RATE}]",
    "safe_command": f"[{SAFE}]",
    "settle_ticks": 12,
    "error_limit": 0.0,
    "reference_timeout": 0.0,
    "stale_ticks": 100.0,  # room for a busy machine; who tests silence takes less
    "budget": 1000.0,  # milliseconds: a busy machine plans as well as another
    "compiled": False,
}


class Controlled(Robot):
    """A robot that is moved by what the controller sends, one tick after another, in its own time.

    A command acts from the first tick that starts after it has come.
    """

    def __init__(self, ros: Any, model: Path, **parameters: Any) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        self.commands = ros.peer.collect("/command", JointState)
        self.plans = ros.peer.collect(f"{NODE}/planned_actions", Float64MultiArray)
        self.diagnostics = ros.peer.collect("/diagnostics", DiagnosticArray)
        self.in_force = 0.0
        self.time_is_late = False
        super().__init__(ros.peer)
        given = {**COMMON, **parameters, "use_sim_time": True}
        self.node = ros.start("controller_node", model_path=model, **given)
        self.node.wait_for("nothing is sent until ~/enable is called")
        self.peer.publisher(f"{NODE}/reference", Float64MultiArray)
        self.peer.matched("/joint_states", "/clock", f"{NODE}/reference")
        self.peer.heard("/command")

    def connect(self) -> None:
        """Create the publishers."""
        from rosgraph_msgs.msg import Clock

        self.clock = Clock
        self.peer.publisher("/clock", Clock)
        self.peer.publisher("/joint_states", self.message)

    @property
    def efforts(self) -> list[float]:
        """All commands so far."""
        return [float(one.effort[0]) for one in self.commands]

    def tick(self, **changes: Any) -> None:
        """Move on under the newest command, and show what is seen, before or after its time."""
        self.state = SYSTEM.step(self.state, np.array([self.in_force]))
        self.in_force = self.efforts[-1] if self.commands else 0.0
        if self.time_is_late:
            self.see(-PERIOD_NS, **changes)
        self.pass_time(PERIOD_NS)
        if not self.time_is_late:
            self.see(**changes)

    def pass_time(self, nanoseconds: int) -> None:
        """Let time pass in which nothing is seen."""
        self.now_ns += nanoseconds
        now = self.clock()
        now.clock.sec, now.clock.nanosec = divmod(self.now_ns, 10**9)
        self.peer.publish("/clock", now)

    def skip(self) -> None:
        """Be silent for five seconds."""
        self.pass_time(5 * 10**9)
        self.run(2)

    def tick_answered(self) -> None:
        """Let a tick pass, and wait for the command that answers it."""
        known = len(self.commands)
        self.tick()
        self.peer.until(lambda: len(self.commands) > known, "a command")

    def aim(self, *values: float) -> None:
        from std_msgs.msg import Float64MultiArray

        self.peer.publish(f"{NODE}/reference", Float64MultiArray(data=list(values)))
        self.peer.settle()

    def controls(self) -> None:
        """Enable it, and wait until it controls."""
        self.aim(0.1)
        answer = self.peer.call(f"{NODE}/enable")
        assert answer.success
        # No segment can begin before there is a command: the safe one makes it.
        self.again()

    def again(self) -> None:
        """Move on until there is another plan."""
        known = len(self.plans)

        def planned() -> bool:
            self.tick()
            return len(self.plans) > known

        self.peer.until(planned, "a plan")

    def told(self, text: str) -> None:
        """Wait until the diagnostics say something of control."""

        def said() -> bool:
            return any(
                status.name.endswith("control") and text in status.message + str(status.values)
                for array in self.diagnostics[-3:]
                for status in array.status
            )

        self.peer.until(said, f"'{text}' in the diagnostics")

    def within_limits(self) -> None:
        """Check all commands so far."""
        sent = np.array(self.efforts)
        assert (np.abs(sent) <= LIMIT).all()
        near = np.abs(np.diff(sent)) <= STEP * (1 + 1e-9)
        assert (near | (sent[1:] == SAFE)).all()


@pytest.mark.parametrize("time_is_late", [False, True])
def test_nothing_is_sent_until_it_is_enabled_and_then_the_robot_is_moved(
    ros: Any, synthetic_model: Path, time_is_late: bool
) -> None:
    from std_msgs.msg import Float64
    from trajectory_msgs.msg import JointTrajectory

    robot = Controlled(ros, synthetic_model)
    costs = ros.peer.collect(f"{NODE}/cost", Float64)
    trajectories = ros.peer.collect(f"{NODE}/trajectory", JointTrajectory)
    robot.aim(0.1)
    robot.run(30)
    robot.told("nobody has called ~/enable")
    assert robot.commands == []
    assert robot.plans == []
    robot.controls()
    robot.time_is_late = time_is_late
    ros.peer.heard(f"{NODE}/cost")
    ros.peer.taken_by(NODE)
    ros.peer.settle()
    seen = []
    for _ in range(60):
        robot.tick_answered()
        seen.append(float(robot.state[0]))
    assert np.abs(np.array(seen[20:]) - 0.1).max() < 0.04  # by itself it would rest at 0
    robot.within_limits()
    layout = robot.plans[-1].layout.dim
    assert [(one.label, one.size) for one in layout] == [
        ("ticks ahead", HORIZON - 1),
        ("action", 1),
    ]
    first = [one.data[0] for one in robot.plans]
    robot.peer.until(lambda: first[-1] in robot.efforts, "the plan's first action as a command")
    robot.peer.until(lambda: costs and trajectories, "cost and trajectory")
    assert costs[-1].data >= 0
    assert len(trajectories[-1].points) == HORIZON
    robot.told("controlling")
    answer = robot.peer.call(f"{NODE}/disable")
    assert answer.success
    robot.peer.until(lambda: robot.efforts[-1] == SAFE, "the safe command")
    sent = len(robot.commands)
    robot.run(10)
    assert len(robot.commands) == sent


def test_silence_and_the_end_leave_the_safe_command(ros: Any, synthetic_model: Path) -> None:
    robot = Controlled(ros, synthetic_model, stale_ticks=10.0)
    robot.controls()

    def silent() -> bool:
        robot.pass_time(PERIOD_NS)
        robot.peer.wait(0.01)
        return robot.efforts[-1] == SAFE

    robot.peer.until(silent, "the safe command in silence")
    robot.node.wait_for("no tick for 0.5 s")
    robot.peer.call(f"{NODE}/enable")
    robot.again()
    robot.within_limits()
    assert robot.node.end(signal.SIGTERM) == 0
    robot.peer.until(lambda: robot.efforts[-1] == SAFE, "the safe command at the end")


def test_faults_end_control(ros: Any, synthetic_model: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.psr"
    shutil.copy(synthetic_model, model)
    robot = Controlled(ros, model)

    def stops(*reasons: str) -> None:
        told = " or ".join(reasons)
        robot.peer.until(lambda: any(robot.node.count(reason) for reason in reasons), told)
        robot.peer.until(lambda: robot.efforts[-1] == SAFE, f"the safe command, as {told}")

    robot.controls()
    robot.tick(position=[4.0])
    stops("is outside of the range trained on")
    robot.peer.call(f"{NODE}/enable")
    robot.again()
    robot.peer.call(f"{NODE}/reset")
    stops("the belief was reset")
    robot.peer.call(f"{NODE}/enable")
    robot.again()
    robot.skip()
    # Whichever the node learns of first: that time has passed, or what is seen thereafter.
    stops("a segment ended", "control was stopped: no tick for 5 s")
    robot.peer.call(f"{NODE}/enable")
    robot.again()
    assert robot.peer.call(f"{NODE}/reload").success
    stops("disabled: another model is loaded")
    robot.within_limits()
    assert robot.node.count("Traceback") == 0


def test_compiled_code_is_taken_up_under_control(
    ros: Any, synthetic_model: Path, tmp_path: Path
) -> None:
    """Where none is kept the controller plans by NumPy meanwhile.

    How many ticks that takes, and so how far the robot gets, depends on the machine.
    """
    pytest.importorskip("numba")
    ros.environment["NUMBA_CACHE_DIR"] = str(tmp_path / "nothing yet")
    robot = Controlled(ros, synthetic_model, compiled=True, range_margin=0.0)
    robot.controls()
    assert not robot.node.count("compiled code is ready:")
    ticks = 0
    while not robot.node.count("compiled code is ready:"):
        robot.tick_answered()
        robot.peer.wait(1.0)  # planning without pause would starve the compiler, which is niced
        ticks += 1
        assert ticks < 1000, "a quarter of an hour, and no compiled code"
    for _ in range(20):
        robot.tick_answered()
    assert "control was stopped" not in robot.node.output
    robot.within_limits()
    assert robot.node.end() == 0


def test_a_dry_run_sends_no_command(ros: Any, synthetic_model: Path) -> None:
    robot = Controlled(ros, synthetic_model, dry_run=True)
    robot.aim(0.1)
    assert robot.peer.call(f"{NODE}/enable").success
    another = robot.peer.publisher("/command", robot.message)
    robot.peer.matched("/command")

    def plans() -> bool:
        robot.send("/command", name=["a"], effort=[0.0])
        robot.tick()
        return len(robot.plans) > 5

    robot.peer.until(plans, "plans")
    assert set(robot.efforts) == {0.0}  # what was sent here
    assert another.get_subscription_count() == 2
    robot.told("dry run")


def test_what_does_not_fit_is_refused_in_a_sentence(ros: Any, synthetic_model: Path) -> None:
    robot = Controlled(ros, synthetic_model)
    peer = robot.peer
    from std_msgs.msg import Float64MultiArray

    peer.publish(f"{NODE}/reference", Float64MultiArray(data=[float("inf")]))
    robot.node.wait_for("a reference must hold finite numbers")
    assert peer.set_parameter(NODE, "tracking_weight", [2.0])
    assert not peer.set_parameter(NODE, "tracking_weight", [1.0, 2.0, 3.0])
    assert not peer.set_parameter(NODE, "effort_weight", [-1.0])
    assert not peer.set_parameter(NODE, "limits.high", [9.0])  # fixed
    unfit = ros.start(
        "controller_node", "__node:=other", model_path=synthetic_model, safe_command="[7.0]"
    )
    unfit.wait_for("safe_command is [7.0], outside of the limits")
    peer.publisher("/other/reference", Float64MultiArray)
    peer.matched("/other/reference")
    for _ in range(2):
        peer.publish("/other/reference", Float64MultiArray(data=[0.1]))
    unfit.wait_for("a ~/reference that arrived before there is a model is left out")
