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
BAD = 99.0
NARROW = "affine, bandwidth 1"


def name_of(options: RFFPSROptions) -> str:
    if options.narx_learning == "on":
        kind = f"learned {options.narx_units}"
        return f"{kind}, longer" if options.narx_past > 4 else kind
    if options.narx_affine == "on":
        window = "affine" if options.narx_past == 4 else f"affine, {options.narx_past}"
        width = options.narx_bandwidth
        return window if width == 2 else f"{window}, bandwidth {width:g}"
    if options.refine_from == "light":
        return "light"
    if options.narx_past == 10:
        return "long"
    return "short" if options.arx_past == options.short_past else "regularised"


class Fold:
    """One fold's learner, which has its scores from a table; what is not there is bad.

    What is expected is noted among what is made, with a question mark, and with an exclamation mark
    what is given up. Starts score twice as much
    as what they are refined to, or as a table of their own has it.
    """

    def __init__(
        self,
        number: int,
        scores: Scores,
        made: list[tuple[str, int]],
        ahead: bool = False,
        starts: Mapping[str, float] | None = None,
    ) -> None:
        self.number, self.scores, self.made, self.ahead = number, scores, made, ahead
        self.starts = starts or {}

    def score(self, options: RFFPSROptions) -> float:
        scores = self.scores.get(name_of(options), (BAD,) * 3)
        return scores[self.number]

    def start_score(self, options: RFFPSROptions) -> float:
        return self.starts.get(name_of(options), 2 * self.score(options))

    def trial(self, options: RFFPSROptions) -> Trial:
        self.made.append((name_of(options), self.number))
        nothing = THIS_PROCESS.submit(lambda _: cast(RFFPSRModel, None), silent)
        return Trial(self.score(options), 1.0, lambda: nothing)

    def begin(self, configurations: Iterable[RFFPSROptions], urgency: int = 0) -> None:
        """Nothing is computed beforehand."""

    def expect(self, options: RFFPSROptions, urgency: int = 0) -> None:
        if self.ahead:
            self.made.append((f"{name_of(options)}?", self.number))

    def give_up(self, options: RFFPSROptions) -> None:
        if self.ahead:
            self.made.append((f"{name_of(options)}!", self.number))


def taken(scores: Scores, few: bool = False) -> tuple[str, list[tuple[str, int]]]:
    """Return the configuration that was selected, and all trials (name, fold) in their order."""
    made: list[tuple[str, int]] = []
    settings = RecipeSettings()
    learners = [Fold(n, scores, made) for n in range(3)]
    drawn = Family("rff_psr", configurations(RFFPSROptions(), settings), SAFE)
    (selection,) = select(learners, [drawn], settings, few)
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
    assert {name for name, fold in made if fold == 0} == {"light", "regularised", "short", "long"}
    assert {tried for tried, fold in made if fold == 1} == second
    assert [tried for tried, fold in made if fold == 2] == [selected]
    assert len(set(made)) == len(made)
    promise = [scores.get(tried, (BAD,))[0] for tried, fold in made if fold == 0]
    assert promise == sorted(promise)


def test_of_few_data_all_folds_decide() -> None:
    scores = {"light": (0.8, 0.7, 9.0), "regularised": (1.0,) * 3, "short": (1.1, 9.0, 9.0)}
    chosen, made = taken(scores, few=True)
    assert chosen == "regularised"
    assert {tried for tried, fold in made if fold == 2} == {"regularised", "light"}


@pytest.mark.parametrize(
    ("scores", "selected"),
    [
        ({"affine, 3": (1.1, 1.1)}, "affine"),
        # The best; a narrower one if it is clearly better.
        ({"affine, bandwidth 4": (1.05, 1.05)}, "affine"),
        ({"affine, bandwidth 4": (0.95, 0.99)}, "affine, bandwidth 4"),
        ({"affine, bandwidth 4": (1.2, 1.2), "affine, bandwidth 1": (0.95, 0.95)}, "affine"),
        ({"affine, bandwidth 4": (0.95, 0.95), "affine, bandwidth 1": (0.8, 0.8)}, NARROW),
        ({"affine, bandwidth 1": (0.8, 1.9)}, "affine"),
        # So much better on the first fold that the second is not asked.
        ({"affine, bandwidth 1": (0.1, 9.0)}, NARROW),
        # Only those of the best window are tried.
        (
            {"affine, 3": (0.9, 0.9), "affine, bandwidth 4": (0.1, 0.1)},
            "affine, 3",
        ),
    ],
)
def test_the_bandwidth_is_chosen_after_the_window(
    scores: dict[str, tuple[float, float]], selected: str
) -> None:
    _, affine, *_ = offered()
    known = {name: (*two, 1.0) for name, two in ({"affine": (1.0, 1.0)} | scores).items()}
    learners = [Fold(n, known, []) for n in range(3)]
    (selection,) = select(learners, [affine], RecipeSettings(), few=False)
    assert name_of(selection.options) == selected


def offered(**options: object) -> list[Family]:
    return families(RFFPSROptions(**options), RecipeSettings(), 1, 1)  # type: ignore[arg-type]


def test_learned_features_are_a_family_of_their_own_and_affine_ones() -> None:
    drawn, affine, *learned = offered()
    assert set(drawn.configurations) == {SAFE, "light", "short", "long"}
    assert {one.narx_affine for one in drawn.configurations.values()} == {"off"}
    assert {one.narx_affine for one in affine.configurations.values()} == {"on"}
    assert [one.narx_past for one in affine.configurations.values()] == [4, 2, 3, 6, 10]
    assert {one.narx_learning for one in drawn.configurations.values()} == {"off"}
    assert [one.name for one in learned] == ["rff_psr, learned sigmoids", "rff_psr, learned waves"]
    for family, kind in zip(learned, ("sigmoids", "waves"), strict=True):
        assert list(family.configurations) == [f"learned {kind}", f"learned {kind}, longer"]
        members = list(family.configurations.values())
        assert [one.narx_past for one in members] == [4, 8]
        assert {(one.narx_learning, one.narx_affine) for one in members} == {("on", "off")}
        assert {one.narx_units for one in members} == {kind}


def test_units_of_learned_features_may_be_told() -> None:
    *_, drawn, learned = offered(narx_units="sigmoids")
    assert drawn.name == "rff_psr, affine"
    assert list(learned.configurations) == ["learned sigmoids", "learned sigmoids, longer"]


@pytest.mark.parametrize(
    "options",
    [
        {"narx_learning": "off", "narx_affine": "off"},
        {"narx_learning": "on", "narx_affine": "on"},
        {"narx_past": 0},
        {"narx_features": 0},
        {"arx_past": 0},
        {"iterations": 0, "narx_affine": "off"},
        {"refine_from": "light"},
    ],
)
def test_there_is_one_family_where_options_leave_no_choice(options: dict[str, object]) -> None:
    (family,) = offered(**options)
    assert family.name == "rff_psr"
    choices = {key: value for key, value in options.items() if key.startswith("narx_l")}
    for one in family.configurations.values():
        assert {key: getattr(one, key) for key in choices} == choices


def test_of_many_columns_sigmoids_alone_are_learned_beside_a_shorter_arx_term() -> None:
    drawn, learned = families(RFFPSROptions(), RecipeSettings(), 6, 4)
    assert set(drawn.configurations) == {SAFE, "light", "short", "long", "affine"}
    (options,) = learned.configurations.values()
    assert learned.costly
    assert (options.narx_units, options.arx_past, options.narx_past) == ("sigmoids", 10, 4)
    assert families(RFFPSROptions(narx_units="waves"), RecipeSettings(), 6, 4)[1].name == (
        "rff_psr, learned waves"
    )
    _, least = families(RFFPSROptions(), RecipeSettings(), 7, 7)
    assert [one.arx_past for one in least.configurations.values()] == [5]


@pytest.mark.parametrize(("columns", "acted"), [(12, 12), (40, 2)])
def test_features_are_not_learned_where_columns_make_it_too_dear(columns: int, acted: int) -> None:
    (family,) = families(RFFPSROptions(), RecipeSettings(), columns, acted)
    assert set(family.configurations) == {SAFE, "light", "short", "long", "affine"}
    (alone,) = families(RFFPSROptions(narx_affine="off"), RecipeSettings(), columns, acted)
    assert set(alone.configurations) == {SAFE, "light", "short", "long"}


@pytest.mark.parametrize(
    ("start", "sigmoids", "tried", "kept"),
    # The best drawn start has a score of 2, and 1 when it is refined.
    [(1.9, 0.5, False, False), (1.7, 0.95, True, False), (1.7, 0.85, True, True)],
)
def test_of_many_columns_they_are_kept_if_they_are_clearly_better(
    start: float, sigmoids: float, tried: bool, kept: bool
) -> None:
    scores = {"short": (1.0,) * 3, "learned sigmoids": (sigmoids,) * 3}
    made: list[tuple[str, int]] = []
    starts = {"learned sigmoids": start}
    learners = [Fold(n, scores, made, starts=starts) for n in range(3)]
    several = families(RFFPSROptions(), RecipeSettings(), 6, 6)
    found = [one.family for one in select(learners, several, RecipeSettings(), few=False)]
    assert found == ["rff_psr", *(["rff_psr, learned sigmoids"] if kept else [])]
    assert (("learned sigmoids", 0) in made) == tried


@pytest.mark.parametrize(
    ("learned", "few", "left"),
    [
        # The best drawn start has a score of 2, and 1 when it is refined.
        (1.5, False, {"rff_psr": 1, "rff_psr, learned waves": 2}),
        (0.6, False, {"rff_psr": 1, "rff_psr, learned waves": 2}),
        (0.3, False, {"rff_psr": 1, "rff_psr, learned waves": 2}),
        (0.03, False, {"rff_psr, learned waves": 2}),
        # Learned features must be clearly better than drawn ones as these start, for a choice ...
        (1.7, False, {"rff_psr": 4, "rff_psr, learned waves": 2}),
        (1.9, False, {"rff_psr": 4, "rff_psr, learned waves": 1}),
        # ... and near them to be learned at all.
        (3.1, False, {"rff_psr": 4, "rff_psr, learned waves": 1}),
        (3.3, False, {"rff_psr": 4}),
        (7.9, True, {"rff_psr": 4, "rff_psr, learned waves": 2}),
        (8.1, True, {"rff_psr": 4}),
    ],
)
def test_a_family_far_behind_has_no_choice_and_a_hopeless_one_is_not_learned(
    learned: float, few: bool, left: dict[str, int]
) -> None:
    made: list[tuple[str, int]] = []
    scores = {
        "regularised": (1.0,) * 3,
        "light": (9.0,) * 3,
        "short": (9.0,) * 3,
        "learned waves": (learned,) * 3,
        "learned waves, longer": (9 * learned,) * 3,
    }
    learners = [Fold(n, scores, made) for n in range(3)]
    selections = select(learners, offered(), RecipeSettings(), few)
    assert {one.family: max(1, len(one.scores)) for one in selections} == left
    assert {name for name, fold in made if fold == 2} == {
        "learned waves" if "learned" in family else "regularised" for family in left
    }


@pytest.mark.parametrize(
    ("score", "few", "choice"),
    [(1.1, False, True), (1.3, False, False), (1.3, True, True), (4.1, True, False)],
)
def test_a_family_of_drawn_features_that_is_behind_has_no_choice(
    score: float, few: bool, choice: bool
) -> None:
    scores = {"regularised": (score,) * 3, "affine": (1.0,) * 3}
    learners = [Fold(n, scores, []) for n in range(3)]
    drawn, affine = select(learners, offered(narx_learning="off"), RecipeSettings(), few)
    assert affine.scores
    assert bool(drawn.scores) is choice


@pytest.mark.parametrize(("start", "tried"), [(49.0, True), (51.0, False)])
def test_what_starts_hopelessly_far_behind_another_start_is_not_refined(
    start: float, tried: bool
) -> None:
    # The affine family starts with a score of 2; refined, the other would have half its start.
    scores = {"regularised": (start / 2,) * 3, "affine": (1.0,) * 3}
    made: list[tuple[str, int]] = []
    learners = [Fold(n, scores, made) for n in range(3)]
    select(learners, offered(narx_learning="off"), RecipeSettings(), few=False)
    assert (("regularised", 0) in made) is tried


@pytest.mark.parametrize(
    ("learned", "steps"),
    # The best drawn start has a score of 2.
    [(2.1, 300), (1.7, 300), (1.6, 0)],
)
def test_drawn_features_beside_learned_ones_have_less_choice_and_refinement(
    learned: float, steps: int
) -> None:
    scores = {
        "affine": (1.0,) * 3,
        "regularised": (1.0,) * 3,
        "learned sigmoids": (learned,) * 3,
    }
    made: list[tuple[str, int]] = []
    learners = [Fold(n, scores, made) for n in range(3)]
    drawn, affine, _ = select(learners, offered(), RecipeSettings(), few=False)
    assert [one.options.iterations for one in (drawn, affine)] == [steps, steps]
    assert ("short", 0) not in made


@pytest.mark.parametrize(
    ("waves", "few", "kept"),
    [
        # The better one on the first fold alone ...
        (0.9, False, {"waves"}),
        (1.1, False, {"sigmoids"}),
        # ... but of few data all that are not far behind.
        (3.9, True, {"sigmoids", "waves"}),
        (4.1, True, {"sigmoids"}),
        (0.3, True, {"sigmoids", "waves"}),
    ],
)
def test_of_learned_features_the_best_are_learned_on_the_other_folds(
    waves: float, few: bool, kept: set[str]
) -> None:
    scores = {
        "regularised": (3.0,) * 3,
        "learned sigmoids": (1.0,) * 3,
        "learned waves": (waves,) * 3,
    }
    made: list[tuple[str, int]] = []
    learners = [Fold(n, scores, made) for n in range(3)]
    found = select(learners, offered(), RecipeSettings(), few)
    assert {one.options.narx_units for one in found if "learned" in one.family} == kept
    for kind in ("sigmoids", "waves"):
        tried = {fold for name, fold in made if name == f"learned {kind}"}
        assert tried == ({0, 1, 2} if kind in kept else {0})


@pytest.mark.parametrize(
    ("sigmoids", "kept"),
    [(2.1, {"sigmoids"}), (2.3, {"waves"}), (1.7, {"sigmoids"}), (1.5, {"sigmoids"})],
)
def test_of_learned_features_that_only_come_near_the_best_are_kept(
    sigmoids: float, kept: set[str]
) -> None:
    scores = {
        "regularised": (1.0,) * 3,  # which starts with 2
        "learned sigmoids": (sigmoids,) * 3,
        "learned waves": (2.2,) * 3,
    }
    learners = [Fold(n, scores, []) for n in range(3)]
    found = select(learners, offered(), RecipeSettings(), few=False)
    assert {one.options.narx_units for one in found if "learned" in one.family} == kept


def test_of_many_columns_the_best_start_of_drawn_features_is_refined_alone() -> None:
    made: list[tuple[str, int]] = []
    scores = {"short": (1.0, 1.0, 1.0), "regularised": (1.1, 0.8, 1.0)}
    learners = [Fold(n, scores, made) for n in range(3)]
    several = families(RFFPSROptions(), RecipeSettings(), 6, 6)
    (drawn,) = select(learners, several, RecipeSettings(), few=False)
    assert name_of(drawn.options) == "regularised"
    tried = {name for name, _ in made if "learned" not in name}
    assert tried == {"short", "regularised"}  # the former told whether learned ones are kept


def test_windows_are_as_long_as_those_of_the_family_that_is_learned_first() -> None:
    made: list[tuple[str, int]] = []
    scores = {
        "regularised": (1.0,) * 3,
        "learned sigmoids": (1.0,) * 3,
        "learned sigmoids, longer": (0.5,) * 3,
        "learned waves": (0.1,) * 3,
        "learned waves, longer": (0.9,) * 3,
    }
    learners = [Fold(n, scores, made) for n in range(3)]
    *_, sigmoids, waves = select(learners, offered(), RecipeSettings(), few=True)
    assert name_of(sigmoids.options) == "learned sigmoids, longer"
    assert name_of(waves.options) == "learned waves, longer"
    assert ("learned waves", 0) not in made


def test_of_a_family_with_quick_starts_the_one_that_starts_best_is_judged() -> None:
    made: list[tuple[str, int]] = []
    scores = {
        "regularised": (40.0,) * 3,
        "light": (40.0,),
        "short": (8.0,) * 3,
        "learned waves": (1.0,) * 3,
        "learned waves, longer": (9.0,),
    }
    learners = [Fold(n, scores, made) for n in range(3)]
    drawn, learned = select(learners, offered(), RecipeSettings(), few=False)
    assert name_of(drawn.options) == "short"
    assert name_of(learned.options) == "learned waves"
    assert ("regularised", 0) not in made


@pytest.mark.parametrize(
    ("few", "starts", "best"),
    [
        (False, {"affine": (1.0, 2.0, 1.0), "affine, 2": (1.1, 1.0, 9.0)}, "affine, 2"),
        (True, {"affine": (1.0, 2.0, 1.0), "affine, 2": (1.1, 1.0, 9.0)}, "affine"),
        (False, {"affine": (1.0, 2.0, 1.0), "affine, 2": (2.0, 0.1, 0.1)}, "affine"),
    ],
)
def test_of_affine_features_the_best_start_is_selected(
    few: bool, starts: Scores, best: str
) -> None:
    made: list[tuple[str, int]] = []
    learners = [Fold(n, starts, made) for n in range(3)]
    affine = next(one for one in offered() if one.name == "rff_psr, affine")
    (selection,) = select(learners, [affine], RecipeSettings(), few)
    assert name_of(selection.options) == best
    assert made == [(best, fold) for fold in range(3)]
    assert set(selection.scores) == {*affine.configurations, *affine.varied(best).configurations}


def test_what_takes_long_is_begun_first_and_starts_of_the_others_meanwhile() -> None:
    scores = {
        "affine": (2.0,) * 3,
        "affine, 2": (1.0,) * 3,
        "regularised": (1.5,) * 3,
        "learned waves": (1.2,) * 3,
        "learned sigmoids": (1.1,) * 3,
    }
    several = families(RFFPSROptions(), RecipeSettings(), 1, 1)
    made: list[tuple[str, int]] = []
    plain: list[tuple[str, int]] = []
    ahead = [Fold(n, scores, made, ahead=True) for n in range(3)]
    alone = [Fold(n, scores, plain) for n in range(3)]
    settings = RecipeSettings()
    found, without = (select(each, several, settings, False) for each in (ahead, alone))
    assert [one.options for one in found] == [one.options for one in without]
    assert [one for one in made if one[0][-1] not in "?!"] == plain
    begun = [name for name, _ in made if name.startswith("learned") and name.endswith("?")]
    assert begun[:2] == ["learned sigmoids?", "learned waves?"]
    assert {("learned sigmoids?", fold) for fold in range(3)} <= set(made)
    assert made.index(("learned sigmoids?", 1)) < made.index(("learned waves", 0))
    assert ("affine, 2?", 0) in made[: made.index(("learned waves", 0))]
    assert {("regularised?", 1), *(("affine, 2?", fold) for fold in range(3))} <= set(made)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("best", ["affine", "affine, 2", "regularised", "short", "learned waves",
                                  "learned waves, longer", "learned sigmoids", "none"])  # fmt: skip
def test_what_was_begun_in_vain_is_given_up(best: str, few: bool) -> None:
    usual = ("affine", "affine, 2", "regularised", "learned waves", "learned sigmoids")
    scores = dict.fromkeys(usual, (1.0,) * 3) | {best: (0.1,) * 3}
    made: list[tuple[str, int]] = []
    learners = [Fold(n, scores, made, ahead=True) for n in range(3)]
    select(learners, families(RFFPSROptions(), RecipeSettings(), 1, 1), RecipeSettings(), few)
    expected = {(name[:-1], fold) for name, fold in made if name.endswith("?")}
    ended = {(name[:-1], fold) for name, fold in made if name.endswith("!")}
    assert expected <= ended | set(made)
