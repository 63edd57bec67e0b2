"""RFF-PSR: a predictive state representation with random Fourier features."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "rff_psr",
        title="RFFPSR()",
        model="rffpsr_ros.models.rff_psr.model:RFFPSRModel",
        learner="rffpsr_ros.recipe.learner:RFFPSR",
    ),
)
