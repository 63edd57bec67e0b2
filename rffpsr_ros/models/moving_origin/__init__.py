"""A model about an origin that moves along with the robot."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "moving_origin",
        title="moving origin",
        model="rffpsr_ros.models.moving_origin.model:MovingOriginModel",
        learner="rffpsr_ros.models.moving_origin.learner:MovingOrigin",
        offered=False,
    ),
)
"""`MovingOrigin`: learns any model of a robot that moves everywhere by the same law."""
