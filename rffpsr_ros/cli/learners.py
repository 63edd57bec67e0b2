"""The learner of each kind of model, made from a configuration's ``learning`` section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rffpsr_ros.errors import InputError, check_keys
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.compressed.learner import Compressed
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.models.hse_psr.learner import HSEPSR
from rffpsr_ros.models.io_hmm.learner import IOHMM
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.progress import Progress
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory

KINDS = (
    "rff_psr", "hse_psr", "io_hmm", "kalman", "n4sid", "rff_arx", "linear_arx",
    "last_observation", "mean",
)  # fmt: skip

HSEPSR_KEYS = (
    "past",
    "future",
    "bandwidth",
    "stage_one",
    "conditioning",
    "regularisation",
    "memory",
    "seed",
)

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "rff_psr": RFFPSROptions.names(),
    "hse_psr": HSEPSR_KEYS,
    "io_hmm": ("past", "future", "state_rank"),
    "kalman": ("past", "future", "order"),
    "n4sid": ("past", "future", "order"),
    "rff_arx": ("past", "future", "features", "bandwidth", "seed"),
    "linear_arx": ("past", "future"),
    "last_observation": (),
    "mean": (),
}
"""The keys under ``learning`` that each kind takes note of."""

COMPONENTS = "observation_components"
"""Learn so many principal components of the observations instead of these; for every kind."""


def learner_of(kind: str, learning: Mapping[str, Any], explicit: Sequence[str] = ()) -> Learner:
    """Return the learner of a kind, its options checked.

    One configuration serves all kinds: a key of another kind is left out here, unless it is
    among the ``explicit`` ones, which the user just wrote for this kind.

    Raises
    ------
    InputError
        If a key is unknown to every kind, an explicit one to this kind, or a value is wrong.
    """
    known = {name for names in OPTIONS.values() for name in names} | {COMPONENTS}
    check_keys(learning, sorted(known), "learning")
    for name in explicit:
        if name not in OPTIONS[kind] and name != COMPONENTS:
            taken = ", ".join(OPTIONS[kind]) or "none"
            raise InputError(f"a {kind} model has no option '{name}'; its options: {taken}")
    learner = _plain_learner(kind, learning)
    if learning.get(COMPONENTS) is None:
        return learner
    return Compressed(learner, learning[COMPONENTS], int(learning.get("seed", 0)))


def _plain_learner(kind: str, learning: Mapping[str, Any]) -> Learner:
    """Return the learner of the observations as they are."""
    options = {name: value for name, value in learning.items() if name in OPTIONS[kind]}
    if kind == "rff_psr":
        return RFFPSR(**options)
    if kind == "hse_psr":
        return HSEPSR(**options)
    if kind == "io_hmm":
        return IOHMM(**options)
    if kind == "kalman":
        return Kalman(**options)
    if kind == "n4sid":
        return N4SID(**options)
    if kind == "rff_arx":
        return RFFARX(**options)
    if kind == "linear_arx":
        RFFPSR(**options)  # the same options, checked by the same rules
        return LinearARX(**options)
    return LastObservation() if kind == "last_observation" else Mean()


def fit(
    learner: Learner,
    train: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None,
    progress: Progress,
    client: Any = None,
) -> PredictiveModel[Any]:
    """Return what the learner learns; those who can tell how far they are do.

    All but RFF-PSR hold the recordings in memory, and none of them makes use of a cluster.
    """
    if isinstance(learner, RFFPSR):
        learned: PredictiveModel[Any] = learner.fit(
            train, validation, progress=progress, client=client
        )
        return learned
    train = [trajectory.loaded() for trajectory in train]
    validation = validation and [trajectory.loaded() for trajectory in validation]
    if isinstance(learner, Compressed) and isinstance(learner.inner, RFFPSR):
        return learner.fit(train, validation, progress=progress)
    progress("learning", 0.0)
    return learner.fit(train, validation)
