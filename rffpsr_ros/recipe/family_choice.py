"""The best configuration of a family of RFF-PSR: decided on the folds that judge, the first two.

Of few data that would be decided by what little the two hold out, and trials are short: there it is
decided on all folds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from statistics import median_low
from typing import NamedTuple, Protocol

import numpy as np

from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.parallel.workers import MAYBE_WANTED
from rffpsr_ros.recipe.candidates import Family
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.trials import Trial

SEEDS_APART = 2
"""A second try has a seed so many times the folds away: models of everything have the next ones."""


class Learns(Protocol):
    """One fold's learner; see `FoldLearner`."""

    def begin(self, configurations: Iterable[RFFPSROptions], urgency: int = 0) -> None:
        """Have what comes before refinement computed beforehand; ``urgency`` as of `expect`."""
        ...

    def expect(self, options: RFFPSROptions, urgency: int = 0) -> None:
        """Have a trial computed beforehand; the less ``urgency`` is, the earlier it is begun."""
        ...

    def give_up(self, options: RFFPSROptions) -> None:
        """Have a trial not computed that was expected."""
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


def give_up(learners: Sequence[Learns], configurations: Iterable[RFFPSROptions]) -> None:
    """Have trials not computed that were expected and are not wanted."""
    for learner, options in itertools.product(learners, configurations):
        learner.give_up(options)


def judging(learners: Sequence[Learns], few: bool) -> Sequence[Learns]:
    """Return the learners of the folds that judge; ``few``: of few data."""
    return learners if few else learners[:2]


def best_of(
    family: Family, learners: Sequence[Learns], settings: RecipeSettings, few: bool
) -> Selection:
    """Return the best configuration of a family, with a model for each of the folds."""
    if len(family.configurations) == 1:
        return _learned(learners, family, family.safe, [], {}, settings)
    judges = judging(learners, few)
    if family.by_start:
        start = _best_start(family, judges, settings)
        return _learned(learners, start.family, start.name, [], start.scores, settings)
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
    scores, close = start_scores(family, judges, settings)
    best = close[0]
    varied = family.varied(best)
    if len(varied.configurations) > 1:
        again, close = start_scores(varied, judges, settings)
        width = {name: one.narx_bandwidth for name, one in varied.configurations.items()}
        usual = width[best]
        best = min(
            close,
            key=lambda name: again[name] / (settings.clearly_better if width[name] < usual else 1),
        )
        scores |= again
    return _Start(varied, best, scores)


def start_scores(
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
    scores = {name: geometric_mean(found) for name, found in starts.items()}
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
        learner.begin([family.safe_options])
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
    give_up(others, [one for name, one in configurations.items() if name not in close])
    if len(close) > 1:
        again = [(learner, name) for learner in others for name in close]
        for learner, name in again:
            learner.expect(configurations[name])
        for learner, name in again:
            trials[name].append(learner.trial(configurations[name]))
    scores = {name: mean_score(made) for name, made in trials.items()}
    best = min(close, key=scores.__getitem__)
    if safe in close and scores[best] >= settings.clearly_better * scores[safe]:
        best = safe
    return _learned(learners, family, best, trials[best], scores, settings)


def _close(trials: Mapping[str, Sequence[Trial]], safe: str, factor: float) -> list[str]:
    """Return the safe configuration, and those that are better, if within a factor of the best."""
    scores = {name: mean_score(made) for name, made in trials.items()}
    better = [name for name in trials if name == safe or scores[name] < scores[safe]]
    return [name for name in better if scores[name] <= factor * min(scores.values())]


def _learned(
    learners: Sequence[Learns],
    family: Family,
    chosen: str,
    trials: Sequence[Trial],
    scores: Mapping[str, float],
    settings: RecipeSettings,
) -> Selection:
    """Return the selection after trials on those folds on which there were none yet."""
    options = family.configurations[chosen]
    rest = learners[len(trials) :]
    for learner in rest:
        learner.expect(options)
    made = [*trials, *(learner.trial(options) for learner in rest)]
    again = replace(options, seed=options.seed + SEEDS_APART * len(learners))
    coming = [one.finalise() for one in _caught_tried_again(learners, again, made, settings)]
    return Selection(family.name, options, [model.result() for model in coming], scores)


def _caught_tried_again(
    learners: Sequence[Learns],
    options: RFFPSROptions,
    trials: Sequence[Trial],
    settings: RecipeSettings,
) -> list[Trial]:
    """Return one trial a fold: the better of two where the first was caught in a bad minimum.

    ``options`` are those of the ``trials``, with another seed. What features gain by being learned
    is much alike on most folds, so the one that gained far less than the fold in the middle tells
    of a bad minimum; and a single bad model spoils the mean of all.
    """
    usual = median_low(trial.left for trial in trials)
    caught = [place for place, one in enumerate(trials) if one.left > settings.caught * usual]
    for place in caught:
        learners[place].expect(options)
    found = list(trials)
    for place in caught:
        found[place] = min(trials[place], learners[place].trial(options), key=attrgetter("score"))
    return found


def mean_score(trials: Sequence[Trial]) -> float:
    """Return the geometric mean of the scores of trials."""
    return geometric_mean([trial.score for trial in trials])


def geometric_mean(scores: Sequence[float]) -> float:
    """Return the geometric mean, also of scores that are 0."""
    return float(np.exp(np.mean(np.log(np.maximum(scores, 1e-30)))))
