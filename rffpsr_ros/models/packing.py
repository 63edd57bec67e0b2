"""How an ensemble holds a member in one array, so that compiled code takes all of them together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rffpsr_ros.numerics.arrays import Array

if TYPE_CHECKING:
    from rffpsr_ros.psr.runtime.packed_ensemble import PackedMember

StateT = TypeVar("StateT", bound=tuple[Any, ...])


class Packing(ABC, Generic[StateT]):
    """What there is of a model in compiled code, and its states as numbers.

    Attributes
    ----------
    member
        As compiled code knows it.
    longest
        How many steps ahead compiled code forecasts; beyond, the model itself does.
    """

    member: PackedMember
    longest: int

    @abstractmethod
    def pack(self, state: StateT) -> Array | None:
        """Return a state's numbers; None for one that compiled code does not follow."""

    @abstractmethod
    def unpack(self, numbers: Array) -> StateT:
        """Return the state of numbers."""
