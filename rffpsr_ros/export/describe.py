"""Which kinds of models can be written in other languages, and their descriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rffpsr_ros.errors import InputError
from rffpsr_ros.export.kinds.combined import (
    describe_compressed,
    describe_ensemble,
    describe_low_passed,
)
from rffpsr_ros.export.kinds.linear import describe_arx, describe_kalman
from rffpsr_ros.export.kinds.rff_psr import describe_belief
from rffpsr_ros.export.kinds.simple import (
    describe_io_hmm,
    describe_last_observation,
    describe_mean,
)
from rffpsr_ros.export.kinds.state_space import describe_state_space
from rffpsr_ros.export.kinds.windows import describe_output_error, describe_rff_arx
from rffpsr_ros.export.program import Description, Program, program_of
from rffpsr_ros.models.contract import PredictiveModel

DESCRIBED: Mapping[str, Callable[[Any], Description]] = {
    "rff_psr": describe_belief,
    "hse_psr": describe_belief,
    "kalman": describe_kalman,
    "linear_arx": describe_arx,
    "rff_arx": describe_rff_arx,
    "output_error": describe_output_error,
    "state_space": describe_state_space,
    "io_hmm": describe_io_hmm,
    "mean": describe_mean,
    "last_observation": describe_last_observation,
    "ensemble": lambda model: describe_ensemble(model, description),
    "compressed": lambda model: describe_compressed(model, description),
    "moving_origin": lambda model: description(model.parts.inner),
    "low_passed": lambda model: describe_low_passed(model, description),
}
"""By the kind that a model file names."""


def description(model: PredictiveModel[Any]) -> Description:
    """Return what a model computes.

    Raises
    ------
    InputError
        If models of this kind, or with these settings, cannot be exported.
    """
    if model.kind not in DESCRIBED:
        known = ", ".join(sorted(DESCRIBED))
        raise InputError(
            f"models of kind '{model.kind}' cannot be exported; those that can: {known}"
        )
    return DESCRIBED[model.kind](model)


def described(model: PredictiveModel[Any]) -> Program:
    """Return the graphs of a model.

    Raises
    ------
    InputError
        As `description` does.
    """
    signature = model.signature
    columns = len(signature.observation_names), len(signature.action_names)
    return program_of(description(model), *columns)
