"""What a fitted RFF-PSR consists of, and how that lies in a model file."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from rffpsr_ros.data.preparation import Start
from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.rff_psr.filter_monitor import FilterMonitor
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.filter_step import Conditioning
from rffpsr_ros.psr.fourier_features import FeatureMap, Features
from rffpsr_ros.psr.gram_features import KernelMap
from rffpsr_ros.psr.history import HistoryRegression
from rffpsr_ros.psr.predictor import FixedStructure, Limits, TrainableParameters

StandIn = Literal["prediction", "features"]
"""What stands in for an observation not seen: features of the predicted one, or E[phi^o | q, a]."""


class WindowHead(NamedTuple):
    """The paper's one-shot forecast of a whole window; each row sees all the window's actions."""

    future_action: Features  # psi^a
    weights: Array  # (p r_psi_a, k d_o)
    future: int  # k


class Parts(NamedTuple):
    """All that a fitted RFF-PSR consists of; standard units throughout."""

    observation_scaling: Scaling
    action_scaling: Scaling
    structure: FixedStructure
    parameters: TrainableParameters
    expected: Array  # (p r_a, r_o): E[phi^o | q, a]
    history: HistoryRegression
    monitor: FilterMonitor
    stand_in: StandIn
    head: WindowHead | None


def in_order(value: Any) -> Any:
    """Return parts whose arrays all lie in C order, as a model file's do.

    Products of matrices round differently by memory order; so a model computes the same bits
    before it was saved and after it was loaded.
    """
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value)
    if isinstance(value, tuple):
        return type(value)(*(in_order(item) for item in value))
    return value


def pack(parts: Parts) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return header and arrays of fitted parts."""
    structure, conditioning = parts.structure, parts.structure.conditioning
    header = {
        "arx_past": structure.arx_past,
        "narx_past": structure.narx_past,
        "regularisation": conditioning.regularisation,
        "cap": conditioning.cap if np.isfinite(conditioning.cap) else None,
        "history_past": parts.history.past,
        "monitor": parts.monitor.to_json(),
        "stand_in": parts.stand_in,
        "window": None if parts.head is None else parts.head.future,
    }
    arrays = {
        "observation_scaling": np.stack(parts.observation_scaling),
        "action_scaling": np.stack(parts.action_scaling),
        "expected": parts.expected,
        "start_observation": structure.start.observation,
        "start_action": structure.start.action,
        "innovation_scale": parts.monitor.innovation_scale,
        "history_weights": parts.history.weights,
        **{f"weights_{name}": part for name, part in parts.parameters._asdict().items()},
    }
    if structure.limits is not None:
        arrays |= {f"limits_{name}": part for name, part in structure.limits._asdict().items()}
    if structure.bounds is not None:
        arrays |= {f"bounds_{name}": part for name, part in structure.bounds._asdict().items()}
    maps: dict[str, Features | None] = {
        "observation": structure.observation,
        "action": structure.action,
        "narx": structure.narx,
        "history": parts.history.features,
        "future_action": None if parts.head is None else parts.head.future_action,
    }
    for name, features in maps.items():
        if features is not None:
            arrays |= {f"{name}_{part}": array for part, array in features._asdict().items()}
    if parts.head is not None:
        arrays["head_weights"] = parts.head.weights
    return header, arrays


def unpack(header: dict[str, Any], arrays: dict[str, Array]) -> Parts:
    """Rebuild fitted parts from what `pack` returned."""

    def features(name: str) -> Features:
        if f"{name}_points" in arrays:
            return KernelMap(*(arrays[f"{name}_{part}"] for part in KernelMap._fields))
        return FeatureMap(arrays[f"{name}_frequencies"], arrays[f"{name}_projection"])

    cap = header["cap"]
    limited = "limits_observation_low" in arrays
    structure = FixedStructure(
        features("observation"),
        features("action"),
        features("narx") if "narx_frequencies" in arrays else None,
        int(header["arx_past"]),
        int(header["narx_past"]),
        Conditioning(float(header["regularisation"]), float("inf") if cap is None else cap),
        Start(arrays["start_observation"], arrays["start_action"]),
        Limits(*(arrays[f"limits_{name}"] for name in Limits._fields)) if limited else None,
        Bounds(arrays["bounds_low"], arrays["bounds_high"]) if "bounds_low" in arrays else None,
    )
    head = None
    if header["window"] is not None:
        head = WindowHead(features("future_action"), arrays["head_weights"], header["window"])
    return Parts(
        Scaling(*arrays["observation_scaling"]),
        Scaling(*arrays["action_scaling"]),
        structure,
        TrainableParameters(*(arrays[f"weights_{name}"] for name in TrainableParameters._fields)),
        arrays["expected"],
        HistoryRegression(
            features("history"), arrays["history_weights"], int(header["history_past"])
        ),
        FilterMonitor.from_json(header["monitor"], arrays["innovation_scale"]),
        header["stand_in"],
        head,
    )
