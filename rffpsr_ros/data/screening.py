"""Damaged recordings are told by name, and what is impossible in them is not learned from.

Recordings without damage pass untouched: the same objects, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.damage import (
    DamageThresholds,
    Scale,
    in_question,
    moves_as_usual,
    newly_moved,
    scales,
    still,
    stuck,
)
from rffpsr_ros.data.recording_look import Look, LookAt, all_columns
from rffpsr_ros.errors import counted, shown
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.recordings.trajectory import Trajectory

Stretch = tuple[int, int]
"""Ticks, half-open."""


class DamageWarning(UserWarning):
    """A recording holds what is impossible by the scale of the others."""


class Screened(NamedTuple):
    """Recordings without what is impossible, and a sentence for each that was damaged."""

    train: Sequence[Trajectory]
    validation: Sequence[Trajectory]
    sentences: tuple[str, ...]


class Diagnosis(NamedTuple):
    """What is wrong with one recording, and which ticks of it are concerned."""

    what: tuple[str, ...]
    missing: Array
    """Samples (T, d) that are impossible alone, among good ones."""
    cut: tuple[Stretch, ...]
    """Stretches to be cut out; the whole recording, where all of it is wrong."""
    kept: str = ""
    """Why nothing is cut although something is odd."""


def screened(
    train: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None = None,
    limits: DamageThresholds | None = None,
    workers: Workers = THIS_PROCESS,
) -> Screened:
    """Return the recordings of which a model may learn; all are judged by all others.

    Impossible samples become missing; longer stretches are cut out, so that a recording becomes
    several, or is left out. Nothing is cut where too many recordings are odd, where there are too
    few to tell which are right, or where nothing would be left.
    """
    limits = limits or DamageThresholds()
    together = [*train, *(validation or ())]
    found = diagnoses(together, limits, workers)
    if not found:
        return Screened(train, validation or (), ())
    allowed = max(1, int(limits.odd_share * len(together)))
    if sum(bool(one.cut) for one in found.values()) > allowed:
        many = "kept, as so many recordings are odd that nothing tells which are right"
        found = {
            number: one._replace(cut=(), kept=many) if one.cut else one
            for number, one in found.items()
        }
    parts: list[list[Trajectory]] = []
    sentences = {}
    for first, part in ((0, train), (len(train), validation or ())):
        left: list[Trajectory] = []
        for number, trajectory in enumerate(part, first):
            if number not in found:
                left.append(trajectory)
                continue
            pieces, consequence = _mended(trajectory, found[number], limits)
            left += pieces
            sentences[number] = _sentence(trajectory, number, found[number], consequence)
        if not left:
            left = list(part)
            kept = "kept, as nothing else would be left"
            for number, trajectory in enumerate(part, first):
                sentences[number] = _sentence(trajectory, number, found[number], kept)
        parts.append(left)
    return Screened(parts[0], parts[1], tuple(sentences[number] for number in sorted(sentences)))


def diagnoses(
    together: Sequence[Trajectory], limits: DamageThresholds, workers: Workers = THIS_PROCESS
) -> dict[int, Diagnosis]:
    """Return what is wrong with which of the recordings."""
    looks = list(workers.map(LookAt(limits.stay), together))
    observations = len(together[0].observation_names)
    return {
        number: diagnosis
        for number, (look, scale) in enumerate(zip(looks, scales(looks, limits), strict=True))
        if in_question(look, scale, observations, limits)
        and (diagnosis := _diagnosed(together[number].loaded(), look, scale, limits))
    }


def _diagnosed(
    trajectory: Trajectory, look: Look, scale: Scale, limits: DamageThresholds
) -> Diagnosis | None:
    """Return what is wrong with a recording in memory; None if nothing is after all."""
    observations = len(trajectory.observation_names)
    names = [
        *(f"observation {shown(name)}" for name in trajectory.observation_names),
        *(f"action {shown(name)}" for name in trajectory.action_names),
    ]
    rows = all_columns(trajectory)
    impossible = scale.impossible(rows)
    what: list[str] = []
    cut: list[Stretch] = []
    kept = ""
    if newly_moved(look, scale, observations):
        impossible[:, :observations] = False  # nobody knows how far that takes the robot
    outside = scale.outside(rows, limits.edge) | impossible
    share = outside.sum(axis=0) / np.maximum(np.isfinite(rows).sum(axis=0), 1)
    whole = impossible.any(axis=0) & (share > limits.all_of_it) & scale.by_others
    if whole.any():
        what.append(_off_in_all(names, look, scale, whole))
        kept = _explained(look, scale, whole, observations, limits)
        cut += [] if kept else [(0, len(rows))]
        impossible[:, whole] = False
    missing = np.zeros(rows.shape, bool)
    if impossible.any():
        what.append(_far_out(names, rows, impossible, look, scale))
        missing, long = _by_length(outside, impossible, limits)
        if scale.by_others:
            cut += [(first - limits.margin, last + limits.margin) for first, last in long]
        elif long:
            kept = "kept, as there are too few recordings to tell which are right"
    for sentence, stretch in _unmoved(names, rows, look, scale, limits):
        what.append(sentence)
        cut.append(stretch)
    return Diagnosis(tuple(what), missing, tuple(cut), kept) if what else None


def _by_length(
    outside: Array, impossible: Array, limits: DamageThresholds
) -> tuple[Array, list[Stretch]]:
    """Return samples (T, d) that are off alone, and longer stretches in which a column is."""
    missing, long = np.zeros(outside.shape, bool), []
    for column in range(outside.shape[1]):
        for first, last in _stretches(outside[:, column]):
            if not impossible[first:last, column].any():
                continue
            if last - first <= limits.isolated:
                missing[first:last, column] = True
            else:
                long.append((first, last))
    return missing, long


def _unmoved(
    names: Sequence[str], rows: Array, look: Look, scale: Scale, limits: DamageThresholds
) -> Iterator[tuple[str, Stretch]]:
    """Yield in words which observations do not move where they should, and at which ticks."""
    observations = sum(name.startswith("observation") for name in names)
    quiet = still(look, scale, observations, limits)
    for column in np.flatnonzero(quiet).tolist():
        sentence = f"{names[column]} hardly moves under commands that move it in all others"
        yield sentence, (0, len(rows))
    for column, first, last, value in stuck(look, scale, observations, limits):
        acted = np.ptp(rows[first:last, observations:], axis=0)
        usual = acted >= limits.usual * scale.least_span[observations:]
        if usual.any() and not quiet[column]:
            when = f"from tick {first} to {last - 1}"
            yield f"{names[column]} is stuck at {value:.4g} {when}", (first, last)


def _explained(
    look: Look, scale: Scale, whole: Array, observations: int, limits: DamageThresholds
) -> str:
    """Return why a recording that is off in all of it may yet be right; empty if it cannot be."""
    low, high = look.middle()
    if not (high - low > scale.span)[whole].any():
        return "kept, as it may have been recorded elsewhere; check its units and its origin"
    acted = whole[observations:].any()
    if acted and whole[:observations].any():
        return "kept, as commands and observations are both off; check their units"
    if not acted and not moves_as_usual(look, scale, observations, limits):
        return "kept, as its commands are unusual too; check its units"
    return ""


def _mended(
    trajectory: Trajectory, diagnosis: Diagnosis, limits: DamageThresholds
) -> tuple[list[Trajectory], str]:
    """Return what is left of a recording, and in words what was done to it."""
    done = []
    observed = diagnosis.missing[:, : len(trajectory.observation_names)]
    acted = diagnosis.missing[:, len(trajectory.observation_names) :].any(axis=1)
    cut = np.zeros(len(trajectory), bool)
    for first, last in diagnosis.cut:
        cut[max(first, 0) : max(last, 0)] = True
    for first, last in _stretches(~cut):
        if last - first < limits.shortest and cut.any():
            cut[first:last] = True
    if cut.mean() > limits.most_cut:
        return [], "the recording is left out of learning"
    if cut.any():
        ticks = ", ".join(f"{first} to {last - 1}" for first, last in _stretches(cut))
        done.append(f"ticks {ticks} are left out of learning")
    if observed.any():
        values = np.where(observed, np.nan, trajectory.observations)
        trajectory = replace(trajectory.loaded(), observations=values)
        done.append(f"{counted(int(observed.sum()), 'sample')} taken for missing")
    if acted.any():
        done.append(f"{counted(int(acted.sum()), 'tick')} without a possible action left out")
    if diagnosis.kept:
        done.append(diagnosis.kept)
    gone = cut | acted
    if not gone.any():
        return [trajectory], " and ".join(done)
    pieces = [trajectory.slice(*one) for one in _stretches(~gone) if one[1] - one[0] >= 2]
    return pieces, " and ".join(done)


def _stretches(mask: Array) -> list[Stretch]:
    """Return where a mask (T,) holds, as stretches."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


# In words


def _sentence(trajectory: Trajectory, number: int, found: Diagnosis, consequence: str) -> str:
    name = shown(trajectory.label) if trajectory.label else f"{number + 1}"
    return f"recording {name}: {'; '.join(found.what)}: {consequence}"


def _far_out(names: Sequence[str], rows: Array, impossible: Array, look: Look, scale: Scale) -> str:
    """Return which columns reach how far, the worst one first."""
    times = np.where(impossible.any(axis=0), scale.times(look), 0.0)
    worst = int(np.argmax(times))
    ticks = np.flatnonzero(impossible[:, worst])
    size = np.abs(np.where(impossible[:, worst], rows[:, worst], 0.0))
    others = [names[i] for i in np.flatnonzero(times > 0).tolist() if i != worst]
    reached = f"{names[worst]} reaches {rows[int(np.argmax(size)), worst]:.4g}"
    when = f"at tick {ticks[0]}"
    if len(ticks) > 1:
        when = f"at {len(ticks)} ticks from {ticks[0]} to {ticks[-1]}"
    return f"{reached}, {_beyond(times[worst], scale, worst)}, {when}{_beside(others)}"


def _off_in_all(names: Sequence[str], look: Look, scale: Scale, whole: Array) -> str:
    times = np.where(whole, scale.times(look), 0.0)
    worst = int(np.argmax(times))
    low, high = look.low[worst], look.high[worst]
    others = [names[i] for i in np.flatnonzero(whole).tolist() if i != worst]
    return (
        f"{names[worst]} is off in all of it, from {low:.4g} to {high:.4g},"
        f" {_beyond(times[worst], scale, worst)}{_beside(others)}"
    )


def _beyond(times: float, scale: Scale, column: int) -> str:
    whose = "the range of the others" if scale.by_others else "the usual range"
    span = f"{scale.low[column]:.4g} to {scale.high[column]:.4g}"
    return f"{times:.3g} times {whose} ({span}) beyond it"


def _beside(others: Sequence[str]) -> str:
    return f", beside {', '.join(others)}" if others else ""
