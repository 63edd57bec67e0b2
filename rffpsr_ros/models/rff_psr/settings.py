"""What a fit of an RFF-PSR decides beyond its options: settings that no user has to know."""

from __future__ import annotations

from dataclasses import dataclass, field

from rffpsr_ros.models.rff_psr.filter_monitor import MonitorThresholds
from rffpsr_ros.psr.refinement.learning_effort import FeatureLearningOptions
from rffpsr_ros.psr.refinement.rollout_refinement import RefinementOptions
from rffpsr_ros.psr.ridge_choice import RidgeChoices


@dataclass(frozen=True)
class FitSettings:
    """Settings of a fit."""

    fill_past: int = 5
    """Ticks that the linear stand-in for missing observations looks back, where there is no ARX
    term."""

    ridges: RidgeChoices = field(default_factory=RidgeChoices)
    """Among which the ridges of the weights before refinement are chosen."""

    beyond: float = 1.25
    """Judged further out than the recordings go means: on held-out ones so many times as large
    (in standard units, about their mean). That is no truth of a nonlinear robot, but forecasts of
    it must not run away."""

    refinement: RefinementOptions = field(default_factory=RefinementOptions)
    """How refinement by rolling out goes on. Horizon, iterations, learning rate, batch and
    minibatches are those of the model's options."""

    features: FeatureLearningOptions = field(default_factory=FeatureLearningOptions)
    """How the NARX term's features are learned, where they are."""

    clearly: float = 0.9
    """Learned features must do so much better on held-out recordings, where that is asked."""

    far: int = 4
    """Horizons ahead that they must do no worse, too."""

    segment: int = 100
    """Ticks of a training segment that count, beyond the burn-in."""

    judged_segments: int = 64
    """Segments that parameters are judged by, at the most: judging costs as much as a gradient
    step, and hours of recordings say no more than these."""

    columns_per_stride: int = 10
    """Of many columns each origin holds so much data that fewer are enough: every n-th, for so
    many times n columns."""

    gentle_rate: float = 0.3
    """Refinement from the regularised start has so many times the learning rate: where there is
    much noise, gentle steps find what generalises before they find the rest."""

    gentle_output_step: float = 0.5
    """Its steps of what predicts are smaller too; see `RefinementOptions`."""

    gentle_tries: int = 1
    """What gentle steps do not find, more careful ones will not find either."""

    learned_patience: float = 0.06
    """Where features were learned, refinement ends that has not improved for this fraction of the
    iterations: little is left to gain, and the first score mostly tells that."""

    later_rate: float = 0.3
    """The learning rate beyond ``future`` ticks, relative to that within."""

    history_ridge: float = 1e-3
    """Of the regression that gives the belief after a history."""

    monitor: MonitorThresholds = field(default_factory=MonitorThresholds)
    """When a belief is out of order."""
