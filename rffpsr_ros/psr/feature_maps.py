"""The feature maps that there are: of waves, of sigmoids, and of a kernel's own features.

Each is a NamedTuple of arrays and a differentiable map from points (..., d) to features (..., r):
``size`` is r, calling it gives features, `with_pullback` gives them with what `pullback` needs to
bring a gradient (..., r) back to the points, `weighted` the map of a linear function of features,
`weights_gradient` the gradient at what weighs them, and `astype` the map in another precision.
"""

from __future__ import annotations

from typing import TypeAlias

from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.kernel_features import KernelMap
from rffpsr_ros.psr.sigmoid_features import SigmoidMap

Features: TypeAlias = FeatureMap | SigmoidMap | KernelMap
"""Closed: a model file says which of them a map is."""
