"""What the blend gains over a simple model on parts held out, remembered in the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rffpsr_ros.evaluation.verdict import BASELINES
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.paired_errors import paired_errors
from rffpsr_ros.recipe.blend import Blend

HELD_OUT = "held_out"
"""The entry of a training record's metrics with what is returned here."""


def held_out_gain(
    blend: Blend, names: Sequence[str], deviation: Array, observation_names: Sequence[str]
) -> dict[str, Any]:
    """Return how the blend's errors compare with a baseline's, as `PairedErrors.as_json` tells.

    Blocks of what was held out count alike. Without a baseline among candidates it is empty.

    Parameters
    ----------
    names
        Of the candidates, in the order of ``blend.errors``.
    deviation
        (d_o,) the observations' standard deviation.
    """
    known = [name for name in BASELINES if name in names]
    if not known:
        return {}
    ours = _shares(blend.blended)
    theirs = _shares(blend.errors[names.index(known[0])])
    variances = np.broadcast_to(deviation**2, ours.shape[1:])
    found = paired_errors(ours, theirs, variances, known[0], tuple(observation_names))
    return found.as_json()


def _shares(groups: Sequence[Array]) -> Array:
    """Return what each group of errors (n, H, d_o) adds to their mean square, (B, H, d_o)."""
    seen = np.stack([np.isfinite(group).sum(axis=0) for group in groups])
    sums = np.stack([np.nansum(group**2, axis=0) for group in groups])
    return np.asarray(sums / np.maximum(seen, 1) / np.maximum((seen > 0).sum(axis=0), 1))
