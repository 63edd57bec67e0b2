"""RFF-ARX: autoregression on random Fourier features of a window."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "rff_arx",
        title="RFF-ARX",
        model="rffpsr_ros.models.rff_arx.model:RFFARXModel",
        learner="rffpsr_ros.models.rff_arx.learner:RFFARX",
    ),
)
