"""A linear model with inputs: a Kalman filter, by two-stage regression."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "kalman",
        title="Kalman (PSR)",
        model="rffpsr_ros.models.kalman.model:KalmanModel",
        learner="rffpsr_ros.models.kalman.learner:Kalman",
    ),
)
