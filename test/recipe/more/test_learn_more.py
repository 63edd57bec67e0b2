"""Learning goes on: what it gives, what it keeps, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.arx.more import sums_of, with_sums
from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.psr.sigmoid_features import SigmoidMap
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.more.kept import EVERYONE, KeptRecording, Learned, members_of, thinned
from rffpsr_ros.recipe.more.kept_file import kept_path, read_kept, write_kept
from rffpsr_ros.recipe.more.learn_more import learn_more
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory
from test.swings import QUICK as WITH_AFFINE
from test.swings import WINDOWS_ONLY, median_error, swings

pytestmark = pytest.mark.long

EVERY_FAMILY = {**WITH_AFFINE, "narx_affine": "off"}
QUICK = {**EVERY_FAMILY, "narx_learning": "on", "narx_units": "sigmoids"}


@pytest.fixture(scope="module")
def learned() -> Learned:
    return RFFPSR(**QUICK, processes=1, settings=WINDOWS_ONLY).fit_and_keep(swings(9, 0))


@pytest.fixture(scope="module")
def learned_more(learned: Learned) -> Learned:
    return learn_more(learned.model, learned.kept, swings(9, 1), processes=1)


def test_keeping_changes_nothing_of_the_model(learned: Learned, tmp_path: Path) -> None:
    written = []
    for model in (
        learned.model,
        RFFPSR(**QUICK, processes=1, settings=WINDOWS_ONLY).fit(swings(9, 0)),
    ):
        model.save(tmp_path / "model")
        written.append((tmp_path / "model").read_bytes())
    assert written[0] == written[1]


def test_more_recordings_give_a_better_model() -> None:
    test, ratios, reaches = swings(40, 99), [], []
    for seed in range(3):  # of one draw of so few data, chance has more to say than more data
        first = RFFPSR(**EVERY_FAMILY, processes=1, seed=seed).fit_and_keep(swings(5, 10 * seed))
        more = learn_more(first.model, first.kept, swings(10, 10 * seed + 1), processes=1)
        ratios.append(median_error(more.model, test) / median_error(first.model, test))
        assert isinstance(more.model, EnsembleModel)
        reaches.append((more.model.parts.reach, more.model.parts.weights))
    assert np.median(ratios) < 0.9
    shapes = [(reach.distance.shape, weights.shape) for reach, weights in reaches if reach]
    assert shapes
    assert all(one == other for one, other in shapes)


def test_learned_features_learn_on(learned: Learned, learned_more: Learned) -> None:
    def features(model: Any) -> list[SigmoidMap]:
        found = [one.parts.structure.narx for one in members_of(model) if one.kind == "rff_psr"]
        assert all(isinstance(one, SigmoidMap) for one in found)
        return found

    test, settings = swings(40, 99), RecipeSettings(more_feature_steps=1)  # half of a step is none
    same = learn_more(
        learned.model, learned.kept, swings(9, 1), settings=settings, processes=1
    ).model
    assert median_error(learned_more.model, test) < 0.8 * median_error(same, test)
    before = features(learned.model)
    for one, like, moved in zip(before, features(same), features(learned_more.model), strict=True):
        assert np.array_equal(one.directions, like.directions)
        assert one.directions.shape == moved.directions.shape
        assert not np.array_equal(one.directions, moved.directions)


def test_state_spaces_learn_on_where_nothing_else_is_left() -> None:
    first = RFFPSR(**QUICK, processes=1).fit_and_keep(swings(9, 0))
    assert not first.kept.stages  # a swing's state is what no window holds
    test = swings(40, 99)
    more = learn_more(first.model, first.kept, swings(9, 1), processes=1)
    assert median_error(more.model, test) < median_error(first.model, test)
    # Another robot by now, and a single recording of it.
    heavy, (new,) = swings(4, 99, 200, mass=2.0), swings(1, 1, 400, mass=2.0)
    other = learn_more(first.model, first.kept, [new], forget=1.0, processes=1)
    assert median_error(other.model, heavy) < 0.5 * median_error(first.model, heavy)
    with pytest.raises(InputError, match="none of the new recordings has 13 ticks in a row"):
        learn_more(first.model, first.kept, swings(1, 5, ticks=10))


def test_what_was_learned_on_is_told(learned: Learned, learned_more: Learned) -> None:
    more = learned_more
    assert isinstance(more.model, EnsembleModel)
    assert more.kept.learned == 18
    assert more.kept.ticks == 1800
    assert any(
        note.startswith("learned more from 9 new recordings") for note in more.model.record.notes
    )
    assert more.model.bands is not None
    assert not np.array_equal(more.model.bands.widths, learned.model.bands.widths)  # type: ignore[union-attr]
    weights = more.model.parts.weights
    assert np.allclose(weights.sum(axis=-1), 1)
    again = learn_more(more.model, more.kept, swings(3, 2), processes=1)
    assert sum(note.startswith("learned more") for note in again.model.record.notes) == 1
    assert again.kept.learned == 21


def test_a_robot_that_has_changed_is_followed_by_forgetting(learned: Learned) -> None:
    test = swings(4, 99, 200, mass=2.0)
    new = swings(9, 1, mass=2.0)
    stiff = learn_more(learned.model, learned.kept, new, processes=1)
    supple = learn_more(learned.model, learned.kept, new, forget=0.95, processes=1)
    assert (
        median_error(supple.model, test)
        < median_error(stiff.model, test)
        < median_error(learned.model, test)
    )
    assert supple.kept.ticks == pytest.approx(0.05 * 900 + 900)


def test_all_that_was_may_be_forgotten_for_a_single_recording(learned: Learned) -> None:
    test, (new,) = swings(4, 99, 200, mass=2.0), swings(1, 1, 400, mass=2.0)
    ensemble = learn_more(learned.model, learned.kept, [new], forget=1.0, processes=1)
    assert median_error(ensemble.model, test) < median_error(learned.model, test)
    first = RFFPSR(**QUICK, folds=1).fit_and_keep(swings(5, 0))  # of these one of five judges
    assert first.kept.learned % 5 == 0
    single = learn_more(first.model, first.kept, [new], forget=1.0)
    assert median_error(single.model, test) < median_error(first.model, test)


def test_several_processes_learn_the_same(learned: Learned) -> None:
    alone, together = (
        learn_more(learned.model, learned.kept, swings(1, 1), processes=number) for number in (1, 2)
    )
    assert np.array_equal(alone.model.parts.weights, together.model.parts.weights)
    for one, other in zip(members_of(alone.model), members_of(together.model), strict=True):
        if isinstance(one, RFFPSRModel):
            found = other.parts.parameters
            assert all(map(np.array_equal, one.parts.parameters, found))


def test_the_linear_arx_is_that_of_all_recordings() -> None:
    old, new = swings(9, 0), swings(5, 1)
    model = LinearARX(6, 4, 1e-3).fit(old)
    sums, added = sums_of(model, old), sums_of(model, new)
    sums.regression.merge(added.regression)
    found = with_sums(model, replace(sums, squares=sums.squares + added.squares), new)
    every = [*old, *new]
    expected = with_sums(model, sums_of(model, every), every)
    for name in ("history_weights", "action_weights", "intercept"):
        one, other = getattr(found.parts, name), getattr(expected.parts, name)
        assert np.allclose(one, other, rtol=0, atol=1e-9)
    assert not np.allclose(found.parts.history_weights, model.parts.history_weights)
    assert found.record.metrics["training_mse"] == pytest.approx(
        expected.record.metrics["training_mse"]
    )


def test_a_single_model_learns_on_too() -> None:
    test, before, after = swings(12, 99), [], []
    for seed in range(3):  # of one alone, chance may have more to say than twice the data
        first = RFFPSR(**QUICK, folds=1, seed=seed).fit_and_keep(swings(6, 0))
        assert {one.held_out_by for one in first.kept.recordings} == {0, EVERYONE}
        more = learn_more(first.model, first.kept, swings(6, 1))
        assert isinstance(more.model, RFFPSRModel)
        before.append(median_error(first.model, test))
        after.append(median_error(more.model, test))
    assert np.mean(after) < 0.9 * np.mean(before)


def test_what_is_kept_comes_back_from_its_file(
    learned: Learned, learned_more: Learned, tmp_path: Path
) -> None:
    path = kept_path(tmp_path / "arm.psr")
    assert path.name == "arm.psr.kept"
    write_kept(path, learned, ["bags/one"])
    kept, bags = read_kept(path, learned.model)
    assert bags == ("bags/one",)
    assert kept.learned == learned.kept.learned
    more = learn_more(learned.model, kept, swings(9, 1), processes=1)
    assert np.array_equal(more.model.parts.weights, learned_more.model.parts.weights)


def test_a_file_that_is_not_the_models_own_is_refused(
    learned: Learned, learned_more: Learned, tmp_path: Path
) -> None:
    path = tmp_path / "arm.psr.kept"
    with pytest.raises(InputError, match="train with --keep"):
        read_kept(path, learned.model)
    write_kept(path, learned_more, [])
    with pytest.raises(InputError, match="not what was kept of this very model"):
        read_kept(path, learned.model)
    learned.model.save(tmp_path / "model")
    with pytest.raises(InputError, match="is not a file of kept learning"):
        read_kept(tmp_path / "model", learned.model)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="damaged"):
        read_kept(path, learned_more.model)


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        ([Trajectory(np.zeros((100, 2)), np.zeros(100), 0.1)], "new recordings have observations"),
        (swings(1, 5, ticks=10), "none of the new recordings has 13 ticks in a row"),
        ([Trajectory(np.zeros(100), np.zeros(100), 0.2)], "period of 0.2 s"),
    ],
)
def test_recordings_that_do_not_fit_are_refused(
    learned: Learned, new: list[Trajectory], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        learn_more(learned.model, learned.kept, new)


def test_a_share_that_is_none_is_refused(learned: Learned) -> None:
    with pytest.raises(InputError, match=r"forget is 1\.5; it must be a share from 0 to 1"):
        learn_more(learned.model, learned.kept, swings(3, 1), forget=1.5)


def test_the_papers_refinement_cannot_go_on() -> None:
    with pytest.raises(InputError, match="cannot go on later from the paper's refinement"):
        RFFPSR.paper(features=50).fit_and_keep(swings(6, 0))


def test_the_sample_that_is_kept_does_not_grow() -> None:
    long = KeptRecording(np.zeros((30_000, 1)), np.zeros((30_000, 1)), 0)
    short = [KeptRecording(np.zeros((100, 1)), np.zeros((100, 1)), n % 3) for n in range(200)]
    kept = thinned([long, *short], 6000)
    held = [sum(len(one.actions) for one in kept if one.held_out_by == n) for n in range(3)]
    assert max(held) <= 2300
    assert min(held) >= 1700
    assert max(len(one.actions) for one in kept) <= 2000
    few = thinned(short, 50)
    assert [one.held_out_by for one in few] == [0, 1, 2]
