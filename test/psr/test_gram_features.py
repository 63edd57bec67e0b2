"""Features by Gram matrices, against primal features and against kernel Bayes' rule written out."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from benchmarks.datasets import synth
from rffpsr_ros.data.moments import ridge_regression
from rffpsr_ros.data.principal_directions import gram_coordinates
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.windows import Windows, window_chunks
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import horizon_errors, observation_range
from rffpsr_ros.models.hse_psr.learner import HSEPSR
from rffpsr_ros.models.hse_psr.model import HSEPSRModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.psr.feature_set import FeatureSet, fit_products
from rffpsr_ros.psr.filter_step import Conditioning, filter_runs
from rffpsr_ros.psr.fourier_features import (
    FeatureMap,
    draw_frequencies,
    random_fourier_features,
)
from rffpsr_ros.psr.gram_features import needed_memory
from rffpsr_ros.psr.kernel_features import KernelMap, gaussian_kernel
from rffpsr_ros.psr.stage_one import JointStageOne
from rffpsr_ros.psr.system_map import contract
from rffpsr_ros.psr.two_stage import TwoStageOptions, learn_system
from rffpsr_ros.recordings.trajectory import Trajectory

OPTIONS = TwoStageOptions(
    past=2, future=2, rank=500, observation_rank=500, action_rank=500, state_rank=6,
    tolerance=1e-5, ridge=1e-4, stage_two_ridge=1e-4,
)  # fmt: skip
VIEWS: tuple[Callable[[Windows], Array], ...] = (
    lambda w: w.history,
    lambda w: w.observations[:, 0],
    lambda w: w.actions[:, 0],
    lambda w: w.future_observations,
    lambda w: w.future_actions,
)


def run(ticks: int, seed: int = 0) -> Run:
    draw = np.random.default_rng(seed)
    actions = draw.uniform(-1, 1, (ticks, 1))
    state, seen = 0.0, []
    for action in actions[:, 0]:
        state = 0.8 * np.sin(state) + action
        seen.append([state + 0.1 * draw.normal()])
    return Run(np.array(seen), actions)


def windows_of(recording: Run) -> Windows:
    (windows,) = window_chunks([recording], OPTIONS.past, OPTIONS.future)
    return windows


class FiniteKernelMap(NamedTuple):
    """As `KernelMap`, for the kernel whose features are a few cosines and sines."""

    points: Array
    coordinates: Array
    frequencies: Array

    @property
    def size(self) -> int:
        return int(self.coordinates.shape[1])

    def kernel(self, points: Array) -> Array:
        features = random_fourier_features(points, self.frequencies)
        return features @ random_fourier_features(self.points, self.frequencies).T

    def __call__(self, points: Array) -> Array:
        return self.kernel(points) @ self.coordinates

    def astype(self, dtype: type[np.floating]) -> "FiniteKernelMap":
        return self


def predictions(features: FeatureSet, training: Run, test: Run) -> Array:
    """Return one-step predictions on a test run: whole learning and filtering, any basis."""
    system = learn_system(features, [training], OPTIONS, np.random.default_rng(0))
    dynamics, conditioning = contract(features, system), Conditioning(1e-3)

    def joined(recording: Run) -> Array:
        action, observation = (
            features.action(recording.actions),
            features.observation(recording.observations),
        )
        (states,) = filter_runs(dynamics, conditioning, [action], [observation])
        return khatri_rao(states, action)

    inputs = joined(training)
    weights = ridge_regression(
        training.observations.T @ inputs / len(inputs), inputs.T @ inputs / len(inputs), 1e-4
    )
    return joined(test) @ weights.T


def test_primal_and_gram_forms_agree_for_a_finite_dimensional_kernel() -> None:
    training, test = run(150), run(60, 1)
    windows, draw = windows_of(training), np.random.default_rng(2)
    primal, gram = [], []
    for view, count in zip(VIEWS, (4, 1, 1, 2, 2), strict=True):
        points = np.asarray(view(windows))
        frequencies = draw_frequencies(points.shape[1], count, 0.8, draw)
        primal.append(FeatureMap(frequencies, np.eye(2 * count)))
        blank = FiniteKernelMap(points, np.empty((0, 0)), frequencies)
        coordinates, lost = gram_coordinates(blank.kernel(points), 500, 1e-6)
        assert coordinates.shape[1] == 2 * count
        assert abs(lost) < 1e-12
        gram.append(blank._replace(coordinates=coordinates))
    nothing = [np.empty((0, 0))] * 3
    forms = [
        fit_products(FeatureSet(*maps, *nothing), [windows], OPTIONS, draw)
        for maps in (primal, gram)
    ]
    ours, theirs = (predictions(form, training, test) for form in forms)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-8)
    assert np.corrcoef(ours[5:, 0], test.observations[5:, 0])[0, 1] > 0.9


def test_stage_one_is_kernel_bayes_rule_in_gram_matrices() -> None:
    """Q(h) psi^a evaluated by N x N matrices: Psi^o D G ((D G)^2 + lambda)^-1 D Psi^a."""
    windows, regularisation, ridge = windows_of(run(60)), 1e-3, 1e-3
    history, outputs, actions = (VIEWS[i](windows) for i in (0, 3, 4))
    width = np.asarray(0.7)
    count = len(history)
    grams = [gaussian_kernel(p, p, width) for p in (history, outputs, actions)]
    maps = [
        KernelMap(p, gram_coordinates(g, count, 0.0)[0], width)
        for p, g in zip((history, outputs, actions), grams, strict=True)
    ]
    stage = JointStageOne(maps[0].size, maps[2].size, maps[1].size, "squared")
    stage.add(maps[0](history), maps[2](actions), maps[1](outputs))
    operators = stage.solve(ridge, regularisation)(maps[0](history[:3]))
    at_history, at_action = 1, actions[7:8]
    ours = operators[at_history] @ maps[2](at_action)[0]

    share = np.linalg.solve(grams[0] + ridge * count * np.eye(count), grams[0][:, at_history])
    weighted = np.diag(share) @ grams[2]
    inverse = np.linalg.inv(weighted @ weighted + regularisation * np.eye(count))
    weights = weighted @ inverse @ np.diag(share) @ gaussian_kernel(at_action, actions, width)[0]
    # Both are embeddings of the future: they agree on what they say of any test function.
    np.testing.assert_allclose(maps[1](outputs) @ ours, grams[1] @ weights, rtol=0, atol=1e-8)


def test_the_pullback_is_the_gradient() -> None:
    draw = np.random.default_rng(0)
    points = draw.normal(size=(20, 3))
    width = np.asarray(1.3)
    coordinates, _ = gram_coordinates(gaussian_kernel(points, points, width), 5, 1e-6)
    features = KernelMap(points, coordinates, width)
    at, gradient, step = draw.normal(size=(4, 3)), draw.normal(size=(4, 5)), 1e-6
    values, raw = features.with_pullback(at)
    np.testing.assert_array_equal(values, features(at))
    for i in range(3):
        moved = [features(at + sign * step * np.eye(3)[i]) for sign in (1, -1)]
        numeric = ((moved[0] - moved[1]) * gradient).sum(1) / (2 * step)
        np.testing.assert_allclose(features.pullback(raw, gradient)[:, i], numeric, atol=1e-8)
    at_products = draw.normal(size=(4, 2))
    at_weights = features.weights_gradient(raw, at_products)
    np.testing.assert_allclose(at_weights, values.T @ at_products, atol=1e-13)


def test_more_windows_than_the_memory_allows_are_refused_with_what_they_need() -> None:
    assert needed_memory(100_000, 60, 30) > 4e11
    # 35 windows span 35 directions, whatever rank is allowed.
    assert needed_memory(35, 60, 1000) == needed_memory(35, 60, 35) < 1e8
    draw = np.random.default_rng(0)
    long = [Trajectory(draw.normal(size=5000), draw.normal(size=5000)) for _ in range(2)]
    with pytest.raises(InputError, match=r"windows need \d+\.\d GB and 0\.1 GB are allowed"):
        HSEPSR(memory=0.1).fit(long)


@pytest.mark.usefixtures("shared_required")
def test_on_the_papers_data_it_is_better_than_the_authors_hse_psr() -> None:
    data = synth()
    model = HSEPSR().fit(data.train, data.validation)
    errors = horizon_errors(model, data.test, clip=observation_range(data.train))
    assert errors.mse.mean() < 0.1  # the authors': .23, with 8.2 GB
    assert needed_memory(700, 62, 30) < 0.5e9


def test_a_rank_beyond_the_windows_is_limited_by_them() -> None:
    actions = np.random.default_rng(0).uniform(-1, 1, (40, 1))
    trajectory = Trajectory(np.cumsum(actions, axis=0), actions)

    def learned(rank: int) -> HSEPSRModel:
        model = HSEPSR(rank=rank, past=2, future=2).fit([trajectory], [trajectory])
        assert isinstance(model, HSEPSRModel)
        return model

    model, other = learned(1000), learned(17)
    assert "rank 1000 limited to 17 by 36 windows" in model.record.notes
    assert other.record.notes == ()
    plans = actions[:5]
    forecasts = [one.predict(one.initial_state(), plans) for one in (model, other)]
    np.testing.assert_array_equal(forecasts[0], forecasts[1])
