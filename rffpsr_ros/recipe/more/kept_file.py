"""What is kept of a learning as a file beside the model's, without pickle, as model files are."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.models.codec import CodecError, decode, encode
from rffpsr_ros.models.contents_check import ContentsError, check_contents
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.registry import check_savable, model_class
from rffpsr_ros.models.storage import read_model_file, write_model_file
from rffpsr_ros.numerics.size_equations import SizesError
from rffpsr_ros.recipe.more.kept import Kept, Learned

FORM = "rffpsr_ros kept learning"
SUFFIX = ".kept"


def kept_path(model: str | Path) -> Path:
    """Return where what is kept of a model's learning lies: ``arm.psr.kept`` beside ``arm.psr``."""
    path = Path(model)
    return path.with_name(path.name + SUFFIX)


class KeptFile(NamedTuple):
    """What is kept of a model's learning, and the bags that it has learned from."""

    kept: Kept
    bags: tuple[str, ...]


def write_kept(path: str | Path, learned: Learned, bags: Sequence[str | Path]) -> None:
    """Write what is kept of a learning from bags; the file appears complete or not at all.

    Raises
    ------
    InputError
        If it cannot be written there, or something else is there.
    """
    encoded = encode(Kept, learned.kept, check_savable)
    header = {
        "kept": encoded.header,
        "of_model": fingerprint(learned.model),
        "bags": [str(bag) for bag in bags],
    }
    write_model_file(path, header, encoded.arrays, FORM)


def read_kept(path: str | Path, model: PredictiveModel[Any]) -> KeptFile:
    """Return what is kept of a model's learning.

    Raises
    ------
    InputError
        If there is no such file, it is damaged, or it is another model's.
    """
    if not Path(path).exists():
        raise InputError(
            f"there is no {shown(path, 200)} for learning to go on from; train with --keep"
        )
    file = read_model_file(path, FORM)
    if file.header.get("of_model") != fingerprint(model):
        raise InputError(
            f"{shown(path, 200)} is not what was kept of this very model; train it with --keep"
        )
    try:
        kept: Kept = decode(Kept, file.header.get("kept"), file.arrays, model_class)
        every = None if kept.everything is None else kept.everything.stages
        for place, stages in enumerate((*kept.stages, *((every,) if every else ()))):
            check_contents({"stages": type(stages)}, {"stages": stages}, f"kept.{place}")
        if any(not np.isfinite(one.actions).all() for one in kept.recordings):
            raise ContentsError("an action that is kept is not a number")
        bags = file.header.get("bags")
        if not isinstance(bags, list) or not all(isinstance(one, str) for one in bags):
            raise CodecError("'bags' are no texts")
    except (CodecError, ContentsError, SizesError) as fault:
        raise InputError(f"{shown(path, 200)} is damaged: {fault}") from None
    return KeptFile(kept, tuple(bags))


def fingerprint(model: PredictiveModel[Any]) -> str:
    """Return a digest of a model's parts; record, bands and channels are not in it."""
    digest = hashlib.sha256(model.kind.encode())
    encoded = encode(PredictiveModel, model, check_savable)
    for name, array in sorted(encoded.arrays.items()):
        if name.startswith("parts."):
            digest.update(f"\n{name} {array.shape}\n".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()[:32]
