"""Whether models see a fading memory of the actions: where drawn features start better with it.

Whatever a stable robot is like, it forgets what was done long ago, and a bank of running means,
from fast to slow, holds what it has not forgotten yet (Boyd and Chua 1985, "Fading memory and the
problem of approximating nonlinear operators with Volterra series"; Wahlberg 1991, on banks of such
filters). Of a state that observations do not show it tells more than windows do: which way a wheel
turns of which only the speed is measured. A residual test misses that, as the errors of who does
not know the sign are as often one way as the other. To regress drawn features costs little, and
they tell.
"""

from __future__ import annotations

from collections.abc import Sequence

from rffpsr_ros.models.low_passed.filters import LowPassFilters, fit_filters
from rffpsr_ros.recipe.slow.settings import RunningMeanSettings
from rffpsr_ros.recordings.trajectory import Trajectory


def fading_memory(
    recordings: Sequence[Trajectory], settings: RunningMeanSettings
) -> LowPassFilters | None:
    """Return the filters of all actions; None if these are too many."""
    filters = fit_filters(recordings, settings.memory, squares=False)
    return filters if len(filters.ticks) <= settings.most_memory else None
