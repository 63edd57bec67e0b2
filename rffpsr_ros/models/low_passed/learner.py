"""Learning a model that sees its actions low-passed, too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import Learner
from rffpsr_ros.models.in_memory import loaded
from rffpsr_ros.models.low_passed.filters import fit_filters
from rffpsr_ros.models.low_passed.model import LowPassedModel, behind_filters
from rffpsr_ros.models.training_set import listed, shared_signature
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory


class LowPassed:
    """Learner of a `LowPassedModel`: any learner, taught the actions and their running means.

    Recordings are held in memory.
    """

    def __init__(self, inner: Learner, ticks: Sequence[float], squares: bool = False) -> None:
        """Take the learner, time constants in ticks, and whether squares have means, too.

        Raises
        ------
        InputError
            If there is no time constant, or one is not greater than 0.
        """
        if not len(ticks) or min(ticks) <= 0:
            raise InputError(f"time constants are {list(ticks)!r}; each must be greater than 0")
        self.inner, self.ticks, self.squares = inner, tuple(ticks), squares

    def fit(
        self,
        train: Iterable[Trajectory],
        validation: Iterable[Trajectory] | None = None,
        *,
        progress: Progress | None = None,
        client: Any = None,
    ) -> LowPassedModel:
        """Return the model learned; ``progress`` and ``client`` are the inner learner's.

        Raises
        ------
        InputError
            If the inner learner cannot learn it.
        """
        train, validation = listed(train, validation)
        train, validation = loaded(train), loaded(validation or ())
        shared_signature(train, validation)
        filters = fit_filters([*train, *validation], self.ticks, self.squares)
        inner = self.inner.fit(
            [filters.trajectory(one) for one in train],
            [filters.trajectory(one) for one in validation] or None,
            progress=progress,
            client=client,
        )
        return behind_filters(inner, filters)
