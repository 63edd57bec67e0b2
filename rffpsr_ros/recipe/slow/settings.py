"""When models see running means of the actions."""

from __future__ import annotations

from dataclasses import dataclass

from rffpsr_ros.models.option_checks import require_positive_numbers


@dataclass(frozen=True)
class RunningMeanSettings:
    """Which means are asked about, and what they must be worth.

    Raises
    ------
    InputError
        If a number is not greater than 0.
    """

    constants: tuple[int, ...] = (15, 30, 60, 120, 240)
    """Time constants, in ticks, of running means of actions that may explain forecasts' errors."""

    means: int = 4
    """Means that are tried together, at the most."""

    gain: float = 0.06
    """A mean explains at least this share of the squared errors, each in its deviation."""

    ticks: int = 4000
    """So many ticks of recordings have their errors explained, the first of each."""

    settled: int = 20
    """Of these, so many pass before the first error that counts."""

    memory: tuple[int, ...] = (3, 6, 12, 24)
    """Time constants, in ticks, of the means that are all of a fading memory of an action: between
    what short windows hold and what is slow."""

    most_memory: int = 8
    """With more such means in all none is tried: each is a column more in every window."""

    better_start: float = 0.8
    """Drawn features that see them must start with a score so many times the others' at the most:
    drives whose speed is seen without its sign .18, a titration .26, of 13 others all but one .89
    to 2.4."""

    def __post_init__(self) -> None:
        """Check that numbers are positive."""
        require_positive_numbers(self)
