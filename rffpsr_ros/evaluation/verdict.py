"""Whether a model is good, in two sentences: what it gains over a simpler one, what it cannot do.

The first compares paired errors with linear ARX, or with the last observation where there is no
ARX; the second names what is not foreseen, is forecast better by the baseline, lies beyond what
was trained on, or is promised by bands and not kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.evaluation.calibration import Coverage
from rffpsr_ros.evaluation.horizon_error import HorizonErrors
from rffpsr_ros.numerics.paired_errors import COVERED, PairedErrors, PairedRatio, paired_errors

Standing = Literal["better", "undecided", "worse", "unknown"]

BASELINES = {"linear_arx": "linear ARX", "last_observation": "the last observation"}
"""What a model has to beat, the first there is of these, and what it is called."""
TIMES = 10.0
MOST_TIMES = 1000.0
"""From which ratio on one speaks of times, and the highest that says anything."""
FORESEEN = 0.95
"""The share of its variance up to which an observation is said to be foreseen."""
PROMISED = 0.05
"""By so much less than they promise bands may cover."""
MOST = 0.5
"""Of the squared error, what one stretch makes before it is told of."""
FEWEST_STRETCHES = 10
"""Of fewer, one may well make so much."""
_NAMED = 3
"""Names of a list; of more the first ones."""


class ModelVerdict(NamedTuple):
    """What is said of a model: where it stands against its baseline, and two sentences."""

    standing: Standing
    sentences: tuple[str, ...]
    paired: PairedErrors | None

    def as_json(self) -> dict[str, Any]:
        """Return JSON types."""
        return {
            "standing": self.standing,
            "sentences": list(self.sentences),
            "paired": self.paired and self.paired.as_json(),
        }

    def lines(self) -> list[str]:
        """Return the lines that a command ends with."""
        return ["", f"verdict: {self.sentences[0]}", *self.sentences[1:]]


def paired_with_baseline(errors: Mapping[str, HorizonErrors]) -> PairedErrors | None:
    """Return how the first of several models compares with the baseline among the others.

    Errors must be of the same trajectories. None if no baseline is among them.
    """
    (own, model), *others = errors.items()
    beside = dict(others)
    for name in BASELINES:
        if name in beside and name != own:
            return paired_errors(
                model.block_errors,
                beside[name].block_errors,
                model.variances,
                name,
                model.observation_names,
            )
    return None


def verdict(
    paired: PairedErrors | None, judged_on: str, limits: Sequence[str] = ()
) -> ModelVerdict:
    """Return the verdict on a model.

    Parameters
    ----------
    paired
        Its errors beside a baseline's; None if it was not compared with any.
    judged_on
        What it was judged on, in words that follow "on".
    limits
        What else it cannot do, in words; these come first.
    """
    if paired is None:
        said = (
            "nothing was held out that a model could be judged on; judge it by recordings it has"
            " not learned from: rffpsr evaluate OTHER_BAG... --model MODEL"
        )
        return ModelVerdict("unknown", (_sentence(said),), None)
    standing = _standing(paired.overall)
    found = [*limits, *_not_foreseen(paired), *_better_by_baseline(paired), *_hardest(paired)]
    return ModelVerdict(
        standing,
        (_sentence(_gain(paired, standing, judged_on)), _sentence(f"Limits: {'; '.join(found)}")),
        paired,
    )


def broken_promise(covered: Coverage | None) -> list[str]:
    """Return in words that bands cover clearly less than they promise, if they do."""
    if covered is None or not np.isfinite(covered.fixed).any():
        return []
    share = float(np.nanmean(covered.fixed))
    if share >= covered.nominal - PROMISED:
        return []
    return [f"bands of {100 * covered.nominal:g} % cover {100 * share:.0f} %"]


def one_stretch(errors: HorizonErrors) -> list[str]:
    """Return in words that one stretch makes most of a model's error, if it does.

    What happened there decides what the figures say: a contact, a slip, a lost message.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = errors.block_errors / np.nanmean(errors.variances, axis=0)
    by_stretch = np.where(np.isfinite(relative), relative, 0.0).sum(axis=(1, 2))
    stretches, everything = len(by_stretch), by_stretch.sum()
    if stretches < FEWEST_STRETCHES or by_stretch.max() <= MOST * everything:
        return []
    share = int(100 * by_stretch.max() / everything)  # never all of it
    return [f"{share} % of its squared error comes from one of {stretches} stretches"]


def _standing(overall: PairedRatio) -> Standing:
    if not np.isfinite(overall.high):
        return "unknown"
    if overall.high < 1:
        return "better"
    return "worse" if overall.low > 1 else "undecided"


def _gain(paired: PairedErrors, standing: Standing, judged_on: str) -> str:
    """Return the first sentence."""
    name = BASELINES.get(paired.baseline, paired.baseline)
    value, low, high = (float(part) for part in paired.overall)
    ahead = f"{_ticks(paired.horizon)} ahead"
    share = f"{100 * COVERED:g} % interval"
    if not np.isfinite(value):
        return f"on {judged_on} nothing varies, so forecasts {ahead} cannot be judged"
    if standing == "unknown":
        return (
            f"on {judged_on} the squared error of forecasts {ahead} is {_change(value)} than that"
            f" of {name}, and so few ticks do not tell whether that was luck"
        )
    if standing == "undecided":
        return (
            f"on {judged_on} forecasts {ahead} cannot be told from {name}: squared error"
            f" {_change(value)}, {share} from {_change(low)} to {_end(high)}"
        )
    good = standing == "better"
    least, most = (_percent(end) for end in sorted((low, high), key=lambda end: abs(1 - end)))
    sure = paired.by_horizon.high < 1 if good else paired.by_horizon.low > 1
    return (
        f"on {judged_on} the squared error of forecasts {ahead} is {_change(value)} than that of"
        f" {name} ({share}: {least} to {most} %), surely so {_horizons(sure)}"
        f"{'' if good else '; prefer the simpler one, or record more'}"
    )


def _not_foreseen(paired: PairedErrors) -> list[str]:
    """Return what is hardly forecast better than by its mean, and from which horizon on."""
    known = np.isfinite(paired.unexplained)
    blind = np.where(known, paired.unexplained, 0.0) > FORESEEN
    by_first: dict[int, list[str]] = {}
    for name, column in zip(paired.observation_names, blind.T, strict=True):
        seen = np.flatnonzero(~column)
        first = 1 + int(seen[-1]) + 1 if len(seen) else 1
        if first <= paired.horizon:
            by_first.setdefault(first, []).append(name)
    return [
        f"{_names(names)} {'is' if len(names) == 1 else 'are'} forecast no better than by the mean"
        f" {'at any horizon' if first == 1 else f'from {_plural(first)} ahead on'}"
        for first, names in sorted(by_first.items())
    ]


def _better_by_baseline(paired: PairedErrors) -> list[str]:
    """Return the observations and horizons that the baseline surely forecasts better."""
    worse = paired.by_observation.low > 1
    by_horizons: dict[str, list[str]] = {}
    for name, column in zip(paired.observation_names, worse.T, strict=True):
        if column.any():
            by_horizons.setdefault(_horizons(column), []).append(name)
    baseline = BASELINES.get(paired.baseline, paired.baseline)
    return [
        f"{_names(names)} {where} {'is' if len(names) == 1 else 'are'} forecast better by"
        f" {baseline}"
        for where, names in by_horizons.items()
    ]


def _hardest(paired: PairedErrors) -> list[str]:
    """Return what is left of the observation that is forecast worst at the last horizon."""
    last = paired.unexplained[-1]
    beyond = f"nothing was judged beyond {_plural(paired.horizon)}"
    if not np.isfinite(last).any() or np.nanmax(last) > FORESEEN:
        return [beyond]  # what is not foreseen at all has been named
    at = int(np.nanargmax(last))
    hardest = "" if len(last) == 1 else ", the hardest,"
    return [
        f"{_plural(paired.horizon)} ahead {100 * last[at]:.2g} % of the variance of"
        f" '{paired.observation_names[at]}'{hardest} is unexplained; {beyond}"
    ]


def _change(ratio: float) -> str:
    return f"{_percent(ratio)} % {'lower' if ratio <= 1 else 'higher'}"


def _end(ratio: float) -> str:
    """Return the upper end of an interval; one that is far out says no more than that it is."""
    if ratio < TIMES:
        return _change(ratio)
    return f"{ratio:.0f} times as high" if ratio < MOST_TIMES else f"over {MOST_TIMES:.0f} times"


def _percent(ratio: float) -> str:
    """Return how far a ratio is from 1, in percent; what is left of 100 % is not rounded away."""
    left = 100 * ratio
    digits = math.ceil(-math.log10(left)) if 0 < left < 1 else 0
    return f"{abs(100 - left):.{digits}f}"


def _horizons(which: NDArray[np.bool_]) -> str:
    """Return horizons in words: those (H,) that are true."""
    if which.all():
        return "at every horizon"
    if not which.any():
        return "at no single horizon"
    edges = np.flatnonzero(np.diff(np.concatenate([[False], which, [False]]).astype(int)))
    spans = [
        f"{first + 1}" if last == first + 1 else f"{first + 1} to {last}"
        for first, last in edges.reshape(-1, 2).tolist()
    ]
    plural = "s" if which.sum() > 1 else ""
    return f"at horizon{plural} {', '.join(spans)}"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_NAMED])
    more = len(names) - _NAMED
    return f"{shown} and {more} other{'s' if more > 1 else ''}" if more > 0 else shown


def _ticks(horizon: int) -> str:
    return "1 tick" if horizon == 1 else f"1 to {horizon} ticks"


def _plural(ticks: int) -> str:
    return "1 tick" if ticks == 1 else f"{ticks} ticks"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
