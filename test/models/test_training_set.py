"""What trajectories must share before anything is learned from them."""

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.training_set import shared_signature
from rffpsr_ros.recordings.trajectory import Trajectory


def run(period: float) -> Trajectory:
    return Trajectory(np.zeros(5), np.zeros(5), period)


def test_periods_may_differ_as_clocks_do_but_not_as_rates_do() -> None:
    # A recorder that measures its period gives another one each time.
    found = shared_signature([run(0.02), run(0.02 * (1 + 6e-6))], [run(0.02 * (1 - 5e-4))])
    assert found.period == 0.02
    with pytest.raises(InputError, match="period"):
        shared_signature([run(0.02), run(0.0201)])
