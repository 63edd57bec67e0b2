"""Which configuration is selected, by its scores on the first two folds."""

from collections.abc import Iterable, Mapping
from typing import cast

import pytest

from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.parallel.workers import THIS_PROCESS
from rffpsr_ros.progress import silent
from rffpsr_ros.recipe.candidates import SAFE, Family, configurations, families
from rffpsr_ros.recipe.select import select
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.trials import Trial

Scores = Mapping[str, tuple[float, ...]]


def name_of(options: RFFPSROptions) -> str:
    if options.narx_learning == "on":
        return "learned, longer" if options.narx_past > 4 else "learned"
    if options.refine_from == "light":
        return "light"
    return "short" if options.arx_past == options.short_past else "regularised"


class Fold:
    """One fold's learner, which has its scores from a table."""

    def __init__(self, number: int, scores: Scores, made: list[tuple[str, int]]) -> None:
        self.number, self.scores, self.made = number, scores, made

    def start_score(self, options: RFFPSROptions) -> float:
        return 2 * self.scores[name_of(options)][self.number]

    def trial(self, options: RFFPSROptions) -> Trial:
        name = name_of(options)
        self.made.append((name, self.number))
        nothing = THIS_PROCESS.submit(lambda _: cast(RFFPSRModel, None), silent)
        return Trial(self.scores[name][self.number], lambda: nothing)

    def begin(self, configurations: Iterable[RFFPSROptions]) -> None:
        """Nothing is computed beforehand."""

    def expect(self, options: RFFPSROptions) -> None:
        """Nothing is computed beforehand."""


def taken(scores: Scores) -> tuple[str, list[tuple[str, int]]]:
    """Return the configuration that was selected, and all trials (name, fold) in their order."""
    made: list[tuple[str, int]] = []
    settings = RecipeSettings()
    learners = [Fold(n, scores, made) for n in range(3)]
    drawn = Family("rff_psr", configurations(RFFPSROptions(), settings), SAFE)
    (selection,) = select(learners, [drawn], settings)
    return name_of(selection.options), made


@pytest.mark.parametrize(
    ("scores", "selected", "second"),
    [
        # None is better than the safe configuration: it alone goes on.
        ({"light": (1.0, 9.0), "regularised": (1.0, 1.0, 1.0), "short": (1.1, 9.0)},
         "regularised", {"regularised"}),
        # Close and better: both folds decide, for it ...
        ({"light": (0.8, 0.7, 1.0), "regularised": (1.0, 1.0, 1.0), "short": (1.1, 9.0)},
         "light", {"regularised", "light"}),
        # ... or against it: flattered by the first fold, or not clearly better.
        ({"light": (0.8, 2.0, 1.0), "regularised": (1.0, 1.0, 1.0), "short": (0.9, 9.0)},
         "regularised", {"regularised", "light", "short"}),
        ({"light": (0.95, 0.95, 1.0), "regularised": (1.0, 1.0, 1.0), "short": (2.0, 9.0)},
         "regularised", {"regularised", "light"}),
        # Far better at once.
        ({"light": (0.5, 9.0, 9.0), "regularised": (1.0, 9.0), "short": (0.01, 1.0, 1.0)},
         "short", {"short"}),
    ],
)  # fmt: skip
def test_the_configuration_is_selected_by_two_folds_where_one_does_not_decide(
    scores: Scores, selected: str, second: set[str]
) -> None:
    chosen, made = taken(scores)
    assert chosen == selected
    assert {name for name, fold in made if fold == 0} == {"light", "regularised", "short"}
    assert {tried for tried, fold in made if fold == 1} == second
    assert [tried for tried, fold in made if fold == 2] == [selected]
    assert len(set(made)) == len(made)
    promise = [scores[tried][0] for tried, fold in made if fold == 0]
    assert promise == sorted(promise)


def offered(**options: object) -> list[Family]:
    return families(RFFPSROptions(**options), RecipeSettings(), 1, 1)  # type: ignore[arg-type]


def test_learned_features_are_a_family_of_their_own() -> None:
    drawn, learned = offered()
    assert set(drawn.configurations) == {SAFE, "light", "short"}
    assert set(learned.configurations) == {"learned", "learned, longer"}
    assert [one.narx_past for one in learned.configurations.values()] == [4, 8]
    assert {one.narx_learning for one in drawn.configurations.values()} == {"off"}
    assert {one.narx_learning for one in learned.configurations.values()} == {"on"}


@pytest.mark.parametrize(
    "options",
    [
        {"narx_learning": "off"},
        {"narx_learning": "on"},
        {"narx_past": 0},
        {"narx_features": 0},
        {"arx_past": 0},
        {"iterations": 1},
        {"refine_from": "light"},
    ],
)
def test_there_is_one_family_where_options_leave_no_choice(options: dict[str, object]) -> None:
    (family,) = offered(**options)
    assert family.name == "rff_psr"


def test_features_are_not_learned_where_columns_make_it_too_dear() -> None:
    assert len(families(RFFPSROptions(), RecipeSettings(), 6, 4)) == 1


@pytest.mark.parametrize(
    ("learned", "left"),
    [
        (0.9, {"rff_psr": 3, "rff_psr, learned": 2}),
        (0.2, {"rff_psr": 1, "rff_psr, learned": 2}),
        (0.03, {"rff_psr, learned": 2}),
        (5.0, {"rff_psr": 3, "rff_psr, learned": 1}),
        (30.0, {"rff_psr": 3}),
    ],
)
def test_a_family_far_behind_has_no_choice_and_a_hopeless_one_is_not_learned(
    learned: float, left: dict[str, int]
) -> None:
    made: list[tuple[str, int]] = []
    scores = {
        "regularised": (1.0,) * 3,
        "light": (9.0,),
        "short": (9.0,),
        "learned": (learned,) * 3,
        "learned, longer": (9 * learned,),
    }
    learners = [Fold(n, scores, made) for n in range(3)]
    selections = select(learners, offered(), RecipeSettings())
    assert {one.family: max(1, len(one.scores)) for one in selections} == left
    assert {name for name, fold in made if fold == 2} == {
        "learned" if "learned" in family else "regularised" for family in left
    }


def test_of_a_family_with_quick_starts_the_one_that_starts_best_is_judged() -> None:
    made: list[tuple[str, int]] = []
    scores = {
        "regularised": (40.0,) * 3,
        "light": (40.0,),
        "short": (8.0,) * 3,
        "learned": (1.0,) * 3,
        "learned, longer": (9.0,),
    }
    learners = [Fold(n, scores, made) for n in range(3)]
    drawn, learned = select(learners, offered(), RecipeSettings())
    assert name_of(drawn.options) == "short"
    assert name_of(learned.options) == "learned"
    assert ("regularised", 0) not in made
