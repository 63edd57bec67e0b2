"""What learners have in common that hold all recordings in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.training_set import listed
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recordings.trajectory import Trajectory

ModelT = TypeVar("ModelT", bound=PredictiveModel[Any])


class InMemoryLearner(ABC, Generic[ModelT]):
    """A learner in one process; recordings that lie on disk are loaded first."""

    configurable: ClassVar[tuple[str, ...]] = ()
    """The options that a configuration's ``learning`` section may give, whose names mean the same
    in every kind that has them; others are for Python only."""

    def fit(
        self,
        train: Iterable[Trajectory],
        validation: Iterable[Trajectory] | None = None,
        *,
        progress: Progress | None = None,
        client: Any = None,
    ) -> ModelT:
        """Return the model learned from ``train``; ``validation`` only helps to choose.

        ``progress`` is called with each stage's name and the fraction of it that is done. No use
        is made of the ``client`` of a Dask cluster.

        Raises
        ------
        InputError
            If trajectories do not fit together, or there is too little to learn from; with one
            sentence that says what would be right.
        """
        report = progress or silent
        report("learning", 0.0)
        train, validation = listed(train, validation)
        return self._fit(loaded(train), None if validation is None else loaded(validation), report)

    @abstractmethod
    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> ModelT:
        """Return what `fit` does, of trajectories in memory."""


def loaded(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """Return the trajectories with their arrays in memory."""
    return [trajectory.loaded() for trajectory in trajectories]
