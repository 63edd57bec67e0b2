"""Gaps are filled where they leave hardly any window, and only there."""

import numpy as np

from rffpsr_ros.data.gaps import GapFilling, fit_gap_filler, gaps_are_frequent
from rffpsr_ros.data.summary import summarise
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

FILLING = GapFilling()


def swinging(seed: int, ticks: int = 300) -> tuple[Array, Array]:
    """Two driven oscillators in other units, and their drives."""
    draw = np.random.default_rng(seed)
    actions = draw.uniform(-1, 1, (ticks, 2))
    state, rows = np.zeros((2, 2)), []
    for action in actions:
        state[1] += 0.3 * (action - state[0] - 0.3 * state[1])
        state[0] += 0.3 * state[1]
        rows.append(state[0] * [1.0, 1000.0] + [0.0, 5e4])
    return np.array(rows), actions


def with_gaps(seed: int, lost: float) -> tuple[Trajectory, Array]:
    values, actions = swinging(seed)
    draw = np.random.default_rng(seed + 100)
    seen = values.copy()
    while np.isnan(seen).mean() < lost:
        first, column = draw.integers(len(seen)), draw.integers(2)
        seen[first : first + draw.integers(1, 11), column] = np.nan
    return Trajectory(seen, actions, 0.1, ["angle", "load"], ["one", "two"], "run"), values


def test_frequent_short_gaps_are_filled_with_nearly_what_was_there() -> None:
    holed = [with_gaps(seed, 0.25) for seed in range(4)]
    given = [trajectory for trajectory, _ in holed]
    assert gaps_are_frequent(given, summarise(given, 20, 10), 20, 10, FILLING)
    fill = fit_gap_filler(given, FILLING)
    filled = [fill(trajectory) for trajectory in given]
    for after, (before, truth) in zip(filled, holed, strict=True):
        missing = np.isnan(before.observations)
        assert (after.period, after.observation_names, after.label) == (
            before.period, before.observation_names, before.label,
        )  # fmt: skip
        np.testing.assert_array_equal(after.observations[~missing], before.observations[~missing])
        short = missing & ~np.isnan(after.observations)
        assert short.sum() > 0.8 * missing.sum()
        missed = np.where(short, (after.observations - truth) / truth.std(axis=0), 0.0)
        assert (missed**2).sum() / short.sum() < 0.1


def test_long_gaps_stay_open_and_no_filled_value_tells_of_a_later_one() -> None:
    trajectory, _ = with_gaps(0, 0.25)
    values = trajectory.observations.copy()
    values[100 : 101 + FILLING.longest] = np.nan
    holed = Trajectory(values, trajectory.actions, 0.1)
    filled = fit_gap_filler([holed], FILLING)(holed)
    assert np.isnan(filled.observations[100 : 101 + FILLING.longest]).all()
    start = np.flatnonzero(np.isnan(values[:90, 0]))[0]
    others = [Trajectory(with_gaps(seed, 0.25)[0].observations, swinging(seed)[1], 0.1)
              for seed in range(1, 4)]  # fmt: skip
    ended = Trajectory(values[: start + 1], trajectory.actions[: start + 1], 0.1)
    whole = Trajectory(values, trajectory.actions, 0.1)
    cut, uncut = (
        fit_gap_filler([*others, one, *others], FILLING)(one).observations[start, 0]
        for one in (ended, whole)
    )
    assert abs(cut - uncut) < 0.05 * np.nanstd(values[:, 0])


def test_what_has_few_gaps_is_left_as_it_is() -> None:
    trajectory, _ = with_gaps(0, 0.01)
    found = summarise([trajectory], 20, 10)
    assert not gaps_are_frequent([trajectory], found, 20, 10, FILLING)
