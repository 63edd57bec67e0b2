"""Plans of coming actions, as the filter takes them from a topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from std_msgs.msg import Float64MultiArray

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.follower import Follower
from rffpsr_ros.forecasting.future_actions import plan_in
from rffpsr_ros.nodes.filter.sequence_logger import SequenceLogger
from rffpsr_ros.nodes.shared.diagnostics import Complaints
from rffpsr_ros.nodes.shared.executors import with_times

DEPTH = 10


class PlanInput:
    """Hands plans to the follower, and to the log; those that do not fit are complained of.

    Plans have no stamps: like commands without a header they get the time of their receipt, which
    ``receive_time`` gives, None if there is no time yet.
    """

    def __init__(
        self,
        node: Any,
        complaints: Complaints,
        log: SequenceLogger,
        receive_time: Callable[[int], int | None],
    ) -> None:
        self.follower: Follower | None = None
        self._complaints, self._log, self._receive_time = complaints, log, receive_time
        take = with_times(node, self._take)
        node.create_subscription(Float64MultiArray, "~/planned_actions", take, DEPTH)

    def _take(self, message: Any, info: Mapping[str, int]) -> None:
        follower = self.follower
        if follower is None or follower.options.future_actions != "topic":
            why = (
                "the parameter future_actions is not 'topic'" if follower else "no model is served"
            )
            self._complaints.warn("plan", f"a plan is ignored: {why}")
            return
        receive_ns = self._receive_time(info["received_timestamp"])
        if receive_ns is None:
            return
        try:
            plan = plan_in(message, len(follower.model.signature.action_names))
            follower.take_plan(plan, receive_ns)
        except InputError as problem:
            self._complaints.error("plan", str(problem))
            return
        self._complaints.over("plan")
        self._log.plan(plan, receive_ns)
