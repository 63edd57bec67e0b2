"""Where a setting stands: who writes ``rank`` is told of ``learning.rank``."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from rffpsr_ros.errors import InputError, plain
from rffpsr_ros.models.registry import COMPONENTS, learner_class, offered_kinds
from rffpsr_ros.signals.channel import ACTION_KEYS, OBSERVATION_KEYS
from rffpsr_ros.signals.channels import TOP_KEYS

_SIDES = {"observation": OBSERVATION_KEYS, "action": ACTION_KEYS}
_DATASET = ("split", "policy")
_MISSPELT = 0.75
"""So much is alike of a group's name and a misspelt one."""


def check_place(key: str, content: Mapping[str, Any]) -> None:
    """Refuse a key that stands elsewhere in a configuration of this content.

    Raises
    ------
    InputError
        If there is nothing of that name where it is written, but elsewhere.
    """
    if _may_stand(key, content):
        return
    group, _, rest = key.partition(".")
    names = (_word(key), _word(rest), _last(key) if group != "learning" else "")
    places = _places(content)
    for name in names:  # state.rank is rather state_rank than rank
        meant = [place for place in places if name and _last(place) == name]
        if meant:
            meant = [place for place in meant if place.startswith(f"{group}.")] or meant
            listed = " or ".join(f"'{plain(place)}'" for place in meant[:3])
            raise InputError(f"unknown key '{plain(key)}'; did you mean {listed}?")


def _may_stand(key: str, content: Mapping[str, Any]) -> bool:
    """Return whether whoever reads the group of a key judges it best: it is known, or a channel."""
    group, _, rest = key.partition(".")
    if group in _SIDES:
        side = content[group]
        listed = side.get("inputs") if isinstance(side, Mapping) else None
        named = isinstance(listed, (list, str)) and rest in listed
        return "." in rest or not rest or rest == "inputs" or named
    if group not in TOP_KEYS:
        return bool(rest) and bool(get_close_matches(group, TOP_KEYS, n=1, cutoff=_MISSPELT))
    return group != "learning" or rest in _options()


def _places(content: Mapping[str, Any]) -> list[str]:
    """Return every key that a configuration may have, in full, by the channels that it has."""
    places = [key for key in TOP_KEYS if key not in ("learning", "dataset", *_SIDES)]
    places += [f"learning.{name}" for name in _options()]
    places += [f"dataset.{name}" for name in _DATASET]
    for side, keys in _SIDES.items():
        group = content.get(side)
        channels = group.items() if isinstance(group, Mapping) else ()
        names = [name for name, channel in channels if isinstance(channel, Mapping)]
        places += [f"{side}.inputs", *(f"{side}.{name}.{key}" for name in names for key in keys)]
    return places


def _options() -> tuple[str, ...]:
    """Return the options of all kinds of models."""
    names = (name for kind in offered_kinds() for name in learner_class(kind.name).configurable)
    return tuple(dict.fromkeys((*names, COMPONENTS)))


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _word(key: str) -> str:
    """Return a key as if its dots were part of a name: ``state.rank`` is ``state_rank``."""
    return key.replace(".", "_")
