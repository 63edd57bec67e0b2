"""How learning reports its progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with a stage's name, the fraction of it that is done, and how good the model is."""

    def __call__(self, stage: str, fraction: float, error: float | None = None) -> None:
        """Take note.

        ``error`` is the best validation error so far, in standard deviations of the observations
        (root mean square); None in stages that know none.
        """
        ...


def silent(stage: str, fraction: float, error: float | None = None) -> None:
    """Tell nobody; a `Progress` for where none is wanted."""
    del stage, fraction, error
