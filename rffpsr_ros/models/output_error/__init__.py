"""A recurrence on a short window, learned to simulate."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "output_error",
        title="output error",
        model="rffpsr_ros.models.output_error.model:OutputErrorModel",
        learner="rffpsr_ros.models.output_error.learner:OutputError",
        offered=False,
    ),
)
