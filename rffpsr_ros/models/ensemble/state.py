"""The states of an ensemble: its members', each by itself or all in one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from rffpsr_ros.numerics.arrays import Array


class EnsembleState(NamedTuple):
    """The members' states, in their order."""

    members: tuple[Any, ...]


class Unpacks(Protocol):
    """What knows where each member's numbers stand."""

    def unpacked(self, state: PackedState) -> Sequence[Any]:
        """Return the members' own states."""
        ...


class PackedState(NamedTuple):
    """The members' states in one array, as one compiled call takes them; of one sequence of ticks.

    ``numbers`` holds each member's at its place, ``apart`` by member its own state while compiled
    code does not follow it, else None.
    """

    numbers: Array
    apart: tuple[Any, ...]
    by: Unpacks

    @property
    def members(self) -> tuple[Any, ...]:
        """The members' states, in their order."""
        return tuple(self.by.unpacked(self))

    @property
    def plain(self) -> EnsembleState:
        """The same state, the members' side by side."""
        return EnsembleState(self.members)


State: TypeAlias = EnsembleState | PackedState
