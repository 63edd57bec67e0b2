"""Which configurations of RFF-PSR are learned on all folds: decided on the first two.

Of few data that would be decided by what little the two hold out, and trials are short: there it is
decided on all folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recipe.candidates import Family
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.trials import Trial


class Learns(Protocol):
    """One fold's learner; see `FoldLearner`."""

    @property
    def ahead(self) -> bool:
        """Whether anything is computed beforehand."""
        ...

    def begin(self, configurations: Iterable[RFFPSROptions]) -> None:
        """Have what comes before refinement computed beforehand."""
        ...

    def expect(self, options: RFFPSROptions) -> None:
        """Have a trial computed beforehand."""
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
    """Return the best configuration of each family that is promising; ``few``: of few data."""
    hopeful = _promising(learners, families, settings, few)
    if len(hopeful) > 1:
        for family in hopeful:
            learners[1].expect(family.configurations[family.safe])
        learners[0].begin([one for family in hopeful for one in family.configurations.values()])
    return [_best_of(family, learners, settings, few) for family in hopeful]


class _Judged(NamedTuple):
    """A family, and the configuration that it was judged by on the first fold."""

    family: Family
    lead: str
    score: float


def _promising(
    learners: Sequence[Learns], families: Sequence[Family], settings: RecipeSettings, few: bool
) -> list[Family]:
    """Return the families that are promising on the first fold; what tells is learned anyway.

    Those whose starts are long in coming are tried one after the other, as the score of one tells
    when to give up the next.
    """
    if len(families) == 1:
        return list(families)
    first = learners[0]
    quick, slow = ([one for one in families if one.quick_start is kind] for kind in (True, False))
    for family in slow[:1]:
        first.expect(family.configurations[family.safe])
    leads = [(family, _lead(first, family)) for family in quick]
    for family, lead in leads:
        first.expect(family.configurations[lead])
    judged = [_judged(first, family, lead) for family, lead in leads]
    for family in slow:
        if family is slow[-1]:
            first.expect(family.configurations[family.safe])
            _look_ahead(learners, judged, settings, few)
        judged.append(_judged(first, family, family.safe))
    return _hopeful(judged, settings)


def _lead(learner: Learns, family: Family) -> str:
    """Return the configuration with the best start: by it a family is judged before others are."""
    learner.begin(family.configurations.values())
    known = family.configurations
    return min(known, key=lambda name: learner.start_score(known[name]))


def _judged(learner: Learns, family: Family, lead: str) -> _Judged:
    return _Judged(family, lead, _score([learner.trial(family.configurations[lead])]))


def _hopeful(judged: Sequence[_Judged], settings: RecipeSettings) -> list[Family]:
    """Return the families without those that are hopeless.

    One that is far behind is left without a choice, if its start is quick: it may steady the blend.
    If not, or if it is hopeless, it would have next to no weight, and cost as much as the others.
    One that is costly stays if it is clearly better than those that are not.
    """
    best, hopeful = min(one.score for one in judged), []
    usual = min(one.score for one in judged if not one.family.costly)
    for family, lead, score in judged:
        if family.costly:
            hopeful += [family] if score < settings.clearly_better * usual else []
        elif score <= settings.far_behind * best:
            hopeful.append(family)
        elif family.quick_start and score <= settings.hopeless * best:
            hopeful.append(family.only(lead))
    return hopeful


def _look_ahead(
    learners: Sequence[Learns], judged: Sequence[_Judged], settings: RecipeSettings, few: bool
) -> None:
    """Have computed what will be wanted of the families that are hopeful by now.

    Another family is still being tried, which may change that.
    """
    if not learners[0].ahead:
        return
    for family in _hopeful(judged, settings):
        if family.by_start:
            start = _best_start(family, _judges(learners, few), settings)
            for learner in learners:
                learner.expect(start.family.configurations[start.name])
        else:
            learners[1].expect(family.configurations[family.safe])


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
