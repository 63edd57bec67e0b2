"""Plans of coming actions, as the filter takes them from a topic."""

from __future__ import annotations

from typing import Any

from std_msgs.msg import Float64MultiArray

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.follower import Follower
from rffpsr_ros.forecasting.future_actions import plan_in
from rffpsr_ros.nodes.filter.sequence_logger import SequenceLogger
from rffpsr_ros.nodes.shared.diagnostics import Complaints

DEPTH = 10


class PlanInput:
    """Hands plans to the follower, and to the log; those that do not fit are complained of."""

    def __init__(self, node: Any, complaints: Complaints, log: SequenceLogger) -> None:
        self.follower: Follower | None = None
        self._node, self._complaints, self._log = node, complaints, log
        self._subscription: Any = None
        self.listen()

    def listen(self) -> None:
        """Subscribe, after all inputs.

        Of what arrived in the meantime ROS hands out the oldest subscription's first, and a plan
        answers the observation before it: taken first, it would seem to be a tick older.
        """
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
        self._subscription = self._node.create_subscription(
            Float64MultiArray, "~/planned_actions", self._take, DEPTH
        )

    def _take(self, message: Any) -> None:
        follower = self.follower
        if follower is None or follower.options.future_actions != "topic":
            self._complaints.warn(
                "plan", "a plan is ignored: the parameter future_actions is not 'topic'"
            )
            return
        try:
            plan = plan_in(message, len(follower.model.signature.action_names))
            follower.take_plan(plan)
        except InputError as problem:
            self._complaints.error("plan", str(problem))
            return
        self._complaints.over("plan")
        self._log.plan(plan)
