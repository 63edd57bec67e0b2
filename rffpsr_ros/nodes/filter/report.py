"""What the filter node tells of its forecasts, its model and absurd values, without ROS."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from rffpsr_ros.forecasting.adaptation.adaptive_model import correction_in
from rffpsr_ros.forecasting.drift import COVERAGE, DriftAlarm, DriftTest
from rffpsr_ros.forecasting.follower import Follower
from rffpsr_ros.forecasting.model_channels import listed
from rffpsr_ros.forecasting.novelty import Novelty
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.nodes.filter.backlog import Backlog
from rffpsr_ros.nodes.filter.forecast_times import ForecastTimes
from rffpsr_ros.nodes.filter.model_source import ModelSource, ServedModel
from rffpsr_ros.nodes.shared.diagnostics import NodeFinding

BEGIN = (
    "every input arrives: forecasts begin once the filter is activated",
    "every input arrives: forecasts begin",
)
"""What is said once nothing is waited for any more: inactive, active."""
NOTHING_SERVED = NodeFinding("model", "warn", "no model is served; the log says why", {})
"""Told instead of all else, so that others see that the node lives."""

NAMED = 12
"""Observations whose live error is told one by one, at the most."""
WORST = 5
"""Observations whose errors are told, those that are forecast worst."""

TOLD_SECONDS = 10.0
"""How long an absurd value is told of."""


def outlier_finding(follower: Follower) -> NodeFinding:
    """Return what was kept from the model, and states that began anew all the same."""
    guard, signature = follower.guard, follower.model.signature
    values: dict[str, Any] = {}
    for names, gate in (
        (signature.observation_names, guard.gate.observed),
        (signature.action_names, guard.gate.acted),
    ):
        for name, count in zip(names, gate.count.tolist(), strict=True):
            if count:
                values[f"rejected: {name}"] = count
    values["states begun anew"] = guard.replaced
    values["forecasts withheld"] = follower.withheld
    recent = follower.ticks_since_outlier
    if recent is None or recent * signature.period > TOLD_SECONDS:
        return NodeFinding("outliers", "ok", "no value lately was absurd", values)
    message = (
        "values absurdly far outside of the trained range arrived lately: observations are taken"
        " for missing, and commands do not replace those before them (rejection_threshold);"
        " look after what sends them"
    )
    return NodeFinding("outliers", "warn", message, values)


def forecast_finding(
    follower: Follower,
    times: ForecastTimes,
    drift_warning: float,
    backlog: Backlog,
    obstacle: str = "",
) -> NodeFinding:
    """Return times and ages, the live error beside that of training, and what upset the belief.

    While there is an ``obstacle`` nothing can be followed.
    """
    values: dict[str, Any] = {"ticks": times.steps, **times.values()}
    values["forecasts left out"] = backlog.left_out
    if backlog.newly_left_out:
        values["forecasts left out lately"] = backlog.newly_left_out
    values["future actions"] = follower.options.future_actions
    live = follower.live_error
    values |= _errors(live.by_horizon, live.reference)
    values |= _by_observation(live.by_horizon, follower.model.signature)
    values |= _adaptation(follower)
    values |= {f"belief resets: {cause}": count for cause, count in follower.resets.items()}
    values |= {kind.replace("_", " "): count for kind, count in follower.events.items()}
    if follower.withholds:
        message = (
            "the forecast is no finite number and is not published: the model runs away over this"
            " horizon, or from this state; shorten the horizon, call ~/reset, or train again"
        )
        return NodeFinding("forecast", "error", message, values)
    if obstacle:
        return NodeFinding("forecast", "warn", f"not following: {obstacle}", values)
    values |= _drift(live.drift, follower.model.signature)
    values |= _novelty(live.novelty)
    if live.drift.drifted(drift_warning) and live.drift.alarm is not None:
        message = drift_sentence(live.drift.alarm, follower.model.signature)
        return NodeFinding("forecast", "warn", message, values)
    if live.drift.far:
        message = (
            "the robot works mostly where it was never recorded, so forecasts may be far off;"
            " record there and train again"
        )
        return NodeFinding("forecast", "warn", message, values)
    if backlog.newly_left_out:
        return NodeFinding(
            "forecast",
            "warn",
            "messages arrive faster than forecasts are made, and some are left out: set"
            " publish_every, a shorter horizon, or train with folds: 1",
            values,
        )
    if follower.ended_by == "missing":
        return NodeFinding("forecast", "warn", missing_sentence(follower), values)
    running = "following" if follower.state is not None else "not following: no segment under way"
    return NodeFinding("forecast", "ok", running, values)


def missing_sentence(follower: Follower) -> str:
    """Return what is no longer seen, though messages arrive."""
    names = follower.model.signature.observation_names
    topic = follower.configuration.observations[0].topic
    return (
        f"not following: messages arrive on {topic}, but for longer than max_gap none gave a finite"
        f" number for {listed(names)}; compare names and values with those of training"
    )


def model_finding(
    served: ServedModel, source: ModelSource, code: str, by_itself: bool = False
) -> NodeFinding:
    """Return which model is served, by what ``code``, and whether there is a newer one.

    A node may load that ``by_itself``, as soon as nobody writes it any more.
    """
    model = served.model
    values = {
        "file": served.path,
        "checksum": served.checksum,
        "kind": model.kind,
        "runs by": code,
        "period [s]": model.signature.period,
        "observations": ", ".join(model.signature.observation_names),
        "actions": ", ".join(model.signature.action_names),
    }
    if source.gone:
        message = "the model file is gone; the model in memory stays in service"
        return NodeFinding("model", "warn", message, values)
    if source.changed and by_itself:
        message = f"serving {served.path.name}; the newer file is loaded once it is complete"
        return NodeFinding("model", "ok", message, values)
    if source.changed:
        message = "there is a newer model file; call ~/reload to serve it"
        return NodeFinding("model", "warn", message, values)
    return NodeFinding("model", "ok", f"serving {served.path.name}", values)


def _adaptation(follower: Follower) -> Mapping[str, Any]:
    """Return what is to be told of the correction of forecasts, if there is any."""
    learned = correction_in(follower.state)
    if learned is None:
        return {}
    values: dict[str, Any] = {"adaptation": "in use" if learned.used else "learns, not in use"}
    if learned.error_ratio is not None:
        values["error over that without adaptation"] = learned.error_ratio
    counts = learned.counts._asdict()
    return values | {f"adaptation: forecasts {what}": n for what, n in counts.items()}


def drift_sentence(alarm: DriftAlarm, signature: Signature) -> str:
    """Return what an alarm is about, and what to look at."""
    name = signature.observation_names[alarm.observation]
    missed = ""
    if alarm.misses is not None:
        missed = f", and {alarm.misses:.0%} of forecasts missed the {COVERAGE:.0%} band there"
    return (
        f"'{name}' is forecast clearly worse than in training (drift_warning):"
        f" {alarm.horizon * signature.period:.3g} s ahead its typical squared error is"
        f" {alarm.ratio:.3g} times that of training{missed}; look at its sensor, what moves it and"
        " what it carries; if that is to stay, record it and train again, or set adapt"
    )


def _drift(drift: DriftTest, signature: Signature) -> Mapping[str, Any]:
    """Return typical squared errors over those of training: of all, and of the worst."""
    values: dict[str, Any] = {}
    if drift.ratio is not None and drift.ratios is not None:
        title = "typical squared error over training"
        values[title] = drift.ratio
        ratios = np.nan_to_num(drift.ratios, nan=-np.inf)
        for column in np.argsort(-ratios, kind="stable")[:WORST].tolist():
            if np.isfinite(ratios[column]):
                values[f"{title}: {signature.observation_names[column]}"] = float(ratios[column])
    values["forecasts outside the trained range"] = _share(drift.outside)
    return values


def _novelty(novelty: Novelty) -> Mapping[str, Any]:
    """Return the score of novelty, and what it is made of."""
    told = {
        "novelty (0 to 1)": novelty.score,
        "novelty: surprising observations": novelty.surprises,
        "novelty: inputs outside the trained range": novelty.outside,
    }
    return {what: share for what, share in told.items() if share is not None}


def _share(truths: Collection[bool]) -> str:
    return f"{sum(truths)} of {len(truths)} lately"


def _by_observation(live: Any, signature: Signature) -> Mapping[str, float]:
    """Return the live error at the last horizon of the first observations, with their units."""
    if live is None:
        return {}
    units = signature.observation_units or [""] * len(signature.observation_names)
    columns = zip(signature.observation_names, units, live[-1].tolist(), strict=True)
    return {
        f"live error at horizon {len(live)}: {name}{f' [{unit}]' if unit else ''}": square**0.5
        for name, unit, square in list(columns)[:NAMED]
        if np.isfinite(square)
    }


def _errors(live: Any, reference: Any) -> Mapping[str, Any]:
    values = {}
    for what, squares in (("live", live), ("training", reference)):
        if squares is None:
            continue
        for horizon in sorted({1, (len(squares) + 1) // 2, len(squares)}):
            row = squares[horizon - 1]
            if not np.isnan(row).all():
                root = float(np.sqrt(np.nanmean(row)))
                values[f"{what} error at horizon {horizon}"] = root
    return values
