"""The simulator and the excitation over real DDS: what is recorded of them is what happened."""

from __future__ import annotations

import signal
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rffpsr_ros.nodes.shared.receive_times import ReceiveTimes
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.signals.channel_file import load_channels
from rffpsr_ros.signals.events import SegmentEnd, Tick
from rffpsr_ros.signals.sampler import Sampler
from rffpsr_ros.signals.stamps import stamp_of
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.swimmer import Swimmer
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import System, simulate

if TYPE_CHECKING:
    from test.nodes.conftest import Peer, Ros

CONFIG = Path(__file__).resolve().parents[3] / "config"
SYSTEMS: dict[str, System] = {"synthetic": SyntheticSystem(), "swimmer": Swimmer()}


class Recorder:
    """Samples what arrives, as the learner does; simulated time is that of /clock."""

    def __init__(self, peer: Peer, configuration: Path, simulated_time: bool) -> None:
        from rosgraph_msgs.msg import Clock

        from rffpsr_ros.nodes.shared.message_classes import message_class

        self.ticks: list[Tick] = []
        self.ends: list[SegmentEnd] = []
        self.now_ns = 0
        self._wall = peer.node.get_clock()
        self._times = ReceiveTimes(lambda _: self._simulated() if simulated_time else self._real())
        channels = load_channels(configuration)
        self._sampler = Sampler(channels)
        peer.node.create_subscription(Clock, "/clock", self._on_clock, 10)
        for topic, type_name in channels.topics.items():
            peer.node.create_subscription(message_class(type_name), topic, self._taker(topic), 1000)

    def _simulated(self) -> int:
        return self.now_ns

    def _real(self) -> int:
        return int(self._wall.now().nanoseconds)

    def _on_clock(self, message: Any) -> None:
        self.now_ns = message.clock.sec * 10**9 + message.clock.nanosec

    def _taker(self, topic: str) -> Any:
        def take(message: Any) -> None:
            receive_ns = self._times.next()
            if receive_ns is None:
                return
            for event in self._sampler.feed(topic, stamp_of(message, receive_ns), message):
                self.ticks += [event] if isinstance(event, Tick) else []
                self.ends += [event] if isinstance(event, SegmentEnd) else []

        return take

    @property
    def actions(self) -> np.ndarray:
        return np.stack([tick.action for tick in self.ticks])

    @property
    def observations(self) -> np.ndarray:
        return np.stack([tick.observation for tick in self.ticks])


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("simulated_time", [True, False])
def test_what_is_recorded_is_what_acted(ros: Ros, system: str, simulated_time: bool) -> None:
    """The recorded actions, simulated from the known state after a reset, give the observations.

    On a busy machine messages may be late by more than a tick; one run without that suffices.
    """
    simulated = SYSTEMS[system]
    file = CONFIG / f"{system}.yaml"
    recorder = Recorder(ros.peer, file, simulated_time)
    limit = simulated.action_limits[1][0]
    ros.start(
        "excitation_node",
        channels_file=file,
        limits__low=f"[{-limit}]",
        limits__high=f"[{limit}]",
        pace="observations",
        feedback="swimmer" if system == "swimmer" else "none",
        use_sim_time=simulated_time,
    ).wait_for("exciting")
    ros.start("simulator_node", system=system, publish_clock=simulated_time, seed=5)
    ros.peer.until(lambda: recorder.ticks and recorder.ticks[-1].action.any(), "an action")
    starts = np.random.default_rng([5, 0])
    simulated.initial_state(starts)

    def agrees_after_a_reset() -> bool:
        recorder.ticks.clear()
        recorder.ends.clear()
        assert ros.peer.call("/rffpsr_simulator/reset").success
        ros.peer.until(lambda: len(recorder.ticks) >= 30, "30 ticks")
        start = simulated.initial_state(starts)
        seen, acted = recorder.observations, recorder.actions
        first = simulated.observe(simulated.step(np.tile(start, (len(acted), 1)), acted))
        (matches,) = np.nonzero(np.abs(first - seen).max(axis=1) < 1e-9)
        if recorder.ends or not len(matches) or matches[0] > 5:
            return False
        if len(np.unique(acted[-25:, 0])) <= 10:  # commands were late, and others held for them
            return False
        expected = simulate(simulated, acted[matches[0] :], initial_state=start).observations
        return bool(np.allclose(seen[matches[0] :], expected, rtol=0, atol=1e-9))

    ros.peer.until(agrees_after_a_reset, "a run as recorded", patience=90.0)
    assert np.abs(recorder.actions).max() <= limit
    periods = np.diff([tick.stamp_ns for tick in recorder.ticks])
    np.testing.assert_array_equal(periods, round(simulated.period * 1e9))


def test_speed_is_that_of_the_clock_it_publishes(ros: Ros) -> None:
    recorder = Recorder(ros.peer, CONFIG / "synthetic.yaml", True)
    ros.start("simulator_node", publish_clock=True, speed=20.0)
    ros.peer.until(lambda: recorder.now_ns > 0, "a clock")
    before, began = recorder.now_ns, ros.peer.node.get_clock().now().nanoseconds
    ros.peer.until(lambda: recorder.now_ns > before + 20 * 10**9, "20 simulated seconds")
    took = (ros.peer.node.get_clock().now().nanoseconds - began) / 1e9
    assert took > 0.9  # A busy machine makes it slower, nothing makes it faster.


def test_reset_puts_the_robot_back(ros: Ros) -> None:
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    node = ros.start("simulator_node", system="swimmer", publish_clock=True, speed=3.0)
    states = ros.peer.collect("/joint_states", JointState)
    ros.peer.publisher("/joint_commands", Float64MultiArray)
    ros.peer.matched("/joint_commands")
    ros.peer.until(lambda: states, "the start: no command counts before")
    ros.peer.publish("/joint_commands", Float64MultiArray(data=[1.0, -1.0]))
    ros.peer.until(lambda: abs(states[-1].position[0]) > 0.5, "a movement")
    ros.peer.publish("/joint_commands", Float64MultiArray(data=[0.0, 0.0]))
    # A command that arrived after the reset would move the robot from its start again.
    ros.peer.settle()
    heard = len(states)
    ros.peer.until(lambda: len(states) > heard + 20, "the command at work")
    assert ros.peer.call("/rffpsr_simulator/reset").success
    ros.peer.until(lambda: abs(states[-1].position[0]) < 1e-3, "the start")
    assert node.end() == 0


def test_commands_that_make_no_sense_are_ignored_and_said_once(ros: Ros) -> None:
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray, String

    node = ros.start("simulator_node", publish_clock=True, speed=5.0)
    ros.peer.publisher("/joint_commands", String)
    node.wait_for("topic /joint_commands carries std_msgs/msg/String, but std_msgs/msg/Float64Mu")
    ros.peer.forget("/joint_commands")
    node.wait_for("topic /joint_commands is in order again")
    states = ros.peer.collect("/joint_states", JointState)
    ros.peer.publisher("/joint_commands", Float64MultiArray)
    ros.peer.matched("/joint_commands")
    ros.peer.until(lambda: states, "joint states")

    def send(*data: float) -> None:
        ros.peer.publish("/joint_commands", Float64MultiArray(data=data))

    def mended() -> int:
        send(0.1)
        return node.count("commands on joint_commands are in order again")

    for _ in range(5):
        send(float("nan"))
        send(0.1)
    ros.peer.until(mended, "commands that are in order again")
    for value in (0.1, 0.2, 0.3):
        send(value, 0.2)
    send(0.1)
    node.wait_for("it holds 2 numbers, but 1 finite numbers are needed")
    send(float("inf"))
    node.wait_for("it holds numbers that are not finite", times=2)
    assert node.count("it holds") == 3
    assert node.count("commands on joint_commands are in order again") == 1
    assert node.count("carries") == 1
    assert all(np.isfinite(state.position).all() for state in states)
    assert node.alive


def test_another_speed_without_a_clock_is_refused(ros: Ros) -> None:
    node = ros.start("simulator_node", speed=2.0)
    node.wait_for("publish_clock")
    assert node.process.wait(10) == 2


@pytest.mark.parametrize("noise", ["[0.1, 0.1]", "[-1.0]", "[.nan]"])
def test_noise_that_does_not_fit_is_refused_at_the_start(ros: Ros, noise: str) -> None:
    node = ros.start("simulator_node", noise=noise)
    node.wait_for("it must be one standard deviation, or one for each of o")
    assert node.process.wait(10) == 2


def excitation(ros: Ros, **parameters: Any) -> Any:
    given = {
        "channels_file": CONFIG / "synthetic.yaml",
        "limits__low": "[-0.5]",
        "limits__high": "[0.5]",
        **parameters,
    }
    return ros.start("excitation_node", **given)


def values(messages: list[Any]) -> list[float]:
    return [message.data[0] for message in messages]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_last_command_is_zero_whatever_ends_it(ros: Ros, number: int) -> None:
    from std_msgs.msg import Float64MultiArray

    commands = ros.peer.collect("/joint_commands", Float64MultiArray)
    node = excitation(ros)
    ros.peer.until(lambda: len(commands) > 5, "commands")
    assert values(commands)[-1] != 0
    assert node.end(number, within=3) == 0
    ros.peer.until(lambda: values(commands)[-1] == 0, "zero")


def test_who_never_sent_a_command_sends_none_at_the_end(ros: Ros) -> None:
    from std_msgs.msg import Float64MultiArray

    commands = ros.peer.collect("/joint_commands", Float64MultiArray)
    node = excitation(ros, autostart=False)
    ros.peer.heard("/joint_commands")
    assert node.end() == 0
    assert node.count("the command is zero") == 0
    assert commands == []


def test_signal_is_that_of_its_seed_and_it_stops_after_its_duration(ros: Ros) -> None:
    from std_msgs.msg import Float64MultiArray

    commands = ros.peer.collect("/joint_commands", Float64MultiArray)
    node = excitation(ros, autostart=False, seed=3, duration=0.5)
    ros.peer.heard("/joint_commands")
    assert ros.peer.call("/rffpsr_excitation/start").success
    ros.peer.until(lambda: 0.0 in values(commands), "zero")
    generator = np.random.default_rng(3)
    expected = uniform_hold(generator, np.array([-0.5]), np.array([0.5]), 0.05)
    # The first commands may be sent before this listener is known to the publisher.
    assert values(commands)[:-1] == [next(expected)[0] for _ in range(10)][1 - len(commands) :]
    assert len(commands) > 5
    node.wait_for("after 0.5 s")
    assert ros.peer.call("/rffpsr_excitation/start").success
    ros.peer.until(lambda: values(commands)[-1] != 0, "another start")
    assert ros.peer.call("/rffpsr_excitation/stop").success
    ros.peer.until(lambda: values(commands)[-1] == 0, "zero")
    assert node.end() == 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"limits__low": "[0.5]"}, "must leave the actions room"),
        ({"limits__low": "[-1.0, -1.0]"}, "limits.low has 2 numbers"),
        ({"signal": "noise"}, "it must be one of uniform, prbs, multisine, sine"),
        ({"signal": "multisine", "highest_frequency": 30.0}, "half the tick rate"),
        ({"announce": 4, "feedback": "linear"}, "set announce to 0 or feedback to none"),
        ({"hold": 1}, "write 50.0, not 50"),
        ({"ahead": 0.3}, "ahead needs pace: observations and feedback: none"),
        ({"channels_file": "/nowhere.yaml"}, "cannot be read"),
        ({"channels_file": ""}, "has no channels: start it with params_file:="),
        ({"limits__low": "[-1]"}, "must be floating-point numbers: write [1.0], not [1]"),
        ({"use_sim_time": 1}, "'use_sim_time' to '1' of type 'INTEGER', expecting type 'BOOL'"),
    ],
)
def test_faults_at_the_start_are_one_line(ros: Ros, wrong: dict[str, Any], said: str) -> None:
    node = excitation(ros, **wrong)
    node.wait_for(said)
    assert node.process.wait(10) == 2
    assert node.count("Traceback") == 0


def test_a_command_is_sent_before_the_tick_that_it_is_for(ros: Ros) -> None:
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    commands = ros.peer.collect("/joint_commands", Float64MultiArray)
    excitation(ros, pace="observations", ahead=0.3, queue_depth=100).wait_for("exciting")
    state = JointState(name=["o"], position=[0.0])

    def seen(milliseconds: int) -> None:
        state.header.stamp.sec, state.header.stamp.nanosec = divmod(milliseconds * 1_000_000, 10**9)
        ros.peer.publish("/joint_states", state)

    def as_many_as(wanted: int) -> bool:
        return len(commands) >= wanted

    later = count(5000, 5)

    def heard() -> bool:
        seen(next(later))
        return bool(commands)

    ros.peer.until(heard, "a first command")
    while commands:  # until those are here that are still on their way
        commands.clear()
        ros.peer.wait(0.5)
    for milliseconds in range(1000, 1300, 5):  # time goes back, and ticks begin anew
        seen(milliseconds)
        # Ticks of 50 ms; of each but the first, whose end nobody knows yet, 35 ms have passed.
        due = max(0, (milliseconds - 1035) // 50)
        ros.peer.until(partial(as_many_as, due), "a command")
        assert len(commands) == due


def test_a_linear_policy_sees_the_observations(ros: Ros) -> None:
    recorder = Recorder(ros.peer, CONFIG / "synthetic.yaml", True)
    excitation(
        ros,
        feedback="linear",
        feedback_gains="[0.25]",
        feedback_target="[0.1]",
        blind_probability=0.0,
        use_sim_time=True,
    ).wait_for("exciting")
    ros.start("simulator_node", publish_clock=True, speed=2.0, wait_for_commands=True)
    ros.peer.until(lambda: recorder.ticks and recorder.ticks[-1].action.any(), "an action")
    begun = len(recorder.ticks)
    ros.peer.until(lambda: len(recorder.ticks) >= begun + 40, "40 ticks")
    # A command that answers an observation is in force from the end of the tick under way.
    answers = np.clip(0.25 * (recorder.observations[:-2] - 0.1), -0.5, 0.5)
    answered = np.isclose(recorder.actions[2:], answers, rtol=0, atol=1e-12)[begun:]
    # On a busy machine a command may act a tick later.
    assert answered.mean() > 0.8


def test_announced_actions_are_those_that_follow(ros: Ros) -> None:
    from std_msgs.msg import Float64MultiArray

    from rffpsr_ros.forecasting.future_actions import plan_in

    plans = ros.peer.collect("/rffpsr_excitation/planned_actions", Float64MultiArray)
    commands = ros.peer.collect("/joint_commands", Float64MultiArray)
    excitation(ros, announce=4)
    ros.peer.until(lambda: len(plans) >= 12 and len(commands) >= 12, "plans and commands")
    sent = values(commands)
    checked = 0
    for plan in plans:
        rows = plan_in(plan, 1)
        assert rows.shape == (4, 1)
        if rows[0, 0] in sent:
            follow = sent[sent.index(rows[0, 0]) :][:4]
            assert rows[: len(follow), 0].tolist() == follow
            checked += len(follow) == 4
    assert checked >= 5


def test_observations_that_do_not_arrive_are_said_once(ros: Ros) -> None:
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String

    waiting = "waiting for a first sample of /joint_states"
    node = excitation(ros, pace="observations")
    ros.peer.publisher("/joint_states", String)
    node.wait_for(waiting)
    node.wait_for("topic /joint_states carries std_msgs/msg/String, but")
    ros.peer.forget("/joint_states")
    stamps = count(1)

    def arrives() -> bool:
        state = JointState(name=["o"], position=[0.0])
        state.header.stamp.sec, nanoseconds = divmod(next(stamps) * 50, 1000)
        state.header.stamp.nanosec = nanoseconds * 1_000_000
        ros.peer.publish("/joint_states", state)
        return bool(node.count("every observation arrives"))

    ros.peer.until(arrives, "observations")
    assert node.count(waiting) == 1


def test_a_learned_robot_moves_by_its_model_and_says_how_far_to_trust_it(
    ros: Ros, synthetic_model: Path
) -> None:
    from sensor_msgs.msg import JointState

    from rffpsr_ros.models.loading import load_model
    from rffpsr_ros.simulation.learned_robot import LearnedRobot

    node = ros.start("simulator_node", model_path=synthetic_model, publish_clock=True, speed=2.0)
    node.wait_for("a free run says more than the mean for")
    states = ros.peer.collect("/joint_states", JointState)
    ros.peer.publisher("/command", JointState)
    ros.peer.matched("/command")
    ros.peer.until(lambda: states, "the start: no command counts before")
    robot = LearnedRobot(load_model(synthetic_model))

    def free_run(command: float) -> Array:
        """Return what is seen of the model's last ticks under a command that stays."""
        state, seen = robot.initial_state(np.random.default_rng(0)), []
        for _ in range(300):
            state = robot.step(state, np.array([command]))
            seen.append(robot.observe(state)[0])
        return np.array(seen[-50:])

    # A quickly learned model may swing for ever under some commands. Under one that lets it come to
    # rest the robot comes to where the model's own free run does.
    runs = {command: free_run(command) for command in (0.1, -0.1, 0.05, -0.05, 0.2, -0.2)}
    command, rest = next((at, run[-1]) for at, run in runs.items() if np.ptp(run) < 1e-4)
    ros.peer.publish("/command", JointState(name=["a"], effort=[command]))
    ros.peer.until(lambda: states and abs(states[-1].position[0] - rest) < 1e-3, "the model's rest")
    assert list(states[-1].name) == ["o"]
