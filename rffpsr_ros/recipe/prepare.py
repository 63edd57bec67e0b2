"""What is done to recordings before anything is learned, for several models as for a single one.

They are checked and looked over once, windows are cut to the length that they support, frequent
gaps are filled, and for each model other parts are held out.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from operator import methodcaller
from typing import NamedTuple

from rffpsr_ros.data.folds import Fold, folds, with_every_column
from rffpsr_ros.data.gaps import fit_gap_filler, gaps_are_frequent
from rffpsr_ros.data.screening import DamageWarning, screened
from rffpsr_ros.data.summary import check_summary, summarise
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData, shortest_part, with_validation
from rffpsr_ros.models.training_set import shared_signature
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.window_lengths import shorter_windows, supported_windows
from rffpsr_ros.recordings.trajectory import Trajectory

_TOO_SHORT = (
    "validation recordings are too short to judge by, or lack an observation: they are learned from"
    " like the others"
)


class Variant(NamedTuple):
    """The same recordings and folds, with windows of another length."""

    options: RFFPSROptions
    folds: Sequence[TrainingData]


class Preparation(NamedTuple):
    """Recordings made ready, and what was decided on the way."""

    options: RFFPSROptions
    """With windows that the recordings support."""
    recordings: Sequence[Trajectory]
    """All that is learned from."""
    folds: Sequence[TrainingData]
    """What each model learns from, and what is held out; a single one where only one is learned."""
    notes: tuple[str, ...]
    shorter: tuple[Variant, ...] = ()
    """Of few data, shorter windows that are tried too."""

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Return windows of every length that is tried, the longest first."""
        return (Variant(self.options, self.folds), *self.shorter)

    def with_windows_of(self, past: int) -> Preparation:
        """Return the same with windows of so many ticks, or the next longer ones, and no choice."""
        long_enough = (one for one in reversed(self.variants) if one.options.past >= past)
        chosen = next(long_enough, self.variants[0])
        return self._replace(options=chosen.options, folds=chosen.folds, shorter=())


def prepare(
    train: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None,
    options: RFFPSROptions,
    settings: RecipeSettings,
    progress: Progress = silent,
    workers: Workers = THIS_PROCESS,
) -> Preparation:
    """Return the recordings made ready for several models, or for a single one.

    For several models all recordings are held out in turn, the validation ones too. Recordings too
    few or too short for that, or so long that it hardly matters, serve a single one.

    Raises
    ------
    InputError
        If trajectories do not fit together, a column is constant, or there are too few windows.
    """
    shared_signature(train, validation)
    progress("looking over the recordings", 0.0)
    sound = screened(train, validation, settings.damage, workers)
    for sentence in sound.sentences:
        warnings.warn(sentence, DamageWarning, stacklevel=3)
    prepared = prepare_sound(sound.train, sound.validation, options, settings, workers)
    return prepared._replace(notes=sound.sentences + prepared.notes)


def prepare_sound(
    train: Sequence[Trajectory],
    validation: Sequence[Trajectory],
    options: RFFPSROptions,
    settings: RecipeSettings,
    workers: Workers,
) -> Preparation:
    """Return recordings without damage made ready, see `prepare`.

    Raises
    ------
    InputError
        As `prepare` does.
    """
    together = [*train, *validation]
    count = _number_of_models(options, sum(map(len, together)), settings)
    if count > 1:
        several = _for_few_data if _are_few(together, settings) else _for_several_models
        prepared = several(together, count, options, settings, workers)
        if prepared.folds:
            return prepared
    return _for_single_model(train, validation, options, settings, workers)


def _number_of_models(options: RFFPSROptions, ticks: int, settings: RecipeSettings) -> int:
    """Return how many models are wanted of recordings of so many ticks."""
    if options.folds is not None:
        return options.folds
    return settings.folds if options.refinement == "rollout" and ticks <= settings.most_ticks else 1


def _for_several_models(
    together: Sequence[Trajectory],
    count: int,
    options: RFFPSROptions,
    settings: RecipeSettings,
    workers: Workers,
) -> Preparation:
    """Return recordings in memory and their folds; none where they cannot do without a part."""
    together = list(workers.map(methodcaller("loaded"), together))
    options, windows = supported_windows(options, together, settings)
    whole, gaps = _looked_over(together, (), options, settings)
    options = options.following(whole.summary.windows)
    parts = _parts(whole.train, count, options, settings, changing=True)
    return Preparation(options, whole.train, _checked(parts, options, settings), windows + gaps)


def _are_few(recordings: Sequence[Trajectory], settings: RecipeSettings) -> bool:
    """Return whether recordings are so short that long windows hardly fit into them."""
    ticks = sum(map(len, recordings))
    return settings.fewest_ticks <= ticks and settings.are_few(ticks)


def _for_few_data(
    together: Sequence[Trajectory],
    count: int,
    options: RFFPSROptions,
    settings: RecipeSettings,
    workers: Workers,
) -> Preparation:
    """Return recordings and folds for windows of several lengths; of fewer folds, if need be.

    Where windows are few, so are the directions that are kept of them.
    """
    together = list(workers.map(methodcaller("loaded"), together))
    longest, notes = supported_windows(options, together, settings)
    wanted = [longest, *shorter_windows(longest, options, settings)]
    whole, gaps = _looked_over(together, (), wanted[-1], settings)
    for number in dict.fromkeys((count, min(count, settings.few_folds))):
        parts = _parts(whole.train, number, wanted[-1], settings)
        variants = [found for one in wanted if (found := _variant(parts, one, settings))]
        if variants:
            (chosen, cut), *others = variants
            return Preparation(chosen, whole.train, cut, notes + gaps, tuple(others))
    return Preparation(longest, whole.train, (), notes + gaps)


def _variant(
    parts: Sequence[Fold], options: RFFPSROptions, settings: RecipeSettings
) -> Variant | None:
    """Return folds for such windows; None where there are none, or one of them has too few."""
    if not parts:
        return None
    past, future = options.past, options.future
    least = min(summarise(part.train, past, future).windows for part in parts)
    if options.rank == RFFPSROptions.rank:
        options = replace(options, rank=max(settings.least_rank, min(options.rank, least // 2 - 1)))
    options = options.following(least)
    checked = _checked(parts, options, settings)
    return Variant(options, checked) if checked else None


def _for_single_model(
    train: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None,
    options: RFFPSROptions,
    settings: RecipeSettings,
    workers: Workers,
) -> Preparation:
    """Return recordings with a validation part."""
    wanted, together = options, [*train, *(validation or ())]
    options, windows = supported_windows(options, train, settings)
    train, held_out, held = with_validation(train, validation, options)
    data, gaps = _looked_over(train, held_out, options, settings, workers, own=not validation)
    if validation and not summarise(data.held_out, options.past, options.future).windows:
        prepared = _for_single_model(together, None, wanted, settings, workers)
        return prepared._replace(notes=(*prepared.notes, _TOO_SHORT))
    data.check(options)
    longest = max(map(len, data.held_out))
    if options.horizon and not holds_forecast(longest, options, settings):
        raise InputError(
            f"horizon is {options.horizon} ticks, but what is held out to judge by has {longest} in"
            " a row at the most; record longer or lower horizon"
        )
    options = options.following(data.summary.windows)
    return Preparation(options, data.train, [data], windows + held + gaps)


def _looked_over(
    train: Sequence[Trajectory],
    held_out: Sequence[Trajectory],
    options: RFFPSROptions,
    settings: RecipeSettings,
    workers: Workers = THIS_PROCESS,
    own: bool = True,
) -> tuple[TrainingData, tuple[str, ...]]:
    """Return data with their columns checked and frequent gaps filled, and a note of the latter.

    Recordings whose gaps are filled are held in memory. What is held out is not ``own`` choice
    where the user named it.
    """
    past, future = options.past, options.future
    data = _summed(Fold([*train], [*held_out]), past, future, workers, own)
    train, held_out, summary = data.train, data.held_out, data.summary
    check_summary(summary, train[0], past, future, 0)
    if not gaps_are_frequent(train, summary, past, future, settings.gaps):
        return data, ()
    train, held_out = (
        list(workers.map(methodcaller("loaded"), part)) for part in (train, held_out)
    )
    fill = fit_gap_filler(train, settings.gaps)
    train, held_out = ([fill(trajectory) for trajectory in part] for part in (train, held_out))
    data = TrainingData(train, held_out, summarise(train, past, future))
    seen = float(summary.observations.count.mean()) / sum(map(len, train))
    return data, (fill.describe(1 - seen),)


def _parts(
    recordings: Sequence[Trajectory],
    count: int,
    options: RFFPSROptions,
    settings: RecipeSettings,
    changing: bool = False,
) -> Sequence[Fold]:
    """Return what each model learns from; nothing if recordings are too few, or too short.

    Folds are not ``changing`` where data are few: of a record that rings down each has to hold out
    parts like the rest, in turn.
    """
    shortest = shortest_part(options)
    rounds, block = settings.rounds, settings.block_ticks
    try:
        return folds(recordings, count, shortest, settings.whole_from, rounds, block, changing)
    except InputError:
        return []


def _checked(
    parts: Sequence[Fold], options: RFFPSROptions, settings: RecipeSettings
) -> list[TrainingData]:
    """Return the folds; none if one cannot be learned from, or not be judged by.

    A column may be constant in all that it learns from, an observation may be missing in all that
    is held out, there are too few windows, or nothing held out is long enough for a forecast.
    """
    past, future = options.past, options.future
    found = []
    try:
        for part in parts:
            data = _summed(part, past, future)
            data.check(options)
            held_out = summarise(data.held_out, past, future)
            if not (held_out.windows and held_out.observations.count.all()):
                return []
            if not any(holds_forecast(len(run), options, settings) for run in data.held_out):
                return []
            found.append(data)
    except InputError:
        return []
    return found


def _summed(
    part: Fold, past: int, future: int, workers: Workers = THIS_PROCESS, own: bool = True
) -> TrainingData:
    """Return a fold and what is known of it, in which every column that varies can be learned."""
    summary = summarise(part.train, past, future, workers)
    still = [one.still().any() for one in (summary.observations, summary.actions)]
    if own and any(still):
        part = with_every_column(part)
        summary = summarise(part.train, past, future, workers)
    return TrainingData(*part, summary)


def first_judged(ticks: int, past: int, settling: float) -> int:
    """Return the first origin that counts of so many ticks: models have settled by then."""
    return min(past, int(settling * ticks))


def holds_forecast(ticks: int, options: RFFPSROptions, settings: RecipeSettings) -> bool:
    """Return whether a recording of so many ticks is long enough for a forecast that counts."""
    first = first_judged(ticks, options.past, settings.settling)
    return ticks - first >= options.rollout_horizon
