"""Stand-ins for observations that were not seen, mended once one is seen again.

While a sensor is silent, forecasts stand in for its observations, each built on the ones before.
What the forecast is off by at the first observation after g silent ticks, e, has built up since the
last one: so the stand-in of the j-th silent tick moves by e j / (g + 1). Without that an
observation among stand-ins reads as a jump, to a model that looks at differences between ticks as
an absurd speed, and from gap to gap this grows without bound.
"""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array


def mended(earlier: Array, errors: Array, silent: Array) -> Array:
    """Return the observations (..., P, d_o) of earlier ticks, oldest first.

    ``errors`` (..., d_o) is the observation of the tick after them minus its forecast, NaN where it
    is missing, and ``silent`` (..., d_o) tells for how many ticks there had been none.
    """
    back = np.arange(earlier.shape[-2], 0, -1.0)[:, None]
    share = np.maximum(1.0 - back / (silent[..., None, :] + 1.0), 0.0)
    moved: Array = earlier + share * np.nan_to_num(errors)[..., None, :]
    return moved


def silent_after(silent: Array, missing: Array) -> Array:
    """Return for how many ticks nothing was seen of each observation, after one more tick."""
    return np.where(missing, silent + 1, 0)
