"""Linear autoregression with inputs (ARX)."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "linear_arx",
        title="linear ARX",
        model="rffpsr_ros.models.arx.model:LinearARXModel",
        learner="rffpsr_ros.models.arx.learner:LinearARX",
    ),
)
