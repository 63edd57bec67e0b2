"""Golden test: with the authors' own weights, the authors' own predictions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat

from rffpsr_ros.data.preparation import Start
from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.contract import Signature, TrainingRecord
from rffpsr_ros.models.rff_psr.filter_monitor import FilterMonitor
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.parts import RFFPSRParts, WindowHead
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.feature_set import FeatureSet
from rffpsr_ros.psr.filter_step import Conditioning
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.history import HistoryRegression
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.system_map import SystemMap, contract

FUTURE, PAST = 10, 20
NO_SCALING = Scaling(np.zeros(1), np.ones(1), -np.ones(1), np.ones(1))


def rows_of(columns: Array, *sizes: int) -> Array:
    """Turn a MATLAB vec of a matrix (column-major) into a row-major one, column by column."""
    return columns.reshape(*sizes, -1, order="F").reshape(columns.shape)


def model_with(learned: Any) -> RFFPSRModel:
    """Put the authors' weights into our parts; nothing is standardised, limited or guarded."""
    weights, projections, frequencies = learned.W[0, 0], learned.U[0, 0], learned.V[0, 0]
    sizes = {
        name: int(getattr(learned.K[0, 0], name)[0, 0]) for name in learned.K[0, 0]._fieldnames
    }

    def features(name: str) -> FeatureMap:
        return FeatureMap(getattr(frequencies, name), getattr(projections, name))

    maps = FeatureSet(
        features("h"),
        features("o"),
        features("a"),
        features("to"),
        features("ta"),
        extended_observation=projections.eto,
        extended_action=projections.eta,
        products=rows_of(projections.oo, sizes["o"], sizes["o"]),
    )
    system = SystemMap(
        rows_of(projections.st, sizes["to"], sizes["ta"]),
        rows_of(weights.s2_ex, sizes["eto"], sizes["eta"]),
        rows_of(weights.s2_oo, sizes["oo"], sizes["a"]),
        np.zeros((sizes["s"] * sizes["a"], sizes["o"])),
        learned.f0[:, 0],
    )
    dynamics = contract(maps, system)
    nothing = np.zeros((0, 1))
    history = np.hstack([weights.s1a_proj[:, :-1], np.zeros((sizes["s"], 2 * PAST))])
    parts = RFFPSRParts(
        NO_SCALING,
        NO_SCALING,
        FixedStructure(
            maps.observation,
            maps.action,
            None,
            0,
            0,
            Conditioning(1e-3),
            Start(np.zeros(1), np.zeros(1)),
        ),
        TrainableParameters(*dynamics, np.zeros((len(dynamics.covariance), 1)), nothing, nothing),
        system.expected,
        HistoryRegression(maps.history, np.hstack([history, weights.s1a_proj[:, -1:]]), PAST),
        FilterMonitor(),
        "features",
        WindowHead(maps.future_action, weights.s2_h.T, FUTURE),
    )
    return RFFPSRModel(Signature(("o",), ("a",), 0.05), TrainingRecord(), parts)


@pytest.mark.parametrize("name", ["joint", "joint_refine", "cond", "cond_refine"])
def test_the_authors_weights_give_the_authors_predictions(name: str, shared_required: Path) -> None:
    def load(file: str) -> Any:
        path = shared_required / file
        return loadmat(path, squeeze_me=False, struct_as_record=False)

    learned = getattr(load("reference/models_seed0.mat")["models"][0, 0], name)[0, 0]
    results = load("reference/main_seed0.mat")["res"][0, 0]
    expected = getattr(results, name)[0, 0].pred  # (trajectory, horizon, origin)
    cells = load("data/synthetic/synth.mat")
    model = model_with(learned)
    for index, (seen, acted) in enumerate(
        zip(cells["X_tst"].flat, cells["U_tst"].flat, strict=True)
    ):
        state = model.initial_state()
        for origin in range(expected.shape[2]):
            plan = acted[0, origin : origin + FUTURE, None]
            forecast = model.predict(state, plan)[:, 0]
            np.testing.assert_allclose(forecast, expected[index, :, origin], rtol=0, atol=1e-9)
            state = model.update(state, acted[:, origin], seen[:, origin])
