"""An ensemble's RFF-PSR models without the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.members_alone import MembersAlone, members_alone
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import simulate

SMALL: dict[str, Any] = {"past": 5, "future": 3, "features": 20, "arx_past": 5, "narx_features": 10}
HORIZON = 3


def recordings(count: int = 3) -> list[Trajectory]:
    draw = np.random.default_rng(0)
    runs = [draw.uniform(-0.5, 0.5, (120, 1)) for _ in range(count)]
    return [simulate(SyntheticSystem(), actions, seed=seed) for seed, actions in enumerate(runs)]


@pytest.fixture(scope="module")
def ensemble() -> EnsembleModel:
    runs = recordings()
    own = [SingleRFFPSR(**SMALL, iterations=1, seed=seed).fit(runs) for seed in (0, 1)]
    linear = LinearARX(past=5, future=HORIZON).fit(runs)
    weights = np.array([[[0.2, 0.5, 0.3]], [[0.0, 0.6, 0.4]], [[0.0, 1.0, 0.0]]])
    parts = EnsembleParts((own[0], linear, own[1]), weights)
    return EnsembleModel(linear.signature, linear.record, parts)


def test_the_rest_count_as_they_did_to_each_other(ensemble: EnsembleModel) -> None:
    alone = members_alone(ensemble)
    assert isinstance(alone, EnsembleModel)
    assert alone.parts.members == ensemble.parts.members[::2]
    np.testing.assert_allclose(alone.parts.weights[:, 0], [[0.4, 0.6], [0.0, 1.0], [0.5, 0.5]])


def test_without_any_it_is_what_it_was(ensemble: EnsembleModel) -> None:
    linear = ensemble.parts.members[1]
    assert members_alone(linear) is linear
    single = EnsembleParts((linear,), np.ones((HORIZON, 1, 1)))
    blend = EnsembleModel(linear.signature, linear.record, single)
    assert members_alone(blend) is blend


def test_it_learns_as_the_whole_does() -> None:
    model = MembersAlone(**SMALL, iterations=1, narx_learning="off", processes=1).fit(recordings(6))
    assert isinstance(model, EnsembleModel)
    assert {one.kind for one in model.parts.members} == {"rff_psr"}
