"""Which families of RFF-PSR are learned on all folds: those that are promising on the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.parallel.workers import MAYBE_WANTED, MOSTLY_WANTED
from rffpsr_ros.recipe.candidates import Family
from rffpsr_ros.recipe.family_choice import (
    Learns,
    Selection,
    best_of,
    geometric_mean,
    give_up,
    judging,
    mean_score,
    start_scores,
)
from rffpsr_ros.recipe.settings import RecipeSettings


def select(
    learners: Sequence[Learns], families: Sequence[Family], settings: RecipeSettings, few: bool
) -> list[Selection]:
    """Return the best configuration of each family that is promising; ``few``: of few data.

    Those whose features are learned come first: what they reach tells whether drawn features, which
    start by far more quickly, are worth refining.
    """
    if len(families) == 1:
        return [best_of(families[0], learners, settings, few)]
    quick, slow = ([one for one in families if one.quick_start is kind] for kind in (True, False))
    leads = _leads(learners, quick, slow, few)
    found = {one.family: one for one in _learned_families(learners, slow, leads, settings, few)}
    judges = judging(learners, few)
    reached = [mean_score([one.trial(each.options) for one in judges]) for each in found.values()]
    best = min([*reached, float("inf")])
    for family in _promising(learners, leads, [*found.values()], settings):
        pays = _as_far_as_it_pays(family, judges, best, settings)
        found[family.name] = best_of(pays, learners, settings, few)
    give_up(learners[1:], [lead.options for lead in leads])
    return [found[family.name] for family in families if family.name in found]


class _Lead(NamedTuple):
    """A family of drawn features, and its best start on the first fold."""

    family: Family
    name: str
    score: float

    @property
    def options(self) -> RFFPSROptions:
        return self.family.configurations[self.name]


def _leads(
    learners: Sequence[Learns],
    quick: Sequence[Family],
    slow: Sequence[Family],
    few: bool,
) -> list[_Lead]:
    """Return the best starts of families, while learning of features, if any, is under way."""
    first, found = learners[0], []
    for family in slow[:1]:
        safe = family.configurations[family.safe]
        if family.costly:
            first.begin([safe])
        else:
            first.expect(safe)
    for family in quick:
        first.begin(family.configurations.values())
        starts = {name: first.start_score(one) for name, one in family.configurations.items()}
        best = min(starts, key=starts.__getitem__)
        found.append(_Lead(family, best, starts[best]))
    for lead in found:
        first.expect(lead.options, MOSTLY_WANTED)
    for family in quick:
        for learner in judging(learners, few)[1:]:
            learner.begin(family.configurations.values(), MAYBE_WANTED)
    for family in slow[1:]:  # mostly wanted, and nobody else may have anything to do
        first.expect(family.configurations[family.safe])
    return found


def _learned_families(
    learners: Sequence[Learns],
    families: Sequence[Family],
    leads: Sequence[_Lead],
    settings: RecipeSettings,
    few: bool,
) -> list[Selection]:
    """Return the best configurations of families whose features are learned, if promising.

    On the first fold they must be clearly better than drawn features as these start - if they are
    costly, as they start and again when both are refined - and not far behind each other, for
    nothing takes longer. Where none are, the best of those that come near are learned without a
    choice: they agree less with drawn ones than these with each other. Of few data that takes no
    time, and the first fold tells little. How far windows reach is chosen with the first of these
    families, for all.
    """
    first, found, near = learners[0], list[Selection](), list[tuple[float, Family]]()
    drawn = min(lead.score for lead in leads)
    best = float("inf")
    for offered in families:
        family = offered.with_windows_of(found[0].options) if found else offered
        if offered is families[-1]:
            _expect_what_may_follow(learners[1:], family, leads)
        safe = family.configurations[family.safe]
        if family.costly and first.start_score(safe) > settings.clearly_better * drawn:
            continue
        score = mean_score([first.trial(safe)])
        best = min(best, score)
        if few:
            promising = score <= settings.far_behind * min(best, drawn)
        else:
            if family.costly:
                drawn = min(mean_score([first.trial(lead.options)]) for lead in leads)
            elif score <= settings.near * drawn:
                near.append((score, family.only(family.safe)))
            promising = score <= min(settings.behind * best, settings.clearly_better * drawn)
        if promising:
            found.append(best_of(family, learners, settings, few))
    nearest = [] if found else [one for _, one in sorted(near, key=lambda each: each[0])][:1]
    if families and family.name not in [one.name for one in nearest]:
        give_up(learners[1:], [safe])
    return found or [best_of(one, learners, settings, few) for one in nearest]


def _expect_what_may_follow(others: Sequence[Learns], last: Family, leads: Sequence[_Lead]) -> None:
    """Let whoever has nothing to do begin what may be wanted of the other folds."""
    likely = min(leads, key=lambda lead: lead.score)
    for options in (last.configurations[last.safe], likely.options):
        for learner in others:
            learner.expect(options, MAYBE_WANTED)


def _promising(
    learners: Sequence[Learns],
    leads: Sequence[_Lead],
    learned: Sequence[Selection],
    settings: RecipeSettings,
) -> list[Family]:
    """Return the families of drawn features that are promising on the first fold.

    One that is far behind is left without a choice: it may steady the blend. If it is hopeless, it
    would have next to no weight. Where the start is far behind learned features it is judged by
    that: refinement would not bring it near.
    """
    first = learners[0]
    reached = min((mean_score([first.trial(one.options)]) for one in learned), default=float("inf"))
    near = [lead.score <= settings.worth_refining * reached for lead in leads]
    for lead, refined in zip(leads, near, strict=True):
        if refined:
            first.expect(lead.options)
        else:
            give_up(learners, [lead.options])
    scores = [
        mean_score([first.trial(lead.options)]) if refined else lead.score
        for lead, refined in zip(leads, near, strict=True)
    ]
    best, hopeful = min([reached, *scores]), []
    for lead, score in zip(leads, scores, strict=True):
        if score <= settings.far_behind * best:
            hopeful.append(lead.family)
        elif score <= settings.hopeless * best:
            hopeful.append(lead.family.only(lead.name))
    return hopeful


def _as_far_as_it_pays(
    family: Family, judges: Sequence[Learns], reached: float, settings: RecipeSettings
) -> Family:
    """Return a family of drawn features with as much choice and refinement as it is worth.

    Its best start is compared with the score that learned features have ``reached`` on the same
    folds. Behind them, only what starts best is refined; further behind nothing is: refinement
    rarely betters a start by as much, and the family may still steady the blend as it starts.
    """
    if not np.isfinite(reached):
        return family
    _, (best, *_) = start_scores(family, judges, settings)
    starts = [learner.start_score(family.configurations[best]) for learner in judges]
    behind = geometric_mean(starts) / reached
    if behind > settings.worth_refining:
        return family.as_started(best)
    return family._replace(by_start=True) if behind > 1 else family
