"""N4SID: a linear state space model by subspace identification."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "n4sid",
        title="N4SID",
        learner="rffpsr_ros.models.n4sid.learner:N4SID",
    ),
)
