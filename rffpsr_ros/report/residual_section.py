"""Residual checks: what one-step errors still tell of the past, so what the model lacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.evaluation.followed import FollowedRun
from rffpsr_ros.evaluation.residual_checks import NOTABLE, ResidualChecks, residual_checks
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.spectrum import spectra
from rffpsr_ros.report.charts import Chart, Curve, Ribbon, drawn
from rffpsr_ros.report.markup import Html, Section, bullets, element, grid, joined, paragraphs
from rffpsr_ros.training.judgement import Judgement

MOST_OBSERVATIONS = 8
_MOST_SENTENCES = 12


def residual_section(judgement: Judgement, followed: Sequence[FollowedRun]) -> Section:
    """Return the section."""
    title, key = "What the errors still tell", "residuals"
    checks = residual_checks(followed)
    if checks is None:
        body = paragraphs("There are too few ticks without a missing observation to tell.")
        return Section(key, title, "", body, "")
    names = judgement.model.signature.observation_names
    actions = judgement.model.signature.action_names
    found = _sentences(checks, names, actions)
    parts: list[Html] = [bullets(found)]
    for column, name in enumerate(names[:MOST_OBSERVATIONS]):
        charts = [
            _whiteness(checks, column),
            *([_response(checks, column, actions)] if actions else []),
            *_spectra(followed, column),
        ]
        parts += [element("h3", name), grid(*charts)]
    return Section(
        key,
        title,
        "One tick ahead, the errors of a model that holds all there is to know are noise: they do"
        f" not resemble those before, nor any past action. Correlations from {checks.ticks} ticks;"
        " the ribbon holds those of all lags, 99 times in 100, if nothing is left.",
        joined(*parts),
        "Errors that resemble those before them: a slow state is missing; give longer windows"
        " (learning.past, learning.arx_past), or record what moves so slowly (load, temperature,"
        " another joint). Errors that follow an action at some lag: its effect comes later or"
        " otherwise than was learned; windows must be longer than the dead time, and the bag's"
        " stamps must be those of the sensor. Power of errors near that of the observation at"
        " some frequency: nothing is learned there (vibration, noise of the sensor).",
    )


def _sentences(checks: ResidualChecks, names: Sequence[str], actions: Sequence[str]) -> list[str]:
    found = []
    for column, lag in checks.left_in_errors():
        size = checks.whiteness[lag - 1, column]
        found.append(
            f"errors of '{names[column]}' resemble those {_ticks(lag)} before (correlation"
            f" {size:.2f})"
        )
    for column, action, lag in checks.left_in_actions():
        size = checks.response[lag, column, action]
        found.append(
            f"errors of '{names[column]}' follow '{actions[action]}' {_ticks(lag)} before"
            f" (correlation {size:.2f})"
        )
    if not found:
        return [
            f"No sure correlation of more than {NOTABLE:g} is left, with past errors or with"
            " actions."
        ]
    more = len(found) - _MOST_SENTENCES
    return found[:_MOST_SENTENCES] + ([f"and {more} more"] if more > 0 else [])


def _whiteness(checks: ResidualChecks, column: int) -> Html:
    lags = np.arange(1, len(checks.whiteness) + 1)
    width = np.full(len(lags), checks.whiteness_interval[column])
    return drawn(
        Chart(
            "errors and those before",
            "lag (ticks)",
            "correlation",
            [Curve("correlation", lags, checks.whiteness[:, column], 0, "bars")],
            [Ribbon("if nothing is left", lags, -width, width, "soft-line")],
            zero=True,
            whole=True,
        )
    )


def _response(checks: ResidualChecks, column: int, actions: Sequence[str]) -> Html:
    lags = np.arange(len(checks.response))
    width = checks.response_interval[column].max() * np.ones(len(lags))
    curves = [
        Curve(name, lags, checks.response[:, column, place], place)
        for place, name in enumerate(actions)
    ]
    return drawn(
        Chart(
            "errors and past actions",
            "lag (ticks)",
            "correlation",
            curves,
            [Ribbon("if nothing is left", lags, -width, width, "soft-line")],
            zero=True,
            whole=True,
        )
    )


def _spectra(followed: Sequence[FollowedRun], column: int) -> list[Html]:
    period = followed[0].trajectory.period
    errors = spectra([one.one_step[:, [column]] for one in followed], period)
    observed = spectra([_observed(one)[:, [column]] for one in followed], period)
    if errors is None or observed is None:
        return []
    return [
        drawn(
            Chart(
                "power of observation and errors",
                "frequency (Hz)",
                "power density",
                [
                    Curve("observation", observed[0], observed[1][:, 0], "ink"),
                    Curve("one-step errors", errors[0], errors[1][:, 0], 1),
                ],
                log_x=True,
                log_y=True,
            )
        )
    ]


def _observed(one: FollowedRun) -> Array:
    return one.trajectory.observations[one.start : one.start + len(one.one_step)]


def _ticks(lag: int) -> str:
    return "1 tick" if lag == 1 else f"{lag} ticks"
