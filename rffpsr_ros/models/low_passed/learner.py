"""Learning a model that sees its actions low-passed, too."""

from __future__ import annotations

from collections.abc import Sequence

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import Learner
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.low_passed.filters import fit_filters
from rffpsr_ros.models.low_passed.model import LowPassedModel, behind_filters
from rffpsr_ros.models.training_set import shared_signature
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory


class LowPassed(InMemoryLearner[LowPassedModel]):
    """Learner of a `LowPassedModel`: any learner, taught the actions and their running means."""

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

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> LowPassedModel:
        shared_signature(train, validation)
        filters = fit_filters([*train, *(validation or ())], self.ticks, self.squares)
        widened = [filters.trajectory(one) for one in train]
        chosen_by = None if validation is None else [filters.trajectory(one) for one in validation]
        return behind_filters(self.inner.fit(widened, chosen_by, progress=progress), filters)
