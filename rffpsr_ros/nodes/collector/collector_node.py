"""The collector node: records episodes one after the other, each from the robot's start.

It calls the services of the excitation, the learner and the simulator, and ends when all is done.
See docs/nodes.md for its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any

import rclpy
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from std_srvs.srv import Trigger

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.collector.episode_reset import reset_of
from rffpsr_ros.nodes.collector.interface import COLLECTOR
from rffpsr_ros.nodes.collector.last_calls import last_answers
from rffpsr_ros.nodes.excitation.interface import EXCITATION
from rffpsr_ros.nodes.learner.interface import LEARNER
from rffpsr_ros.nodes.shared.callback_guard import GuardedNode, described
from rffpsr_ros.nodes.shared.diagnostics import on_one_line
from rffpsr_ros.nodes.shared.parameters import DeclaredParameters
from rffpsr_ros.nodes.shared.running import Failed, Finished, run

NAME = COLLECTOR.name
STOP, END_EPISODE = f"{EXCITATION.name}/stop", f"{LEARNER.name}/end_episode"
LOOK_SECONDS = 0.02
AGAIN_SECONDS = 0.2
PATIENCE = 60.0
"""Seconds to wait for a service and its answer."""
READY_SECONDS = 15.0
"""How long the learner may refuse the first episode: it may have no time or topics yet."""

Condition = Callable[[], bool]


class CollectorNode(GuardedNode, Node):
    """Goes through a script: each step is done when a condition holds."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._value = DeclaredParameters(self, COLLECTOR.parameters)
        self._reset = reset_of(self._value("reset"), self._value("world"))
        self._script = self._steps()
        self._condition: Condition = lambda: True
        self._timer: Any = None
        self._begun: dict[str, str] = {}
        """Services that end what was begun, in the order in which that is to be done, and what."""

    def begin(self) -> None:
        """Start the script."""
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(LOOK_SECONDS, self._go_on, clock=steady)

    def close(self) -> None:
        """End what goes on: first the excitation, so that the robot stands still."""
        if self._timer is not None:
            self._timer.cancel()
        answers = last_answers(self, self._begun, self._spin)
        for service, answer in answers.items():
            what = self._begun[service]
            if answer is not None and answer.success:
                self.get_logger().warning(f"{what} is ended")
            else:
                why = "does not answer" if answer is None else f"says: {answer.message}"
                self.get_logger().error(on_one_line(f"{what} may go on: {service} {why}"))

    def _go_on(self) -> None:
        try:
            while self._condition():
                self._condition = next(self._script)
        except StopIteration:
            raise Finished from None
        except Exception as problem:  # The script cannot go on.
            raise Failed(described(problem)) from problem

    def _steps(self) -> Iterator[Condition]:
        count = self._value("episodes")
        yield lambda: self.get_clock().now().nanoseconds > 0
        yield from self._call(STOP)
        for number in range(1, count + 1):
            if self._reset is not None:
                yield from self._ask(self._reset.type, self._reset.service, self._reset)
            yield from self._settle(self._value("settle"))
            ready = monotonic() + (READY_SECONDS if number == 1 else 0)
            yield from self._call(f"{LEARNER.name}/start_episode", until=ready)
            recording = f"the recording of episode {number} of {count}"
            self._begun = {STOP: "the excitation", END_EPISODE: recording}
            yield from self._call(f"{EXCITATION.name}/start")
            yield from self._pause(self._value("duration"))
            del self._begun[END_EPISODE]
            yield from self._call_together(STOP, END_EPISODE)
            self._begun.clear()
            self.get_logger().info(f"episode {number} of {count} is recorded")

    def _call(self, service: str, until: float = 0.0) -> Iterator[Condition]:
        yield from self._ask(Trigger, service, None, until)

    def _call_together(self, *services: str) -> Iterator[Condition]:
        """Call services before any of them is waited for, as it may never answer."""
        asked = []
        for service in services:
            client: Any = self.create_client(Trigger, service)
            yield self._in_time(client.service_is_ready, f"the service {service}")
            asked.append((service, client, client.call_async(Trigger.Request())))
        for service, client, future in asked:
            yield self._in_time(future.done, f"an answer of {service}")
            answer = future.result()
            if not answer.success:
                raise InputError(f"{service} failed: {answer.message or 'it says no more'}")
            self.destroy_client(client)

    def _spin(self, seconds: float) -> None:
        """Take what arrives, once the executor that ran the node is gone."""
        rclpy.spin_once(self, timeout_sec=seconds)

    def _ask(self, kind: Any, service: str, reset: Any, until: float = 0.0) -> Iterator[Condition]:
        """Call a service, again while it refuses and there is time; then that ends the node."""
        client: Any = self.create_client(kind, service)
        yield self._in_time(client.service_is_ready, f"the service {service}")
        said = ""
        while True:
            future = client.call_async(kind.Request() if reset is None else reset.request())
            yield self._in_time(future.done, f"an answer of {service}")
            answer = future.result()
            if answer.success if reset is None else reset.succeeded(answer):
                break
            why = getattr(answer, "message", "") or "it says no more"
            if monotonic() > until:
                raise InputError(f"{service} failed: {why}")
            if why != said:
                self.get_logger().info(on_one_line(f"{service} is not ready: {why}"))
            said = why
            yield self._after(AGAIN_SECONDS)
        self.destroy_client(client)

    def _settle(self, seconds: float) -> Iterator[Condition]:
        """Let ROS time pass without going back; if it does, count anew.

        Gazebo answers before it has reset: its time goes back some milliseconds after that.
        """
        start = self.get_clock().now().nanoseconds

        def over() -> bool:
            nonlocal start
            now = self.get_clock().now().nanoseconds
            start = min(start, now)
            return now >= start + seconds * 1e9

        yield over

    def _pause(self, seconds: float) -> Iterator[Condition]:
        """Let ROS time pass; it ends early if time goes back."""
        start = self.get_clock().now().nanoseconds

        def over() -> bool:
            now = self.get_clock().now().nanoseconds
            return not start <= now < start + seconds * 1e9

        yield over

    def _after(self, seconds: float) -> Condition:
        """Let so many seconds pass, whatever ROS's time does."""
        start = monotonic()
        return lambda: monotonic() >= start + seconds

    def _in_time(self, condition: Condition, what: str) -> Condition:
        """Return the condition; it raises when it takes too long."""
        deadline = monotonic() + PATIENCE

        def met() -> bool:
            if condition():
                return True
            if monotonic() > deadline:
                raise InputError(f"waited {PATIENCE:.0f} s in vain for {what}")
            return False

        return met


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the collector node."""
    return run(CollectorNode, NAME, arguments)
