"""Learned features that were caught in a bad minimum on one fold are learned again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import pytest

from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.parallel.workers import THIS_PROCESS
from rffpsr_ros.progress import silent
from rffpsr_ros.recipe.candidates import Family
from rffpsr_ros.recipe.family_choice import Selection, best_of
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.trials import Trial

Tried = tuple[float, float]
"""A trial's score, and the share of the starting score that is left."""


class Fold:
    """One fold's learner, whose trials turn out by a table of seeds; a model is its score."""

    def __init__(self, by_seed: Mapping[int, Tried]) -> None:
        self.by_seed = by_seed
        self.asked: list[int] = []

    def trial(self, options: RFFPSROptions) -> Trial:
        self.asked.append(options.seed)
        score, left = self.by_seed[options.seed]
        model = cast(RFFPSRModel, score)
        return Trial(score, left, lambda: THIS_PROCESS.submit(lambda _: model, silent))

    def begin(self, configurations: Iterable[RFFPSROptions], urgency: int = 0) -> None:
        """Nothing is computed beforehand."""

    def expect(self, options: RFFPSROptions, urgency: int = 0) -> None:
        """Nothing is computed beforehand."""

    def give_up(self, options: RFFPSROptions) -> None:
        """Nothing was expected."""

    def start_score(self, options: RFFPSROptions) -> float:
        raise AssertionError("there is no choice of starts")


def selected(folds: Sequence[Fold]) -> Selection:
    family = Family("learned", {"learned": RFFPSROptions(seed=5)}, "learned")
    return best_of(family, folds, RecipeSettings(), few=False)


def scores_of(selection: Selection) -> list[float]:
    return [cast(float, model) for model in selection.models]


def test_what_gained_as_much_as_on_other_folds_is_left_as_it_is() -> None:
    folds = [Fold({5: (1.0, 0.1)}), Fold({5: (7.0, 0.25)}), Fold({5: (2.0, 0.2)})]
    assert scores_of(selected(folds)) == [1.0, 7.0, 2.0]
    assert [fold.asked for fold in folds] == [[5]] * 3


def test_what_was_caught_is_learned_once_more() -> None:
    folds = [
        Fold({5: (1.0, 0.01)}),
        Fold({5: (70.0, 0.5), 11: (2.0, 0.2)}),
        Fold({5: (4.0, 0.05)}),
    ]
    assert scores_of(selected(folds)) == [1.0, 2.0, 4.0]
    assert [fold.asked for fold in folds] == [[5], [5, 11], [5]]


def test_where_folds_differ_a_lucky_one_is_no_measure() -> None:
    folds = [Fold({5: (1.0, 0.0002)}), Fold({5: (9.0, 0.006)}), Fold({5: (20.0, 0.02)})]
    assert scores_of(selected(folds)) == [1.0, 9.0, 20.0]


def test_of_two_tries_the_better_is_kept() -> None:
    folds = [Fold({5: (1.0, 0.01)}), Fold({5: (3.0, 0.1), 9: (4.0, 0.2)})]
    assert scores_of(selected(folds)) == [1.0, 3.0]


@pytest.mark.parametrize("left", [1.0, float("nan")])
def test_what_has_nothing_learned_is_tried_once(left: float) -> None:
    folds = [Fold({5: (1.0, left)}), Fold({5: (30.0, left)})]
    assert scores_of(selected(folds)) == [1.0, 30.0]
