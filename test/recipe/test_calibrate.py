"""Members of the finished ensemble, and their weights."""

import numpy as np

from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.ensemble.model import OutputLimits
from rffpsr_ros.models.ensemble.reach import Reach
from rffpsr_ros.recipe.calibrate import members_taking_part
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recordings.trajectory import Trajectory


def test_members_are_those_with_a_weight_and_the_one_that_is_fallen_back_on() -> None:
    draw = np.random.default_rng(0)
    train = [Trajectory(draw.normal(size=80), draw.normal(size=80), 0.1) for _ in range(3)]
    own = [LastObservation().fit(train) for _ in range(3)]
    linear, still = LinearARX(past=4, future=3).fit(train), LastObservation().fit(train)
    candidates = [
        Candidate("own", own, own),
        Candidate("linear", [linear], []),
        Candidate("without a weight", [Mean().fit(train)], []),
        Candidate("still", [still], []),
        Candidate("not learned", [], []),
    ]
    limits = OutputLimits(np.array([-1.0]), np.array([1.0]), 1)
    for of_linear in (0.0, 0.25):
        given = np.array([[[0.5, of_linear, 0.0, 0.5 - of_linear, 0.0]]])
        reach = Reach(np.array([[[3.0, 2.0, np.inf, 1.0, np.inf]]]))
        parts = members_taking_part(candidates, given, limits, reach)
        assert parts.members == (*own, linear, still)
        assert parts.limits is not None
        assert parts.members[parts.limits.fallback] is linear
        sixth = 0.5 / 3
        expected = [sixth, sixth, sixth, of_linear, 0.5 - of_linear]
        np.testing.assert_allclose(parts.weights[0, 0], expected)
        assert parts.reach is not None
        np.testing.assert_array_equal(parts.reach.distance[0, 0], [3.0, 3.0, 3.0, 2.0, 1.0])
