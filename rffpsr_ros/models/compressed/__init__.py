"""A model of many observations through a few principal components."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "compressed",
        title="compressed",
        model="rffpsr_ros.models.compressed.model:CompressedModel",
        learner="rffpsr_ros.models.compressed.learner:Compressed",
        offered=False,
    ),
)
