"""What is learned from, by which learners, in which families; and how far some folds get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rffpsr_ros.models.low_passed.filters import LowPassFilters
from rffpsr_ros.parallel.workers import Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.recipe.candidates import Family, families
from rffpsr_ros.recipe.family_choice import geometric_mean, mean_score
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.trials import FoldLearner
from rffpsr_ros.recipe.window_choice import choose_windows


class Setting(NamedTuple):
    """What is learned from, by which learners, and what is offered to them."""

    prepared: Preparation
    learners: Sequence[FoldLearner]
    offered: Sequence[Family]
    filters: LowPassFilters | None = None
    """What makes running means of the actions of recordings, where models see them."""
    few: bool = False
    """Whether the data are."""

    @property
    def judges(self) -> Sequence[FoldLearner]:
        """Return the learners that tell of another setting: the first fold's, or of few data all.

        Of few data each fold takes little time, and one alone tells little.
        """
        return self.learners if self.few else self.learners[:1]

    @property
    def past(self) -> int:
        """Return how many ticks windows reach back."""
        return self.offered[0].safe_options.past

    @property
    def given_actions(self) -> int | None:
        """Return how many actions were given, the first ones; None: all that models see."""
        if self.filters is None:
            return None
        return len(self.prepared.recordings[0].action_names) - len(self.filters.ticks)

    @property
    def costly(self) -> bool:
        """Whether columns are so many that features are not always learned."""
        return any(one.costly for one in self.offered)


def set_up(
    prepared: Preparation, settings: RecipeSettings, progress: Progress, workers: Workers
) -> Setting:
    """Return windows, learners and families for recordings as they are."""
    chosen = choose_windows(prepared, settings, progress, workers)
    like = prepared.recordings[0]
    columns, acted = len(like.observation_names), len(like.action_names)
    offered = families(chosen.options, settings, columns, acted)
    prepared = prepared._replace(notes=prepared.notes + chosen.notes)
    few = settings.are_few(sum(map(len, prepared.recordings)))
    return Setting(prepared, chosen.learners, offered, few=few)


def best_learned(setting: Setting, name: str | None = None) -> tuple[float, Family] | None:
    """Return the family that is learned best on the first fold, and its score there.

    Of those with learned features, if any; none where these are costly, and not always learned.
    With a ``name``, that family only.
    """
    if setting.costly:
        return None
    families = setting.offered
    learned = [one for one in families if one.safe_options.narx_learning == "on"] or families[:1]
    learned = [one for one in learned if name in (None, one.name)]
    first = setting.learners[0]
    for family in learned:
        first.expect(family.safe_options)
    tried = [(first.trial(family.safe_options).score, family) for family in learned]
    return min(tried, key=lambda one: one[0], default=None)


def learned_score(setting: Setting, family: Family) -> float:
    """Return the mean score of a family, learned by all who judge."""
    for judge in setting.judges:
        judge.expect(family.safe_options)
    return mean_score([judge.trial(family.safe_options) for judge in setting.judges])


def best_start(setting: Setting) -> float:
    """Return the mean score of the drawn features that start best with those who judge."""
    drawn = [one.safe_options for one in setting.offered if one.quick_start]
    for judge in setting.judges:
        judge.begin(drawn)
    return min(
        (geometric_mean([one.start_score(options) for one in setting.judges]) for options in drawn),
        default=float("inf"),
    )
