"""One small RFF-PSR of the synthetic system, learned once for all tests of models."""

import pytest

from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import dataset, open_loop


def synthetic_runs(count: int, ticks: int, seed: int) -> list[Trajectory]:
    """Return runs of the paper's synthetic system under random commands."""
    system = SyntheticSystem()
    low, high = system.action_limits

    def policy(generator):  # type: ignore[no-untyped-def]
        return open_loop(uniform_hold(generator, low, high, system.period))

    return dataset(system, policy, count, ticks, seed)


@pytest.fixture(scope="session")
def synthetic_model() -> RFFPSRModel:
    """Return a model with every part, refined briefly; its state takes part in forecasts."""
    learner = SingleRFFPSR(iterations=120, narx_learning="off")
    return learner.fit(synthetic_runs(10, 100, 0), synthetic_runs(3, 100, 1))


@pytest.fixture(scope="session")
def long_run() -> Trajectory:
    """Return one long run that no model was trained on."""
    (run,) = synthetic_runs(1, 3000, 7)
    return run
