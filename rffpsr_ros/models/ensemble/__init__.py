"""Several models of one system, whose forecasts are added up with weights."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "ensemble",
        title="ensemble",
        model="rffpsr_ros.models.ensemble.model:EnsembleModel",
        offered=False,
    ),
)
