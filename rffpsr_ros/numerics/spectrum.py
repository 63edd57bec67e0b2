"""Power spectra of runs of ticks, by Welch's method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.numerics.arrays import Array

LONGEST = 256
"""Ticks of a segment, at the most."""
SHORTEST = 16


def spectra(runs: Sequence[Array], period: float) -> tuple[Array, Array] | None:
    """Return frequencies (F,) in Hz above 0 and power densities (F, d), units squared per Hz.

    Segments overlap by half and have a Hann window; those with a missing value are left out.

    Parameters
    ----------
    runs
        (T, d) each, NaN where something is missing.
    period
        Seconds per tick.

    Returns
    -------
    None where no segment is whole.
    """
    length = min(LONGEST, max((len(run) for run in runs), default=0))
    if length < SHORTEST:
        return None
    window = np.hanning(length + 1)[:-1, None]
    total, count = np.zeros((length // 2 + 1, runs[0].shape[1])), 0
    for run in runs:
        for start in range(0, len(run) - length + 1, length // 2):
            part = run[start : start + length]
            if np.isfinite(part).all():
                bent = window * (part - part.mean(axis=0))
                total += np.abs(np.fft.rfft(bent, axis=0)) ** 2
                count += 1
    if not count:
        return None
    density = 2 * period * total / (count * (window**2).sum())
    if length % 2 == 0:
        density[-1] /= 2
    return np.fft.rfftfreq(length, period)[1:], density[1:]
