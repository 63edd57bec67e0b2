"""Models that know nothing of the robot: the last observation, the mean."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "last_observation",
        title="last observation",
        model="rffpsr_ros.models.baselines.last_observation:LastObservationModel",
        learner="rffpsr_ros.models.baselines.last_observation:LastObservation",
        uses_actions=False,
    ),
    Kind(
        "mean",
        title="mean",
        model="rffpsr_ros.models.baselines.mean:MeanModel",
        learner="rffpsr_ros.models.baselines.mean:Mean",
        uses_actions=False,
    ),
)
