"""Learning goes on: from new recordings and what is kept of the old ones.

What the recipe decided stays: windows, drawn features, ranks, ridges, and which models there are.
Both stages and the linear ARX take in every new tick, with the sums of all old ones. On a sample of
old recordings and the new ones learned features learn on, in the more steps the larger a share the
new ticks have of all, state spaces do, and refinement goes on from where it ended; weights and
bands are those of held-out parts, old and new (a single model's bands stay as they were). So it
costs what is new, and a sample that does not grow. Models of everything follow those on folds,
which judge (`more/everything.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rffpsr_ros.errors import InputError, counted
from rffpsr_ros.models.arx.model import LinearARXModel
from rffpsr_ros.models.arx.more import sums_of, with_sums
from rffpsr_ros.models.arx.regression import Sums
from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.low_passed.model import LowPassedModel
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace, simulation_error_of
from rffpsr_ros.models.state_space.model import StateSpaceModel
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.parallel.processes import workers_for
from rffpsr_ros.parallel.workers import Pending, Workers
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recipe.more.behind import behind_the_same, core_of
from rffpsr_ros.recipe.more.blend import blended_anew
from rffpsr_ros.recipe.more.everything import LearnAgain
from rffpsr_ros.recipe.more.kept import (
    KEPT_TICKS,
    Kept,
    KeptArx,
    KeptRecording,
    Learned,
    judged,
    members_of,
    thinned,
)
from rffpsr_ros.recipe.more.member import LearnMore, MoreOf
from rffpsr_ros.recipe.more.new_recordings import check_columns, checked_recordings, learned_by_some
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory


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
    if not 0 <= forget <= 1:
        raise InputError(f"forget is {forget:g}; it must be a share from 0 to 1")
    recordings = [one.loaded() for one in recordings]
    check_columns(model.signature, recordings)
    filters = model.parts.filters if isinstance(model, LowPassedModel) else None
    if filters is not None:
        recordings = [filters.trajectory(one) for one in recordings]
    core = core_of(model).replaced(record=model.record)
    new, damage = checked_recordings(core, kept, recordings, settings)
    with one_blas_thread(), workers_for(client, processes) as workers:
        more = _learned_more(core, kept, new, damage, forget, settings, report, workers)
    made = behind_the_same(more.model, model)
    return more._replace(model=made.replaced(signature=model.signature))


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
    new = learned_by_some(new, old, len(kept.stages))
    mix = [*old, *new]
    served, model = model, judged(model, kept)
    every = [one.trajectory(model.signature) for one in new]
    mixed = [one.trajectory(model.signature) for one in mix]
    ticks = sum(map(len, every))
    in_all = (1 - forget) * kept.ticks + ticks
    going_on = _going_on(settings, ticks / in_all)
    more = _models(model, kept, new, mix, forget, going_on, progress, workers)
    arx = None
    refreshed: list[PredictiveModel[Any]] = []
    waiting = iter(more)
    for member in members_of(model):
        if isinstance(member, RFFPSRModel):
            refreshed.append(next(waiting).model)
        elif isinstance(member, LinearARXModel) and kept.arx is not None:
            with_new, arx = _arx_more(member, kept.arx.sums(1 - forget), every)
            refreshed.append(with_new)
        elif isinstance(member, StateSpaceModel):
            refreshed.append(_led_on(member, mixed))
        else:
            refreshed.append(member)
    progress("blend", 0.0)
    chosen = chosen_with(served, kept)
    told = _told(kept, len(new), ticks, forget, in_all / chosen)
    if isinstance(model, EnsembleModel):
        made: PredictiveModel[Any] = blended_anew(
            model, refreshed, mix, max(len(kept.stages), 1), settings
        )
    else:
        made = refreshed[0].replaced(bands=model.bands)
    everything = None
    if kept.everything is not None and isinstance(made, EnsembleModel):
        again = LearnAgain(every, mixed, forget, kept.learned, going_on)
        folds = len(kept.stages)
        made, everything = again(served, kept.everything, made, folds, progress, workers)
    notes = (*(one for one in served.record.notes if not one.startswith(_MORE)), *damage, told)
    options, metrics = dict(model.record.options), {**made.record.metrics, _CHOSEN: chosen}
    made = made.replaced(record=TrainingRecord(options, metrics, notes))
    after = Kept(
        tuple(one.stages for one in more[: len(kept.stages)]),
        everything,
        arx,
        _sample(old, new, ticks / in_all),
        kept.learned + len(new),
        in_all,
    )
    return Learned(made, after)


def _arx_more(
    member: LinearARXModel, sums: Sums, new: Sequence[Trajectory]
) -> tuple[LinearARXModel, KeptArx]:
    """Return the linear ARX of old sums and new recordings, and what is kept of it."""
    added = sums_of(member, new)
    sums.regression.merge(added.regression)
    kept = KeptArx.of(replace(sums, squares=sums.squares + added.squares))
    return with_sums(member, sums, new), kept


def _led_on(member: StateSpaceModel, mix: Sequence[Trajectory]) -> StateSpaceModel:
    """Return a state space that has learned on; a linear one stays, and one that would err more."""
    learner = NonlinearStateSpace(**member.record.options)
    if not learner.stages:
        return member
    led = learner.led_on(member, mix)
    before, after = (simulation_error_of(one, mix) for one in (member, led))
    return led if after < before else member


OUTGROWN = 2.0
"""Times as much data as the recipe decided by are worth deciding anew."""

_MORE = "learned more from "
_CHOSEN = "chosen_with_ticks"


def chosen_with(model: PredictiveModel[Any], kept: Kept) -> float:
    """Return of how many ticks the recipe decided what stays when learning goes on."""
    return float(model.record.metrics.get(_CHOSEN, kept.ticks))


def _told(kept: Kept, count: int, ticks: int, forget: float, growth: float) -> str:
    forgot = f", of which the older ones count {1 - forget:.3g} of before" if forget else ""
    outgrown = (
        f"; there are {growth:.2g} times the data by now that they were chosen with, and learning"
        " anew from all may give a better model"
    )
    return (
        f"{_MORE}{counted(count, 'new recording')} with {ticks} ticks, {kept.learned + count} in"
        f" all{forgot}; windows, drawn features, ranks and ridges are as"
        f" before{outgrown * (growth >= OUTGROWN)}"
    )


def _remembered(recordings: Sequence[KeptRecording], forget: float) -> Sequence[KeptRecording]:
    """Return as many of the old recordings as still count."""
    if not forget:
        return recordings
    ticks = sum(len(one.actions) for one in recordings)
    return thinned(recordings, max(1, int((1 - forget) * ticks))) if forget < 1 else ()


def _going_on(settings: RecipeSettings, share: float) -> FitSettings:
    """Return the settings of a fit that goes on; of all ticks the new ones have such a share."""
    refinement = replace(
        settings.fit.refinement,
        iterations=settings.more_iterations,
        check_every=settings.more_check_every,
        patience=settings.more_check_every / settings.more_iterations,
    )
    features = settings.fit.features.in_one_descent(
        round(share * settings.more_feature_steps),
        settings.more_feature_penalty,
        settings.more_feature_patience,
    )
    return replace(settings.fit, refinement=refinement, features=features)


def _models(
    model: PredictiveModel[Any],
    kept: Kept,
    new: Sequence[KeptRecording],
    mix: Sequence[KeptRecording],
    forget: float,
    settings: FitSettings,
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
            settings,
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
