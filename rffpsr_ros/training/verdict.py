"""The verdict on a model that was just learned, by whatever was held out from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from rffpsr_ros.evaluation.horizon_error import HorizonErrors
from rffpsr_ros.evaluation.verdict import ModelVerdict, Standing, paired_with_baseline, verdict
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.paired_errors import PairedErrors
from rffpsr_ros.recipe.held_out_gain import HELD_OUT

VERDICT = "verdict"
"""The entry of a training record's metrics with what was said: standing and sentences."""


def training_verdict(
    model: PredictiveModel[Any], validation: Mapping[str, HorizonErrors]
) -> ModelVerdict:
    """Return the verdict by the validation part, or by parts that were held out in turn.

    Both have steered choices: recordings that learning has not seen at all may be a little harder.

    Parameters
    ----------
    validation
        Errors on the validation part by kind of model, the new one's first; may be empty.
    """
    if validation:
        return verdict(
            paired_with_baseline(validation), "the validation part, which steered choices,"
        )
    told = model.record.metrics.get(HELD_OUT)
    paired = PairedErrors.from_json(told) if told else None
    return verdict(paired, "parts held out in turn, by which models were chosen and weighted,")


def remembered_verdict(said: ModelVerdict) -> dict[str, Any]:
    """Return what a model file keeps of a verdict, in JSON types."""
    return {"standing": said.standing, "sentences": list(said.sentences)}


def remembered_verdict_of(metrics: Mapping[str, Any]) -> ModelVerdict | None:
    """Return the verdict that a model file keeps, without figures; None if it keeps none."""
    kept = metrics.get(VERDICT)
    if not isinstance(kept, Mapping) or not isinstance(kept.get("sentences"), list):
        return None
    sentences = tuple(one for one in kept["sentences"] if isinstance(one, str))
    known: Sequence[Standing] = get_args(Standing)
    standing: Standing = next((one for one in known if one == kept.get("standing")), "unknown")
    return ModelVerdict(standing, sentences, None) if sentences else None
