"""Cosines and sines of many phases at once.

In double precision by the tangent of half the phase, t: cos = 2 / (1 + t^2) - 1 and
sin = 2 t / (1 + t^2), to four units in the last place of 1. NumPy computes tangents many at a time,
on some processors ten times as fast as cosines; in single precision it does so with all three.
"""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array


def write_waves(phases: Array, cosines: Array, sines: Array) -> None:
    """Write the cosines and sines of phases into arrays of the same shape and precision."""
    if phases.dtype != np.float64:
        np.cos(phases, out=cosines)
        np.sin(phases, out=sines)
        return
    np.multiply(phases, 0.5, out=sines)
    np.tan(sines, out=sines)
    np.multiply(sines, sines, out=cosines)
    cosines += 1
    np.divide(2, cosines, out=cosines)
    sines *= cosines
    cosines -= 1
