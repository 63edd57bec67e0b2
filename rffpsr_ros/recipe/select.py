"""Which candidate configuration of RFF-PSR is learned on all folds: decided on the first two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recipe.candidates import SAFE
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
    """The configuration that was selected, and the scores of all."""

    options: RFFPSROptions
    models: Sequence[RFFPSRModel]
    """One a fold."""
    scores: Mapping[str, float]
    """Of all configurations that were tried; none where there was no choice."""


def select(
    learners: Sequence[Learns],
    configurations: Mapping[str, RFFPSROptions],
    settings: RecipeSettings,
) -> Selection:
    """Return the best configuration, with a model for each of the folds.

    With a choice every configuration is tried on the first fold, the most promising one first:
    others can be given up as soon as they are seen to stay far behind. Those that are close there
    are tried on the second too: few recordings in one fold may flatter one. Scores are geometric
    means.
    """
    if len(configurations) == 1:
        (options,) = configurations.values()
        return _learned(learners, options, [], {})
    first, *others = learners
    for learner in others:
        learner.begin([configurations[SAFE]])
    first.begin(configurations.values())
    order = sorted(configurations, key=lambda name: first.start_score(configurations[name]))
    trials = {order[0]: [first.trial(configurations[order[0]])]}
    for name in order[1:]:  # now that there is a score for them to stay behind
        first.expect(configurations[name])
    trials |= {name: [first.trial(configurations[name])] for name in order[1:]}
    close = _close(trials, settings.close)
    if len(close) > 1:
        for name in close:
            others[0].expect(configurations[name])
        for name in close:
            trials[name].append(others[0].trial(configurations[name]))
    scores = {name: _score(made) for name, made in trials.items()}
    best = min(close, key=scores.__getitem__)
    if SAFE in close and scores[best] >= settings.clearly_better * scores[SAFE]:
        best = SAFE
    return _learned(learners, configurations[best], trials[best], scores)


def _close(trials: Mapping[str, Sequence[Trial]], factor: float) -> list[str]:
    """Return the safe configuration, and those that are better, if within a factor of the best."""
    scores = {name: _score(made) for name, made in trials.items()}
    better = [name for name in trials if name == SAFE or scores[name] < scores[SAFE]]
    return [name for name in better if scores[name] <= factor * min(scores.values())]


def _learned(
    learners: Sequence[Learns],
    options: RFFPSROptions,
    trials: Sequence[Trial],
    scores: Mapping[str, float],
) -> Selection:
    """Return the selection after trials on those folds on which there were none yet."""
    rest = learners[len(trials) :]
    for learner in rest:
        learner.expect(options)
    made = [*trials, *(learner.trial(options) for learner in rest)]
    coming = [trial.finalise() for trial in made]
    return Selection(options, [model.result() for model in coming], scores)


def _score(trials: Sequence[Trial]) -> float:
    scores = [trial.score for trial in trials]
    return float(np.exp(np.mean(np.log(np.maximum(scores, 1e-30)))))
