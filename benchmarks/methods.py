"""The methods that are compared: a learner, its options, and where its source stands.

A new method is an entry of `METHODS`, or a `Method` of one's own given to `benchmarks.compare.run`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.contract import Learner
from rffpsr_ros.models.hse_psr.learner import HSEPSR
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.recipe.learner import RFFPSR


@dataclass(frozen=True)
class Method:
    """A learner under a name.

    Attributes
    ----------
    name
        As tables and plots show it; the name of its file among the results.
    learner
        Makes the learner from ``options`` (and ``seed``, where ``seeded``).
    options
        JSON types only.
    seeded
        Whether the learner draws at random; if not, recorded data are learned from once.
    everything
        Learn from the validation part too, choosing by folds of one's own.
    module
        Where the learner's source begins; what it imports of this project is part of it.
    version
        For a method from elsewhere: name and version of what learns, in place of the source.
    """

    name: str
    learner: Callable[..., Learner]
    options: Mapping[str, Any] = field(default_factory=dict)
    seeded: bool = False
    everything: bool = False
    module: str = ""
    version: str = ""

    def make(self, seed: int) -> Learner:
        """Return the learner of one run."""
        return self.learner(**self.options, **({"seed": seed} if self.seeded else {}))

    @property
    def source(self) -> str:
        """Return the module in which the learner's source begins."""
        return self.module or self.learner.__module__


_ALL = (
    Method("RFFPSR()", RFFPSR, seeded=True),
    Method("HSE-PSR", HSEPSR, seeded=True),
    Method("N4SID", N4SID, everything=True),
    Method("Kalman (PSR)", Kalman, everything=True),
    Method("RFF-ARX", RFFARX, seeded=True, everything=True),
    Method("linear ARX", LinearARX, everything=True),
    Method("last observation", LastObservation),
    Method("mean", Mean),
)
METHODS: Mapping[str, Method] = {method.name: method for method in _ALL}
