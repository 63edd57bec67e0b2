"""Features of windows in chunks, over which the two stages sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.data.windows import Windows, chunks_of
from rffpsr_ros.parallel.workers import SumT, merged

WindowsT = TypeVar("WindowsT")
SuppliedT = TypeVar("SuppliedT", covariant=True)


class FeatureSource(Protocol[SuppliedT]):
    """Features of windows in chunks, which can be summed over as often as needed."""

    @property
    def sample(self) -> Sequence[SuppliedT]:
        """Some chunks: all, or a sample that does not grow with the data."""
        ...

    def total(self, work: Callable[[SuppliedT], SumT]) -> SumT:
        """Return the sum of a function's results over all chunks, merged in their order."""
        ...


class FeaturesInMemory(Generic[WindowsT]):
    """Chunks of features that are in memory."""

    def __init__(self, chunks: Sequence[WindowsT]) -> None:
        self.sample = chunks

    def total(self, work: Callable[[WindowsT], SumT]) -> SumT:
        """Return the sum of a function's results over all chunks, merged in their order."""
        return merged(map(work, self.sample))


class FeaturesOfWindows(Generic[WindowsT]):
    """Features of the windows of a source, computed anew for every sum.

    Parameters
    ----------
    source
        The windows, and the workers that sum over them.
    features
        Turns windows into features; sent to the workers.
    sample
        A sample of the source's windows.
    """

    def __init__(
        self, source: WindowSource, features: Callable[[Windows], WindowsT], sample: Windows
    ) -> None:
        self._source, self._features, self._sampled = source, features, sample

    @cached_property
    def sample(self) -> Sequence[WindowsT]:
        """The features of the sampled windows."""
        return [self._features(chunk) for chunk in chunks_of(self._sampled)]

    def total(self, work: Callable[[WindowsT], SumT]) -> SumT:
        """Return the sum of a function's results over all chunks, merged in their order."""
        return self._source.total(_Featured(self._features, work))


@dataclass(frozen=True)
class _Featured(Generic[WindowsT, SumT]):
    """A function of a chunk's features as a function of its windows."""

    features: Callable[[Windows], WindowsT]
    work: Callable[[WindowsT], SumT]

    def __call__(self, windows: Windows) -> SumT:
        return self.work(self.features(windows))
