"""From a model file to the model that was saved in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.codec import decode
from rffpsr_ros.models.registry import model_class, model_kinds
from rffpsr_ros.models.storage import read_model_file

if TYPE_CHECKING:
    from rffpsr_ros.models.contract import PredictiveModel

_UNFIT = (TypeError, ValueError, ArithmeticError, LookupError, RecursionError)
"""What making a model of parts raises that do not fit together."""


def load_model(path: str | Path) -> PredictiveModel[Any]:
    """Return the model that `PredictiveModel.save` wrote to ``path``.

    Raises
    ------
    InputError
        If the file is missing, is not a model file, is damaged, was written in another version of
        the format, is of an unknown kind, or its parts do not fit that kind.
    """
    file = read_model_file(path)
    kind = file.header.get("kind")
    if kind not in model_kinds():
        raise InputError(
            f"model file '{path}' is of unknown kind '{kind}'; known: {', '.join(model_kinds())}"
        )
    try:
        model: PredictiveModel[Any] = decode(
            model_class(kind), file.model, file.arrays, model_class
        )
    except _UNFIT as fault:
        raise InputError(
            f"model file '{path}' does not hold a model of kind '{kind}' ({fault}); train it again"
        ) from fault
    return model
