"""The formats that models are written in, and the files of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from rffpsr_ros.errors import InputError, plain
from rffpsr_ros.export.describe import described
from rffpsr_ros.export.program import Program
from rffpsr_ros.export.trial import check_program
from rffpsr_ros.models.contract import PredictiveModel, Signature

HORIZON = 10
"""Ticks of forecasts in formats whose functions are made for so many."""

WORDS = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "main",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
    ]
)
"""That mean something in C, and so can name nothing."""

Contents = Mapping[str, bytes | str]
"""Of files, by their names."""


class Format(NamedTuple):
    """A format: who writes it, as ``module:function``, and the packages that takes."""

    writer: str
    needs: tuple[str, ...] = ()


FORMATS: Mapping[str, Format] = {
    "c": Format("rffpsr_ros.export.c_language.sources:c_files"),
    "onnx": Format("rffpsr_ros.export.onnx_writer:onnx_files", ("onnx",)),
    "casadi": Format("rffpsr_ros.export.casadi_writer:casadi_files", ("casadi",)),
}


def exported(
    model: PredictiveModel[Any], kind: str, name: str = "model", horizon: int = HORIZON
) -> Contents:
    """Return the files of a model in a format, checked against the model.

    Parameters
    ----------
    model
        Any model whose kind can be exported; not its live form.
    kind
        One of `FORMATS`.
    name
        What files and functions are called: letters, digits and underscores.
    horizon
        Ticks of forecasts, where functions are made for so many.

    Raises
    ------
    InputError
        If the model cannot be exported, the name cannot name anything, or a package is missing.
    """
    if kind not in FORMATS:
        raise InputError(f"there is no format '{plain(kind)}'; formats are {', '.join(FORMATS)}")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,60}", name) or name in WORDS:
        raise InputError(
            f"'{plain(name)}' cannot name functions; give letters, digits and underscores, a letter"
            " first, and no word of C"
        )
    chosen = FORMATS[kind]
    missing = [package for package in chosen.needs if find_spec(package) is None]
    if missing:
        raise InputError(
            f"the format '{kind}' needs {' and '.join(missing)}; install it with"
            " pip install onnx casadi"
        )
    program = described(model)
    check_program(program, model)
    module, _, function = chosen.writer.partition(":")
    write: Callable[[Program, Signature, str, int], Contents]
    write = getattr(import_module(module), function)
    return write(program, model.signature, name, horizon)


def written(files: Contents, folder: Path) -> None:
    """Write files into a new folder.

    Raises
    ------
    OSError
        If that fails.
    """
    folder.mkdir()
    for name, content in files.items():
        data = content.encode("utf-8") if isinstance(content, str) else content
        (folder / name).write_bytes(data)
