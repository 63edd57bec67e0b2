"""The simulator node: a simulated robot, which takes commands and shows what it does.

See docs/nodes.md for its topics, services and parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared.callback_guard import GuardedNode
from rffpsr_ros.nodes.shared.diagnostics import Complaints
from rffpsr_ros.nodes.shared.message_classes import make, message_class
from rffpsr_ros.nodes.shared.parameters import DeclaredParameters
from rffpsr_ros.nodes.shared.running import run
from rffpsr_ros.nodes.shared.topic_inputs import type_problem
from rffpsr_ros.nodes.shared.trigger_services import offer
from rffpsr_ros.nodes.simulator.command_wait import CommandWait
from rffpsr_ros.nodes.simulator.interface import SIMULATOR
from rffpsr_ros.nodes.simulator.learned_topics import learned_robot, told
from rffpsr_ros.nodes.simulator.topics import ROBOTS, CommandTopic, SimulatedRobot
from rffpsr_ros.nodes.simulator.world import simulated_world
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.live_simulation import LiveSimulation, checked_noise, period_ns

NAME = SIMULATOR.name
DEPTH = 10
LOOK_SECONDS = 1.0
"""How often to look whether commands can be received."""
MOST_BEHIND_NS = 500_000_000
"""In real time, ticks up to so far behind are made up for; beyond, time is skipped."""


class SimulatorNode(GuardedNode, Node):
    """Simulates in real time by the node's clock, or sets the pace itself by publishing /clock."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._value = DeclaredParameters(self, SIMULATOR.parameters)
        self._robot = self._chosen()
        self._noise = checked_noise(self._robot.system, self._value("noise"))
        self._speed = self._value("speed")
        self._complaints = Complaints(self.get_logger())
        self._clock_publisher = None
        if self._value("publish_clock"):
            self._clock_publisher = self.create_publisher(ClockMessage, "/clock", DEPTH)
        elif self._speed != 1.0 or self._value("wait_for_commands"):
            raise InputError(
                f"speed is {self._speed:g} and wait_for_commands"
                f" {str(self._value('wait_for_commands')).lower()}, but others can only follow that"
                " if publish_clock is true (and use_sim_time is true for them)"
            )
        self._wait: CommandWait | None = None
        if self._value("wait_for_commands"):
            self._wait = CommandWait(self._robot.system.period / self._speed)
        self._simulation: LiveSimulation | None = None
        self._timer: Any = None
        self._shown = 0
        self._outputs = [
            self.create_publisher(message_class(one.type), one.topic, DEPTH)
            for one in self._robot.observations
        ]
        for one in self._robot.commands:
            take = self._taker(one)
            self.create_subscription(message_class(one.type), one.topic, take, DEPTH)
        offer(self, {"reset": self._reset})

    def _chosen(self) -> SimulatedRobot:
        """Return the robot that parameters ask for."""
        world, model = self._value("world"), self._value("model_path")
        if world and model:
            raise InputError("world and model_path are both given; a robot can only be one of them")
        if model:
            robot, trust = learned_robot(model)
            self.get_logger().info(told(trust, robot.system.period))
            return robot
        return simulated_world(world, self._value("rate")) if world else self._own()

    def _own(self) -> SimulatedRobot:
        return ROBOTS[self._value("system")]()

    def _name(self) -> str:
        return str(self._value("model_path") or self._value("world") or self._value("system"))

    def begin(self) -> None:
        """Start the simulation."""
        period = self._robot.system.period
        clock = self.get_clock()
        if self._clock_publisher is not None:
            clock = Clock(clock_type=ClockType.STEADY_TIME)
        # Waiting, it looks twice a period whether the command has arrived.
        looks = self._speed * (1 if self._wait is None else 2)
        self._timer = self.create_timer(period / looks, self._on_timer, clock=clock)
        self.create_timer(
            LOOK_SECONDS, self._look_around, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self.get_logger().info(
            f"simulating '{self._name()}' at {1 / period:g} Hz,"
            f" {self._speed:g} times as fast as time; commands on"
            f" {', '.join(self.resolve_topic_name(one.topic) for one in self._robot.commands)}"
        )

    def close(self) -> None:
        """Leave nothing behind: there is nothing open."""

    def give_up(self) -> str:
        """Stand still."""
        if self._timer is not None:
            self._timer.cancel()
        return "the simulation stands still; mend the cause, then call ~/reset"

    def _look_around(self) -> None:
        """Say what is in the way of commands."""
        for one in self._robot.commands:
            topic = self.resolve_topic_name(one.topic)
            types = {info.topic_type for info in self.get_publishers_info_by_topic(topic)}
            problem = type_problem(topic, sorted(types), one.type)
            self._complaints.topic(topic, problem, f"the type of {topic}")

    def _on_timer(self) -> None:
        if self._simulation is None:
            self._start()
        elif self._clock_publisher is None:
            self._follow_clock(self._simulation)
        elif self._wait is None or self._wait.may_go_on(monotonic()):
            self._tick(self._simulation)

    def _start(self) -> None:
        """Show the initial state."""
        # Where this node makes the time it begins with a tick: zero means that there is none yet.
        follows = self._clock_publisher is None
        now_ns = self._due_ns() if follows else period_ns(self._robot.system)
        self._simulation = LiveSimulation(
            self._robot.system, now_ns, self._value("seed"), self._noise
        )
        self._show(self._simulation)

    def _tick(self, simulation: LiveSimulation) -> None:
        try:
            simulation.advance()
        except InputError as problem:  # of a learned robot
            self._complaints.error(
                "robot", f"{problem}; it is back at its start, with no command in force"
            )
        else:
            self._complaints.over("robot")
        self._show(simulation)

    def _follow_clock(self, simulation: LiveSimulation) -> None:
        """Make the ticks that have ended by now."""
        due_ns = self._due_ns()
        if abs(due_ns - simulation.next_ns) > MOST_BEHIND_NS:
            self.get_logger().warning(
                f"time jumped by {(due_ns - simulation.next_ns) / 1e9:.3g} s;"
                " the simulation stood still meanwhile"
            )
            simulation.skip(due_ns - period_ns(self._robot.system))
        while simulation.next_ns <= due_ns:
            self._tick(simulation)

    def _due_ns(self) -> int:
        """Return the time at which the timer's callback under way was due."""
        now_ns = self.get_clock().now().nanoseconds
        return int(now_ns + self._timer.time_until_next_call()) - period_ns(self._robot.system)

    def _show(self, simulation: LiveSimulation) -> None:
        """Publish what is seen now; the clock first, so that all know the time when they see it."""
        seconds, nanoseconds = divmod(simulation.now_ns, 10**9)
        stamp = Time(sec=seconds, nanosec=nanoseconds)
        if self._clock_publisher is not None:
            self._clock_publisher.publish(ClockMessage(clock=stamp))
        if self._wait is not None:
            self._wait.shown(monotonic())
        row = simulation.look()
        self._shown += 1
        for publisher, one in zip(self._outputs, self._robot.observations, strict=True):
            if not one.due(self._shown, self._robot.system.period):
                continue
            header = make("std_msgs/msg/Header", stamp=stamp, frame_id="")
            publisher.publish(one.message(header, row))

    def _taker(self, topic: CommandTopic) -> Callable[[Any], None]:
        """Return the callback of a command topic."""
        width = topic.columns.stop - topic.columns.start

        def take(message: Any) -> None:
            if self._simulation is None:
                return
            values = np.asarray(topic.values(message), dtype=np.float64)
            if fault := _fault(values, width):
                self._complaints.error(
                    topic.topic,
                    f"a command on {topic.topic} is ignored: it holds {fault}, but {width} finite"
                    " numbers are needed",
                )
                return
            self._complaints.over(topic.topic, f"commands on {topic.topic} are in order again")
            if self._wait is not None:
                self._wait.answered(monotonic())
            self._simulation.command(self._receive_ns(self._simulation), topic.columns, values)

        return take

    def _receive_ns(self, simulation: LiveSimulation) -> int:
        """Return a command's stamp: where this node makes the time, just after what was seen."""
        if self._clock_publisher is not None:
            return simulation.now_ns + 1
        return int(self.get_clock().now().nanoseconds)

    def _reset(self) -> str:
        if self._simulation is None:
            raise InputError("the simulation has not started: there is no time yet")
        self._simulation.restart()
        if self.guard.gave_up:
            self.guard.forgive()
            self._timer.reset()
        return "the robot is back at the start"


def _fault(values: Array, width: int) -> str:
    """Return what is wrong with a command's values, whatever they are; empty if nothing is."""
    if values.shape != (width,):
        return f"{values.size} numbers"
    return "" if np.isfinite(values).all() else "numbers that are not finite"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the simulator node."""
    return run(SimulatorNode, NAME, arguments)
