"""How good a new model is on a validation part, beside the baselines."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.comparison import compare
from rffpsr_ros.evaluation.horizon_error import HorizonErrors
from rffpsr_ros.evaluation.verdict import BASELINES
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.models.registry import learner_of
from rffpsr_ros.progress import Progress
from rffpsr_ros.training.data_check import DataWarning
from rffpsr_ros.training.recordings import Split

VALIDATION, CROSS_VALIDATION = "validation", "cross_validation"
"""The entry of a training record's metrics with the errors and scores of candidates."""


def validation_errors(
    model: PredictiveModel[Any], kind: str, parts: Split, progress: Progress
) -> Mapping[str, HorizonErrors]:
    """Return errors on the validation part by kind of model, that of the new one first.

    There are none without a validation part, and none of a model that was chosen by
    cross-validation: it has learned from that part too.
    """
    if not parts.validation or CROSS_VALIDATION in model.record.metrics:
        return {}
    progress("validation", 0.0)
    compared: dict[str, PredictiveModel[Any] | Learner] = {kind: model}
    for name in reversed(BASELINES):  # the simplest first
        compared.setdefault(name, learner_of(name, {}))
    try:
        return compare(compared, parts.validation, parts.train, parts.validation).errors
    except InputError as problem:
        sentence = f"the validation part says little: {problem}"
        warnings.warn(sentence, DataWarning, stacklevel=3)
        return {}
