"""From a model file to the model that was saved in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.models.codec import decode
from rffpsr_ros.models.record_check import check_errors, check_rate, check_texts
from rffpsr_ros.models.registry import model_class, model_kinds
from rffpsr_ros.models.storage import ModelFile, read_model_file
from rffpsr_ros.models.trial import check_serves

if TYPE_CHECKING:
    from rffpsr_ros.models.contract import PredictiveModel

_UNFIT = (
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RecursionError,
    MemoryError,
    np.linalg.LinAlgError,
)
"""What making a model of parts raises that do not fit together."""


class LoadedModel(NamedTuple):
    """A model, and the very contents of the file that it was made of."""

    model: PredictiveModel[Any]
    file: ModelFile

    @property
    def checksum(self) -> str:
        """Return the checksum of what was loaded."""
        return str(self.file.header["checksum"])


def load_model(path: str | Path) -> PredictiveModel[Any]:
    """Return the model that `PredictiveModel.save` wrote to ``path``, checked and tried.

    Raises
    ------
    InputError
        If the file is missing, is not a model file, is damaged, was written in another version of
        the format, is of an unknown kind, its parts do not fit that kind or each other, or the
        model does not forecast finite numbers in a trial.
    """
    return load(path).model


def load(path: str | Path) -> LoadedModel:
    """Return what `load_model` does, and the file's contents, which were read once.

    Raises
    ------
    InputError
        As `load_model` does.
    """
    file = read_model_file(path)
    kind = file.header.get("kind")
    if kind not in model_kinds():
        raise InputError(
            f"model file '{path}' is of unknown kind {shown(kind)}; known:"
            f" {', '.join(model_kinds())}"
        )
    try:
        with np.errstate(all="ignore"):
            model: PredictiveModel[Any] = decode(
                model_class(kind), file.model, file.arrays, model_class
            )
        check_errors(model.record.metrics)
        check_texts(file.model["signature"])
        check_rate(model.signature.period, model.signature.channels)
    except _UNFIT as fault:
        raise InputError(
            f"model file '{path}' does not hold a model of kind '{kind}'"
            f" ({_one_line(fault)}); train it again"
        ) from fault
    try:
        check_serves(model)
    except InputError as fault:
        raise InputError(f"model file '{path}' is refused: {fault}") from fault
    return LoadedModel(model, file)


def _one_line(fault: BaseException) -> str:
    """Return what was wrong as part of a sentence, whatever foreign text is in it."""
    text = " ".join(str(fault).split()) or type(fault).__name__
    printable = "".join(one if one.isprintable() else "?" for one in text)
    return printable if len(printable) <= 300 else printable[:297] + "..."
