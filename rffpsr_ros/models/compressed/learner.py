"""`Compressed`: learns the components of the observations, and any model of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rffpsr_ros.data.principal_directions import principal_directions
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.compressed.model import CompressedModel, CompressedParts, Projection
from rffpsr_ros.models.contract import Learner
from rffpsr_ros.models.in_memory import loaded
from rffpsr_ros.models.training_set import listed, training_signature
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recordings.trajectory import Trajectory

CHUNK = 1024
"""Rows of observations that are processed at once."""


class Compressed:
    """Learner of a `CompressedModel`: any learner, taught the observations' components.

    Recordings are held in memory.
    """

    def __init__(self, inner: Learner, components: int, seed: int = 0) -> None:
        """Take the learner of the components, their number, and the seed of the projection.

        Raises
        ------
        InputError
            If the number of components is not a whole number of at least 1.
        """
        if isinstance(components, bool) or not isinstance(components, int) or components < 1:
            raise InputError(
                f"option 'observation_components' is {components!r}; it must be a whole number of"
                " at least 1"
            )
        self.inner, self.components, self.seed = inner, components, seed

    def fit(
        self,
        train: Iterable[Trajectory],
        validation: Iterable[Trajectory] | None = None,
        *,
        progress: Progress | None = None,
        client: Any = None,
    ) -> CompressedModel:
        """Return the model learned; ``progress`` and ``client`` are the inner learner's.

        Raises
        ------
        InputError
            If the components cannot be had, or the inner learner cannot learn them.
        """
        report = progress or silent
        report("principal components", 0.0)
        train, validation = listed(train, validation)
        train, validation = loaded(train), loaded(validation or ())
        signature = training_signature(train, validation)
        projection = fit_projection(train, self.components, self.seed)
        inner = self.inner.fit(
            [projection.trajectory(t) for t in train],
            [projection.trajectory(t) for t in validation] or None,
            progress=report,
            client=client,
        )
        return CompressedModel(signature, inner.record, CompressedParts(inner, projection))


def fit_projection(trajectories: Sequence[Trajectory], components: int, seed: int) -> Projection:
    """Return the leading principal components of all complete rows of observations.

    Raises
    ------
    InputError
        If there are more components than observations, or no complete row.
    """
    size = trajectories[0].observations.shape[1]
    if not 1 <= components <= size:
        raise InputError(
            f"option 'observation_components' is {components}; with {size} observations it must"
            f" be from 1 to {size}"
        )
    rows = [t.observations[~np.isnan(t.observations).any(axis=1)] for t in trajectories]
    count = sum(map(len, rows))
    if not count:
        raise InputError("no tick has all observations; components need complete ticks")
    mean = sum(part.sum(axis=0) for part in rows) / count

    def centred() -> Any:
        for part in rows:
            for start in range(0, len(part), CHUNK):
                yield part[start : start + CHUNK] - mean

    generator = np.random.default_rng(seed)
    return Projection(
        np.asarray(mean), principal_directions(centred, size, components, 0.0, generator)
    )
