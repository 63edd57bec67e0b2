"""What is tried on the first folds: starts and steps of refinement, long and short windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recipe.fold_learner import Trial

SAFE = "regularised"
"""The way that the others have to beat."""

SHORT_FEATURES = 3
"""With short windows there are so many times as many random features."""

CLOSE = 1.7
"""Scores on one fold that differ by less than this factor do not decide, unless it is the safe way
that is better."""

CLEARLY = 0.9
"""What goes further than gentle steps with long windows must do so much better: they are safer
where a model is used otherwise than it was taught."""


class Learns(Protocol):
    """One fold's learner; see `FoldLearner`."""

    def start_score(self, options: RFFPSROptions) -> float:
        """Return the score of what refinement starts from."""
        ...

    def trial(self, options: RFFPSROptions) -> Trial:
        """Return what comes of the options."""
        ...


def models_on_folds(
    learners: Sequence[Learns], options: RFFPSROptions
) -> tuple[list[RFFPSRModel], RFFPSROptions, dict[str, float]]:
    """Return a model for each of the folds, their options, and the score of all tried.

    Every way is tried on the first fold, the most promising one first: others can be given up as
    soon as they are seen to stay far behind. The safe one, and those that are better there and
    close to the best, are tried on the second too: few recordings in one fold may flatter a way.
    Scores are geometric means.
    """
    ways = _ways(options)
    if len(ways) > 1:
        ways = dict(sorted(ways.items(), key=lambda way: learners[0].start_score(way[1])))
    trials = {way: [learners[0].trial(changed)] for way, changed in ways.items()}
    tried = {}
    best = next(iter(ways))
    if len(ways) > 1:
        scores = {way: _score(made) for way, made in trials.items()}
        better = [way for way in ways if way == SAFE or scores[way] < scores[SAFE]]
        close = [way for way in better if scores[way] <= CLOSE * min(scores.values())]
        if len(close) > 1:
            for way in close:
                trials[way].append(learners[1].trial(ways[way]))
        tried = {way: _score(made) for way, made in trials.items()}
        best = min(close, key=tried.__getitem__)
        if SAFE in close and tried[best] >= CLEARLY * tried[SAFE]:
            best = SAFE
    made = trials[best]
    made += [learner.trial(ways[best]) for learner in learners[len(made) :]]
    return [one.finalise() for one in made], ways[best], tried


def _score(trials: Sequence[Trial]) -> float:
    scores = [trial.score for trial in trials]
    return float(np.exp(np.mean(np.log(np.maximum(scores, 1e-30)))))


def _ways(options: RFFPSROptions) -> dict[str, RFFPSROptions]:
    """Return the options that are tried on the first fold, by name."""
    if options.refinement != "rollout" or options.refine_from != "both":
        return {"as given": options}
    gentle = replace(options, refine_from="regularised")
    ways = {SAFE: gentle, "light": replace(options, refine_from="light")}
    if options.arx_past and options.narx_features and options.short_past:
        past = options.short_past
        ways["short"] = replace(
            gentle,
            arx_past=past,
            narx_past=past,
            narx_features=SHORT_FEATURES * options.narx_features,
        )
    return ways
