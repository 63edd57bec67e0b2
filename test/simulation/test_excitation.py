"""Excitation signals: within limits, reproducible, and as rich as they claim."""

import itertools
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.excitation import EXCITATIONS, excitation, mixed_policy, multisine

LOW, HIGH = np.array([-0.5, 1.0]), np.array([0.5, 4.0])
PERIOD = 0.05


def play(name: str, ticks: int, seed: int = 0, **options: Any) -> Array:
    signal = excitation(name, np.random.default_rng(seed), LOW, HIGH, PERIOD, options)
    return np.stack(list(itertools.islice(signal, ticks)))


@pytest.mark.parametrize("name", EXCITATIONS)
def test_every_signal_fills_its_limits_and_never_leaves_them(name: str) -> None:
    actions = play(name, 3000)
    assert (actions >= LOW - 1e-12).all()
    assert (actions <= HIGH + 1e-12).all()
    assert (np.ptp(actions, axis=0) > 0.95 * (HIGH - LOW) / (2 if name == "multisine" else 1)).all()


@pytest.mark.parametrize("name", EXCITATIONS)
def test_a_seed_gives_one_signal(name: str) -> None:
    np.testing.assert_array_equal(play(name, 50, seed=1), play(name, 50, seed=1))
    assert not np.array_equal(play(name, 50, seed=1), play(name, 50, seed=2))


@pytest.mark.parametrize("name", ["uniform", "prbs"])
def test_a_hold_lasts_its_seconds(name: str) -> None:
    actions = play(name, 400, hold=0.2)
    np.testing.assert_array_equal(actions, np.repeat(actions[::4], 4, axis=0))
    assert (np.diff(actions[::4], axis=0) != 0).any(axis=1).mean() > 0.5


def test_a_binary_sequence_is_white_and_its_channels_are_uncorrelated() -> None:
    bits = np.sign(play("prbs", 2047) - (LOW + HIGH) / 2)
    assert set(np.unique(bits)) == {-1.0, 1.0}
    for lag in range(1, 50):
        # A maximum-length sequence has the circular autocorrelation -1 / length.
        product = bits[:, 0] @ np.roll(bits[:, 0], lag)
        assert product == -1
    assert abs(bits[:, 0] @ bits[:, 1]) == 1


def test_a_multisine_has_the_band_asked_for_and_channels_of_their_own() -> None:
    actions = play("multisine", 200, lowest_frequency=0.1, highest_frequency=2.0, count=20)
    spectra = np.abs(np.fft.rfft(actions - actions.mean(axis=0), axis=0)) > 1e-9
    frequencies = np.fft.rfftfreq(200, PERIOD)
    assert frequencies[spectra[:, 0] | spectra[:, 1]] == pytest.approx(np.arange(1, 21) / 10)
    assert not (spectra[:, 0] & spectra[:, 1]).any()


def test_a_sine_has_its_frequency() -> None:
    actions = play("sine", 200, frequency=0.5)
    spectrum = np.abs(np.fft.rfft(actions - actions.mean(axis=0), axis=0))
    assert np.fft.rfftfreq(200, PERIOD)[spectrum.argmax(axis=0)] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("probability", [0.0, 0.2, 0.8, 1.0])
def test_a_mixture_is_blind_as_often_as_asked(probability: float) -> None:
    blind = itertools.repeat(np.array([0.1]))
    policy = mixed_policy(
        np.random.default_rng(0),
        blind,
        lambda time, observation: 10 * observation,
        probability,
        np.array([-0.5]),
        np.array([0.5]),
    )
    actions = np.array([policy(0.0, np.array([1.0]))[0] for _ in range(4000)])
    assert set(actions) <= {0.1, 0.5}  # feedback is limited
    deviation = 4 * np.sqrt(probability * (1 - probability) / 4000)
    assert (actions == 0.1).mean() == pytest.approx(probability, abs=deviation + 1e-12)


def test_mistakes_are_said() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(InputError, match="unknown excitation 'prsb'; did you mean 'prbs'"):
        excitation("prsb", generator, LOW, HIGH, PERIOD)
    with pytest.raises(InputError, match=r"option of excitation 'sine' 'freq'; .* 'frequency'"):
        excitation("sine", generator, LOW, HIGH, PERIOD, {"freq": 1.0})
    with pytest.raises(InputError, match="lowest first"):
        excitation("sine", generator, HIGH, LOW, PERIOD)
    with pytest.raises(InputError, match="half the tick rate"):
        next(multisine(generator, LOW, HIGH, PERIOD, highest_frequency=11.0))
    with pytest.raises(InputError, match=r"probability is 1\.5"):
        mixed_policy(generator, iter(()), lambda time, seen: seen, 1.5, LOW, HIGH)
