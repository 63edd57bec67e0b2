"""The methods that are compared: a learner, its options, and where its source stands.

They are the kinds of models that the package has, and any `Method` of one's own that is given to
`benchmarks.compare.run`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rffpsr_ros.models.contract import Learner
from rffpsr_ros.models.registry import Kind, learner_class, offered_kinds


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


CHOOSES_BY_OWN_FOLDS = {"kalman", "n4sid", "rff_arx", "linear_arx"}
"""Kinds that learn from the validation part too; others stop by it, or hold out folds themselves
of whatever they are given."""


def _method(kind: Kind) -> Method:
    learner = learner_class(kind.name)
    seeded = "seed" in learner.configurable
    return Method(kind.title, learner, {}, seeded, kind.name in CHOOSES_BY_OWN_FOLDS)


METHODS: Mapping[str, Method] = {
    kind.title: _method(kind) for kind in offered_kinds() if not kind.discrete
}
"""Every kind of model that learns from what tasks are made of: numbers that take any value."""
