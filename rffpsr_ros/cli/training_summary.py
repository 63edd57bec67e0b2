"""What `rffpsr train` reports once it is over: as lines, or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rffpsr_ros.cli.console import aligned
from rffpsr_ros.cli.stage_clock import Stage, stage_table, stages_as_json
from rffpsr_ros.evaluation.report import errors_as_json, shown_horizons, text_table
from rffpsr_ros.evaluation.verdict import ModelVerdict
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.training.request import kind_asked_for
from rffpsr_ros.training.train import Trained
from rffpsr_ros.training.validation import CROSS_VALIDATION, VALIDATION
from rffpsr_ros.training.verdict import VERDICT, remembered_verdict_of, training_verdict


class TrainingSummary(NamedTuple):
    """A training that is over, as the command tells of it."""

    path: Path
    trained: Trained
    seconds: float
    stages: list[Stage]

    def as_json(self) -> dict[str, Any]:
        """Return it in JSON types."""
        trained, signature = self.trained, self.trained.model.signature
        record = trained.model.record
        return {
            "model": str(self.path),
            "kind": kind_asked_for(trained.model),
            "seconds": self.seconds,
            "resumed": trained.resumed,
            "ticks": trained.parts.ticks(),
            "period": signature.period,
            "observation_names": list(signature.observation_names),
            "action_names": list(signature.action_names),
            "notes": list(record.notes),
            VALIDATION: self._validation(),
            CROSS_VALIDATION: record.metrics.get(CROSS_VALIDATION, {}),
            VERDICT: self._verdict().as_json(),
            **({"profile": stages_as_json(self.stages)} if self.stages else {}),
        }

    def lines(self) -> list[str]:
        """Return it as lines of text."""
        trained, model = self.trained, self.trained.model
        if trained.resumed:
            return [f"{self.path} is already trained on these data with these options"]
        lines = [
            f"read {trained.recordings.describe()}; ticks used: {self._parts()}",
            f"learned {kind_asked_for(model)} in {self.seconds:.1f} s, written to {self.path}",
            *(f"note: {note}" for note in model.record.notes),
        ]
        if trained.validation:
            lines += ["", "mean squared error on the validation part, summed over observations:"]
            lines += text_table(trained.validation).splitlines()
        tried = _candidates(model.record)
        if tried:
            lines += ["", "mean squared error on parts held out in turn, summed over observations:"]
            lines += tried
        if self.stages:
            lines += ["", *stage_table(self.stages)]
        return lines + self._verdict().lines()

    def _validation(self) -> Mapping[str, Any]:
        """Return the errors on the validation part, measured now or when the model was learned."""
        if self.trained.resumed:
            known: Mapping[str, Any] = self.trained.model.record.metrics.get(VALIDATION, {})
            return known
        return {name: errors_as_json(one) for name, one in self.trained.validation.items()}

    def _verdict(self) -> ModelVerdict:
        """Return the verdict, which a model that was there already keeps without figures."""
        model = self.trained.model
        known = remembered_verdict_of(model.record.metrics) if self.trained.resumed else None
        return known or training_verdict(model, self.trained.validation)

    def _parts(self) -> str:
        """Return how many ticks each part has, and what became of it."""
        ticks = self.trained.parts.ticks()
        used = [f"{count} {name}" for name, count in ticks.items() if count]
        if CROSS_VALIDATION in self.trained.model.record.metrics and ticks["validation"]:
            used[1] += " (learned from as well: parts of both are held out in turn)"
        if ticks["test"]:
            used[-1] += " (left out)"
        return ", ".join(used)


def _candidates(record: TrainingRecord) -> list[str]:
    """Return the errors of candidates on parts held out in turn, as lines; none if there are none.

    Scores are relative to the variance of each observation, robust against single recordings.
    """
    candidates: Mapping[str, Any] = record.metrics.get(CROSS_VALIDATION, {})
    if not candidates:
        return []
    horizon = max(len(tried["mse"]) for tried in candidates.values())
    shown = shown_horizons(horizon)
    rows = [["", *(f"h{h}" for h in shown), f"mean h1..h{horizon}", "score"]]
    for name, tried in candidates.items():
        errors = tried["mse"]
        cells = [*(errors[h - 1] for h in shown), sum(errors) / horizon, tried["score"]]
        rows.append([name, *(f"{cell:.3g}" for cell in cells)])
    return aligned(rows, range(1, len(rows[0])))
