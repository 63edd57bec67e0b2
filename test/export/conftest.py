"""Models of every kind, learned from runs of one system, and runs with gaps to follow."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import pytest

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.compressed.learner import Compressed
from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts, OutputLimits
from rffpsr_ros.models.ensemble.reach import Reach
from rffpsr_ros.models.hse_psr.learner import HSEPSR
from rffpsr_ros.models.io_hmm.learner import IOHMM
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.low_passed.learner import LowPassed
from rffpsr_ros.models.moving_origin.learner import MovingOrigin
from rffpsr_ros.models.moving_origin.model import MovingOriginModel
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.models.output_error.learner import OutputError
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory
from test.nonlinear_runs import nonlinear_runs

TICKS = 1000
SMALL: dict[str, Any] = {"past": 3, "future": 3, "features": 20, "rank": 6, "iterations": 5}


def recordings(count: int, ticks: int = 200, seed: int = 3) -> list[Trajectory]:
    return nonlinear_runs(count, ticks, seed)


def discrete(ticks: int, seed: int) -> Trajectory:
    """Return a run whose first observation repeats the action."""
    generator = np.random.default_rng(seed)
    seen, acted = (generator.integers(2, size=(ticks, n)).astype(float) for n in (2, 1))
    seen[1:, 0] = acted[:-1, 0]
    return Trajectory(seen, acted, 0.1)


def with_gaps(run: Trajectory) -> Trajectory:
    """Return a run in which single values, whole ticks and bursts of ticks are missing."""
    seen = run.observations.copy()
    generator = np.random.default_rng(11)
    seen[generator.random(seen.shape) < 0.05] = np.nan
    seen[generator.random(len(seen)) < 0.03] = np.nan
    for start in range(150, len(seen), 170):
        seen[start : start + 8] = np.nan
    return Trajectory(seen, run.actions, run.period)


def at_home() -> MovingOriginModel:
    """Return a model that saw so much that no run leaves it: no origin moves in what is written."""
    far = [Trajectory(3 * run.observations, run.actions, run.period) for run in recordings(1)]
    return MovingOrigin(LinearARX(past=3, future=4), [0]).fit([*recordings(3), *far])


def held() -> EnsembleModel:
    """Return an ensemble whose forecasts are replaced at times, and held at times."""
    runs = recordings(3)
    linear, nonlinear = LinearARX(past=3, future=4).fit(runs), SingleRFFPSR(**SMALL).fit(runs)
    seen = np.concatenate([run.observations for run in runs])
    parts = EnsembleParts(
        (nonlinear, linear),
        np.tile([0.7, 0.3], (4, 2, 1)),
        OutputLimits(np.quantile(seen, 0.25, axis=0), np.quantile(seen, 0.75, axis=0), 1),
        Bounds(np.quantile(seen, 0.15, axis=0), np.quantile(seen, 0.85, axis=0)),
    )
    return EnsembleModel(linear.signature, TrainingRecord(), parts)


def within_reach() -> EnsembleModel:
    """Return an ensemble whose members hold each other back at times."""
    runs = recordings(3)
    members = (
        SingleRFFPSR(**SMALL).fit(runs),
        LinearARX(past=3, future=4).fit(runs),
        N4SID(past=3, future=4, order=2).fit(runs),
    )
    weights = np.tile([0.4, 0.35, 0.25], (4, 2, 1))
    weights[1, 0] = 1.0, 0.0, 0.0
    distance = np.full(weights.shape, 0.01)
    distance[0, 0, 1] = np.inf
    parts = EnsembleParts(members, weights, reach=Reach(distance))
    return EnsembleModel(members[0].signature, TrainingRecord(), parts)


LEARNED: dict[str, Callable[[], PredictiveModel[Any]]] = {
    "last_observation": lambda: LastObservation().fit(recordings(3)),
    "mean": lambda: Mean().fit(recordings(3)),
    "linear_arx": lambda: LinearARX(past=4, future=3).fit(recordings(3)),
    "rff_arx": lambda: RFFARX(past=3, future=3, features=30).fit(recordings(3)),
    "kalman": lambda: Kalman(past=3, future=4).fit(recordings(3)),
    "n4sid": lambda: N4SID(past=3, future=4, order=2).fit(recordings(3)),
    "output_error": lambda: OutputError(past=2, features=15).fit(recordings(3)),
    "state_space": lambda: NonlinearStateSpace(3, past=4, stages=1).fit(recordings(3)),
    "state_space of positions": lambda: NonlinearStateSpace(
        2, saturating=False, integrating=True, past=4, stages=1
    ).fit(recordings(3)),
    "rff_psr": lambda: SingleRFFPSR(**SMALL, arx_past=3, narx_features=10).fit(recordings(3)),
    "rff_psr of sigmoids": lambda: SingleRFFPSR(
        **SMALL, arx_past=3, narx_past=2, narx_learning="on", narx_units="sigmoids"
    ).fit(recordings(3)),
    "rff_psr without terms": lambda: SingleRFFPSR(**SMALL, arx_past=0, narx_past=0).fit(
        recordings(3)
    ),
    "hse_psr": lambda: HSEPSR(past=3, future=3, rank=8).fit(recordings(3, 120)),
    "io_hmm": lambda: IOHMM(past=2).fit([discrete(150, 1)]),
    "ensemble": lambda: RFFPSR(**SMALL, folds=2, narx_affine="off").fit(recordings(4)),
    "ensemble with limits": held,
    "ensemble within reach": within_reach,
    "compressed": lambda: Compressed(LinearARX(past=3, future=4), 1).fit(recordings(3)),
    "moving_origin": at_home,
    "low_passed": lambda: LowPassed(LinearARX(past=3, future=4), (9,), True).fit(recordings(3)),
}


class Exported:
    """A model to be exported, and a run of `TICKS` ticks with gaps that it has not seen.

    What the model itself makes of the run is computed once.
    """

    def __init__(self, name: str, model: PredictiveModel[Any], run: Trajectory) -> None:
        self.name, self.model, self.run = name, model, run

    def follow(
        self,
        update: Callable[[Array, Array], None],
        compare: Callable[[Array, Array], None],
        ticks: int = TICKS,
    ) -> None:
        """Hand every tick to ``update``; at times a plan and the model's forecast to compare."""
        for tick in range(ticks):
            update(self.run.actions[tick], self.run.observations[tick])
            if tick in self._followed.forecasts:
                compare(*self._followed.forecasts[tick])

    def last_state(self) -> Any:
        """Return the model's state after the run."""
        return self._followed.state

    @cached_property
    def _followed(self) -> Followed:
        state, forecasts = self.model.initial_state(), {}
        for tick in range(TICKS):
            action, seen = self.run.actions[tick], self.run.observations[tick]
            state = self.model.update(state, action, seen)
            if tick < 5 or tick % 13 == 0:
                plan = self.run.actions[tick + 1 : tick + 2 + tick % 9]
                forecasts[tick] = plan, self.model.predict(state, plan)
        return Followed(state, forecasts)


class Followed(NamedTuple):
    """What a model made of a run."""

    state: Any
    forecasts: dict[int, tuple[Array, Array]]
    """Plans, and forecasts, after some ticks."""


@cache
def learned(name: str) -> PredictiveModel[Any]:
    """Return the model of a name."""
    return LEARNED[name]()


@pytest.fixture(params=LEARNED, scope="session")
def case(request: pytest.FixtureRequest) -> Exported:
    """Return each model in turn."""
    name = str(request.param)
    run = discrete(TICKS + 20, 5) if name == "io_hmm" else recordings(1, TICKS + 20, 9)[0]
    return Exported(name, learned(name), with_gaps(run))


@pytest.fixture(scope="session")
def ensemble() -> PredictiveModel[Any]:
    """Return an ensemble as the command line makes it."""
    return learned("ensemble")
