"""What a disk, another program or someone who means harm may make of a model file."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.audit.mutations import damaged
from rffpsr_ros.models import storage

Rng = np.random.Generator

TYPES = ("<f4", "<f2", "<f16", "<i8", "<i4", "<u1", "?", "<c16", ">f8", "<U3", "<M8[s]", "<u8")
NUMBERS = (np.nan, np.inf, -np.inf, 1e300, -1e300, 1.797e308, 1e39, 1e-320, 0.0, -1.0, 1e9)
WHOLE = (-1, -(2**62), 2**62, 10**9, 7, 0, 2**31)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 3, 60, 10**9, 2**63, 10**400, 1e300, -1e-9, 0.5),
    *("", "nan", "inf", "-inf", "x", "a\nb", "\ud800", "\u0000", "x" * 4000),
    *([], {}, [1], [[1]], ["x"], {"a": 1}, {"FeatureMap": {}}, {"inputs": "x"}, [None] * 3),
)


class Contents(NamedTuple):
    """A model file taken apart, to be changed and put together again."""

    header: Any
    arrays: dict[str, Any]


def contents_of(file: bytes) -> Contents:
    """Return header and arrays."""
    header, arrays = storage._parse(file)
    return Contents(header, dict(arrays))


def sealed(contents: Contents) -> bytes:
    """Return a model file whose checksum is that of what it holds, as far as there can be one."""
    header, arrays = contents
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header["checksum"] = storage._checksum(header, plain)
    return _zipped(header, {name: _npy(array) for name, array in arrays.items()})


def mutated(file: bytes, rng: Rng) -> tuple[str, bytes]:
    """Return what was done, and a file of it."""
    if rng.random() < 0.12:
        return _damaged_bytes(file, rng)
    contents = copy.deepcopy(contents_of(file))
    told = []
    for _ in range(1 + int(rng.integers(4) == 0)):
        change = _CHANGES[int(rng.integers(len(_CHANGES)))]
        told.append(f"{change.__name__.strip('_')} {change(contents, rng)}")
    return "; ".join(told), sealed(contents)


def _damaged_bytes(file: bytes, rng: Rng) -> tuple[str, bytes]:
    """Damage the file, or one member of it, which is then sealed where it can still be read."""
    if rng.random() < 0.3:
        return "damaged file", damaged(file, rng)
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = _chosen(members, rng)
    members[name] = damaged(members[name], rng)
    spoilt = _zip_of(members)
    try:
        header, arrays = storage._parse(spoilt)
        header["checksum"] = storage._checksum(header, arrays)
    except Exception:
        return f"damaged member {name}", spoilt
    members["header.json"] = json.dumps(header).encode()
    return f"damaged member {name}, sealed", _zip_of(members)


def _put(contents: Contents, name: str, array: Any, rng: Rng) -> str:
    """Put an array in; mostly the header tells it, too."""
    array = np.asarray(array)
    contents.arrays[name] = array
    if rng.random() < 0.9:
        for node, key, _ in _leaves(contents.header, ""):
            if _ == name:
                node[key] = f"{array.dtype.name} {array.shape}"
    return f"{name} {array.dtype} {array.shape}"


def _shape(contents: Contents, rng: Rng) -> str:
    name = _chosen(contents.arrays, rng)
    array = contents.arrays[name]
    axis = int(rng.integers(max(array.ndim, 1)))
    forms: list[Callable[[], Any]] = [
        array.ravel,
        lambda: array[None],
        lambda: array[..., None],
        lambda: array.reshape(-1)[:1].reshape(()) if array.size else array,
        array.T.copy,
    ]
    if array.ndim:
        size = array.shape[axis]
        forms += [
            lambda: np.delete(array, slice(0, 1), axis),
            lambda: np.concatenate([array, array], axis),
            lambda: np.repeat(array, 2, axis),
            lambda: np.take(array, np.zeros(0, int), axis),
            lambda: np.take(array, np.arange(size + 1) % max(size, 1), axis) if size else array,
            lambda: np.take(array, np.arange(60) % max(size, 1), axis) if size else array,
            lambda: array.reshape(array.shape[::-1]),
        ]
    return _put(contents, name, forms[int(rng.integers(len(forms)))](), rng)


def _type(contents: Contents, rng: Rng) -> str:
    name = _chosen(contents.arrays, rng)
    dtype = TYPES[int(rng.integers(len(TYPES)))]
    with np.errstate(all="ignore"):
        array = contents.arrays[name].astype("<i8" if dtype.startswith("<M8") else dtype)
    return _put(contents, name, array.view(dtype) if dtype.startswith("<M8") else array, rng)


def _values(contents: Contents, rng: Rng) -> str:
    name = _chosen(contents.arrays, rng)
    array = contents.arrays[name].copy()
    odd = (WHOLE if array.dtype.kind in "iu" else NUMBERS)[int(rng.integers(len(WHOLE)))]
    kind = int(rng.integers(5))
    with np.errstate(all="ignore"):
        if kind == 0 and array.size:
            array.reshape(-1)[int(rng.integers(array.size))] = odd
        elif kind == 1:
            array[...] = odd
        elif kind == 2 and array.ndim:
            array[..., :1] = odd
        elif kind == 3:
            array = -array
        else:
            array = (array * (10.0 ** rng.integers(-20, 20))).astype(array.dtype)
    return f"{_put(contents, name, array, rng)} {odd}"


def _names_of_arrays(contents: Contents, rng: Rng) -> str:
    name, other = _chosen(contents.arrays, rng), _chosen(contents.arrays, rng)
    arrays, kind = contents.arrays, int(rng.integers(4))
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name + "_"] = arrays.pop(name)
    elif kind == 2:
        arrays["further.x\ny"] = np.zeros(3)
    else:
        arrays[name], arrays[other] = arrays[other], arrays[name]
        _put(contents, name, arrays[name], rng)
        _put(contents, other, arrays[other], rng)
    return f"{name} {other} {kind}"


def _header(contents: Contents, rng: Rng) -> str:
    nodes = list(_leaves(contents.header, "")) + list(_branches(contents.header, ""))
    node, key, name = nodes[int(rng.integers(len(nodes)))]
    kind = int(rng.integers(6))
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(node, dict):
        node[f"{key}\n"] = node.pop(key)
    elif kind == 2:
        deep: Any = 1
        for _ in range(int(rng.integers(2, 400))):
            deep = [deep]
        node[key] = deep
    else:
        node[key] = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
        return f"{name} = {str(node[key])[:30]!r}"
    return f"{name} {kind}"


def _record(contents: Contents, rng: Rng) -> str:
    """Change what the record tells of errors, or the topics of the signature."""
    value = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
    groups = contents.header.get("record"), contents.header.get("signature")
    record, signature = (one if isinstance(one, dict) else {} for one in groups)
    kind = int(rng.integers(4))
    if kind == 0:
        record["metrics"] = value
    elif kind == 1 and isinstance(record.get("metrics"), dict):
        record["metrics"]["validation_mse_by_observation"] = value
    elif kind == 2:
        signature["channels"] = value
    elif isinstance(signature.get("channels"), dict):
        signature["channels"][("rate", "observation", "action", "max_gap")[rng.integers(4)]] = value
    return f"{kind} {str(value)[:30]!r}"


def _columns(contents: Contents, rng: Rng) -> str:
    """Let the signature tell more or fewer columns than the arrays have."""
    signature = contents.header.get("signature")
    if not isinstance(signature, dict):
        return "nothing"
    what = ("observation_names", "action_names")[int(rng.integers(2))]
    count = (0, 1, 2, 3, 4, 61)[int(rng.integers(6))]
    signature[what] = [f"c{number}" for number in range(count)]
    if rng.random() < 0.5:
        signature[what.replace("names", "units")] = []
    return f"{what} {count}"


def _sizes(contents: Contents, rng: Rng) -> str:
    """Change one of the whole numbers that say how long windows are."""
    whole = [
        one for one in _leaves(contents.header.get("parts"), "") if type(one[0][one[1]]) is int
    ]
    if not whole:
        return "nothing"
    node, key, name = whole[int(rng.integers(len(whole)))]
    node[key] = (node[key] + 1, node[key] - 1, 0, *WHOLE)[int(rng.integers(3 + len(WHOLE)))]
    return f"{name} = {node[key]}"


_CHANGES: tuple[Callable[[Contents, Rng], str], ...] = (
    *(_shape, _shape, _type, _values, _values, _names_of_arrays),
    *(_header, _header, _record, _columns, _sizes),
)


def _leaves(node: Any, name: str) -> Iterator[tuple[Any, Any, str]]:
    """Yield where each value of a header stands: what holds it, its key, its dotted name."""
    for key, value in _entries(node):
        # Names of classes are no part of the names of arrays.
        dotted = name if str(key)[:1].isupper() else f"{name}.{key}" if name else str(key)
        if isinstance(value, dict | list):
            yield from _leaves(value, dotted)
        else:
            yield node, key, dotted


def _branches(node: Any, name: str) -> Iterator[tuple[Any, Any, str]]:
    for key, value in _entries(node):
        if isinstance(value, dict | list):
            dotted = f"{name}.{key}" if name else str(key)
            yield node, key, dotted
            yield from _branches(value, dotted)


def _entries(node: Any) -> list[tuple[Any, Any]]:
    if isinstance(node, dict):
        return list(node.items())
    return list(enumerate(node)) if isinstance(node, list) else []


def _chosen(names: dict[str, Any], rng: Rng) -> str:
    ordered = sorted(names)
    return ordered[int(rng.integers(len(ordered)))] if ordered else ""


def _npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=True)
    return buffer.getvalue()


def _zipped(header: Any, members: dict[str, bytes]) -> bytes:
    text = json.dumps(header, sort_keys=True).encode()
    return _zip_of({"header.json": text, **{f"{name}.npy": one for name, one in members.items()}})


def _zip_of(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()
