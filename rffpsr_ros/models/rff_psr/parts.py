"""What a fitted RFF-PSR consists of."""

from __future__ import annotations

from typing import Literal, NamedTuple

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.rff_psr.filter_monitor import FilterMonitor
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.history import HistoryRegression
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters

StandIn = Literal["prediction", "features"]
"""What stands in for an observation not seen: features of the predicted one, or E[phi^o | q, a]."""


class WindowHead(NamedTuple):
    """The paper's one-shot forecast of a whole window; each row sees all the window's actions.

    [o_t ... o_{t+k-1}] = (q_t x psi^a(a_t ... a_{t+k-1})) W
    """

    future_action: Features
    """psi^a"""
    weights: Array
    """W (p r_psi_a, k d_o)"""
    future: int
    """k"""


class RFFPSRParts(NamedTuple):
    """All that a fitted RFF-PSR consists of; standard units throughout."""

    observation_scaling: Scaling
    """Of o (d_o,): what makes observations standard."""
    action_scaling: Scaling
    """Of a (d_a,)"""
    structure: FixedStructure
    """Feature maps phi^o, phi^a and z, window lengths, conditioning: see `psr.predictor`."""
    parameters: TrainableParameters
    """What maps q_t x phi^a(a_t) to covariance, extended state and prediction; q_0; ARX, NARX."""
    expected: Array
    """E[phi^o | q, a] = (q x phi^a) times this (p r_a, r_o)."""
    history: HistoryRegression
    """The belief after a window of the past, where a recording is entered in its middle."""
    monitor: FilterMonitor
    """What is normal of beliefs and innovations."""
    stand_in: StandIn
    """What is taken for an observation that was not seen."""
    head: WindowHead | None
    """The paper's settings forecast by it; None: forecasts are rolled out."""
