"""What the controller publishes of its plans, beside commands."""

from __future__ import annotations

from typing import Any

from rffpsr_ros.control.problem import Plan
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.nodes.shared.message_classes import make, message_class
from rffpsr_ros.recordings.forecast_messages import (
    PLAN_TYPE,
    TRAJECTORY_TYPE,
    plan_message,
    trajectory_message,
)

COST_TYPE = "std_msgs/msg/Float64"
DEPTH = 10


class PlanOutput:
    """Publishes plans, what they lead to, and what they cost."""

    def __init__(self, node: Any) -> None:
        types = {"planned_actions": PLAN_TYPE, "trajectory": TRAJECTORY_TYPE, "cost": COST_TYPE}
        self._publishers = {
            name: node.create_publisher(message_class(type_name), f"~/{name}", DEPTH)
            for name, type_name in types.items()
        }

    def publish(self, plan: Plan, origin_ns: int, signature: Signature) -> None:
        """Publish a plan made after the observation of ``origin_ns``."""
        self._publishers["planned_actions"].publish(plan_message(make, plan.actions))
        self._publishers["cost"].publish(make(COST_TYPE, data=plan.cost))
        trajectory = self._publishers["trajectory"]
        if trajectory.get_subscription_count():
            names, period = signature.observation_names, signature.period
            trajectory.publish(trajectory_message(make, plan.forecast, names, origin_ns, period))
