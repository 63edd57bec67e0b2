"""Random Fourier features against the exact Gaussian kernel."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr import fourier_features
from rffpsr_ros.psr.fourier_features import (
    FeatureMap,
    draw_feature_map,
    draw_frequencies,
    median_distance,
    random_fourier_features,
)


def points(count: int = 40, size: int = 3) -> Array:
    drawn = np.random.default_rng(0).standard_normal((count, size))
    drawn.setflags(write=False)
    return drawn


def exact_kernel(rows: Array, bandwidth: float) -> Array:
    squared = ((rows[:, None] - rows[None]) ** 2).sum(2)
    return np.asarray(np.exp(-squared / (2 * bandwidth**2)))


def kernel_error(count: int, seed: int) -> float:
    rows, bandwidth = points(), 1.5
    frequencies = draw_frequencies(3, count, bandwidth, np.random.default_rng(seed))
    features = random_fourier_features(rows, frequencies)
    difference = features @ features.T - exact_kernel(rows, bandwidth)
    return float(np.sqrt(np.mean(difference**2)))


def test_inner_products_approach_the_kernel_as_one_over_root_d() -> None:
    small = np.mean([kernel_error(100, seed) for seed in range(10)])
    large = np.mean([kernel_error(10_000, seed) for seed in range(10)])
    assert large < 0.01
    assert small / large == pytest.approx(10, rel=0.35)


def test_features_have_unit_norm() -> None:
    frequencies = draw_frequencies(3, 17, 1.0, np.random.default_rng(0))
    norms = np.linalg.norm(random_fourier_features(points(), frequencies), axis=1)
    np.testing.assert_allclose(norms, 1, rtol=1e-12)


def test_single_precision_agrees_with_double() -> None:
    frequencies = draw_frequencies(3, 50, 1.0, np.random.default_rng(0))
    double = random_fourier_features(points(), frequencies)
    single = random_fourier_features(points().astype(np.float32), frequencies.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, double, atol=2e-6)


def test_the_pullback_is_the_transposed_derivative() -> None:
    draw = np.random.default_rng(2)
    features = FeatureMap(
        draw_frequencies(3, 8, 1.0, draw), np.linalg.qr(draw.standard_normal((16, 4)))[0]
    )
    at, gradient = points(5), draw.standard_normal((5, 4))
    _, raw = features.with_pullback(at)
    pulled = features.pullback(raw, gradient)
    for column in range(3):
        shift = np.zeros(3)
        shift[column] = 1e-6
        slope = (features(at + shift) - features(at - shift)) / 2e-6
        np.testing.assert_allclose(pulled[:, column], (slope * gradient).sum(1), atol=1e-8)
    at_products = draw.standard_normal((5, 2))
    at_weights = features.weights_gradient(raw, at_products)
    np.testing.assert_allclose(at_weights, features(at).T @ at_products, atol=1e-14)


def test_the_median_trick_on_points_with_a_known_median() -> None:
    # Distances among 0, 1, 3: 1, 2, 3.
    assert median_distance(np.array([[0.0], [1.0], [3.0]]), np.random.default_rng(0)) == 2.0


def test_the_median_trick_on_a_command_that_is_on_or_off() -> None:
    # Most pairs coincide: a bandwidth of zero would make features of nothing but NaN.
    assert median_distance(np.array([[2.0]] * 4 + [[-1.0]]), np.random.default_rng(0)) == 3.0
    assert median_distance(np.full((5, 2), 0.3), np.random.default_rng(0)) > 0


def test_the_median_trick_looks_at_a_sample_of_many_points() -> None:
    many = np.random.default_rng(3).standard_normal((20_000, 2))
    # The distance of two standard normal points in the plane has median 2 sqrt(ln 2).
    found = median_distance(many, np.random.default_rng(0))
    assert found == pytest.approx(2 * np.sqrt(np.log(2)), rel=0.05)


def test_stretches_of_points_are_worked_on_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    features = FeatureMap(generator.normal(size=(50, 2)), generator.normal(size=(100, 3)))
    stretches = generator.normal(size=(40, 30, 2))
    whole, largest = features(stretches), 0
    waves = fourier_features.waves_of_phases

    def watched(phases: Array) -> Array:
        nonlocal largest
        largest = max(largest, phases.size)
        return waves(phases)

    monkeypatch.setattr(fourier_features, "waves_of_phases", watched)
    monkeypatch.setattr(fourier_features, "MEANWHILE", 6000)
    np.testing.assert_allclose(features(stretches), whole, atol=1e-12)
    assert 0 < largest <= 6000


def test_a_drawn_map_is_the_same_from_rows_at_once_and_in_chunks() -> None:
    rows = points(300)
    chunks = [rows[start : start + 70] for start in range(0, 300, 70)]

    def drawn(given: Sequence[Array] | Callable[[], Iterable[Array]] | None) -> FeatureMap:
        return draw_feature_map(rows, 40, 2.0, 12, 1e-6, np.random.default_rng(1), given)

    whole = drawn(None)
    assert whole.projection.shape == (80, 12)
    np.testing.assert_allclose(whole.projection.T @ whole.projection, np.eye(12), atol=1e-9)
    for given in (chunks, lambda: iter(chunks)):
        np.testing.assert_array_equal(drawn(given).frequencies, whole.frequencies)
        np.testing.assert_allclose(drawn(given).projection, whole.projection, atol=1e-6)
    # The wider the kernel, relative to the points, the lower the frequencies.
    width = 2.0 * median_distance(rows, np.random.default_rng(1))
    assert np.std(whole.frequencies) == pytest.approx(1 / width, rel=0.2)
