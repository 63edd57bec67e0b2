"""Whatever reaches a running filter: it lives, forecasts again, and tells the truth."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.audit.case import Case, untrue_state
from benchmarks.audit.filter_stage import NODE, FilterStage
from benchmarks.audit.live_stage import cases_on
from benchmarks.audit.runner import Group
from benchmarks.live_robot import PERIOD_NS, START_NS

Act = Callable[[FilterStage], object]

LATEST_NS = (2**31 - 1) * 10**9
HUGE = 1.797e308
FORGED = "rgb8\n[ERROR] [1.0] [rffpsr_filter]: forged"


def _seen(stage: FilterStage, **changes: Any) -> None:
    for _ in range(5):
        stage.robot.tick(**changes)


def _commanded(stage: FilterStage, **values: Any) -> None:
    for _ in range(5):
        stage.robot.command(**values)
        stage.robot.now_ns += PERIOD_NS
        stage.robot.see()


def _at(stage: FilterStage, *stamps_ns: int) -> None:
    """See the robot at these times, and then again at its own."""
    for stamp_ns in stamps_ns:
        stage.robot.send("/joint_states", stamp_ns, name=["o"], position=[0.1])
    stage.robot.now_ns += PERIOD_NS


def _two_clocks(stage: FilterStage) -> None:
    for _ in range(40):
        stage.robot.tick()
        stage.robot.see(late_ns=3600 * 10**9)


def _time_jumps(stage: FilterStage) -> None:
    for _ in range(200):
        stage.robot.see(late_ns=10**10)
        stage.robot.see()


def _burst(stage: FilterStage) -> None:
    before, stage.robot.between = stage.robot.between, lambda: None
    try:
        stage.robot.run(1500)
    finally:
        stage.robot.between = before
    stage.peer.taken_by(NODE)


def _damaged(stage: FilterStage) -> None:
    draw = np.random.default_rng(0)
    for publisher in stage.peer._publishers.values():
        for length in (0, 1, 3, 4, 8, 12, 60, 3000):
            publisher.publish(draw.bytes(length))
            publisher.publish(b"\x00\x01\x00\x00" + draw.bytes(length))
            stage.peer.wait(0.002)


def _another_type(stage: FilterStage) -> None:
    from std_msgs.msg import String

    other = stage.ros.another_peer()
    for _ in range(20):
        other.publish("/joint_states", String(data=FORGED))
        stage.robot.tick()
    other.forget("/joint_states")


def _plans(stage: FilterStage, data: Any, dims: tuple[int, ...] = (), offset: int = 0) -> None:
    from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

    stage.peer.set_parameter(NODE, "future_actions", "topic")
    dim = [MultiArrayDimension(label=FORGED, size=size, stride=size) for size in dims]
    layout = MultiArrayLayout(dim=dim, data_offset=offset)
    for _ in range(3):
        stage.plans.publish(Float64MultiArray(layout=layout, data=np.asarray(data, float).tolist()))
        stage.robot.tick()
    stage.recovers()
    stage.peer.set_parameter(NODE, "future_actions", "hold")


def _reload(stage: FilterStage, put: Callable[[FilterStage], object]) -> None:
    stage.model.unlink()
    put(stage)
    answer = stage.peer.call(f"{NODE}/reload")
    if answer.success:
        raise untrue_state("what is no model is said to be served")
    stage.robot.run(3)
    stage.restore()


def _truncated(stage: FilterStage) -> None:
    stage.model.write_bytes(stage.good.read_bytes()[:5000])


def _foreign(stage: FilterStage) -> None:
    shutil.copy(stage.foreign_model(), stage.model)
    stage.peer.call(f"{NODE}/reload")
    stage.robot.run(5)
    stage.restore()


def _replaced_all_the_time(stage: FilterStage) -> None:
    for number in range(20):
        stage.model.unlink(missing_ok=True)
        if number % 2:
            stage.model.write_bytes(stage.good.read_bytes()[: 400 * number])
        stage.robot.run(2)
    stage.restore()


def _parameters(stage: FilterStage) -> None:
    taken = [
        (name, value)
        for name, value in (
            ("horizon", 0),
            ("horizon", -(2**62)),
            ("horizon", "ten"),
            ("lead", 10_000),
            ("coverage", float("nan")),
            ("coverage", 2.0),
            ("drift_warning", float("inf")),
            ("future_actions", FORGED),
            ("start", ""),
            ("publish_every", 0),
            ("model_path", "/etc/passwd"),
            ("model_path", "x" * 10_000),
            ("executor", "events"),
            ("no_such_parameter", 1),
            ("x" * 10_000, 1),
        )
        if stage.peer.set_parameter(NODE, name, value)
    ]
    if taken:
        raise untrue_state(f"nonsense is accepted: {str(taken)[:200]}")


def _unknown_type_of_parameter(stage: FilterStage) -> None:
    from rcl_interfaces.msg import Parameter, ParameterValue
    from rcl_interfaces.srv import SetParameters, SetParametersAtomically

    odd = [Parameter(name="horizon", value=ParameterValue(type=99)), Parameter(name="")]
    for kind, name in (
        (SetParameters, "set_parameters"),
        (SetParametersAtomically, "set_parameters_atomically"),
    ):
        stage.peer.call(f"{NODE}/{name}", kind, kind.Request(parameters=odd))


def _long_horizon(stage: FilterStage) -> None:
    stage.peer.set_parameter(NODE, "horizon", 10_000)
    stage.robot.run(5)
    stage.peer.taken_by(NODE)
    stage.peer.set_parameter(NODE, "horizon", 5)


def _many_changes(stage: FilterStage) -> None:
    for number in range(60):
        stage.peer.set_parameter(NODE, "publish_every", 1 + number % 3)
        stage.peer.set_parameter(NODE, "lead", 1 + number % 5)
        stage.robot.tick()
    stage.peer.set_parameter(NODE, "publish_every", 1)


def _resets(stage: FilterStage) -> None:
    for _ in range(100):
        stage.peer.call(f"{NODE}/reset")
        stage.robot.tick()


def _life_cycles(stage: FilterStage) -> None:
    for _ in range(5):
        for transition in (4, 250, 1, 2, 3, 7, 4, 2, 1, 3):  # in every order but the right one
            if transition != 7:  # which is the end
                stage.change_state(transition)
            stage.robot.tick()
    for transition in (1, 3):
        stage.change_state(transition)
    stage.peer.matched("/joint_states", "/command")


def _listeners(stage: FilterStage) -> None:
    from std_msgs.msg import Float64MultiArray
    from trajectory_msgs.msg import JointTrajectory

    node = stage.peer.node
    for _ in range(5):
        many = [
            node.create_subscription(kind, f"{NODE}/{name}", lambda _: None, 1)
            for name, kind in (
                ("prediction", Float64MultiArray),
                ("state", Float64MultiArray),
                ("trajectory", JointTrajectory),
            )
            for _ in range(10)
        ]
        stage.robot.run(10)
        for one in many:
            node.destroy_subscription(one)


def _publishers(stage: FilterStage) -> None:
    for _ in range(10):
        stage.peer.forget("/joint_states")
        stage.robot.connect()
        stage.robot.run(2)
    stage.peer.matched("/joint_states")


def _full_disk(stage: FilterStage) -> None:
    """Every file may grow to a few kilobytes only, the log of what the model was fed too."""
    pid = stage.node.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        stage.robot.run(150)
        stage.peer.call(f"{NODE}/reset")
        stage.peer.set_parameter(NODE, "lead", 2)
        stage.recovers()
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def _log_folder_removed(stage: FilterStage) -> None:
    shutil.rmtree(stage.sequences, ignore_errors=True)
    stage.robot.run(5)
    _at(stage, START_NS - 10**12)
    stage.robot.run(5)


def _clock(stage: FilterStage) -> None:
    """Simulated time is switched on and off, and tells nonsense."""
    from rosgraph_msgs.msg import Clock

    stage.peer.set_parameter(NODE, "use_sim_time", "yes")
    stage.peer.set_parameter(NODE, "use_sim_time", True)
    clock = stage.peer.publisher("/clock", Clock)
    stage.peer.matched("/clock")
    for seconds in (0, 5, 2**31 - 1, -(2**31), 1, 7, 3):
        message = Clock()
        message.clock.sec, message.clock.nanosec = seconds, 2**32 - 1
        clock.publish(message)
        clock.publish(os.urandom(5))
        stage.robot.run(2)
    stage.peer.forget("/clock")
    stage.peer.set_parameter(NODE, "use_sim_time", False)


ACTS: list[tuple[str, Act]] = [
    ("a stamp at the end of time", lambda s: _at(s, LATEST_NS, LATEST_NS + 10**9 - 1)),
    ("nothing is a number", partial(_seen, position=[float("nan")])),
    ("a plan that is not finite", lambda s: _plans(s, [float("nan"), 1.0])),
    ("time goes back and forth 200 times", _time_jumps),
    ("parameters of every kind of nonsense", _parameters),
    ("damaged bytes on every topic", _damaged),
    ("a model that is cut short", lambda s: _reload(s, _truncated)),
    ("infinite", partial(_seen, position=[float("inf")])),
    ("minus infinite", partial(_seen, position=[-float("inf")])),
    ("the largest number", partial(_seen, position=[HUGE])),
    ("1e300", partial(_seen, position=[1e300])),
    ("1e30", partial(_seen, position=[-1e30])),
    ("1e6", partial(_seen, position=[1e6])),
    ("the smallest number", partial(_seen, position=[5e-324])),
    ("empty arrays", partial(_seen, name=[], position=[])),
    ("names without numbers", partial(_seen, position=[])),
    ("numbers without names", partial(_seen, name=[], position=[1.0, 2.0])),
    ("ten thousand joints", partial(_seen, name=["x"] * 10_000, position=[0.0] * 10_000)),
    ("a name of ten kilobytes", partial(_seen, name=["o" * 10_240], position=[0.1])),
    ("newlines in names", partial(_seen, name=[FORGED], position=[0.1])),
    ("a name twice", partial(_seen, name=["o", "o"], position=[0.1, HUGE])),
    ("another type on a topic", _another_type),
    ("stamps of zero", lambda s: _at(s, 0, 0, 0)),
    ("stamps before 1970", lambda s: _at(s, -(2**31) * 10**9, -1, -(10**9))),
    ("a stamp that stands still", lambda s: _at(s, *[s.robot.now_ns] * 50)),
    ("an hour back", lambda s: _at(s, s.robot.now_ns - 3600 * 10**9)),
    ("a day ahead", lambda s: _at(s, s.robot.now_ns + 86_400 * 10**9)),
    ("two publishers with different clocks", _two_clocks),
    ("a burst", _burst),
    ("a command that is no number", partial(_commanded, effort=[float("nan")])),
    ("the largest command", partial(_commanded, effort=[HUGE])),
    ("a command of another length", partial(_commanded, effort=[])),
    ("a plan of other columns", lambda s: _plans(s, [0.0] * 9, (3, 3))),
    ("an empty plan", lambda s: _plans(s, [])),
    ("the largest plan", lambda s: _plans(s, [HUGE, -HUGE] * 4)),
    ("a plan of a million rows", lambda s: _plans(s, np.zeros(10**6))),
    ("a plan that lies about its shape", lambda s: _plans(s, [0.1], (2**32 - 1, 2**32 - 1), 99)),
    ("a model file that is missing", lambda s: _reload(s, lambda _: None)),
    ("a model file of nonsense", lambda s: _reload(s, lambda t: t.model.write_bytes(b"PK" * 99))),
    ("a model file that is a folder", lambda s: _reload(s, lambda t: t.model.mkdir())),
    ("a dangling link", lambda s: _reload(s, lambda t: t.model.symlink_to("/nowhere.psr"))),
    ("a model of another robot", _foreign),
    ("a model that is replaced all the time", _replaced_all_the_time),
    ("a parameter of unknown type", _unknown_type_of_parameter),
    ("a horizon of ten thousand", _long_horizon),
    ("parameters that change all the time", _many_changes),
    ("a hundred resets", _resets),
    ("life cycles in every order", _life_cycles),
    ("listeners that come and go", _listeners),
    ("publishers that come and go", _publishers),
    ("simulated time that tells nonsense", _clock),
    ("the folder of the log is removed", _log_folder_removed),
    ("a full disk", _full_disk),
]


def cases(seed: int) -> Iterator[Case]:
    """Yield the cases; with another seed than 0 in another order, as one node takes them all."""
    acts = list(ACTS)
    if seed:
        np.random.default_rng(seed).shuffle(acts)
    yield from cases_on(FilterStage, acts)


GROUP = Group("filter_live", cases, size=len(ACTS), seconds=90.0, limits_memory=False)
