"""What an instance of the framework supplies to the two stages for a chunk of windows.

Paper, "Model Definition": history h, psi^o and psi^a of Q_t, xi^o and xi^a of P_t.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from rffpsr_ros.numerics.arrays import Array


class FeaturePair(NamedTuple):
    """Features of N windows between which stage one learns an operator."""

    actions: Array  # (N, actions)
    outputs: Array  # (N, outputs)


class InstanceFeatures(Protocol):
    """What an instance supplies for a chunk of windows: all that the two stages ask of it."""

    @property
    def history(self) -> Array:
        """Features of the history (N, d_h)."""
        ...

    @property
    def state(self) -> FeaturePair:
        """The pair of the predictive state Q_t: the future."""
        ...

    @property
    def extended(self) -> tuple[FeaturePair, ...]:
        """The pairs of the parts of the extended state P_t."""
        ...

    @property
    def weights(self) -> Array | None:
        """What each window counts (N,); None: once."""
        ...
