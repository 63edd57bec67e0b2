"""Few data: at least two folds, blended, with windows that all folds agree on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.parallel.workers import THIS_PROCESS
from rffpsr_ros.progress import silent
from rffpsr_ros.recipe import window_choice
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.prepare import Preparation, prepare
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.trials import Trial
from rffpsr_ros.recipe.window_choice import choose_windows
from rffpsr_ros.recordings.trajectory import Trajectory

SETTINGS = RecipeSettings()


def record(ticks: int, seed: int = 0) -> Trajectory:
    """A driven oscillator."""
    draw = np.random.default_rng(seed)
    actions = np.repeat(draw.uniform(-1, 1, ticks // 4 + 1), 4)[:ticks]
    position, speed, rows = 0.0, 0.0, []
    for action in actions:
        speed += 0.3 * (action - np.sin(position) - 0.3 * speed)
        position += 0.3 * speed
        rows.append(position + draw.normal(0, 0.01))
    return Trajectory(np.array(rows), actions, 0.1)


def prepared(recordings: Sequence[Trajectory], **options: Any) -> Preparation:
    return prepare(recordings, None, RFFPSROptions(**options), SETTINGS)


def lengths(ready: Preparation) -> list[int]:
    return [one.options.past for one in ready.variants]


@pytest.mark.parametrize(
    ("ticks", "count", "windows"),
    [(96, 1, [10]), (105, 2, [12, 10, 8]), (130, 3, [15, 10, 8]), (600, 3, [20, 10, 8])],
)
def test_from_a_hundred_ticks_on_there_are_folds(
    ticks: int, count: int, windows: list[int]
) -> None:
    ready = prepared([record(ticks)])
    assert len(ready.folds) == count
    assert lengths(ready)[1:] == windows[1:]
    cuts = [[len(run) for fold in ready.folds for run in fold.held_out]]
    for one in ready.shorter:
        cuts.append([len(run) for fold in one.folds for run in fold.held_out])
        needed = 2 * (one.options.rank + 1)
        assert all(fold.summary.windows >= needed for fold in one.folds)
    assert cuts.count(cuts[0]) == len(cuts)


def test_more_data_and_lengths_that_were_asked_for_are_left_alone() -> None:
    assert lengths(prepared([record(1000)])) == [20]
    assert lengths(prepared([record(400)], past=15)) == [15]
    assert lengths(prepared([record(400)], arx_past=15)) == [20]
    assert lengths(prepared([record(400)], folds=1)) == [20]


@pytest.mark.parametrize(("wanted", "found"), [(8, 8), (9, 10), (20, 20), (21, 20)])
def test_windows_that_were_chosen_once_are_no_choice_again(wanted: int, found: int) -> None:
    ready = prepared([record(600)])
    again = ready.with_windows_of(wanted)
    assert lengths(again) == [found]
    offered = {one.options.past: one.folds for one in ready.variants}
    assert again.folds is offered[found]
    assert again.recordings is ready.recordings


class Stub:
    """A fold's learner whose models depend on the window."""

    def __init__(self, recordings: Sequence[Trajectory], good: Sequence[int]) -> None:
        self._models = {
            True: LinearARX(8).fit(list(recordings)),
            False: LastObservation().fit(list(recordings)),
        }
        self._good = good

    def trial(self, options: RFFPSROptions) -> Trial:
        model: Any = self._models[options.past in self._good]
        return Trial(0.0, 1.0, lambda: THIS_PROCESS.submit(lambda _: model, silent))

    def expect(self, options: RFFPSROptions) -> None:
        """Nothing is computed beforehand."""


@pytest.mark.parametrize(
    ("good", "expected"), [([20], 20), ([10], 10), ([8], 8), ([20, 10, 8], 8), ([20, 10], 20)]
)
def test_windows_are_short_unless_longer_ones_are_clearly_better(
    good: list[int], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = prepared([record(600)])

    def stubs(folds: Sequence[Any], *_: Any) -> list[Stub]:
        return [Stub(fold.train, good) for fold in folds]

    monkeypatch.setattr(window_choice, "fold_learners", stubs)
    chosen = choose_windows(ready, SETTINGS, silent, THIS_PROCESS)
    assert chosen.options.past == chosen.options.arx_past == expected
    assert len(chosen.learners) == 3
    assert chosen.notes[0].startswith(f"windows of {expected} ticks, by the error on all parts")


@pytest.mark.long
def test_a_hundred_ticks_give_a_blend_and_fewer_a_single_model() -> None:
    quick: dict[str, Any] = {"features": 20, "iterations": 5, "narx_features": 10}
    model = RFFPSR(**quick).fit([record(110)])
    assert isinstance(model, EnsembleModel)
    assert any(note.startswith("ensemble weights at horizon 1") for note in model.record.notes)
    assert sum("by the error on all parts held out: " in note for note in model.record.notes) == 1
    assert np.isfinite(model.predict(model.initial_state(), np.zeros((10, 1)))).all()
    assert isinstance(RFFPSR(**quick).fit([record(95)]), RFFPSRModel)
