"""`train`: from bags and a configuration to a model that can be saved and run live."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.data.screening import DamageWarning, screened
from rffpsr_ros.data.subsample import subsample
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import HorizonErrors
from rffpsr_ros.evaluation.report import errors_as_json
from rffpsr_ros.exploration.findings import both_sides
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.models.registry import DEFAULT, kinds, learner_of, offered_kinds
from rffpsr_ros.parallel.cluster import workers_of
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recipe.learner import RFFPSR, check_can_be_kept
from rffpsr_ros.recipe.more.kept import Kept
from rffpsr_ros.recipe.more.kept_file import kept_path, read_kept
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.training.bands import BANDS, measure_bands
from rffpsr_ros.training.configuration import (
    Configuration,
    asked_split,
    channel_configuration,
    check_dataset,
)
from rffpsr_ros.training.data_check import DataWarning, data_warnings
from rffpsr_ros.training.recordings import (
    BagPaths,
    BagRecordings,
    Fractions,
    ReadingOptions,
    Split,
    check_apart,
    split_recordings,
    store_recordings,
)
from rffpsr_ros.training.request import REQUEST, model_of_same_training, request_of
from rffpsr_ros.training.signing import signed
from rffpsr_ros.training.validation import VALIDATION, validation_errors
from rffpsr_ros.training.verdict import VERDICT, remembered_verdict, training_verdict


class TrainingPlan(NamedTuple):
    """What will be trained on, reported before training begins.

    ``warnings`` has a sentence for each damaged recording (these stand in ``damage`` alone too) and
    for each thing that the recordings lack.
    """

    learner: Learner
    recordings: BagRecordings
    parts: Split
    warnings: tuple[str, ...]
    damage: tuple[str, ...] = ()


class Trained(NamedTuple):
    """A model ready to be saved and run, and what its user may want to know of it.

    Attributes
    ----------
    model
        With channels, types and units, bands, and the request it was made by.
    recordings
        The bags' trajectories, and the report of their reading.
    parts
        What was learned from, chosen by, and left out; of the first two without what is damaged.
    warnings
        A sentence for each damaged recording, and for each thing that the recordings lack.
    validation
        Errors on the validation part by kind of model, the baselines' beside the new one's.
    resumed
        Whether the model was there already, made by this very training.
    kept
        What is kept for learning to go on, where that was asked for.
    """

    model: PredictiveModel[Any]
    recordings: BagRecordings
    parts: Split
    warnings: tuple[str, ...]
    validation: Mapping[str, HorizonErrors]
    resumed: bool = False
    kept: Kept | None = None


def train(
    bags: BagPaths,
    configuration: Configuration,
    *,
    kind: str = DEFAULT,
    learning: Mapping[str, Any] | None = None,
    validation: BagPaths = (),
    split: Fractions | None = None,
    reading: ReadingOptions | None = None,
    bands: str = BANDS[0],
    check: bool = True,
    resume: str | Path | None = None,
    keep: bool = False,
    progress: Progress = silent,
    before_learning: Callable[[TrainingPlan], None] | None = None,
    client: Any = None,
) -> Trained:
    """Read bags, check what they can teach, learn, and measure bands and validation errors.

    Parameters
    ----------
    bags
        Bags, folders of bags or patterns; one or several.
    configuration
        Channels, options and choice of data: a YAML file, its content, or a
        `ChannelConfiguration`.
    kind
        Of the model, as ``rffpsr train --model`` takes it.
    learning
        Options on top of the configuration's section ``learning``; the kind must have them all.
    validation
        Bags that steer choices and are not trained on.
    split
        Shares of training, validation and test part instead of validation bags; the test part is
        left out. Default: the configuration's ``dataset.split``, if it has one.
    reading
        What bags do not say themselves, see `ReadingOptions`.
    bands
        One of `BANDS`.
    check
        Whether to check first if the recordings can teach a model.
    resume
        A model file: if this very training made it, it is loaded and nothing is learned, unless
        ``keep`` is asked for and nothing was kept beside it.
    keep
        Whether to keep what learning can go on from, see `train_more`.
    progress
        Called with each stage, the fraction of it that is done, and the error by then.
    before_learning
        Called once all is read and checked; by default what the recordings lack becomes a
        `DataWarning`.
    client
        Of a Dask cluster, which then does what grows with the data.

    Raises
    ------
    InputError
        If the configuration or an option is wrong, a bag cannot be read, the recordings do not
        give a model, or ``resume`` names the file of another training.
    """
    _check_words(kind, bands)
    channels = _checked(configuration, learning or {})
    learner = learner_of(kind, channels.learning, tuple(learning or ()))
    if keep:
        _check_can_be_kept(learner)
    fractions = _fractions(split, validation, channels.dataset)
    check_apart(bags, validation)
    workers = workers_of(client)
    read = partial(
        store_recordings,
        configuration=channels,
        reading=reading,
        progress=progress,
        workers=workers,
    )
    recordings = read(bags)
    if fractions is None:
        held_out = read(validation, stage="reading validation bags") if validation else None
        parts = Split(recordings.trajectories, held_out.trajectories if held_out else [], [])
    else:
        parts = split_recordings(recordings.trajectories, fractions)
    request = request_of(kind, learner, parts, workers)
    if resume is not None and Path(resume).exists():
        model = model_of_same_training(Path(resume), request)
        kept = _kept_beside(resume, model) if keep else None
        if kept is not None or not keep:
            return Trained(model, recordings, parts, (), {}, resumed=True, kept=kept)
    sound = screened(parts.train, parts.validation, workers=workers)
    parts = Split(list(sound.train), list(sound.validation), parts.test)
    # Checks, validation errors and bands read recordings again and again: a subsample will do.
    generator = np.random.default_rng(0)
    known = Split(*(subsample(part, generator, workers) for part in parts))
    lacks: tuple[str, ...] = ()
    if check and kinds()[kind].uses_actions:
        progress("checking the data", 0.0)
        lacks = tuple(map(both_sides, channels.on_both_sides))
        lacks += data_warnings(known.train, channels.learning, recordings.action_units)
    lacks = sound.sentences + lacks
    plan = TrainingPlan(learner, recordings, parts, lacks, sound.sentences)
    (before_learning or _warn)(plan)
    model, kept = _learned(learner, parts, keep, progress, client)
    errors = validation_errors(model, kind, known, progress)
    model = measure_bands(model, learner, [*known.train, *known.validation], progress, bands)
    model = signed(model, channels, recordings.report.bags[0])
    model = _remembering(model, request, errors, sound.sentences)
    return Trained(model, recordings, parts, lacks, errors, kept=kept)


def _kept_beside(path: str | Path, model: PredictiveModel[Any]) -> Kept | None:
    """Return what was kept of a model's learning; None if nothing of use lies beside it."""
    try:
        return read_kept(kept_path(path), model).kept
    except InputError:
        return None


def _learned(
    learner: Learner, parts: Split, keep: bool, progress: Progress, client: Any
) -> tuple[PredictiveModel[Any], Kept | None]:
    """Return the model, and what is kept of its learning, if that is wanted."""
    train, validation = parts.train, parts.validation or None
    if keep and isinstance(learner, RFFPSR):
        return learner.fit_and_keep(train, validation, progress=progress, client=client)
    return learner.fit(train, validation, progress=progress, client=client), None


def _check_can_be_kept(learner: Learner) -> None:
    """Refuse learners whose models cannot be learned on later."""
    if not isinstance(learner, RFFPSR):
        raise InputError(f"only models of kind {DEFAULT}, of all columns, can be learned on later")
    check_can_be_kept((), learner.options)


def _check_words(kind: str, bands: str) -> None:
    offered = [one.name for one in offered_kinds()]
    for name, word, known in (("kind", kind, offered), ("bands", bands, BANDS)):
        if word not in known:
            raise InputError(f"{name} is {word!r}; it must be one of {', '.join(known)}")


def _checked(configuration: Configuration, learning: Mapping[str, Any]) -> ChannelConfiguration:
    """Return the configuration with options on top, its choice of data checked."""
    channels = channel_configuration(configuration)
    check_dataset(channels)
    return replace(channels, learning={**channels.learning, **learning})


def _fractions(
    split: Fractions | None, validation: BagPaths, dataset: Mapping[str, Any]
) -> tuple[float, ...] | None:
    """Return the shares of the parts that are asked for, checked; None if none are."""
    if validation and split is not None:
        raise InputError("split names a validation part and so does validation; give one")
    return None if validation else asked_split(split, dataset)


def _warn(plan: TrainingPlan) -> None:
    for sentence in plan.warnings:
        category = DamageWarning if sentence in plan.damage else DataWarning
        warnings.warn(sentence, category, stacklevel=3)


def _remembering(
    model: PredictiveModel[Any],
    request: Mapping[str, Any],
    errors: Mapping[str, HorizonErrors],
    damage: tuple[str, ...],
) -> PredictiveModel[Any]:
    """Return the model with what was asked for, what of it was damaged, and how it did."""
    options = {**model.record.options, REQUEST: request}
    said = remembered_verdict(training_verdict(model, errors))
    metrics = {**model.record.metrics, VERDICT: said}
    if errors:
        metrics[VALIDATION] = {name: errors_as_json(one) for name, one in errors.items()}
    notes = damage + tuple(model.record.notes)
    record = replace(model.record, options=options, metrics=metrics, notes=notes)
    return model.replaced(record=record)
