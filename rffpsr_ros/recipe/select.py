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
    leads = _leads(learners, quick, slow, settings, few)
    found = {one.family: one for one in _learned_families(learners, slow, leads, settings, few)}
    judges = judging(learners, few)
    reached = [mean_score([one.trial(each.options) for one in judges]) for each in found.values()]
    best = min([*reached, float("inf")])
    for family in _promising(learners, leads, [*found.values()], settings, few):
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
    settings: RecipeSettings,
    few: bool,
) -> list[_Lead]:
    """Return the best starts of families, while learning of features, if any, is under way."""
    first, found = learners[0], []
    for family in slow[:1]:
        if family.costly:
            first.begin([family.safe_options])
        else:
            first.expect(family.safe_options)
    for family in quick:
        first.begin(family.configurations.values())
        starts = {name: first.start_score(one) for name, one in family.configurations.items()}
        best = min(starts, key=starts.__getitem__)
        found.append(_Lead(family, best, starts[best]))
    for lead in _worth_refining(found, float("inf"), settings):
        first.expect(lead.options, MOSTLY_WANTED)
    for family in quick:
        for learner in judging(learners, few)[1:]:
            learner.begin(family.configurations.values(), MAYBE_WANTED)
    for family in slow[1:]:  # mostly wanted, and nobody else may have anything to do
        first.expect(family.safe_options)
    return found


def _learned_families(
    learners: Sequence[Learns],
    families: Sequence[Family],
    leads: Sequence[_Lead],
    settings: RecipeSettings,
    few: bool,
) -> list[Selection]:
    """Return the best configuration of the family whose features are learned best, if promising.

    Nothing takes longer than to learn them, and two families forecast together no better than the
    one that does better on the first fold. There it must be clearly better than drawn features as
    these start - if it is costly, as they start and again when both are refined. If it only comes
    near, it is learned without a choice: it agrees less with drawn ones than these with each other.
    Of few data that takes no time, and the first fold tells little: all are learned that are not
    far behind.
    """
    first, drawn = learners[0], min(lead.score for lead in leads)
    offered = [
        one
        for one in families
        if not one.costly or first.start_score(one.safe_options) <= settings.clearly_better * drawn
    ]
    if few:
        return _not_far_behind(learners, offered, drawn, settings)
    if not offered:
        return []
    score, family = _best_on_the_first(learners, offered, leads)
    if family.costly:
        drawn = min(mean_score([first.trial(lead.options)]) for lead in leads)
    if score > settings.clearly_better * drawn:
        if family.costly or score > settings.near * drawn:
            give_up(learners[1:], [family.safe_options])
            return []
        family = family.only(family.safe)
    return [best_of(family, learners, settings, few)]


def _not_far_behind(
    learners: Sequence[Learns], families: Sequence[Family], drawn: float, settings: RecipeSettings
) -> list[Selection]:
    """Return the best configurations of the families, of few data, that are not far behind.

    How far windows reach is chosen with the first of them, for all.
    """
    found, best = list[Selection](), drawn
    for offered in families:
        family = offered.with_windows_of(found[0].options) if found else offered
        score = mean_score([learners[0].trial(family.safe_options)])
        best = min(best, score)
        if score <= settings.far_behind * best:
            found.append(best_of(family, learners, settings, few=True))
        give_up(learners, [offered.safe_options])
    return found


def _best_on_the_first(
    learners: Sequence[Learns], families: Sequence[Family], leads: Sequence[_Lead]
) -> tuple[float, Family]:
    """Return the family whose safe configuration does best on the first fold, and its score.

    Whoever has nothing to do begins what may be wanted of the other folds.
    """
    first, *others = learners
    lowest, best = float("inf"), families[0]
    _expect(others, min(leads, key=lambda lead: lead.score).options)
    for family in families:
        score = mean_score([first.trial(family.safe_options)])
        if score < lowest:
            give_up(others, [best.safe_options])
            lowest, best = score, family
            _expect(others, best.safe_options)
    return lowest, best


def _expect(learners: Sequence[Learns], options: RFFPSROptions) -> None:
    for learner in learners:
        learner.expect(options, MAYBE_WANTED)


def _promising(
    learners: Sequence[Learns],
    leads: Sequence[_Lead],
    learned: Sequence[Selection],
    settings: RecipeSettings,
    few: bool,
) -> list[Family]:
    """Return the families of drawn features that are promising on the first fold.

    One that is behind, of few data far behind, is left without a choice: it may steady the blend.
    If it is hopeless, it would have next to no weight. What is not worth refining is judged by how
    it starts.
    """
    first = learners[0]
    reached = min((mean_score([first.trial(one.options)]) for one in learned), default=float("inf"))
    refined = _worth_refining(leads, reached, settings)
    give_up(learners, [lead.options for lead in leads if lead not in refined])
    for lead in refined:
        first.expect(lead.options)
    scores = [
        mean_score([first.trial(lead.options)]) if lead in refined else lead.score for lead in leads
    ]
    best, hopeful = min([reached, *scores]), []
    close = settings.far_behind if few else settings.worth_choosing
    for lead, score in zip(leads, scores, strict=True):
        if score <= close * best:
            hopeful.append(lead.family)
        elif score <= settings.hopeless * best:
            hopeful.append(lead.family.only(lead.name))
    return hopeful


def _worth_refining(
    leads: Sequence[_Lead], reached: float, settings: RecipeSettings
) -> list[_Lead]:
    """Return those that refinement may bring near what learned features have ``reached``.

    And near the one that starts best: a start may be as far from it as to be hopeless.
    """
    best = min(lead.score for lead in leads)
    most = min(settings.worth_refining * reached, settings.hopeless * best)
    return [lead for lead in leads if lead.score <= most]


def _as_far_as_it_pays(
    family: Family, judges: Sequence[Learns], reached: float, settings: RecipeSettings
) -> Family:
    """Return a family of drawn features with as much choice and refinement as it is worth.

    Beside learned ones, which have ``reached`` a score on the folds that judge, only what starts
    best is refined; far behind them nothing is: refinement rarely betters a start by as much, and
    the family may still steady the blend as it starts.
    """
    if not np.isfinite(reached):
        return family
    _, (best, *_) = start_scores(family, judges, settings)
    starts = [learner.start_score(family.configurations[best]) for learner in judges]
    behind = geometric_mean(starts) / reached
    if behind > settings.worth_refining:
        return family.as_started(best)
    return family._replace(by_start=True)
