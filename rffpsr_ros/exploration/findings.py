"""The exploration check in words: what is good, what to know, what to do about the rest."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from rffpsr_ros.exploration.check import FEWEST_WINDOWS, ChannelCheck, ExplorationCheck
from rffpsr_ros.exploration.conditions import REPRODUCED
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.json_values import finite

Level = Literal["ok", "note", "warning"]

SIGNIFICANT = 0.005
"""P-values below this are no accident: one false alarm in two hundred good recordings."""
NO_RESPONSE = 0.05
"""P-values above this leave open whether observations respond to an action."""
RELEVANT = 0.02
"""Share of an action that past observations must explain to be worth a word."""
WINDOWS_PER_DIRECTION = 2
"""Independent windows wanted for each direction of history."""
MOSTLY = 0.5
"""Share that makes of an action a function of the last observation."""
DETERMINED = 0.999
"""Share of an action's variance from which on the last observation is said to determine it."""


class Finding(NamedTuple):
    """One verdict: how serious it is, what it is about, and one sentence that says what to do."""

    level: Level
    subject: str
    sentence: str


def findings(check: ExplorationCheck) -> list[Finding]:
    """Return all verdicts, in the order in which they matter."""
    found = [Finding("warning", "damage", sentence) for sentence in check.damage]
    found += [Finding("warning", field, both_sides(field)) for field in check.on_both_sides]
    found += [_amount(check), *_missing(check)]
    found += [
        Finding("warning", name, f"'{name}' never changes: leave it out, or record it moving")
        for name in check.constant_observations
    ]
    for channel in check.channels:
        found.append(_channel(channel, check))
    found += _policy(check)
    found += _states(check)
    return found


def both_sides(field: str) -> str:
    """Return what is said of a field that is observed and commanded."""
    return (
        f"{field} is an observation and an action: a forecast that is given future actions copies"
        " it, and nothing is learned about it; leave it out once"
    )


def warnings(check: ExplorationCheck) -> list[Finding]:
    """Return the verdicts that ask for something to be done."""
    return [finding for finding in findings(check) if finding.level == "warning"]


def as_json(check: ExplorationCheck) -> dict[str, Any]:
    """Return everything measured and said, in JSON types."""
    posed, policy = check.conditioning, check.policy
    return {
        "ticks": check.ticks,
        "measured_ticks": check.measured_ticks,
        "windows": check.windows,
        "rarest_observation": check.rarest and check.rarest._asdict(),
        "findings": [finding._asdict() for finding in findings(check)],
        "actions": [_channel_as_json(channel) for channel in check.channels],
        "responses": [finite(one._asdict()) for one in check.responses or ()],
        "policy": policy
        and {
            "p_value": policy.p_value,
            "ticks": policy.ticks,
            "permutations": len(policy.shuffled),
        },
        "conditioning": posed
        and {
            "independent_windows": posed.independent_windows,
            **{
                name: getattr(posed, name).tolist()
                for name in (
                    "history", "future_action_given_history", "history_action", "state",
                    "reproduced",
                )
            },
        },
    }  # fmt: skip


def _channel_as_json(channel: ChannelCheck) -> dict[str, Any]:
    return {
        "name": channel.name,
        "unit": channel.unit,
        "low": channel.low,
        "high": channel.high,
        "conditional_variances": channel.freedom and channel.freedom.eigenvalues.tolist(),
        "excited_directions": channel.freedom and channel.freedom.directions,
        "least_conditional_variances": channel.freedom and _told(channel.freedom.seldom),
        "response_p_value": channel.response,
        "policy_p_value": channel.policy,
        "explained_by_past_observations": channel.explained,
        "explained_by_last_observation": channel.explained_by_last,
    }


def _told(values: Array) -> list[float] | None:
    """Return numbers as JSON knows them; None where they could not be measured."""
    return None if np.isnan(values).any() else values.tolist()


def _amount(check: ExplorationCheck) -> Finding:
    options, posed = check.options, check.conditioning
    length = options.past + options.future + 1
    if posed is None and check.rarest is not None and check.windows >= FEWEST_WINDOWS:
        return Finding(
            "warning",
            "missing",
            f"{check.rarest.describe()}, so that hardly one of {check.windows} windows of {length}"
            f" ticks is complete, too few to measure anything by; {check.rarest.advice()}",
        )
    if posed is None:
        sentence = (
            f"{check.windows} windows of {length} ticks (past {options.past} + future"
            f" {options.future} + 1) are too few to learn from, or to measure anything by"
        )
        if any(not channel.constant for channel in check.channels):
            return Finding("warning", "amount", f"{sentence}; record longer, without breaks")
        return Finding("note", "amount", f"{check.windows} windows of {length} ticks")
    directions = len(posed.history)
    needed = WINDOWS_PER_DIRECTION * directions
    counted = (
        f"{posed.windows} windows of {length} ticks overlap and resemble each other so much that"
        f" they count as {posed.independent_windows:.0f}"
    )
    if posed.independent_windows >= needed:
        enough = f"{counted}; {needed} are needed for {directions} directions of history"
        return Finding("ok", "amount", enough)
    factor = needed / posed.independent_windows
    rank = max(1, int(posed.independent_windows / WINDOWS_PER_DIRECTION) - 1)
    return Finding(
        "warning",
        "amount",
        f"too short: {counted}, and {needed} are needed for {directions} directions of history;"
        f" record {math.ceil(10 * factor) / 10:g} times as much, or set learning.rank to {rank}",
    )


def _missing(check: ExplorationCheck) -> list[Finding]:
    """Return a note where most ticks lack an observation, and yet there are whole windows."""
    rarest = check.rarest
    if check.conditioning is None or rarest is None or rarest.share >= MOSTLY:
        return []
    return [Finding("note", "missing", f"only {rarest.describe()}")]


def _channel(channel: ChannelCheck, check: ExplorationCheck) -> Finding:
    name, future = channel.name, check.options.future
    if channel.constant:
        return Finding(
            "warning",
            name,
            f"'{name}' is always {_with_unit(channel.low, channel)}: nothing can be learned about"
            " it; command it while recording, or leave it out",
        )
    if channel.freedom is None:
        return Finding("note", name, f"too few windows to judge '{name}'")
    excited = channel.freedom.directions
    answered = _responded(channel, check) or not math.isnan(channel.response)
    if excited == 0:
        return Finding("warning", name, _not_excited(channel, check))
    if channel.response > NO_RESPONSE and not _responded(channel, check):
        largest = _with_unit(max(abs(channel.low), abs(channel.high)), channel)
        return Finding(
            "note",
            name,
            f"no observation was found to respond to '{name}', which never exceeded {largest};"
            " unless its effect is far from linear, excite it more, or leave it out",
        )
    span = f"from {channel.low:.3g} to {_with_unit(channel.high, channel)}"
    if channel.freedom.lost:
        return Finding(
            "note",
            name,
            f"'{name}' ({span}) varies in {excited} of {future} directions on average, but after"
            f" one history in twenty {channel.freedom.lost} of them are determined; what they cause"
            " there cannot be learned, so vary it there too",
        )
    if 3 * excited < future:
        return Finding(
            "note",
            name,
            f"'{name}' ({span}) changes slowly: given the past, the next {future} commands vary in"
            f" {excited} of {future} directions; forecasts hold for commands as slow as these",
        )
    return Finding(
        "ok",
        name,
        f"'{name}' ({span}) varies in {excited} of {future} directions given the past"
        f"{', and observations respond to it' if answered else ''}",
    )


def _responded(channel: ChannelCheck, check: ExplorationCheck) -> bool:
    """Return whether a response time was found: the test looks at the last few ticks alone."""
    return any(one.action == channel.name for one in check.responses or ())


def _not_excited(channel: ChannelCheck, check: ExplorationCheck) -> str:
    """Return why nothing can be learned about a channel whose future the past determines."""
    name, past = channel.name, check.options.past
    assert channel.freedom is not None
    if channel.freedom.coupled:
        return (
            f"'{name}' moves together with the other actions only, so their effects cannot be"
            " separated; move them independently"
        )
    mostly = _depends(channel) and channel.explained > MOSTLY
    if mostly or channel.explained_by_last > DETERMINED:
        return (
            f"'{name}' is a function of the last observation, so its effect cannot be separated"
            " from what would have happened anyway; add random commands to the controller's"
        )
    return (
        f"the past {past} ticks determine the next {check.options.future} of '{name}', as with a"
        " single sine or a command that hardly changes in that time, so its effect cannot be"
        " separated from what would have happened anyway; play random steps or a multisine of many"
        " frequencies, or lower the rate"
    )


def _depends(channel: ChannelCheck) -> bool:
    return channel.policy < SIGNIFICANT and channel.explained > RELEVANT


def _policy(check: ExplorationCheck) -> list[Finding]:
    policy = check.policy
    if policy is None:
        return []
    if not len(policy.shuffled):
        return [
            Finding("note", "policy", "too short to test whether actions depend on observations")
        ]
    if math.isnan(policy.p_value):
        silent = "past actions determine the next ones; whether observations do cannot be tested"
        return [Finding("note", "policy", silent)]
    dependent = [channel for channel in check.channels if _depends(channel)]
    if policy.p_value >= SIGNIFICANT:
        calm = f"no sign that actions depend on past observations (p = {policy.p_value:.3f})"
        return [Finding("ok", "policy", calm)]
    if not dependent:
        little = (
            f"actions depend on past observations (p = {policy.p_value:.3f}), but too little to"
            f" do harm: no action is surely explained by them to more than {100 * RELEVANT:g} %"
        )
        return [Finding("ok", "policy", little)]
    shares = " and ".join(
        f"{100 * channel.explained:.0f} % of '{channel.name}'" for channel in dependent
    )
    seen = (
        f"actions depend on past observations (p = {policy.p_value:.3f}; these explain {shares}"
        " beyond past actions)"
    )
    if check.weighting is not None:
        return [Finding("note", "policy", f"{seen}; {check.weighting.describe()}")]
    return [
        Finding(
            "warning",
            "policy",
            f"{seen}: a controller or a driver reacted, the action is itself measured on the"
            " robot, or it acts before the tick that it counts for, as a command does that is"
            " stamped a little after an observation; reactions may be taken for causes; record"
            " commands that do not react and are stamped no later than the observation before"
            " they act (docs/signals.md), or give the policy's probabilities (dataset.policy)",
        )
    ]


def _states(check: ExplorationCheck) -> list[Finding]:
    posed = check.conditioning
    if posed is None:
        return []
    count, real = len(posed.reproduced), int((posed.reproduced > REPRODUCED).sum())
    if real:
        said = f"{real} of {count} directions of the state agree between both halves"
        return [Finding("ok", "history", f"{said} of the data")]
    return [
        Finding(
            "note",
            "history",
            f"none of {count} directions of the state agrees between both halves of the"
            " data; longer recordings, or more varied ones, would separate states better",
        )
    ]


def _with_unit(value: float, channel: ChannelCheck) -> str:
    return f"{value:.3g} {channel.unit}".rstrip()
