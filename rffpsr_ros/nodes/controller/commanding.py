"""A control loop and the topics it acts on: what it decides is published, and said."""

from __future__ import annotations

from typing import Any

from rffpsr_ros.control.loop import ControlLoop, Decision
from rffpsr_ros.control.problem import Plan
from rffpsr_ros.nodes.controller.plan_output import PlanOutput
from rffpsr_ros.nodes.shared.command_output import CommandOutput
from rffpsr_ros.nodes.shared.diagnostics import Complaints

PATIENCE_SECONDS = 1.0
"""How long to wait at the end until all listeners have the last command."""


class Commanding:
    """Publishes what a loop decides.

    Parameters
    ----------
    node
        Whose topics these are.
    loop
        The loop.
    output, complaints
        Where plans, and where what is said goes.

    Attributes
    ----------
    loop
        As given.
    topics
        The action topics as remapped.
    newest
        The newest plan.
    """

    def __init__(
        self, node: Any, loop: ControlLoop, output: PlanOutput, complaints: Complaints
    ) -> None:
        self.loop = loop
        self.newest: Plan | None = None
        self._node, self._output, self._complaints = node, output, complaints
        self._commands = CommandOutput(node, loop.follower.configuration)
        self.topics = self._commands.topics

    def publish(self, decision: Decision | None) -> None:
        """Publish what was decided, and log what changed by it."""
        if decision is None:
            return
        if decision.command is not None:
            self._commands.send(decision.command, decision.origin_ns)
        if decision.plan is not None:
            self.newest = decision.plan
            signature = self.loop.follower.model.signature
            self._output.publish(decision.plan, decision.origin_ns, signature)
        self._tell()

    def end(self, reason: str) -> None:
        """End control with the safe command, and see to it that it arrives."""
        if not self.loop.supervisor.enabled:
            return
        self.publish(self.loop.disable(reason))
        self._commands.arrived(PATIENCE_SECONDS)
        self._complaints.over("control", at_once=True)
        self._node.get_logger().info(f"disabled: {reason}")

    def close(self) -> None:
        """End control, and publish no more."""
        self.end("the model is let go of")
        self._commands.close()

    def others(self) -> dict[str, int]:
        """Return how many others publish on each action topic."""
        return {topic: self._node.count_publishers(topic) - 1 for topic in self.topics}

    def _tell(self) -> None:
        supervisor = self.loop.supervisor
        if supervisor.phase == "controlling":
            self._complaints.over("control", "controlling", at_once=True)
        elif supervisor.phase == "waiting":
            self._complaints.warn("control", f"waiting: {supervisor.reason}")
        elif supervisor.phase == "stopped":
            self._complaints.error(
                "control", f"control was stopped: {supervisor.reason}; the command is the safe one"
            )
        if self.loop.failure:
            self._complaints.error("solver", f"the solver failed: {self.loop.failure}")
