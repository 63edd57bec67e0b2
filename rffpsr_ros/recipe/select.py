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
    hopeful = _promising(learners[0], families, settings)
    if len(hopeful) > 1:
        for family in hopeful:
            learners[1].expect(family.configurations[family.safe])
        learners[0].begin([one for family in hopeful for one in family.configurations.values()])
    return [_best_of(family, learners, settings, few) for family in hopeful]


def _promising(
    learner: Learns, families: Sequence[Family], settings: RecipeSettings
) -> list[Family]:
    """Return the families without those that are hopeless on the first fold.

    What is learned there to tell is learned anyway. A family that is far behind is left without a
    choice, if its start is quick: it may steady the blend. If not, or if it is hopeless, it would
    have next to no weight, and cost as much as the other.
    """
    if len(families) == 1:
        return list(families)
    for family in families:
        if not family.quick_start:  # these take longest
            learner.expect(family.configurations[family.safe])
    leads = [_lead(learner, family) for family in families]
    judged = [family.configurations[lead] for family, lead in zip(families, leads, strict=True)]
    for options in judged:
        learner.expect(options)
    scores = [_score([learner.trial(options)]) for options in judged]
    best, hopeful = min(scores), []
    for family, lead, score in zip(families, leads, scores, strict=True):
        if score <= settings.far_behind * best:
            hopeful.append(family)
        elif family.quick_start and score <= settings.hopeless * best:
            hopeful.append(family.only(lead))
    return hopeful


def _lead(learner: Learns, family: Family) -> str:
    """Return the configuration that a family is judged by before others are tried.

    It is that with the best start; where starts are long in coming, the safe one.
    """
    if not family.quick_start:
        return family.safe
    learner.begin(family.configurations.values())
    known = family.configurations
    return min(known, key=lambda name: learner.start_score(known[name]))


def _best_of(
    family: Family, learners: Sequence[Learns], settings: RecipeSettings, few: bool
) -> Selection:
    """Return the best configuration of a family, with a model for each of the folds."""
    if len(family.configurations) == 1:
        return _learned(learners, family, family.safe, [], {})
    judges = learners if few else learners[:2]
    if family.by_start:
        return _best_start(family, learners, judges, settings)
    return _best_trial(family, learners, judges, settings)


def _best_start(
    family: Family,
    learners: Sequence[Learns],
    judges: Sequence[Learns],
    settings: RecipeSettings,
) -> Selection:
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
    return _learned(learners, varied, best, [], scores)


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
    made = [*trials, *(learner.trial(options) for learner in rest)]
    coming = [trial.finalise() for trial in made]
    return Selection(family.name, options, [model.result() for model in coming], scores)


def _score(trials: Sequence[Trial]) -> float:
    return _mean([trial.score for trial in trials])


def _mean(scores: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(np.maximum(scores, 1e-30)))))
