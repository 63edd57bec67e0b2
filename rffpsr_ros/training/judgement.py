"""A model judged on recordings beside baselines, as ``rffpsr evaluate`` and its report tell it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.data.subsample import subsample
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.calibration import Coverage, coverage
from rffpsr_ros.evaluation.comparison import Comparison, compare
from rffpsr_ros.evaluation.extrapolation import Extrapolation, extrapolations, told
from rffpsr_ros.evaluation.report import coverage_as_json, errors_as_json
from rffpsr_ros.evaluation.verdict import (
    ModelVerdict,
    broken_promise,
    one_stretch,
    paired_with_baseline,
    verdict,
)
from rffpsr_ros.forecasting.adaptation.adaptive_model import AdaptiveModel
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.training.data_check import DataWarning
from rffpsr_ros.training.recordings import Split
from rffpsr_ros.training.request import Known, kind_asked_for, known_of
from rffpsr_ros.training.train import Trained
from rffpsr_ros.training.validation import CROSS_VALIDATION

_FAR = 0.05
"""The share of a column's range by which it must be exceeded for the verdict to name it."""


class Judging(NamedTuple):
    """How a model is judged.

    Attributes
    ----------
    horizon
        Ticks ahead that are forecast.
    start
        First origin (tick of a trajectory) whose forecast counts.
    coverage
        The share of later observations that prediction bands shall cover.
    adapt
        Whether the model stands beside itself as it corrects itself by its errors.
    """

    horizon: int = 10
    start: int = 9
    coverage: float = 0.9
    adapt: bool = False


@dataclass(frozen=True)
class Judgement:
    """What was measured of a model, and what is said of it.

    Attributes
    ----------
    path
        Where the model came from.
    parts
        Judged is the test part; linear ARX is learned from the others.
    seen
        Whether the model has learned from just what it is judged on.
    known
        How many of the recordings that it is judged on are among those it has learned from.
    """

    path: str
    model: PredictiveModel[Any]
    parts: Split
    options: Judging
    comparison: Comparison
    covered: Coverage | None
    beyond: Sequence[Extrapolation]
    seen: bool
    known: int = 0
    verdict: ModelVerdict = field(init=False)

    def __post_init__(self) -> None:
        """Come to the verdict."""
        judged_on = f"{self.ticks} ticks"
        own, *_ = self.comparison.errors.values()
        limits = [*broken_promise(self.covered), *one_stretch(own)]
        if sentence := told([one for one in self.beyond if one.furthest > _FAR]):
            limits.append(sentence)
        if self.seen:
            judged_on += " that it has learned from"
            limits.insert(0, "recordings that it has not learned from will tell more")
        elif self.known:
            limits.insert(
                0,
                f"{self.known} of {len(self.parts.test)} recordings are among those that it has"
                " learned from, whole or in part: others will tell more",
            )
        said = verdict(paired_with_baseline(self.comparison.errors), judged_on, limits)
        object.__setattr__(self, "verdict", said)

    @property
    def ticks(self) -> int:
        """Return the number of ticks judged on."""
        return sum(map(len, self.parts.test))

    def as_json(self) -> dict[str, Any]:
        """Return all figures in JSON types."""
        names = self.model.signature.observation_names
        errors = self.comparison.errors
        return {
            "model": self.path,
            "horizon": self.comparison.horizon,
            "start": self.comparison.start,
            "period": self.comparison.period,
            "observation_names": list(names),
            "ticks": self.ticks,
            "models": {name: errors_as_json(one) for name, one in errors.items()},
            "bands": self.covered and coverage_as_json(self.covered, names),
            "extrapolations": [one.as_json() for one in self.beyond],
            "verdict": self.verdict.as_json(),
        }


def judge(
    model: PredictiveModel[Any],
    path: str,
    parts: Split,
    options: Judging,
    beside: Mapping[str, PredictiveModel[Any]] | None = None,
    progress: Progress = silent,
    seen: bool | None = None,
) -> Judgement:
    """Judge a model on the test part, beside the last observation and linear ARX.

    Linear ARX is learned from the training part, chosen by the validation part, and left out
    where there is no training part, or one with too many gaps, which a warning says.

    Parameters
    ----------
    path
        Where the model came from.
    beside
        Other models, by what they are to be called.
    seen
        Whether the model has learned from the test part; None: find out.

    Raises
    ------
    InputError
        If there is nothing to judge on, or the model has no bands of that coverage.
    """
    if not parts.test:
        raise InputError("nothing is left to test on; give more recordings or another split")
    kind = kind_asked_for(model)
    compared: dict[str, PredictiveModel[Any] | Learner] = {kind: model}
    if options.adapt:
        compared[f"{kind}, adaptive"] = AdaptiveModel(model, options.horizon)
    compared |= beside or {}
    compared.setdefault("last_observation", LastObservation().fit(parts.train or parts.test))
    if parts.train and "linear_arx" not in compared:
        compared |= _linear_arx(parts, options.horizon)
    comparison = compare(
        compared,
        parts.test,
        parts.train,
        parts.validation or None,
        options.horizon,
        options.start,
        progress=progress,
    )
    covered = coverage(
        model, parts.test, options.coverage, options.horizon, options.start, progress
    )
    return Judgement(
        path,
        model,
        parts,
        options,
        comparison,
        covered,
        extrapolations(model, parts.test),
        *(known_of(model, parts.test) if seen is None else Known(seen, 0)),
    )


def _linear_arx(parts: Split, horizon: int) -> dict[str, PredictiveModel[Any]]:
    """Return linear ARX by its name; nothing where the recordings have no place for it."""
    try:
        model = LinearARX(future=horizon).fit(parts.train, parts.validation or None)
    except InputError as problem:
        warnings.warn(f"linear ARX is left out: {problem}", DataWarning, stacklevel=3)
        return {}
    return {"linear_arx": model}


def judge_trained(trained: Trained, path: str, progress: Progress = silent) -> Judgement:
    """Judge a model that was just learned: on the test part that was left out, if there is one.

    Else on a validation part that it has not learned from, else on what it has learned from, which
    the judgement says. Of many recordings a subsample is judged on.

    Raises
    ------
    InputError
        If no recording is long enough.
    """
    generator = np.random.default_rng(0)
    train, validation, test = (subsample(part, generator) for part in trained.parts)
    if test:
        parts, seen = Split(train, validation, test), False
    elif validation and CROSS_VALIDATION not in trained.model.record.metrics:
        parts, seen = Split(train, validation, validation), False
    else:
        parts, seen = Split(train, validation, train), True
    return judge(trained.model, path, parts, Judging(), progress=progress, seen=seen)
