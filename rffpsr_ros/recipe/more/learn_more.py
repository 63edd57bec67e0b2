"""Learning goes on: from new recordings and what is kept of the old ones.

What the recipe decided stays: windows, features, ranks, ridges, and which models there are. Both
stages and the linear ARX take in every new tick, with the sums of all old ones; refinement goes on
from where it ended, on a sample of old recordings and the new ones; weights and bands are those of
held-out parts, old and new. So it costs what is new, and a sample that does not grow. Models of
everything follow those on folds, which judge (`more/everything.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rffpsr_ros.data.screening import DamageWarning, screened
from rffpsr_ros.data.summary import summarise
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx.model import LinearARXModel
from rffpsr_ros.models.arx.more import sums_of, with_sums
from rffpsr_ros.models.contract import PredictiveModel, Signature, TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.record_check import PERIOD_TOLERANCE
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.models.training_set import shared_signature
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.parallel.processes import workers_for
from rffpsr_ros.parallel.workers import Pending, Workers
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recipe.everything import options_of
from rffpsr_ros.recipe.more.blend import blended_anew
from rffpsr_ros.recipe.more.everything import LearnAgain
from rffpsr_ros.recipe.more.kept import (
    EVERYONE,
    KEPT_TICKS,
    Kept,
    KeptArx,
    KeptRecording,
    Learned,
    members_of,
    thinned,
)
from rffpsr_ros.recipe.more.member import LearnMore, MoreOf
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory

JUDGING = 5
"""Of a single model's new recordings every fifth is held out."""


def learn_more(
    model: PredictiveModel[Any],
    kept: Kept,
    recordings: Sequence[Trajectory],
    *,
    forget: float = 0.0,
    settings: RecipeSettings | None = None,
    progress: Progress | None = None,
    processes: int | None = None,
    client: Any = None,
) -> Learned:
    """Return the model that has learned from new recordings too, and what is kept of it.

    ``forget`` (0 to 1) is the share that all that was learned before loses of what it counts.
    ``processes`` and ``client`` are those of `RFFPSR`.

    Raises
    ------
    InputError
        If the recordings are not of the model's columns and period, are shorter than its windows,
        or learning cannot go on from this model.
    """
    settings, report = settings or RecipeSettings(), progress or silent
    new, damage = _checked(model, kept, recordings, forget, settings)
    with one_blas_thread(), workers_for(client, processes) as workers:
        return _learned_more(model, kept, new, damage, forget, settings, report, workers)


def _learned_more(
    model: PredictiveModel[Any],
    kept: Kept,
    new: Sequence[KeptRecording],
    damage: tuple[str, ...],
    forget: float,
    settings: RecipeSettings,
    progress: Progress,
    workers: Workers,
) -> Learned:
    old = _remembered(kept.recordings, forget)
    new = _learned_by_some(new, old, len(kept.stages))
    mix = [*old, *new]
    served, model = model, _judged(model, kept)
    more = _models(model, kept, new, mix, forget, settings, progress, workers)
    every = [one.trajectory(model.signature) for one in new]
    arx = None
    refreshed: list[PredictiveModel[Any]] = []
    waiting = iter(more)
    for member in members_of(model):
        if isinstance(member, RFFPSRModel):
            refreshed.append(next(waiting).model)
        elif isinstance(member, LinearARXModel) and kept.arx is not None:
            sums = kept.arx.sums(1 - forget)
            added = sums_of(member, every)
            sums.regression.merge(added.regression)
            arx = KeptArx.of(replace(sums, squares=sums.squares + added.squares))
            refreshed.append(with_sums(member, sums, every))
        else:
            refreshed.append(member)
    progress("blend", 0.0)
    ticks = sum(map(len, every))
    in_all = (1 - forget) * kept.ticks + ticks
    told = _told(kept, len(new), ticks, forget)
    if isinstance(model, EnsembleModel):
        made: PredictiveModel[Any] = blended_anew(
            model, refreshed, mix, max(len(kept.stages), 1), settings
        )
    else:
        made = refreshed[0].replaced(bands=model.bands)
    everything = None
    if kept.everything is not None and isinstance(made, EnsembleModel):
        mixed = [one.trajectory(model.signature) for one in mix]
        again = LearnAgain(every, mixed, forget, kept.learned, _going_on(settings))
        folds = len(kept.stages)
        made, everything = again(served, kept.everything, made, folds, progress, workers)
    notes = (*(one for one in served.record.notes if not one.startswith(_MORE)), *damage, told)
    options = dict(model.record.options)
    made = made.replaced(record=TrainingRecord(options, made.record.metrics, notes))
    after = Kept(
        tuple(one.stages for one in more[: len(kept.stages)]),
        everything,
        arx,
        _sample(old, new, ticks / in_all),
        kept.learned + len(new),
        in_all,
    )
    return Learned(made, after)


def _judged(model: PredictiveModel[Any], kept: Kept) -> PredictiveModel[Any]:
    """Return the model that is judged on what its members have not learned from."""
    if kept.everything is None:
        return model
    return kept.everything.by_fold.replaced(signature=model.signature)  # with its channels


_MORE = "learned more from "


def _told(kept: Kept, count: int, ticks: int, forget: float) -> str:
    forgot = f", of which the older ones count {1 - forget:.3g} of before" if forget else ""
    return (
        f"{_MORE}{count} new recordings with {ticks} ticks, {kept.learned + count} in all{forgot};"
        " windows, features, ranks and ridges are as before"
    )


def _checked(
    model: PredictiveModel[Any],
    kept: Kept,
    recordings: Sequence[Trajectory],
    forget: float,
    settings: RecipeSettings,
) -> tuple[list[KeptRecording], tuple[str, ...]]:
    """Return new recordings, each with the model that will not learn from it."""
    if not 0 <= forget <= 1:
        raise InputError(f"forget is {forget:g}; it must be a share from 0 to 1")
    members = members_of(_judged(model, kept))
    own = [member for member in members if isinstance(member, RFFPSRModel)]
    if bool(own) != bool(kept.stages) or len(own) % max(len(kept.stages), 1):
        raise InputError("what is kept is that of another model; learn anew")
    if any(options_of(member).refinement == "window" for member in own):
        raise InputError(
            "learning cannot go on from the paper's refinement (learning.refinement: window), which"
            " takes one recording after the other; learn anew"
        )
    old = [one.trajectory(model.signature) for one in kept.recordings]
    loaded = [one.loaded() for one in recordings]
    _check_columns(model.signature, loaded)
    sound = screened(old, loaded, settings.damage)
    for sentence in sound.sentences:
        warnings.warn(sentence, DamageWarning, stacklevel=4)
    needed = max((_least_ticks(options_of(one)) for one in own), default=2)
    long = [one for one in sound.validation if _complete_windows(one, needed)]
    if not long:
        raise InputError(
            f"none of the new recordings has {needed} ticks in a row without a missing observation;"
            " record longer"
        )
    return [
        KeptRecording.of(run, _holder(kept.learned + number, len(kept.stages)))
        for number, run in enumerate(long)
    ], sound.sentences


def _least_ticks(options: RFFPSROptions) -> int:
    """Return the ticks of a window, and of a forecast that models are judged by."""
    return options.past + max(options.future, options.rollout_horizon) + 1


def _complete_windows(recording: Trajectory, ticks: int) -> int:
    """Return how many windows of so many ticks are complete."""
    return summarise([recording], ticks - 1, 0).windows if len(recording) >= ticks else 0


def _holder(number: int, models: int) -> int:
    """Return the model that will not learn from a recording, by its number among all."""
    if models > 1:
        return number % models
    return 0 if number % JUDGING == 0 else EVERYONE


def _learned_by_some(
    new: Sequence[KeptRecording], old: Sequence[KeptRecording], models: int
) -> Sequence[KeptRecording]:
    """Return new recordings of which a single model, where nothing else is left, holds none out."""
    if models > 1 or any(one.held_out_by == EVERYONE for one in (*old, *new)):
        return new
    return [one._replace(held_out_by=EVERYONE) for one in new]


def _check_columns(expected: Signature, recordings: Sequence[Trajectory]) -> None:
    """Refuse recordings of other columns, or of another period."""
    found = shared_signature(recordings)
    for what in ("observation", "action"):
        names, known = (getattr(one, f"{what}_names") for one in (found, expected))
        if names != known:
            raise InputError(
                f"the new recordings have {what}s {', '.join(names)}, but the model was trained on"
                f" {', '.join(known)}"
            )
    if abs(found.period - expected.period) > PERIOD_TOLERANCE * expected.period:
        raise InputError(
            f"the new recordings have a period of {found.period:g} s, but the model was trained on"
            f" {expected.period:g} s"
        )


def _remembered(recordings: Sequence[KeptRecording], forget: float) -> Sequence[KeptRecording]:
    """Return as many of the old recordings as still count."""
    if not forget:
        return recordings
    ticks = sum(len(one.actions) for one in recordings)
    return thinned(recordings, max(1, int((1 - forget) * ticks))) if forget < 1 else ()


def _going_on(settings: RecipeSettings) -> FitSettings:
    """Return the settings of a fit that goes on."""
    refinement = replace(
        settings.fit.refinement,
        iterations=settings.more_iterations,
        check_every=settings.more_check_every,
        patience=settings.more_check_every / settings.more_iterations,
    )
    return replace(settings.fit, refinement=refinement)


def _models(
    model: PredictiveModel[Any],
    kept: Kept,
    new: Sequence[KeptRecording],
    mix: Sequence[KeptRecording],
    forget: float,
    settings: RecipeSettings,
    progress: Progress,
    workers: Workers,
) -> list[MoreOf]:
    """Return the RFF-PSR models that have learned more."""
    own = [member for member in members_of(model) if isinstance(member, RFFPSRModel)]

    def runs(some: Sequence[KeptRecording], place: int, held: bool) -> list[Trajectory]:
        return [
            one.trajectory(model.signature) for one in some if (one.held_out_by == place) == held
        ]

    coming: list[Pending[MoreOf] | None] = []
    for number, member in enumerate(own):
        place = number % len(kept.stages)  # a family has a model on each fold
        learned_from = runs(mix, place, False)
        if not learned_from:  # all else is forgotten, and this is held out: it stays as it is
            coming.append(None)
            continue

        def told(
            stage: str, fraction: float, error: float | None = None, which: int = number + 1
        ) -> None:
            progress(f"model {which} of {len(own)}, {stage}", fraction, error)

        held_out = runs(mix, place, True) or runs(kept.recordings, place, True)
        task = LearnMore(
            member,
            kept.stages[place],
            runs(new, place, False),
            learned_from,
            held_out,
            forget,
            kept.learned,
            _going_on(settings),
        )
        coming.append(workers.submit(task, told))
    return [
        MoreOf(own[number], kept.stages[number % len(kept.stages)])
        if pending is None
        else pending.result()
        for number, pending in enumerate(coming)
    ]


def _sample(
    old: Sequence[KeptRecording], new: Sequence[KeptRecording], share: float
) -> tuple[KeptRecording, ...]:
    """Return the sample that is kept: of all ticks, new recordings have their ``share``."""
    if sum(len(one.actions) for one in (*old, *new)) <= KEPT_TICKS:
        return (*old, *new)
    for_new = max(int(share * KEPT_TICKS), 1)
    return (*thinned(old, KEPT_TICKS - for_new), *thinned(new, for_new))
