"""Recordings are prepared alike for several models and for a single one, and looked over once."""

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.data.summary import Columns
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.prepare import Preparation, prepare
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory

QUICK: dict[str, Any] = {
    "features": 20, "iterations": 5, "narx_features": 10, "refine_from": "regularised",
    "narx_affine": "off",
    "narx_learning": "off",
}  # fmt: skip


def runs(count: int, missing: float, ticks: int = 100) -> list[Trajectory]:
    """Three oscillators with one drive each, some of whose observations are missing."""
    draw = np.random.default_rng(0)
    found = []
    for _ in range(count):
        actions = draw.uniform(-1, 1, (ticks, 3))
        position, speed, seen = np.zeros(3), np.zeros(3), []
        for action in actions:
            speed += 0.3 * (action - position - 0.3 * speed)
            position = position + 0.3 * speed
            seen.append(position)
        lost = draw.uniform(size=(ticks, 3)) < missing
        found.append(Trajectory(np.where(lost, np.nan, seen), actions, 0.1))
    return found


def prepared(train: list[Trajectory], folds: int | None, held: Any = None) -> Preparation:
    return prepare(train, held, RFFPSROptions(folds=folds), RecipeSettings())


@pytest.mark.parametrize("folds", [1, 3])
@pytest.mark.parametrize("held_out", [0, 3])
def test_frequent_gaps_are_filled_whatever_is_learned(folds: int, held_out: int) -> None:
    given = runs(12, missing=0.2)
    ready = prepared(given[held_out:], folds, given[:held_out])
    assert len(ready.folds) == folds
    assert sum("20% of all values are missing" in note for note in ready.notes) == 1
    assert "gaps of at most 20 ticks filled" in " ".join(ready.notes)
    for fold in ready.folds:
        together = [*fold.train, *fold.held_out]
        assert len(together) == len(given)
        assert not any(np.isnan(run.observations).any() for run in together)
        assert fold.summary.windows == sum(len(run) - 30 for run in fold.train)


def test_a_single_model_learns_from_recordings_with_frequent_gaps() -> None:
    model = RFFPSR(**QUICK, folds=1).fit(runs(9, missing=0.2))
    assert isinstance(model, RFFPSRModel)
    assert any("of all values are missing" in note for note in model.record.notes)


@pytest.mark.parametrize("folds", [1, 3])
def test_what_has_few_gaps_is_left_as_it_is(folds: int) -> None:
    given = runs(12, missing=0.001)
    ready = prepared(given[3:], folds, given[:3])
    assert not any("missing" in note for note in ready.notes)
    for fold in ready.folds:
        assert {*map(id, fold.train), *map(id, fold.held_out)} == {*map(id, given)}


@pytest.mark.long
@pytest.mark.parametrize(("folds", "looks"), [(1, 1), (3, 4)])
def test_every_tick_is_looked_at_once_for_the_whole_and_once_for_each_fold(
    folds: int, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = runs(12, missing=0.0)
    rows: list[int] = []

    def counted(values: Any) -> Columns:
        rows.append(len(values))
        return of(values)

    of = Columns.of
    monkeypatch.setattr(Columns, "of", counted)
    RFFPSR(**QUICK, folds=folds).fit(given)
    ticks = sum(map(len, given))
    held_out = 0 if folds > 1 else 200  # a single model's are not looked at
    assert sum(rows) == 2 * (looks * ticks - held_out)  # observations and actions


def test_settings_decide_how_many_models_there_are() -> None:
    given, options = runs(12, missing=0.0), RFFPSROptions()
    for settings, count in (
        (RecipeSettings(), 3),
        (RecipeSettings(folds=4), 4),
        (RecipeSettings(most_ticks=1000), 1),
    ):
        assert len(prepare(given, None, options, settings).folds) == count
    assert len(prepare(runs(12, 0.0), None, RFFPSROptions(folds=2), RecipeSettings()).folds) == 2


@pytest.mark.parametrize("folds", [1, 3])
def test_a_ridge_follows_the_windows_where_it_is_asked_to(folds: int) -> None:
    given = runs(12, missing=0.0)
    options = RFFPSROptions(folds=folds, ridge=1e-3, ridge_decay=0.25)
    ready = prepare(given, given[:2], options, RecipeSettings())
    single = ready.folds[0].summary.windows
    windows = single if folds == 1 else sum(len(run) - 30 for run in [*given, *given[:2]])
    assert ready.options.ridge == pytest.approx(1e-3 * (windows / 1000) ** -0.25)
    assert ready.options.ridge_decay == 0
    plain = prepare(given, None, RFFPSROptions(folds=folds, ridge=1e-3), RecipeSettings())
    assert plain.options.ridge == 1e-3


@pytest.mark.parametrize("what", ["observations", "actions"])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("folds", [1, 3])
def test_what_happened_once_is_learned_from_in_every_fold(
    what: str, several: bool, folds: int
) -> None:
    """A gripper that was opened once, or a load that one recording carried."""
    given = runs(12, missing=0.0, ticks=120) if several else runs(1, missing=0.0, ticks=1440)

    def with_event(run: Trajectory, number: int) -> Trajectory:
        event = np.zeros(len(run))
        event[: len(run) if several else 20] = number == len(given) - 1
        rows = np.column_stack([getattr(run, what), event])
        if what == "actions":
            return Trajectory(run.observations, rows, run.period)
        return Trajectory(rows, run.actions, run.period)

    ready = prepared([with_event(run, number) for number, run in enumerate(given)], folds)
    assert len(ready.folds) == folds
    for fold in ready.folds:
        assert not getattr(fold.summary, what).constant().any()
        assert sum(map(len, (*fold.train, *fold.held_out))) == 1440
        assert fold.held_out
