"""Models of everything: what serves in the place of a family whose features are drawn.

The models on folds tell which configuration, which ridges and how many steps of refinement do best,
and what weight the family has. Where regression finds the rest, one model that has learned from all
recordings with these forecasts as well as three that lack a third each: better where data are few
or a robot goes further than it did, and at a third of the cost live. Learned features gain by being
several, which agree less; these are led on (`led_on.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.data.summary import summarise
from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.rff_psr.fit import as_started, complete, initialise, refine
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData, TwoStageFit, fit_two_stages
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.parallel.workers import Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.feature_set import fit_features
from rffpsr_ros.psr.ridge_choice import RidgeChoices
from rffpsr_ros.recordings.trajectory import Trajectory

_ONE = "forecasts are those of one model for {} of drawn features, learned from everything"
_SEVERAL = "the models of {} of learned features were led on with all recordings"


class Everything(NamedTuple):
    """The models of everything, and what they were learned from."""

    models: Mapping[int, RFFPSRModel]
    """By the place of the family in the ensemble."""
    fitted: TwoStageFit
    data: TrainingData


def families_of(ensemble: EnsembleModel, folds: int) -> list[list[int]]:
    """Return the places of the members of each family of RFF-PSR models, one on each fold."""
    members = ensemble.parts.members
    own = [place for place, member in enumerate(members) if isinstance(member, RFFPSRModel)]
    return [own[first : first + folds] for first in range(0, len(own), folds)]


def models_by_family(ensemble: EnsembleModel, folds: int) -> list[list[RFFPSRModel]]:
    """Return the models of each family of RFF-PSR models, one on each fold."""
    members = ensemble.parts.members
    return [
        [member for place in places if isinstance(member := members[place], RFFPSRModel)]
        for places in families_of(ensemble, folds)
    ]


def options_of(model: PredictiveModel[Any]) -> RFFPSROptions:
    """Return the options that a model was learned with, those that the data decided among them."""
    known = RFFPSROptions.names()
    return RFFPSROptions(**{name: v for name, v in model.record.options.items() if name in known})


def served_by_one(options: RFFPSROptions) -> bool:
    """Return whether a family of models that were learned with these options is served by one."""
    drawn = options.narx_learning == "off" or options.refinement == "none"
    return drawn and options.refinement != "window" and options.forecast == "rollout"


def learn_from_everything(
    ensemble: EnsembleModel,
    recordings: Sequence[Trajectory],
    folds: int,
    settings: FitSettings,
    progress: Progress,
    workers: Workers,
) -> Everything | None:
    """Return a model of all recordings for each family that is served by one; None if none is.

    The ensemble has the models on so many ``folds``.
    """
    wanted = {
        number: found
        for number, found in enumerate(models_by_family(ensemble, folds))
        if served_by_one(options_of(found[0]))
    }
    if not wanted:
        return None

    def told(stage: str, fraction: float, error: float | None = None) -> None:
        progress(f"model of all recordings, {stage}", fraction, error)

    options = {n: _beside(options_of(found[0]), folds) for n, found in wanted.items()}
    shared = next(iter(options.values()))
    data = TrainingData(recordings, recordings, summarise(recordings, shared.past, shared.future))
    fitted = workers.submit(_TwoStages(data, shared, settings), told).result()
    coming = {
        n: workers.submit(_OneModel(fitted, options[n], tuple(found), settings), told)
        for n, found in wanted.items()
    }
    return Everything({n: pending.result() for n, pending in coming.items()}, fitted, data)


def _beside(options: RFFPSROptions, folds: int) -> RFFPSROptions:
    """Return the options of the first of so many models, with a seed that none of them has."""
    return replace(options, seed=options.seed + folds)


@dataclass(frozen=True)
class _TwoStages:
    """The task of what the two stages find in all recordings."""

    data: TrainingData
    options: RFFPSROptions
    settings: FitSettings

    def __call__(self, progress: Progress) -> TwoStageFit:
        with one_blas_thread():
            return fit_two_stages(self.data, self.options, self.settings, fit_features, progress)


@dataclass(frozen=True)
class _OneModel:
    """The task of one family's model, as those on its folds are."""

    fitted: TwoStageFit
    options: RFFPSROptions
    on_folds: tuple[RFFPSRModel, ...]
    settings: FitSettings

    def __call__(self, progress: Progress) -> RFFPSRModel:
        steps, options = usual_steps(self.on_folds), self.options
        settings = replace(self.settings, ridges=_usual_ridges(self.on_folds, self.settings.ridges))
        with one_blas_thread():
            start = initialise(self.fitted, options, settings, progress)
            refined = as_started(start)
            if steps:
                limited = replace(options, iterations=steps)
                refined = refine(self.fitted, start, limited, settings, progress)
            parts, metrics = complete(self.fitted, refined, options, settings, progress)
        record = TrainingRecord(asdict(options), metrics, self.fitted.notes)
        return RFFPSRModel(self.fitted.signature, record, parts)


def usual_steps(models: Sequence[RFFPSRModel]) -> int:
    """Return after how many steps refinement did best on the parts held out, by the median."""
    return int(np.median([told_of(model).get("iterations", 0) for model in models]))


def _usual_ridges(models: Sequence[RFFPSRModel], choices: RidgeChoices) -> RidgeChoices:
    """Return the ridges that did best on the parts held out, by the median, as the only choice."""
    arx, state, narx = (
        _usual([told_of(model)[name] for model in models])
        for name in ("arx_ridge", "state_ridge", "narx_ridge")
    )
    return replace(
        choices,
        arx=choices.arx if arx is None else (arx,),
        state=() if state is None else (state,),
        narx=() if narx is None else (narx,),
        steady=float("inf"),  # that was looked at on the folds
    )


def _usual(ridges: Sequence[float | None]) -> float | None:
    """Return the median by magnitude; None if most are."""
    known = [ridge for ridge in ridges if ridge is not None]
    return float(np.exp(np.median(np.log(known)))) if 2 * len(known) > len(ridges) else None


def told_of(model: RFFPSRModel) -> Mapping[str, Any]:
    """Return what a model's file tells of its refinement."""
    found: Mapping[str, Any] = model.record.metrics["refinement"]
    return found


def with_everything(
    ensemble: EnsembleModel, folds: int, models: Mapping[int, Sequence[RFFPSRModel]]
) -> EnsembleModel:
    """Return the ensemble in which models of everything stand for their families, one or several.

    Weights, bands and metrics are those of the models on so many ``folds``: these are judged.
    """
    parts = ensemble.parts
    stands_for: dict[int, int] = {}  # a member's place: that of who serves for it
    serving: dict[int, PredictiveModel[Any]] = {}
    for number, places in enumerate(families_of(ensemble, folds)):
        if number in models:
            who = models[number]
            stands_for |= {place: places[i % len(who)] for i, place in enumerate(places)}
            serving |= dict(zip(places, who, strict=False))
    kept = [place for place in range(len(parts.members)) if stands_for.get(place, place) == place]
    weights: Array = np.zeros((*parts.weights.shape[:2], len(kept)))
    for place in range(len(parts.members)):
        weights[..., kept.index(stands_for.get(place, place))] += parts.weights[..., place]
    limits = parts.limits
    if limits is not None:
        limits = limits._replace(fallback=kept.index(limits.fallback))
    reach = None if parts.reach is None else parts.reach.of(kept)
    members = tuple(serving.get(place, parts.members[place]) for place in kept)
    record = ensemble.record
    return EnsembleModel(
        ensemble.signature,
        TrainingRecord(record.options, record.metrics, (*record.notes, *_notes(models))),
        parts._replace(members=members, weights=weights, limits=limits, reach=reach),
        ensemble.bands,
    )


def _notes(models: Mapping[int, Sequence[RFFPSRModel]]) -> list[str]:
    """Return what is told of who serves."""
    alone = sum(len(who) == 1 for who in models.values())
    told = ((_ONE, alone), (_SEVERAL, len(models) - alone))
    return [note.format(_families(number)) for note, number in told if number]


def _families(number: int) -> str:
    return "one family" if number == 1 else f"{number} families"
