"""What is tried on the first fold: starts and steps of refinement, long and short windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rffpsr_ros.models.rff_psr import RFFPSRModel
from rffpsr_ros.models.rff_psr_options import RFFPSROptions

SAFE = "regularised"
"""The way that the others have to beat."""

SHORT_FEATURES = 3
"""With short windows there are so many times as many random features."""

CLEARLY = 0.9
"""What goes further than gentle steps with long windows must do so much better: they are safer
where a model is used otherwise than it was taught."""


def first_model(
    fitted: Callable[[int, RFFPSROptions], RFFPSRModel], options: RFFPSROptions
) -> tuple[RFFPSRModel, RFFPSROptions, dict[str, float]]:
    """Return the first fold's best model, its options, and the score of everything tried."""
    models, tried = {}, {}
    ways = _ways(options)
    for way, changed in ways.items():
        models[way] = fitted(0, changed)
        if len(ways) > 1:
            tried[way] = models[way].record.metrics["refinement"]["score_after"]
    best = min(tried, key=tried.__getitem__, default=next(iter(ways)))
    if tried and tried[best] >= CLEARLY * tried.get(SAFE, np.inf):
        best = SAFE
    return models[best], ways[best], tried


def _ways(options: RFFPSROptions) -> dict[str, RFFPSROptions]:
    """Return the options that are tried on the first fold, by name."""
    if options.refinement != "rollout" or options.refine_from != "both":
        return {"as given": options}
    gentle = replace(options, refine_from="regularised")
    ways = {"light": replace(options, refine_from="light"), SAFE: gentle}
    if options.base_past and options.direct_features and options.short_past:
        past = options.short_past
        ways["short"] = replace(
            gentle,
            base_past=past,
            direct_past=past,
            direct_features=SHORT_FEATURES * options.direct_features,
        )
    return ways
