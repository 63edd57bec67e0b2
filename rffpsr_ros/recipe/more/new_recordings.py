"""New recordings that learning goes on from, and which models learn from which."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from rffpsr_ros.data.screening import DamageWarning, screened
from rffpsr_ros.data.summary import summarise
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel, Signature
from rffpsr_ros.models.record_check import PERIOD_TOLERANCE
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.training_set import shared_signature
from rffpsr_ros.recipe.everything import options_of
from rffpsr_ros.recipe.more.kept import EVERYONE, Kept, KeptRecording, judged, members_of
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory

JUDGING = 5
"""Of a single model's new recordings every fifth is held out."""


def checked_recordings(
    model: PredictiveModel[Any],
    kept: Kept,
    recordings: Sequence[Trajectory],
    settings: RecipeSettings,
) -> tuple[list[KeptRecording], tuple[str, ...]]:
    """Return new recordings, each with the model that will not learn from it."""
    own = _refined(model, kept)
    if bool(own) != bool(kept.stages) or len(own) % max(len(kept.stages), 1):
        raise InputError("what is kept is that of another model; learn anew")
    if any(options_of(member).refinement == "window" for member in own):
        raise InputError(
            "learning cannot go on from the paper's refinement (learning.refinement: window), which"
            " takes one recording after the other; learn anew"
        )
    old = [one.trajectory(model.signature) for one in kept.recordings]
    sound = screened(old, recordings, settings.damage)
    for sentence in sound.sentences:
        warnings.warn(sentence, DamageWarning, stacklevel=4)
    needed = fewest_ticks(model, kept)
    long = [one for one in sound.validation if is_long_enough(one, needed)]
    if not long:
        raise InputError(
            f"none of the new recordings has {needed} ticks in a row without a missing observation;"
            " record longer"
        )
    return [
        KeptRecording.of(run, _holder(kept.learned + number, len(kept.stages)))
        for number, run in enumerate(long)
    ], sound.sentences


def check_columns(expected: Signature, recordings: Sequence[Trajectory]) -> None:
    """Refuse recordings of other columns, or of another period.

    Raises
    ------
    InputError
        In one sentence that names both.
    """
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


def _least_ticks(options: RFFPSROptions) -> int:
    """Return the ticks of a window, and of a forecast that models are judged by."""
    return options.past + max(options.future, options.rollout_horizon) + 1


def fewest_ticks(model: PredictiveModel[Any], kept: Kept) -> int:
    """Return how many ticks in a row a new recording must have to be learned from."""
    learning: Sequence[PredictiveModel[Any]] = _refined(model, kept) or [judged(model, kept)]
    return max(_least_ticks(options_of(one)) for one in learning)


def is_long_enough(recording: Trajectory, ticks: int) -> bool:
    """Return whether a recording has so many ticks in a row without a missing observation."""
    return len(recording) >= ticks and summarise([recording], ticks - 1, 0).windows > 0


def _refined(model: PredictiveModel[Any], kept: Kept) -> list[RFFPSRModel]:
    """Return the RFF-PSR models that learn from new recordings."""
    members = members_of(judged(model, kept))
    return [member for member in members if isinstance(member, RFFPSRModel)]


def _holder(number: int, models: int) -> int:
    """Return the model that will not learn from a recording, by its number among all.

    Where there is none the recording judges: what learns on is judged as it was before.
    """
    if models != 1:
        return number % max(models, 1)
    return 0 if number % JUDGING == 0 else EVERYONE


def learned_by_some(
    new: Sequence[KeptRecording], old: Sequence[KeptRecording], models: int
) -> Sequence[KeptRecording]:
    """Return new recordings of which a single model, where nothing else is left, holds none out."""
    if models != 1 or any(one.held_out_by == EVERYONE for one in (*old, *new)):
        return new
    return [one._replace(held_out_by=EVERYONE) for one in new]
