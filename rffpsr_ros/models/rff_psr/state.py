"""What an RFF-PSR believes of the robot, and remembers."""

from __future__ import annotations

from typing import Any, NamedTuple

from rffpsr_ros.numerics.arrays import Array


class RFFPSRState(NamedTuple):
    """The belief, and the recent past in standard units; a leading batch axis is allowed."""

    belief: Array  # q (p,)
    past: Array  # (past, d_a + d_o), newest last; stand-ins where observations were missing
    age: Any  # (), an array or a number: ticks since the episode's start
    calm: Any  # (): ticks since the belief was last rebuilt
    nis: Any  # (): running mean of squared innovations; 1 is as in training
    silent: Array  # (d_o,): for how many ticks nothing was seen of each observation
    events: Array  # (6,) counts, see `RFFPSRModel.events`
