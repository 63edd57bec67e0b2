"""An input-output hidden Markov model in predictive form."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "io_hmm",
        title="IO-HMM",
        model="rffpsr_ros.models.io_hmm.model:IOHMMModel",
        learner="rffpsr_ros.models.io_hmm.learner:IOHMM",
        discrete=True,
    ),
)
