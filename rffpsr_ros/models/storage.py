"""The format of model files: a zip of named arrays and a JSON header, without pickle.

A model file is an npz: ``numpy.load`` opens it, and ``unzip -p model.psr header.json`` shows what
it holds. The same header and arrays always give the same bytes, so two files can be compared by
their digest. What header and arrays mean is for `codec` to say.
"""

from __future__ import annotations

import hashlib
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

from numpy.typing import NDArray

from rffpsr_ros import __version__
from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.numerics.npy_member import array_of_npy, npy_bytes

FORMAT = "rffpsr_ros model"
FORMAT_VERSION = 2

LARGEST_FILE = 128 * 2**20
"""Bytes; the models of long trainings on many columns have a tenth of it."""

LONGEST_NUMBER = 40
"""Digits of a whole number in a header; seeds have 128 bits at the most."""

_HEADER = "header.json"
_ARRAY_SUFFIX = ".npy"
_OF_THE_FILE = ("format", "format_version", "package_version", "checksum")
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
    """Format, versions and checksum, beside what `model` holds."""
    arrays: dict[str, NDArray[Any]]
    """The model's arrays, read-only."""

    @property
    def model(self) -> dict[str, Any]:
        """Return what the header tells of the model: kind, signature, record, parts, bands."""
        return {key: value for key, value in self.header.items() if key not in _OF_THE_FILE}


def write_model_file(
    path: str | Path,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    form: str = FORMAT,
) -> None:
    """Write what a model is made of to ``path``; the file appears complete or not at all.

    ``header`` are JSON types, and ``arrays`` in C order and little-endian. ``form`` is another one
    for what is kept beside a model.

    Raises
    ------
    InputError
        If the file cannot be written there, or something else than a model file is there.
    """
    refuse_to_replace_other_files(path, form)
    complete = {
        **header,
        "format": form,
        "format_version": FORMAT_VERSION,
        "package_version": __version__,
    }
    complete["checksum"] = _checksum(complete, arrays)
    with write_atomically(path) as file:
        _write_zip(file, complete, arrays)


def refuse_to_replace_other_files(path: str | Path, form: str = FORMAT) -> None:
    """Let a model be written only where there is nothing, or a model file of whatever version.

    Raises
    ------
    InputError
        If there is anything else.
    """
    target = Path(path)
    if not os.path.lexists(target):
        return
    try:
        with zipfile.ZipFile(target) as archive:
            header = json.loads(archive.read(_HEADER))
        if target.is_file() and header["format"] == form:
            return
    except (OSError, NotImplementedError, TypeError, *_DAMAGE):
        pass
    raise InputError(
        f"{shown(target, 200)} is there already and is not a {_named(form)}, so it is not replaced;"
        " remove it or choose another name"
    )


def _named(form: str) -> str:
    return "model file" if form == FORMAT else f"file of {form.removeprefix('rffpsr_ros ')}"


def read_model_file(path: str | Path, form: str = FORMAT) -> ModelFile:
    """Return header and arrays of a model file, checked but not made into a model.

    Raises
    ------
    InputError
        If the file is missing, is not a model file, is damaged, or was written in another version
        of the format.
    """
    content = _read_bytes(path)
    if not content.startswith(b"PK"):
        raise _no_such_file(path, form)
    try:
        header, arrays = _parse(content)
        checksum = _checksum(header, arrays)
    except _DAMAGE as fault:
        raise _damaged(path) from fault
    if header.get("format") != form:
        raise _no_such_file(path, form)
    version = header.get("format_version")
    if not isinstance(version, int) or not 0 <= version <= 10**6:
        raise _damaged(path)
    if version < FORMAT_VERSION:
        raise InputError(
            f"model file '{path}' has format version {version}, which is no"
            " longer read; train it again"
        )
    if version > FORMAT_VERSION:
        raise InputError(
            f"model file '{path}' has format version {version}, written by"
            f" rffpsr_ros {shown(header.get('package_version'))}; this version reads up to"
            f" {FORMAT_VERSION}, so update rffpsr_ros"
        )
    if header.get("checksum") != checksum:
        raise _damaged(path)
    return ModelFile(header, arrays)


def check_folder(target: Path) -> None:
    """Ask before hours of work whether a file can be written into its folder.

    Raises
    ------
    InputError
        If the folder is missing or closed to us.
    """
    folder = target.parent
    if not folder.is_dir():
        raise InputError(f"cannot write '{target}': there is no folder '{folder}'")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"cannot write '{target}': the folder '{folder}' is read-only")


def made_folder(folder: Path) -> Path:
    """Return a folder that is there now, with those above it.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise InputError(f"cannot make the folder '{folder}': {fault.strerror}") from None
    return folder


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
        members[name + _ARRAY_SUFFIX] = npy_bytes(array)
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
        # Members that overlap could be many times as large as the file.
        if sum(member.file_size for member in members.values()) > len(content):
            raise ValueError("members larger than the file")
        if _HEADER not in members:
            return {}, {}
        header = _parse_header(archive.read(_HEADER))
        arrays = {
            name.removesuffix(_ARRAY_SUFFIX): array_of_npy(archive.read(name))
            for name in members
            if name.endswith(_ARRAY_SUFFIX)
        }
    return header, arrays


def _parse_header(text: bytes) -> dict[str, Any]:
    """Return a header of plain JSON: no number that JSON lacks, no text that UTF-8 lacks."""
    header = json.loads(text, parse_float=_finite, parse_int=_whole, parse_constant=_finite)
    if not isinstance(header, dict):
        raise ValueError("the header is not a mapping")
    json.dumps(header, ensure_ascii=False).encode()
    return header


def _whole(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"the header has a number of {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the header has the number {text}")
    return number


def _checksum(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of the canonical header without checksum and of every array."""
    digest = hashlib.sha256()
    bare = {key: value for key, value in header.items() if key != "checksum"}
    digest.update(json.dumps(bare, sort_keys=True, separators=(",", ":")).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _read_bytes(path: str | Path) -> bytes:
    try:
        if _would_wait(Path(path)):
            raise InputError(f"model file '{path}' cannot be read: it is not a regular file")
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except FileNotFoundError as fault:
        raise InputError(f"model file '{path}' does not exist") from fault
    except OSError as fault:
        raise InputError(f"model file '{path}' cannot be read: {fault.strerror}") from fault
    if len(content) > LARGEST_FILE:
        raise InputError(
            f"model file '{path}' has more than {LARGEST_FILE >> 20} MiB, which no model takes;"
            " give a file that training wrote"
        )
    return content


def _would_wait(path: Path) -> bool:
    """Tell whether reading may wait for ever for somebody who writes, as with a named pipe."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _no_such_file(path: str | Path, form: str) -> InputError:
    return InputError(f"'{path}' is not a {_named(form)}; give a file that training wrote")


def _damaged(path: str | Path) -> InputError:
    return InputError(
        f"model file '{path}' is damaged (cut short or changed); copy it again or train again"
    )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
