"""A nonlinear state space model, learned from the error of simulations."""

from rffpsr_ros.models.registry import Kind

KINDS = (
    Kind(
        "state_space",
        title="nonlinear state space",
        model="rffpsr_ros.models.state_space.model:StateSpaceModel",
        learner="rffpsr_ros.models.state_space.learner:NonlinearStateSpace",
        offered=False,
    ),
)
