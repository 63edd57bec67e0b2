"""Several states of a model as one, whose arrays have a leading axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

StateT = TypeVar("StateT", bound=tuple[Any, ...])


@runtime_checkable
class CompactState(Protocol):
    """A state in a form for one sequence of ticks only."""

    @property
    def plain(self) -> tuple[Any, ...]:
        """The same state as the model's other methods know it."""
        ...


def stack_states(states: Sequence[StateT]) -> StateT:
    """Return a batch of states as one state whose arrays have a leading axis."""
    return _stacked(states)  # type: ignore[no-any-return]


def _stacked(parts: Sequence[Any]) -> Any:
    """Stack arrays; of tuples of arrays, their entries."""
    if isinstance(parts[0], np.ndarray):
        return np.stack(parts)
    plain = [getattr(part, "plain", part) for part in parts]  # compact states, or not
    first = plain[0]
    if not isinstance(first, tuple):
        return np.stack(plain)
    entries = [_stacked(entry) for entry in zip(*plain, strict=True)]
    return first._make(entries) if hasattr(first, "_make") else tuple(entries)


def with_state(batch: StateT, place: int, state: StateT) -> StateT:
    """Return a batch of states in which another one stands at a place."""
    return _put(batch, place, state)  # type: ignore[no-any-return]


def _put(parts: Any, place: int, part: Any) -> Any:
    """Return arrays, or tuples of such, with others at a place of their leading axis."""
    if isinstance(parts, np.ndarray):
        changed = parts.copy()
        changed[place] = part
        return changed
    plain = getattr(part, "plain", part)
    entries = [_put(many, place, one) for many, one in zip(parts, plain, strict=True)]
    return parts._make(entries) if hasattr(parts, "_make") else tuple(entries)


def state_at(batch: StateT, place: int) -> StateT:
    """Return the state at a place of a batch."""
    return _taken(batch, place)  # type: ignore[no-any-return]


def _taken(parts: Any, place: int) -> Any:
    """Return what stands at a place of arrays' leading axis, or of those of tuples."""
    if isinstance(parts, np.ndarray):
        return np.asarray(parts[place])
    entries = [_taken(part, place) for part in parts]
    return parts._make(entries) if hasattr(parts, "_make") else tuple(entries)
