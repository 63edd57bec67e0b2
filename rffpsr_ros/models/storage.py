"""Model files: a zip of named arrays and a JSON header, written atomically, read without pickle.

A model file is an npz: ``numpy.load`` opens it, and ``unzip -p model.psr header.json`` shows what
it holds. The same model always gives the same bytes, so two files can be compared by their digest.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import math
import os
import struct
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rffpsr_ros import __version__
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.bands import Bands
from rffpsr_ros.models.contract import PredictiveModel, Signature, TrainingRecord

FORMAT = "rffpsr_ros model"
FORMAT_VERSION = 1

KINDS: Mapping[str, str] = {
    "rff_psr": "rffpsr_ros.models.rff_psr.model:RFFPSRModel",
    "ensemble": "rffpsr_ros.models.ensemble.model:EnsembleModel",
    "compressed": "rffpsr_ros.models.compressed.model:CompressedModel",
    "hse_psr": "rffpsr_ros.models.hse_psr.learner:HSEPSRModel",
    "io_hmm": "rffpsr_ros.models.io_hmm.model:IOHMMModel",
    "kalman": "rffpsr_ros.models.kalman.model:KalmanModel",
    "output_error": "rffpsr_ros.models.output_error.model:OutputErrorModel",
    "rff_arx": "rffpsr_ros.models.rff_arx.model:RFFARXModel",
    "linear_arx": "rffpsr_ros.models.arx.model:LinearARXModel",
    "last_observation": "rffpsr_ros.models.baselines.last_observation:LastObservationModel",
    "mean": "rffpsr_ros.models.baselines.mean:MeanModel",
}
"""Where the class of each kind lives; imported only when a file of that kind is read."""

_HEADER = "header.json"
_ARRAY_SUFFIX = ".npy"
_BANDS = "prediction_bands_"
"""Before the names of the arrays of bands, which any kind of model may have."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_DAMAGE = (
    zipfile.BadZipFile,
    struct.error,
    ValueError,
    KeyError,
    EOFError,
    OverflowError,
    MemoryError,
    RuntimeError,
)
"""What reading a damaged zip, npy or JSON raises."""


class ModelFile(NamedTuple):
    """The checked contents of a model file."""

    header: dict[str, Any]
    """Format, versions, kind, signature, record, model (the class's own header), checksum."""
    arrays: dict[str, NDArray[Any]]
    """The model's arrays, read-only."""


def save_model(model: PredictiveModel[Any], path: str | Path) -> None:
    """Write ``model`` to ``path``; the file appears complete or not at all.

    Raises
    ------
    InputError
        If the file cannot be written there, or the model's kind is not one of `KINDS`.
    """
    if model.kind not in KINDS:
        raise InputError(f"models of kind '{model.kind}' cannot be saved; known: {_known_kinds()}")
    model_header, arrays = model.to_arrays()
    if model.bands is not None:
        arrays |= {_BANDS + name: array for name, array in model.bands._asdict().items()}
    stored = {name: _storable(array) for name, array in arrays.items()}
    header = _as_json(
        {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "package_version": __version__,
            "kind": model.kind,
            "signature": vars(model.signature),
            "record": vars(model.record),
            "model": model_header,
        }
    )
    header["checksum"] = _checksum(header, stored)
    with write_atomically(path) as file:
        _write_zip(file, header, stored)


def load_model(path: str | Path) -> PredictiveModel[Any]:
    """Return the model that `save_model` wrote to ``path``.

    Raises
    ------
    InputError
        If the file is missing, is not a model file, is damaged, was written by a newer version of
        the format, or is of an unknown kind.
    """
    file = read_model_file(path)
    header = file.header
    try:
        signature = _signature(header["signature"])
        record = _record(header["record"])
        arrays, bands = _without_bands(file.arrays)
        model = model_class(header["kind"]).from_arrays(signature, record, header["model"], arrays)
        model.bands = bands
        return model
    except (KeyError, TypeError, ValueError, IndexError) as fault:
        if isinstance(fault, InputError):
            raise
        raise InputError(
            f"model file '{path}' does not hold a model of kind '{header['kind']}' ({fault!r});"
            " train it again with this version"
        ) from fault


def read_model_file(path: str | Path) -> ModelFile:
    """Return header and arrays of a model file, checked but not made into a model.

    Raises
    ------
    InputError
        As `load_model`.
    """
    content = _read_bytes(path)
    if not content.startswith(b"PK"):
        raise InputError(f"'{path}' is not a model file; give a file that training wrote")
    try:
        header, arrays = _parse(content)
    except _DAMAGE as fault:
        raise _damaged(path) from fault
    if header.get("format") != FORMAT:
        raise InputError(f"'{path}' is not a model file; give a file that training wrote")
    if not isinstance(header.get("format_version"), int):
        raise _damaged(path)
    if header["format_version"] > FORMAT_VERSION:
        raise InputError(
            f"model file '{path}' has format version {header['format_version']}, written by"
            f" rffpsr_ros {header.get('package_version')}; this version reads up to"
            f" {FORMAT_VERSION}, so update rffpsr_ros"
        )
    if header.get("checksum") != _checksum(header, arrays):
        raise _damaged(path)
    if header.get("kind") not in KINDS:
        raise InputError(
            f"model file '{path}' is of unknown kind '{header.get('kind')}';"
            f" known: {_known_kinds()}"
        )
    return ModelFile(header, arrays)


@contextmanager
def write_atomically(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a binary file that replaces ``path`` when the block ends, and vanishes if it fails.

    Raises
    ------
    InputError
        If the folder is missing or cannot be written to.
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as fault:
        raise InputError(f"cannot write '{target}': {fault.strerror}") from fault
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError as fault:
        raise InputError(f"cannot write '{target}': {fault.strerror}") from fault
    finally:
        temporary.unlink(missing_ok=True)


def _write_zip(
    file: IO[bytes], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write members in one order, uncompressed and without times: same model, same bytes."""
    members = {_HEADER: json.dumps(header, indent=1, sort_keys=True).encode()}
    for name, array in sorted(arrays.items()):
        buffer = io.BytesIO()
        npy.write_array(buffer, array, version=(1, 0), allow_pickle=False)
        members[name + _ARRAY_SUFFIX] = buffer.getvalue()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name, _EPOCH)
            member.create_system = 3
            member.external_attr = 0o644 << 16
            archive.writestr(member, content)


def _parse(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays; raises one of `_DAMAGE` where the bytes are not in order."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {member.filename: member for member in archive.infolist()}
        if any(member.compress_type != zipfile.ZIP_STORED for member in members.values()):
            raise ValueError("compressed member")
        if _HEADER not in members:
            return {}, {}
        header = json.loads(archive.read(_HEADER))
        if not isinstance(header, dict):
            raise ValueError("the header is not a mapping")
        arrays: dict[str, NDArray[Any]] = {}
        for name in members:
            if name.endswith(_ARRAY_SUFFIX):
                array = npy.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
                array.setflags(write=False)
                arrays[name.removesuffix(_ARRAY_SUFFIX)] = array
    return header, arrays


def _checksum(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of the canonical header without checksum and of every array."""
    digest = hashlib.sha256()
    bare = {key: value for key, value in header.items() if key != "checksum"}
    digest.update(json.dumps(bare, sort_keys=True, separators=(",", ":")).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _storable(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in C order and little-endian, the one form that files hold."""
    plain = np.asarray(array, order="C")
    return plain.astype(plain.dtype.newbyteorder("<"), copy=False)


def _as_json(value: Any) -> Any:
    """Return ``value`` in JSON types; a number that is not finite, which JSON lacks, is null."""
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _as_json(value.tolist())
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _signature(fields: Mapping[str, Any]) -> Signature:
    return Signature(
        observation_names=tuple(fields["observation_names"]),
        action_names=tuple(fields["action_names"]),
        period=float(fields["period"]),
        channels=fields["channels"],
        observation_units=tuple(fields["observation_units"]),
        action_units=tuple(fields["action_units"]),
    )


def _record(fields: Mapping[str, Any]) -> TrainingRecord:
    return TrainingRecord(fields["options"], fields["metrics"], tuple(fields["notes"]))


def _without_bands(
    arrays: Mapping[str, NDArray[Any]],
) -> tuple[dict[str, NDArray[Any]], Bands | None]:
    """Return the model's own arrays, and its bands if it has any."""
    own = {name: array for name, array in arrays.items() if not name.startswith(_BANDS)}
    if len(own) == len(arrays):
        return own, None
    return own, Bands(*(arrays[_BANDS + name] for name in Bands._fields))


def model_class(kind: str) -> type[PredictiveModel[Any]]:
    """Return the class of a kind of models, imported now."""
    module, _, name = KINDS[kind].partition(":")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


def _read_bytes(path: str | Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as fault:
        raise InputError(f"model file '{path}' does not exist") from fault
    except OSError as fault:
        raise InputError(f"model file '{path}' cannot be read: {fault.strerror}") from fault


def _damaged(path: str | Path) -> InputError:
    return InputError(
        f"model file '{path}' is damaged (cut short or changed); copy it again or train again"
    )


def _known_kinds() -> str:
    return ", ".join(sorted(KINDS))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
