"""HSE-PSR: the predictive state representation by Gram matrices."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "hse_psr",
        title="HSE-PSR",
        model="rffpsr_ros.models.hse_psr.model:HSEPSRModel",
        learner="rffpsr_ros.models.hse_psr.learner:HSEPSR",
    ),
)
