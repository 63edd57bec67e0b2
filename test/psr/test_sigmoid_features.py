"""Features that saturate: their values and derivatives."""

import numpy as np

from rffpsr_ros.psr.sigmoid_features import SigmoidMap

DRAW = np.random.default_rng(3)
MAP = SigmoidMap(DRAW.normal(size=(7, 4)), DRAW.normal(size=7), DRAW.normal(size=(7, 3)))
POINTS = DRAW.normal(size=(5, 4))


def test_they_are_projected_tangents() -> None:
    for point, features in zip(POINTS, MAP(POINTS), strict=True):
        units = [np.tanh(v @ point + b) for v, b in zip(MAP.directions, MAP.offsets, strict=True)]
        np.testing.assert_allclose(features, MAP.projection.T @ units / np.sqrt(7), rtol=1e-13)
    assert (MAP.size, MAP.inputs) == (3, 4)


def test_derivatives_are_those_of_finite_differences() -> None:
    _, slopes = MAP.with_jacobian(POINTS)
    features, raw = MAP.with_pullback(POINTS)
    np.testing.assert_array_equal(features, MAP(POINTS))
    for place in range(4):
        step = 1e-5 * np.eye(4)[place]
        numeric = (MAP(POINTS + step) - MAP(POINTS - step)) / 2e-5
        np.testing.assert_allclose(slopes[..., place], numeric, atol=1e-9)
    at_features = DRAW.normal(size=features.shape)
    pulled = MAP.pullback(raw, at_features)
    np.testing.assert_allclose(pulled, np.einsum("nr,nrd->nd", at_features, slopes), atol=1e-14)


def test_weights_and_precision() -> None:
    weights = DRAW.normal(size=(3, 2))
    np.testing.assert_allclose(MAP.weighted(weights)(POINTS), MAP(POINTS) @ weights, rtol=1e-12)
    features, raw = MAP.with_pullback(POINTS)
    at_products = DRAW.normal(size=(5, 2))
    at_weights = MAP.weights_gradient(raw, at_products)
    np.testing.assert_allclose(at_weights, features.T @ at_products, atol=1e-14)
    single = MAP.astype(np.float32)(POINTS.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, MAP(POINTS), atol=1e-6)
