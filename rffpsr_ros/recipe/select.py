"""Which configurations of RFF-PSR are learned on all folds: decided on the first two.

Of few data that would be decided by what little the two hold out, and trials are short: there it is
decided on all folds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.parallel.workers import MAYBE_WANTED
from rffpsr_ros.recipe.candidates import Family
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.trials import Trial


class Learns(Protocol):
    """One fold's learner; see `FoldLearner`."""

    def begin(self, configurations: Iterable[RFFPSROptions]) -> None:
        """Have what comes before refinement computed beforehand."""
        ...

    def expect(self, options: RFFPSROptions, urgency: int = 0) -> None:
        """Have a trial computed beforehand; the less ``urgency`` is, the earlier it is begun."""
        ...

    def start_score(self, options: RFFPSROptions) -> float:
        """Return the score of what refinement starts from."""
        ...

    def trial(self, options: RFFPSROptions) -> Trial:
        """Return the result of the options."""
        ...


class Selection(NamedTuple):
    """The configuration that was selected of a family, and the scores of all."""

    family: str
    options: RFFPSROptions
    models: Sequence[RFFPSRModel]
    """One a fold."""
    scores: Mapping[str, float]
    """Of all configurations that were tried; none where there was no choice."""


def select(
    learners: Sequence[Learns], families: Sequence[Family], settings: RecipeSettings, few: bool
) -> list[Selection]:
    """Return the best configuration of each family that is promising; ``few``: of few data.

    Those whose features are learned come first: what they reach tells whether drawn features, which
    start by far more quickly, are worth refining.
    """
    if len(families) == 1:
        return [_best_of(families[0], learners, settings, few)]
    quick, slow = ([one for one in families if one.quick_start is kind] for kind in (True, False))
    leads = _leads(learners, quick, slow, few)
    found = {one.family: one for one in _learned_families(learners, slow, leads, settings, few)}
    judges = _judges(learners, few)
    reached = [_score([one.trial(each.options) for one in judges]) for each in found.values()]
    best = min([*reached, float("inf")])
    for family in _promising(learners[0], leads, [*found.values()], settings):
        pays = _as_far_as_it_pays(family, judges, best, settings)
        found[family.name] = _best_of(pays, learners, settings, few)
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
    for family in quick:
        for learner in _judges(learners, few)[1:]:
            learner.begin(family.configurations.values())
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
            _expect_what_mostly_follows(learners, family, leads)
        safe = family.configurations[family.safe]
        if family.costly and first.start_score(safe) > settings.clearly_better * drawn:
            continue
        score = _score([first.trial(safe)])
        best = min(best, score)
        if few:
            promising = score <= settings.far_behind * min(best, drawn)
        else:
            if family.costly:
                drawn = min(_score([first.trial(lead.options)]) for lead in leads)
            elif score <= settings.near * drawn:
                near.append((score, family.only(family.safe)))
            promising = score <= min(settings.behind * best, settings.clearly_better * drawn)
        if promising:
            found.append(_best_of(family, learners, settings, few))
    if near and not found:
        _, nearest = min(near, key=lambda one: one[0])
        found.append(_best_of(nearest, learners, settings, few))
    return found


def _expect_what_mostly_follows(
    learners: Sequence[Learns], last: Family, leads: Sequence[_Lead]
) -> None:
    """Let whoever has nothing to do begin what is mostly wanted once the last family is tried."""
    for lead in leads:
        learners[0].expect(lead.options, MAYBE_WANTED)
    for learner in learners[1:]:
        learner.expect(last.configurations[last.safe], MAYBE_WANTED)


def _promising(
    first: Learns, leads: Sequence[_Lead], learned: Sequence[Selection], settings: RecipeSettings
) -> list[Family]:
    """Return the families of drawn features that are promising on the first fold.

    One that is far behind is left without a choice: it may steady the blend. If it is hopeless, it
    would have next to no weight. Where the start is far behind learned features it is judged by
    that: refinement would not bring it near.
    """
    reached = min((_score([first.trial(one.options)]) for one in learned), default=float("inf"))
    near = [lead.score <= settings.close * reached for lead in leads]
    for lead, refined in zip(leads, near, strict=True):
        if refined:
            first.expect(lead.options)
    scores = [
        _score([first.trial(lead.options)]) if refined else lead.score
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
    """Return a family of drawn features, without refinement where that would be in vain.

    Its best start is compared with the score that learned features have ``reached`` on the same
    folds: that is rarely bettered by as much as they are ahead of it, and the family may still
    steady the blend as it starts.
    """
    if not np.isfinite(reached):
        return family
    _, (best, *_) = _start_scores(family, judges, settings)
    starts = [learner.start_score(family.configurations[best]) for learner in judges]
    return family.as_started(best) if _mean(starts) > settings.close * reached else family


def _judges(learners: Sequence[Learns], few: bool) -> Sequence[Learns]:
    return learners if few else learners[:2]


def _best_of(
    family: Family, learners: Sequence[Learns], settings: RecipeSettings, few: bool
) -> Selection:
    """Return the best configuration of a family, with a model for each of the folds."""
    if len(family.configurations) == 1:
        return _learned(learners, family, family.safe, [], {})
    judges = _judges(learners, few)
    if family.by_start:
        start = _best_start(family, judges, settings)
        return _learned(learners, start.family, start.name, [], start.scores)
    return _best_trial(family, learners, judges, settings)


class _Start(NamedTuple):
    """The configuration of a family that starts best, and the scores of all starts."""

    family: Family
    name: str
    scores: Mapping[str, float]


def _best_start(family: Family, judges: Sequence[Learns], settings: RecipeSettings) -> _Start:
    """Return the configuration whose starts are best on the folds that judge.

    Of its variations in bandwidth then the best; a narrower one has to be clearly better, as what
    it resolves may be noise, and beyond the recordings smooth features reach further.
    """
    scores, close = _start_scores(family, judges, settings)
    best = close[0]
    varied = family.varied(best)
    if len(varied.configurations) > 1:
        again, close = _start_scores(varied, judges, settings)
        width = {name: one.narx_bandwidth for name, one in varied.configurations.items()}
        usual = width[best]
        best = min(
            close,
            key=lambda name: again[name] / (settings.clearly_better if width[name] < usual else 1),
        )
        scores |= again
    return _Start(varied, best, scores)


def _start_scores(
    family: Family, judges: Sequence[Learns], settings: RecipeSettings
) -> tuple[dict[str, float], list[str]]:
    """Return the scores of a family's starts, as geometric means, and the names of the best first.

    Those that are far from the best on the first fold are not looked at on the others, nor named.
    """
    configurations = family.configurations
    first, *others = judges
    first.begin(configurations.values())
    starts = {name: [first.start_score(one)] for name, one in configurations.items()}
    lowest = min(starts.values())[0]
    close = [name for name, (score,) in starts.items() if score <= settings.close * lowest]
    for learner in others if len(close) > 1 else ():
        learner.begin([configurations[name] for name in close])
        for name in close:
            starts[name].append(learner.start_score(configurations[name]))
    scores = {name: _mean(found) for name, found in starts.items()}
    return scores, sorted(close, key=scores.__getitem__)


def _best_trial(
    family: Family,
    learners: Sequence[Learns],
    judges: Sequence[Learns],
    settings: RecipeSettings,
) -> Selection:
    """Return the configuration whose trials are best on the folds that judge.

    Every configuration is tried on the first fold, the most promising one first: others can be
    given up as soon as they are seen to stay far behind. Those that are close there are tried on
    the others too: few recordings in one fold may flatter one. Scores are geometric means.
    """
    configurations, safe = family.configurations, family.safe
    first, *others = judges
    for learner in learners[1:]:
        learner.begin([configurations[safe]])
    first.begin(configurations.values())
    for learner, name in itertools.product(others, configurations):
        if name != safe:
            learner.expect(configurations[name], MAYBE_WANTED)
    order = sorted(configurations, key=lambda name: first.start_score(configurations[name]))
    trials = {order[0]: [first.trial(configurations[order[0]])]}
    for name in order[1:]:  # now that there is a score for them to stay behind
        first.expect(configurations[name])
    trials |= {name: [first.trial(configurations[name])] for name in order[1:]}
    close = _close(trials, safe, settings.close)
    if len(close) > 1:
        again = [(learner, name) for learner in others for name in close]
        for learner, name in again:
            learner.expect(configurations[name])
        for learner, name in again:
            trials[name].append(learner.trial(configurations[name]))
    scores = {name: _score(made) for name, made in trials.items()}
    best = min(close, key=scores.__getitem__)
    if safe in close and scores[best] >= settings.clearly_better * scores[safe]:
        best = safe
    return _learned(learners, family, best, trials[best], scores)


def _close(trials: Mapping[str, Sequence[Trial]], safe: str, factor: float) -> list[str]:
    """Return the safe configuration, and those that are better, if within a factor of the best."""
    scores = {name: _score(made) for name, made in trials.items()}
    better = [name for name in trials if name == safe or scores[name] < scores[safe]]
    return [name for name in better if scores[name] <= factor * min(scores.values())]


def _learned(
    learners: Sequence[Learns],
    family: Family,
    chosen: str,
    trials: Sequence[Trial],
    scores: Mapping[str, float],
) -> Selection:
    """Return the selection after trials on those folds on which there were none yet."""
    options = family.configurations[chosen]
    rest = learners[len(trials) :]
    for learner in rest:
        learner.expect(options)
    coming = [trial.finalise() for trial in trials]
    coming += [learner.trial(options).finalise() for learner in rest]
    return Selection(family.name, options, [model.result() for model in coming], scores)


def _score(trials: Sequence[Trial]) -> float:
    return _mean([trial.score for trial in trials])


def _mean(scores: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(np.maximum(scores, 1e-30)))))
