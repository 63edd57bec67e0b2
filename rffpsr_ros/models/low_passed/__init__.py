"""A model that sees its actions low-passed, too."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "low_passed",
        title="low-passed actions",
        model="rffpsr_ros.models.low_passed.model:LowPassedModel",
        learner="rffpsr_ros.models.low_passed.learner:LowPassed",
        offered=False,
    ),
)
"""`LowPassed`: learns any model of the actions and of what they were over a long time."""
