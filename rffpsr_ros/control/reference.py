"""What observations shall become: a constant, or a course that goes on tick by tick."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array


class Reference:
    """Follows the newest reference through the ticks.

    Row 0 of a course is for the first row of the next forecast, that after the tick under way; as
    ticks pass, rows that lie in the past are dropped, and beyond its end the last one holds.

    Parameters
    ----------
    names
        Of the observations (d_o).
    outside
        Returns which values (n, d_o) lie absurdly far outside of the trained range; None: none.
    """

    def __init__(
        self, names: Sequence[str], outside: Callable[[Array], Array | None] = lambda rows: None
    ) -> None:
        self._names, self._outside = names, outside
        self._rows: Array | None = None
        self._row = 0

    def take(self, rows: Array) -> None:
        """Take a reference (n, d_o) in place of the one before; one row is a constant.

        NaN stands where anything will do.

        Raises
        ------
        InputError
            If it does not fit, holds nothing to follow, or lies where no robot can be meant to go.
        """
        columns = len(self._names)
        if rows.ndim != 2 or rows.shape[1] != columns or not len(rows):
            raise InputError(
                f"a reference has shape {rows.shape}; it must be (ticks ahead, {columns}),"
                " one column per observation, NaN where anything will do"
            )
        if np.isinf(rows).any() or not np.isfinite(rows).any():
            raise InputError(
                "a reference must hold finite numbers, at least one, and NaN where anything will do"
            )
        absurd = self._outside(rows)
        if absurd is not None:
            row, column = np.argwhere(absurd)[0]
            raise InputError(
                f"a reference for '{self._names[column]}' is {rows[row, column]:.6g}, absurdly far"
                " outside of the trained range (rejection_threshold); it is not followed"
            )
        self._rows, self._row = rows, -1

    def forget(self) -> None:
        """Drop the reference."""
        self._rows = None

    @property
    def given(self) -> bool:
        """Whether there is one."""
        return self._rows is not None

    @property
    def ticks_since_end(self) -> int:
        """Ticks since its last row was due; of a constant, since it came."""
        return 0 if self._rows is None else max(0, self._row + 1 - len(self._rows))

    def advance(self) -> None:
        """Take note that a tick has closed."""
        self._row += 1

    def ahead(self, horizon: int) -> Array:
        """Return the next rows (horizon, d_o)."""
        assert self._rows is not None
        places = np.clip(self._row + np.arange(horizon), 0, len(self._rows) - 1)
        return np.asarray(self._rows[places])
