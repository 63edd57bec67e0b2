"""What a model that was chosen by cross-validation tells of the candidates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rffpsr_ros.cli.console import aligned
from rffpsr_ros.models.contract import TrainingRecord

CROSS_VALIDATION = "cross_validation"
"""The entry of a training record's metrics with the candidates' errors and scores."""


def cross_validation_table(record: TrainingRecord) -> list[str]:
    """Return the candidates' errors on parts they had not seen, as lines; none if there are none.

    Scores are relative to the variance of each observation, robust against single recordings.
    """
    candidates: Mapping[str, Any] = record.metrics.get(CROSS_VALIDATION, {})
    if not candidates:
        return []
    horizon = max(len(tried["mse"]) for tried in candidates.values())
    shown = sorted({h for h in (1, 2, 3, 5, 10, horizon) if h <= horizon})
    rows = [["", *(f"h{h}" for h in shown), f"mean h1..h{horizon}", "score"]]
    for name, tried in candidates.items():
        errors = tried["mse"]
        cells = [*(errors[h - 1] for h in shown), sum(errors) / horizon, tried["score"]]
        rows.append([name, *(f"{cell:.3g}" for cell in cells)])
    return aligned(rows, range(1, len(rows[0])))
