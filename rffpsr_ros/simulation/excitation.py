"""Signals that excite a system so that it can be learned, as endless streams of actions.

Each signal takes a random generator, the action's limits ``low`` and ``high`` (d_a,) and the period
of a tick in seconds, and yields one action (d_a,) per tick within the limits, for ever. The same
generator state gives the same signal. `EXCITATIONS` names them for configuration and command line.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import max_len_seq

from rffpsr_ros.errors import InputError, did_you_mean
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.system import Policy

_PRBS_BITS = 11
"""Length of the shift register; the sequence repeats after 2^11 - 1 holds."""


def uniform_hold(
    generator: np.random.Generator, low: Array, high: Array, period: float, hold: float = 0.0
) -> Iterator[Array]:
    """Yield uniformly random actions, each held for ``hold`` seconds (at least one tick)."""
    while True:
        yield from itertools.repeat(generator.uniform(low, high), _ticks(hold, period))


def prbs(
    generator: np.random.Generator, low: Array, high: Array, period: float, hold: float = 0.0
) -> Iterator[Array]:
    """Yield a pseudo-random binary sequence between ``low`` and ``high``.

    Every channel plays the maximum-length sequence of an 11-bit shift register from a place of its
    own, as far from the others' as can be, so that channels are nearly uncorrelated and none soon
    repeats another; bits last ``hold`` seconds (at least one tick).
    """
    bits: NDArray[np.int8] = max_len_seq(_PRBS_BITS)[0]
    places = generator.integers(len(bits)) + np.arange(len(low)) * len(bits) // len(low)
    for k in itertools.count():
        action = np.where(bits[(places + k) % len(bits)] > 0, high, low)
        yield from itertools.repeat(action, _ticks(hold, period))


def multisine(
    generator: np.random.Generator,
    low: Array,
    high: Array,
    period: float,
    lowest_frequency: float = 0.1,
    highest_frequency: float = 2.0,
    count: int = 20,
) -> Iterator[Array]:
    """Return a sum of ``count`` sines (Hz) with random phases, scaled to just fill the limits.

    Frequencies are multiples of the lowest one, so the signal repeats after 1 / it; channels share
    out the multiples in turn, so that their spectra do not overlap.

    Raises
    ------
    InputError
        If the frequencies are out of order or exceed half the tick rate.
    """
    if not 0 < lowest_frequency <= highest_frequency <= 0.5 / period:
        raise InputError(
            f"frequencies {lowest_frequency} to {highest_frequency} Hz do not fit 0 < lowest <="
            f" highest <= {0.5 / period:g} Hz, half the tick rate"
        )
    return _sum_of_sines(generator, low, high, period, lowest_frequency, highest_frequency, count)


def _sum_of_sines(
    generator: np.random.Generator,
    low: Array,
    high: Array,
    period: float,
    lowest_frequency: float,
    highest_frequency: float,
    count: int,
) -> Iterator[Array]:
    """Yield what `multisine` returns; phases are drawn with the first action."""
    ticks = _ticks(1 / lowest_frequency, period)
    highest = max(int(highest_frequency / lowest_frequency), len(low))
    picked = np.unique(np.linspace(1, highest, max(count, len(low))).astype(int))
    angles = 2 * np.pi * np.arange(ticks)[:, None] / ticks
    channels = []
    for channel in range(len(low)):
        multiples = picked[channel :: len(low)]
        phases = generator.uniform(0, 2 * np.pi, len(multiples))
        wave = np.cos(angles * multiples + phases).sum(axis=1)
        channels.append(wave / np.abs(wave).max())
    waves = np.stack(channels, axis=1)
    yield from itertools.cycle((low + high) / 2 + waves * (high - low) / 2)


def sine(
    generator: np.random.Generator, low: Array, high: Array, period: float, frequency: float = 0.5
) -> Iterator[Array]:
    """Return a sine of ``frequency`` Hz between the limits, each channel with a random phase.

    One frequency shows a system's answer to that frequency alone: it suits a test such as the
    paper's windshield experiment, not learning in general.

    Raises
    ------
    InputError
        If the frequency exceeds half the tick rate.
    """
    if not 0 < frequency <= 0.5 / period:
        raise InputError(
            f"frequency {frequency} Hz does not fit 0 < frequency <= {0.5 / period:g} Hz, half the"
            " tick rate"
        )
    return _one_sine(generator, low, high, period, frequency)


def _one_sine(
    generator: np.random.Generator, low: Array, high: Array, period: float, frequency: float
) -> Iterator[Array]:
    """Yield what `sine` returns; phases are drawn with the first action."""
    phases = generator.uniform(0, 2 * np.pi, len(low))
    for k in itertools.count():
        wave = np.sin(2 * np.pi * frequency * k * period + phases)
        yield (low + high) / 2 + wave * (high - low) / 2


def linear_feedback(gains: Array, target: Array) -> Policy:
    """Return the policy that answers ``gains`` (d_a, d_o) times observation minus ``target``."""
    return lambda time, observation: np.asarray(gains @ (observation - target))


def mixed_policy(
    generator: np.random.Generator,
    blind: Iterator[Array],
    feedback: Policy,
    blind_probability: float,
    low: Array,
    high: Array,
) -> Policy:
    """Return the policy that plays ``blind`` with ``blind_probability``, else ``feedback``.

    The choice is made anew at every tick; feedback is limited to ``low`` and ``high``.

    Raises
    ------
    InputError
        If the probability is not between 0 and 1.
    """
    if not 0 <= blind_probability <= 1:
        raise InputError(f"the blind probability is {blind_probability}; it must be from 0 to 1")

    def act(time: float, observation: Array) -> Array:
        blind_action = next(blind)
        if generator.random() < blind_probability:
            return blind_action
        return np.clip(feedback(time, observation), low, high)

    return act


EXCITATIONS: Mapping[str, Callable[..., Iterator[Array]]] = {
    "uniform": uniform_hold,
    "prbs": prbs,
    "multisine": multisine,
    "sine": sine,
}


def excitation(
    name: str,
    generator: np.random.Generator,
    low: Array,
    high: Array,
    period: float,
    options: Mapping[str, Any] | None = None,
) -> Iterator[Array]:
    """Return the signal of `EXCITATIONS` called ``name``, made with ``options``.

    Raises
    ------
    InputError
        If name or an option is unknown (the nearest known one is named), or the limits are wrong.
    """
    _known(name, list(EXCITATIONS), "excitation")
    low, high = np.atleast_1d(low).astype(np.float64), np.atleast_1d(high).astype(np.float64)
    if low.shape != high.shape or not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all():
        raise InputError(
            f"action limits {low.tolist()} and {high.tolist()} must be finite, of one length, and"
            " lowest first"
        )
    signal = EXCITATIONS[name]
    allowed = list(inspect.signature(signal).parameters)[4:]
    for option in options or {}:
        _known(option, allowed, f"option of excitation '{name}'")
    return signal(generator, low, high, period, **(options or {}))


def _known(name: str, names: list[str], what: str) -> None:
    if name not in names:
        raise InputError(f"unknown {what} '{name}'{did_you_mean(name, names)}")


def _ticks(seconds: float, period: float) -> int:
    return max(1, round(seconds / period))
