"""How a model follows a robot: what node, command line and a log's replay agree on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rffpsr_ros.models.input_gate import REJECTION_THRESHOLD


@dataclass(frozen=True)
class FollowOptions:
    """How to follow.

    Attributes
    ----------
    horizon
        Ticks that forecasts look ahead.
    future_actions
        ``hold``, ``zero`` or ``topic`` (plans given to `Follower.take_plan`).
    publish_every
        A forecast after every so many ticks of a segment.
    start
        Where the first belief comes from: ``running`` (in mid-run, from the first ticks seen) or
        ``episode`` (at an episode's start, the learned initial belief).
    reset_on_time_jump
        Whether time going back begins an episode; else the belief is carried over.
    coverage
        The share of observations that the bands around forecasts shall cover.
    compiled
        Whether what has a compiled form runs compiled, where numba is installed.
    lead
        Ticks ahead at which the topics ``predicted`` and ``error`` look.
    rejection_threshold
        How many widths of its trained range an input may lie outside of it, see `InputGate`: one
        number for all columns, or one for each observation and then for each action.
    adapt
        Whether forecasts are corrected by what is learned of their errors, see `AdaptiveModel`.
    """

    horizon: int = 10
    future_actions: str = "hold"
    publish_every: int = 1
    start: str = "running"
    reset_on_time_jump: bool = True
    coverage: float = 0.9
    compiled: bool = True
    lead: int = 1
    rejection_threshold: tuple[float, ...] = (REJECTION_THRESHOLD,)
    adapt: bool = False

    def __post_init__(self) -> None:
        """Take any sequence of numbers for thresholds: JSON and ROS know no tuples."""
        object.__setattr__(self, "rejection_threshold", tuple(self.rejection_threshold))

    def to_mapping(self) -> dict[str, Any]:
        """Return the options as keywords; JSON types only."""
        return asdict(self)
