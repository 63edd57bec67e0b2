"""`HSEPSR`: learns the predictive state representation by Gram matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.errors import counted
from rffpsr_ros.models.hse_psr.model import HSEPSRModel
from rffpsr_ros.models.option_checks import require
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import Refinement, RFFPSROptions
from rffpsr_ros.psr.feature_set import FeatureOptions, FittedFeatures
from rffpsr_ros.psr.gram_features import fit_gram_features


@dataclass(frozen=True)
class HSEPSROptions(RFFPSROptions):
    """Options of `HSEPSR`: those of `RFFPSR` with the model's own values, and the memory.

    Attributes
    ----------
    rank
        Directions of the kernel that are kept, at most; a direction needs two windows, so fewer
        windows leave fewer.
    memory
        GB that learning may take; more windows than fit are refused.
    """

    features: int = 1  # no random frequencies: the kernel itself
    rank: int = 30
    tolerance: float = 1e-3
    refinement: Refinement = "none"
    arx_past: int = 0
    narx_past: int = 0
    narx_features: int = 0
    state_rank: int = 20
    margin: float = 0.1  # the state is all there is, and learned nothing of what lies further out
    memory: float = 2.0

    def __post_init__(self) -> None:
        """Check every option."""
        super().__post_init__()
        require("memory", self.memory, lambda v: v > 0, "greater than 0")


class HSEPSR(SingleRFFPSR):
    """Learner of `HSEPSRModel`: two-stage regression and kernel Bayes' rule by Gram matrices.

    Memory grows with the square of the number of windows, time with its cube. By default neither
    refined nor helped by an ARX term; both can be had, as in `RFFPSR`.
    """

    model_class: ClassVar[type[RFFPSRModel]] = HSEPSRModel
    options_class: ClassVar[type[RFFPSROptions]] = HSEPSROptions
    configurable = (
        "past",
        "future",
        "bandwidth",
        "stage_one",
        "conditioning",
        "regularisation",
        "memory",
        "seed",
    )
    """The options that a configuration may give, as in `InMemoryLearner`."""

    def __init__(self, **options: Any) -> None:
        """Check the options, those of `HSEPSROptions`."""
        super().__init__(**options)

    def _limited(
        self, options: RFFPSROptions, windows: int
    ) -> tuple[RFFPSROptions, tuple[str, ...]]:
        options, possible = options.following(windows), windows // 2 - 1
        if not 1 <= possible < options.rank:
            return options, ()
        note = f"rank {options.rank} limited to {possible} by {counted(windows, 'window')}"
        return replace(options, rank=possible), (note,)

    def _fit_features(
        self, source: WindowSource, options: FeatureOptions, generator: np.random.Generator
    ) -> FittedFeatures:
        assert isinstance(self.options, HSEPSROptions)
        return fit_gram_features(source, options, generator, 1e9 * self.options.memory)
