"""Damaged recordings are named and not learned from; what is merely different is left alone."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.data.screening import DamageWarning, screened
from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory

TICKS = 400
Damage = Callable[[Array, np.random.Generator], None]
"""What happens to the rows (T, 4) of a recording: two observations, two actions."""


def recording(seed: int, size: float = 1.0, ticks: int = TICKS) -> Trajectory:
    """Two driven oscillators in other units, measured with noise."""
    draw = np.random.default_rng(seed)
    actions = np.repeat(size * draw.uniform(-1, 1, (ticks // 5 + 1, 2)), 5, axis=0)[:ticks]
    state, rows = np.zeros((2, 2)), []
    for action in actions:
        state[1] += 0.3 * (action - state[0] - 0.5 * state[1])
        state[0] += 0.3 * state[1]
        rows.append(state[0] * [1.0, 50.0] + [0.0, 700.0] + draw.normal(0, [0.002, 0.1]))
    names = ["angle", "load"], ["one", "two"]
    return Trajectory(np.array(rows), actions, 0.1, *names, f"run {seed}")


def recordings(count: int) -> list[Trajectory]:
    return [recording(seed, size=1 + seed % 3) for seed in range(count)]


def damaged(trajectory: Trajectory, damage: Damage, seed: int = 0) -> Trajectory:
    rows = np.concatenate([trajectory.observations, trajectory.actions], axis=1)
    damage(rows, np.random.default_rng(seed))
    return replace(trajectory, observations=rows[:, :2], actions=rows[:, 2:])


def stretch_of(column: int, factor: float) -> Damage:
    def damage(rows: Array, draw: np.random.Generator) -> None:
        first = draw.integers(60, 200)
        rows[first : first + draw.integers(20, 150), column] *= factor

    return damage


def ramp(rows: Array, draw: np.random.Generator) -> None:
    """Grow without end, as a decoder that lost its place does."""
    first = draw.integers(150, 300)
    rows[first:, [0, 2]] += 10 * np.arange(len(rows) - first)[:, None]


def stuck(rows: Array, draw: np.random.Generator) -> None:
    first = draw.integers(60, 120)
    rows[first : first + 150, 1] = rows[first, 1]


def dead(rows: Array, draw: np.random.Generator) -> None:
    rows[:, 1] = 700.0


def spikes(column: int) -> Damage:
    def damage(rows: Array, draw: np.random.Generator) -> None:
        rows[draw.choice(np.arange(30, len(rows) - 30, 7), 4, replace=False), column] = 1e30

    return damage


def other_units(factor: float) -> Damage:
    def damage(rows: Array, draw: np.random.Generator) -> None:
        rows[:, 0] *= factor

    return damage


def missing(rows: Array, draw: np.random.Generator) -> None:
    rows[100:200, 0] = rows[250:320, 1] = np.nan


DAMAGES: dict[str, tuple[Damage, str]] = {
    "an observation in a stretch": (stretch_of(0, 1e6), "observation 'angle' reaches"),
    "an action in a stretch": (stretch_of(2, 1e6), "action 'one' reaches"),
    "a ramp": (ramp, "beside observation 'angle'"),
    "a stuck sensor": (stuck, "observation 'load' is stuck at"),
    "a dead sensor": (dead, "observation 'load' hardly moves"),
    "spikes of an observation": (spikes(1), "observation 'load' reaches 1e+30"),
    "spikes of an action": (spikes(3), "action 'two' reaches 1e+30"),
    "thousands": (other_units(1e3), "observation 'angle' is off in all of it"),
    "thousandths": (other_units(1e-3), "observation 'angle' hardly moves"),
    "gaps": (missing, ""),
}


def error(train: Sequence[Trajectory]) -> float:
    tests = [recording(100 + seed) for seed in range(4)]
    found = horizon_errors(LinearARX(past=5).fit(train), tests, 10, 20).mse_by_observation
    return float((found / np.var(tests[0].observations, axis=0)).mean())


@pytest.mark.parametrize("count", [3, pytest.param(17, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_recording_is_named_and_learning_with_it_is_no_worse(
    name: str, count: int
) -> None:
    damage, sentence = DAMAGES[name]
    for seed in range(3):
        sound = recordings(count)
        odd = seed % count
        given = [damaged(run, damage, seed) if run is sound[odd] else run for run in sound]
        found = screened(given)
        told = [one for one in found.sentences if sentence and sentence in one]
        assert len(found.sentences) == len(told) == bool(sentence)
        assert all(f"recording 'run {odd}': " in one for one in told)
        kept = {id(run) for run in found.train}
        assert all(id(run) in kept for run in given if run is not given[odd])
        without = [run for run in sound if run is not sound[odd]]
        assert error(found.train) <= 1.05 * error(without)


@pytest.mark.parametrize("count", [3, 17])
@pytest.mark.parametrize("column", [1, 3])
def test_samples_that_are_impossible_alone_are_all_that_is_lost(count: int, column: int) -> None:
    sound = recordings(count)
    found = screened([damaged(sound[0], spikes(column)), *sound[1:]])
    left = sum(map(len, found.train)), sum(np.isnan(run.observations).sum() for run in found.train)
    assert left == ((count * TICKS, 4) if column == 1 else (count * TICKS - 4, 0))


def test_two_of_many_are_found_though_each_widens_what_the_other_is_judged_by() -> None:
    sound = recordings(17)
    given = [damaged(run, stretch_of(0, 1e6)) for run in sound[:2]] + sound[2:]
    assert len(screened(given).sentences) == 2


def test_validation_recordings_are_judged_with_the_others() -> None:
    train, held = recordings(4), [damaged(recording(9), ramp), recording(10)]
    found = screened(train, held)
    assert found.train == train
    assert found.validation[1] is held[1]
    assert "'run 9'" in found.sentences[0]
    assert len(found.validation[0]) < TICKS


def test_where_most_are_odd_nothing_is_thrown_away_and_it_is_said() -> None:
    given = [damaged(run, stretch_of(0, 1e6)) for run in recordings(3)[:2]] + [recording(5)]
    found = screened(given)
    assert [len(run) for run in found.train] == [TICKS] * 3
    given = [damaged(run, other_units(57.3)) for run in recordings(6)[:3]] + recordings(6)[3:]
    assert [len(run) for run in screened(given).train] == [TICKS] * 6


def short(rows: Array, draw: np.random.Generator) -> None:
    rows[200:215, 0] = 1e6


@pytest.mark.parametrize("count", [1, 2])
def test_of_too_few_to_compare_only_single_samples_are_missing(count: int) -> None:
    first, *others = recordings(count)
    spiked = screened([damaged(first, spikes(0)), *others])
    assert "4 samples taken for missing" in spiked.sentences[0]
    assert sum(np.isnan(run.observations).sum() for run in spiked.train) == 4
    long = screened([damaged(first, short), *others])
    assert "kept, as there are too few recordings" in long.sentences[0]
    assert [len(run) for run in long.train] == [TICKS] * count
    assert screened([first, *others]).sentences == ()


def at(place: float) -> Damage:
    def moved(rows: Array, draw: np.random.Generator) -> None:
        rows[:, 0] += place

    return moved


def test_what_is_merely_different_is_left_as_it_is() -> None:
    sound = recordings(6)
    quiet = [replace(run, actions=run.actions * [1, 0]) for run in sound[:5]]
    noise = [replace(run, observations=0.002 * run.observations) for run in quiet]
    wide = [recording(7, size=5.0), recording(8, size=0.2)]
    for given in (
        [*sound, *wide],
        [*quiet, damaged(recording(7), other_units(100.0))],  # the only one that moves action two
        [*noise, recording(7)],
        [*sound, recording(9, ticks=8 * TICKS)],
        [run.slice(0, 30) for run in sound] + [recording(9)],
    ):
        found = screened(given)
        assert found.sentences == ()
        assert found.train is given
    elsewhere = screened([*sound, damaged(recording(7), at(1e4))])
    assert "may have been recorded elsewhere" in elsewhere.sentences[0]
    assert [len(run) for run in elsewhere.train] == [TICKS] * 7


def test_the_learner_warns_and_its_record_says_what_it_did_not_learn_from() -> None:
    given = [damaged(recording(0), ramp), *recordings(4)[1:]]
    quick: dict[str, Any] = {"features": 20, "iterations": 5, "narx_features": 10, "folds": 1}
    with pytest.warns(DamageWarning, match="recording 'run 0': action 'one' reaches"):
        model = RFFPSR(**quick).fit(given)
    (note,) = (note for note in model.record.notes if "run 0" in note)
    assert "are left out of learning" in note
