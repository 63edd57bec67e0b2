"""What a summary of recordings finds, against the plain computation; subsamples of recordings."""

import numpy as np
import pytest

from rffpsr_ros.data import subsample as subsamples
from rffpsr_ros.data import summary
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.subsample import subsample
from rffpsr_ros.data.summary import Columns, check_summary, summarise
from rffpsr_ros.data.window_source import RunInMemory
from rffpsr_ros.data.windows import window_chunks
from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.trajectory import Trajectory


def recordings(lengths: tuple[int, ...] = (70, 3, 45)) -> list[Trajectory]:
    draw = np.random.default_rng(0)
    made = []
    for ticks in lengths:
        observations = 1e3 + draw.standard_normal((ticks, 2)) * np.array([1.0, 50.0])
        observations[draw.random((ticks, 2)) < 0.02] = np.nan
        made.append(Trajectory(observations, draw.uniform(-1, 1, (ticks, 1))))
    return made


@pytest.mark.parametrize("stretch", [7, 16, 1000])
def test_a_survey_finds_what_the_rows_laid_together_tell(
    stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "STRETCH", stretch)
    runs = recordings()
    found = summarise(runs, 3, 2)
    rows = np.concatenate([run.observations for run in runs])
    scaling = found.observations.scaling()
    np.testing.assert_allclose(scaling.mean, np.nanmean(rows, axis=0), rtol=1e-13)
    np.testing.assert_allclose(scaling.deviation, np.nanstd(rows, axis=0), rtol=1e-10)
    np.testing.assert_array_equal(scaling.low, np.nanmin(rows, axis=0))
    np.testing.assert_array_equal(scaling.high, np.nanmax(rows, axis=0))
    windows = window_chunks([Run(run.observations, run.actions) for run in runs], 3, 2)
    assert found.windows == sum(len(chunk.actions) for chunk in windows)


def test_a_column_without_any_value_counts_nothing() -> None:
    rows = np.column_stack([np.arange(5.0), np.full(5, np.nan)])
    columns = Columns.of(rows)
    columns.merge(Columns.of(rows + 10))
    np.testing.assert_array_equal(columns.count, [10, 0])
    assert columns.scaling().mean[0] == 7.0


def test_what_cannot_be_learned_from_is_refused_by_name() -> None:
    steady = Trajectory(np.ones((30, 1)), np.arange(30.0), observation_names=["level"])
    with pytest.raises(InputError, match="observation 'level' is constant"):
        check_summary(summarise([steady], 2, 1), steady, 2, 1, 1)
    empty = Trajectory(np.full((30, 1), np.nan), np.arange(30.0), observation_names=["level"])
    with pytest.raises(InputError, match="'level' is missing in every tick"):
        check_summary(summarise([empty], 2, 1), empty, 2, 1, 1)


def test_an_excerpt_of_few_ticks_is_all_of_them() -> None:
    runs = recordings()
    assert subsample(runs, np.random.default_rng(0)) == runs


def test_an_excerpt_of_many_is_bounded_ordered_and_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subsamples, "SUBSAMPLE", 60)
    monkeypatch.setattr(subsamples, "STRETCH", 10)
    ticks = np.arange(500.0)
    runs = [Trajectory(ticks, ticks), Trajectory(500 + ticks[:95], ticks[:95])]
    found, again, other = (subsample(runs, np.random.default_rng(seed)) for seed in (0, 0, 1))
    starts = [run.observations[0, 0] for run in found]
    assert sum(map(len, found)) == 60
    assert starts == sorted(starts)
    assert all(start % 10 == 0 for start in starts)
    assert starts == [run.observations[0, 0] for run in again]
    assert starts != [run.observations[0, 0] for run in other]
    for run in found:
        np.testing.assert_array_equal(np.diff(run.observations[:, 0]), 1)


def test_a_slice_shares_the_arrays_and_can_be_cut_again() -> None:
    run = recordings()[0]
    part = run.slice(10, 40)
    assert np.shares_memory(part.observations, run.observations)
    assert not part.observations.flags.writeable
    np.testing.assert_array_equal(part.slice(5, 8).actions, run.actions[15:18])
    weighted = Trajectory(run.observations, run.actions, likelihood_ratios=np.arange(70.0))
    ratios = weighted.slice(10, 13).likelihood_ratios
    assert ratios is not None
    assert ratios.tolist() == [10, 11, 12]
    assert RunInMemory(Run(part.observations, part.actions)).ticks == len(part) == 30
