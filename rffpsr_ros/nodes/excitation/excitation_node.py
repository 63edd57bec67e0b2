"""The excitation node: sends a robot commands from which its response can be learned.

Whatever ends it (a service call, its duration, SIGINT or SIGTERM), the last command is zero if it
ever sent one. See docs/nodes.md for its topics, services and parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.excitation.interface import EXCITATION
from rffpsr_ros.nodes.excitation.policy import Play, known_names, limits, make_play
from rffpsr_ros.nodes.shared.callback_guard import GuardedNode
from rffpsr_ros.nodes.shared.channel_parameters import channels_given_to
from rffpsr_ros.nodes.shared.command_output import CommandOutput
from rffpsr_ros.nodes.shared.diagnostics import Complaints, waiting_sentence
from rffpsr_ros.nodes.shared.message_classes import make, message_class
from rffpsr_ros.nodes.shared.parameters import DeclaredParameters
from rffpsr_ros.nodes.shared.receive_times import ReceiveTimes, arrival_time
from rffpsr_ros.nodes.shared.running import run
from rffpsr_ros.nodes.shared.topic_inputs import TopicInput, make_inputs, sensor_profile
from rffpsr_ros.nodes.shared.trigger_services import offer
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.forecast_messages import PLAN_TYPE, plan_message
from rffpsr_ros.signals.events import Event, Tick
from rffpsr_ros.signals.sampler import Sampler

NAME = EXCITATION.name
DEPTH = 10
LOOK_SECONDS = 1.0
"""How often to look whether observations can arrive."""
PATIENCE_SECONDS = 1.0
"""How long to wait at the end until all listeners have the last command."""


class ExcitationNode(GuardedNode, Node):
    """Plays an excitation on the action topics of a channel configuration."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._value = DeclaredParameters(self, EXCITATION.parameters)
        self._configuration = channels_given_to(self)
        self._complaints = Complaints(self.get_logger())
        self._commands = CommandOutput(self, self._configuration)
        self._columns = self._commands.columns
        self._low, self._high = limits(self._value, self._columns)
        self._generator = np.random.default_rng(self._value("seed"))
        self._plans = self.create_publisher(message_class(PLAN_TYPE), "~/planned_actions", DEPTH)
        self._play: Play | None = None
        self._acts = 0
        self._sampler: Sampler | None = None
        self._inputs: dict[str, TopicInput] = {}
        self._receive_times = ReceiveTimes(arrival_time(self))
        self._period_ns = round(self._configuration.exact_period_ns)
        self._ahead_ns = self._checked_ahead()
        self._due_ns: int | None = None  # the stamp from which the next action is due
        self._looks = self._value("feedback") != "none" or self._value("pace") == "observations"
        # What is wrong with the options is said now, as far as anyone knows it.
        if self._looks:
            self._observe()
            self._make_play(known_names(self._configuration.observations))
        else:
            self._make_play(())
            self.create_timer(self._configuration.period, self._on_timer)
        offer(self, {"start": self._start, "stop": self._stop_when_asked})
        self._active = False

    def begin(self) -> None:
        """Start to excite, if that is wanted."""
        if self._value("autostart"):
            self._start()

    def close(self) -> None:
        """Leave the robot with a command of zero, as far as it was this node's."""
        self._leave("at the end")

    def give_up(self) -> str:
        """Leave the robot with a command of zero, as far as it was this node's."""
        self._leave("faults repeat")
        return "the excitation has stopped; mend the cause, then call ~/start"

    # Acting

    def _start(self) -> str:
        self._play = None if self._looks else self._make_play(())
        self._acts = 0
        self._active = True
        self.guard.forgive()
        self._complaints.over("observing", at_once=True)
        self.get_logger().info(
            f"exciting {', '.join(self._commands.topics)} with"
            f" '{self._value('signal')}' from {self._low.tolist()} to {self._high.tolist()} at"
            f" {self._configuration.rate:g} Hz"
        )
        return "exciting"

    def _leave(self, reason: str) -> None:
        """Stop; but who never sent a command must not meddle with those of others."""
        self._active = False
        if self._commands.sent:
            self._stop(reason)

    def _stop(self, reason: str) -> None:
        """Send zero, and see to it that it arrives."""
        self._active = False
        self._commands.send(np.zeros(self._columns))
        self._commands.arrived(PATIENCE_SECONDS)
        self.get_logger().info(f"the command is zero ({reason})")

    def _act(self, observation: Array, names: tuple[str, ...], answered_ns: int = 0) -> None:
        """Send the next action; all that it depends on are the observations so far."""
        if not self._active:
            return
        period = self._configuration.period
        duration = self._value("duration")
        if duration and self._acts * period >= duration:
            self._stop(f"after {duration:g} s")
            return
        if self._play is None:
            self._play = self._make_play(names)
        if self._play.plan is not None:
            self._announce(self._play.plan())
        action = self._play.policy(self._acts * period, observation)
        self._acts += 1
        # Where an observation is missing a policy that looks at it knows nothing.
        self._commands.send(np.where(np.isfinite(action), action, 0.0), answered_ns)

    def _announce(self, plan: Array) -> None:
        """Publish the next actions, of which the first is sent right after."""
        self._plans.publish(plan_message(make, plan))

    def _make_play(self, names: tuple[str, ...] | None) -> Play:
        return make_play(
            self._value, self._low, self._high, names, self._generator, self._configuration.period
        )

    def _on_timer(self) -> None:
        self._act(np.empty(0), ())

    # Observing

    def _observe(self) -> None:
        """Act at the end of each tick, as a sampler tells ticks."""
        actions = tuple(
            replace(channel, initial=channel.initial or (0.0,))
            for channel in self._configuration.actions
        )
        configuration = replace(self._configuration, actions=actions)
        topics = {channel.topic: channel.type for channel in configuration.observations}
        self._inputs = make_inputs(self, topics, configuration.stamps, self._receive)
        decode = {topic: one.decode for topic, one in self._inputs.items()}
        self._sampler = Sampler(configuration, decode)
        for one in self._inputs.values():
            if not one.type:
                raise InputError(
                    f"the channel on {one.topic} has no type; to act on observations write it,"
                    " such as type: sensor_msgs/msg/JointState"
                )
            one.subscribe(
                sensor_profile(self._value("queue_depth")), self._receive_times, overridable=True
            )
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK_SECONDS, self._look_around, clock=steady)

    def _look_around(self) -> None:
        """Say what is in the way of observations, and what is waited for."""
        assert self._sampler is not None
        for one in self._inputs.values():
            one.look_around()
            self._complaints.topic(one.resolved, one.problem)
        waiting = waiting_sentence(self._sampler, self._inputs)
        if waiting and self.get_clock().now().nanoseconds:  # nothing arrives before there is a time
            self._complaints.warn("waiting", waiting)
        elif self._sampler.running:
            self._complaints.over("waiting", "every observation arrives", at_once=True)

    def _receive(self, source: TopicInput, receive_ns: int, data: bytes) -> None:
        assert self._sampler is not None
        try:
            stamp_ns = source.read_stamp(data, receive_ns)
            if self._due_ns is not None and stamp_ns >= self._due_ns:
                self._due_ns = None
                self._act(np.empty(0), (), stamp_ns)
            for event in self._sampler.feed(source.topic, stamp_ns, data):
                self._follow(event, self._sampler)
        except InputError as problem:
            self._complaints.error("observing", str(problem))

    def _follow(self, event: Event, sampler: Sampler) -> None:
        if not isinstance(event, Tick):
            self._due_ns = None
            return
        if self._ahead_ns:
            self._due_ns = event.start_ns + 2 * self._period_ns - self._ahead_ns
        else:
            self._act(event.observation, sampler.observation_names, event.stamp_ns)
        if self._active:
            self._complaints.over("observing", "observations are in order again")

    def _checked_ahead(self) -> int:
        """Return by how much (ns) to act before a tick ends."""
        share: float = self._value("ahead")
        if share and (self._value("pace") != "observations" or self._value("feedback") != "none"):
            raise InputError("ahead needs pace: observations and feedback: none")
        return round(share * self._period_ns)

    # What others ask for

    def _stop_when_asked(self) -> str:
        self._stop("asked for by a service call")
        return "the command is zero"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the excitation node."""
    return run(ExcitationNode, NAME, arguments)
