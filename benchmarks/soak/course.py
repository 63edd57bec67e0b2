"""One run: node, robot and listener are started, faults done, everything gathered and judged."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fingerprint import source_digest
from benchmarks.six_joints import in_motion, signature
from benchmarks.soak import verdict
from benchmarks.soak.faults import KILL, OF_ROBOT, QUIET_SECONDS, START_SECONDS, Fault
from benchmarks.soak.health import Health, health
from benchmarks.soak.machine import PATIENCE, Machine, NodeProcess, start, with_parameters
from rffpsr_ros.recipe.learner import RFFPSR

HORIZON = 10
LOOK_SECONDS = 2.0
WARM_UP_SECONDS = 300.0
"""The first minutes of a life, with every fault once, in which memory may grow."""
GRACE_SECONDS = 12.0
"""So long after a recovery the diagnostics still tell of the fault, rightly."""
MOST_TICKS = 50
MOST_MEGABYTES = 1.0


@dataclass(frozen=True)
class Course:
    """How long, how fast, and with which faults."""

    seconds: float
    rate: float
    seed: int
    faults: tuple[Fault, ...] = ()
    echo: bool = False
    """Whether an echo answers in place of the filter: what ROS and the machine carry."""


def learned(rate: float, quick: bool = False) -> Path:
    """Return the file of a model of the six joints, which `RFFPSR` learns at the first call.

    ``quick`` learns a single model from less, in few iterations.
    """
    key = source_digest("rffpsr_ros.recipe.learner")[:8]
    folder = Path(tempfile.gettempdir()) / "rffpsr_soak"
    path = folder / f"six_joints_{rate:g}_{'single' if quick else 'ensemble'}_{key}.psr"
    if not path.exists():
        count, ticks = (5, 400) if quick else (12, 1500)
        runs = [in_motion(rate, ticks, seed) for seed in range(count)]
        train = len(runs) * 4 // 5
        learner = RFFPSR(iterations=3, folds=1) if quick else RFFPSR()
        folder.mkdir(exist_ok=True)
        beside = path.with_name(f"{path.stem}_{os.getpid()}.psr")
        learner.fit(runs[:train], runs[train:]).replaced(signature=signature(rate)).save(beside)
        beside.replace(path)
    return path


def prepare_code() -> None:
    """Make the compiled code before any clock runs, as ``scripts/setup`` does."""
    make = start("rffpsr_ros.psr.runtime.compiled_code")
    assert make.wait() == 0, "the code for live forecasts could not be compiled"


def run(course: Course, model: Path) -> dict[str, Any]:
    """Return the record of a run."""
    prepare_code()
    with ExitStack() as stack:
        out = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        served, log = out / "served.psr", out / "log"
        served.write_bytes(model.read_bytes())
        log.mkdir()
        os.environ["ROS_LOG_DIR"] = str(out / "ros")
        node = NodeProcess(_command(course, served, log))
        stack.callback(node.end)
        machine = Machine(node, served, log)
        stack.callback(machine.close)
        listener = start(
            "benchmarks.soak.listener",
            *(str(out), str(course.rate if not course.echo else 1e12)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        stack.callback(listener.kill)
        assert listener.stdout is not None
        assert listener.stdout.readline(), "the listener did not start"
        seen = _drive(course, out, machine, listener.pid, stack)
        deaths = node.lives - 1 - sum(fault.kind == KILL for fault in course.faults)
        listener.communicate(timeout=PATIENCE)
        return _judged(course, out, seen, node, deaths + (not node.alive))


def _command(course: Course, model: Path, log: Path) -> list[str]:
    if course.echo:
        return with_parameters(["-m", "benchmarks.echo_node"], {"executor": "direct"})
    given = {"model_path": model, "log_sequence": log, "horizon": HORIZON}
    return with_parameters(["executables/filter_node"], {**given, "future_actions": "topic"})


@dataclass
class _Seen:
    """What was done and measured beside the messages."""

    began: int
    events: list[verdict.Event]
    lives: list[list[Health]]
    beside: dict[str, list[Health]]
    """Robot and listener."""

    problems: list[str]
    """What did not do as it should: a service, a second start."""


def _drive(course: Course, out: Path, machine: Machine, listener: int, stack: ExitStack) -> _Seen:
    """Let the robot drive, do the faults of the machine, look at the node."""
    of_robot = [fault for fault in course.faults if fault.kind in OF_ROBOT]
    waiting = [fault for fault in course.faults if fault.kind not in OF_ROBOT][::-1]
    asked = {
        "rate": course.rate,
        "seed": course.seed,
        "faults": of_robot,
    }
    (out / "robot.json").write_text(json.dumps(asked), encoding="utf-8")
    robot = start("benchmarks.soak.robot", str(out), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stack.callback(robot.kill)
    assert robot.stdout is not None
    seen = _Seen(int(robot.stdout.readline()), [], [[]], {"robot": [], "listener": []}, [])
    others = {"robot": robot.pid, "listener": listener}
    node, looked = machine.node, 0.0
    over = course.seconds
    while (now := (time.monotonic_ns() - seen.began) / 1e9) < over:
        assert robot.poll() is None, "the robot ended by itself"
        if now - looked > LOOK_SECONDS:
            looked = now
            if (found := health(node.pid, now)) is not None:
                seen.lives[-1].append(found)
            for name, pid in others.items():
                if (found := health(pid, now)) is not None:
                    seen.beside[name].append(found)
        if not node.alive:
            # A death that nobody asked for counts as one, see `run`.
            node.respawn()
            seen.lives.append([])
        if waiting and waiting[-1].at <= now:
            kind = waiting.pop().kind
            begin = time.monotonic_ns()
            try:
                machine.do(kind)
            except AssertionError as problem:
                seen.problems.append(f"{kind}: {problem}")
            end = time.monotonic_ns()
            seen.events.append(verdict.Event(kind, begin, end, kind == KILL))
            quiet = START_SECONDS if kind == KILL else QUIET_SECONDS
            over = max(over, (end - seen.began) / 1e9 + quiet)
            if kind == KILL:
                seen.lives.append([])
        time.sleep(0.02)
    robot.communicate(timeout=PATIENCE)
    assert robot.returncode == 0, "the robot ended with an error"
    time.sleep(1.0)  # for the last answers
    return seen


def _judged(
    course: Course, out: Path, seen: _Seen, node: NodeProcess, deaths: int
) -> dict[str, Any]:
    sent, heard = np.load(out / "sent.npz"), np.load(out / "heard.npz")
    told = json.loads((out / "heard.json").read_text(encoding="utf-8"))
    of_robot = json.loads((out / "robot_events.json").read_text(encoding="utf-8"))
    good = sent["good"].astype(bool)
    stamps, sent_at, late = (sent[name][good] for name in ("stamps", "moments", "late"))
    answered_at = verdict.answers_of(stamps, heard["stamps"], heard["moments"])
    events = [*seen.events, *(verdict.Event(**one) for one in of_robot)]
    start_up = verdict.Event("start", int(sent_at[0]), int(sent_at[0]), True)
    events = [start_up, *sorted(events, key=lambda event: event.begin)]
    found = verdict.judged(sent_at, late, answered_at > 0, events)
    free = verdict.outside(len(stamps), found)
    unanswered = free & (answered_at == 0)
    latency = (answered_at - sent_at)[free & (answered_at > 0)] / 1e6
    table = verdict.by_kind(found[1:])
    lives = [_life(life) for life in seen.lives if life]
    beside = {name: life for name, life in seen.beside.items() if life}
    grown = [life["growth_megabytes"] for life in lives if life["growth_megabytes"] is not None]
    alarms, left_out = _alarms(told["diagnostics"], sent_at, found, seen.began)
    most = [row["most ticks"] for row in table.values() if row["most ticks"] is not None]
    promises = {
        "every tick outside faults was answered": not unanswered.any(),
        f"recovered from every fault within {MOST_TICKS} ticks": all(
            row["recovered"] == row["times"] for row in table.values()
        )
        and max(most, default=0) <= MOST_TICKS,
        "every number of every forecast is finite": not told["not_finite"],
        "no death but the kills": deaths == 0,
        f"memory grew by less than {MOST_MEGABYTES:g} MB after the first minutes": max(
            grown, default=0.0
        )
        < MOST_MEGABYTES,
        "no alarm outside faults": not alarms,
        "services answered as they should": not seen.problems,
    }
    return {
        "seconds": course.seconds,
        "rate": course.rate,
        "seed": course.seed,
        "ticks": len(stamps),
        "ticks outside faults": int(free.sum()),
        "unanswered outside faults": int(unanswered.sum()),
        "answered outside faults %": float(100 * (1 - unanswered.sum() / max(1, free.sum()))),
        "unanswered at s": [
            round((int(at) - seen.began) / 1e9, 3) for at in sent_at[unanswered][:20]
        ],
        "forecasts left out": left_out,
        "forecasts not finite": len(told["not_finite"]),
        "latency ms": _percentiles(latency),
        "robot late ms": _percentiles(late / 1e6),
        "faults": table,
        "alarms outside faults": alarms,
        "log lines": node.lines_by_level(),
        "usual log lines": node.usual_lines(),
        "log lines an hour": round(len(node.lines) / course.seconds * 3600),
        "deaths": deaths,
        "problems": seen.problems,
        "lives": lives,
        "processor % beside": {name: _life(life)["processor %"] for name, life in beside.items()},
        "promises": promises,
    }


def _percentiles(values: Any) -> dict[str, float]:
    if not len(values):
        return {}
    shares = {"p50": 50, "p99": 99, "p99.9": 99.9, "most": 100}
    return {name: round(float(np.percentile(values, one)), 3) for name, one in shares.items()}


def _life(life: list[Health]) -> dict[str, Any]:
    last = life[-1]
    span = last.at - life[0].at
    used = last.processor_seconds - life[0].processor_seconds
    return {
        "seconds": round(span, 1),
        "growth_megabytes": verdict.growth(
            [one.at for one in life], [one.rss for one in life], WARM_UP_SECONDS
        ),
        **{
            f"{name} MB": [round(getattr(one, name), 1) for one in _some(life)]
            for name in ("pss", "rss", "private")
        },
        "descriptors": [min(one.descriptors for one in life), max(one.descriptors for one in life)],
        "threads": [min(one.threads for one in life), max(one.threads for one in life)],
        "processor %": round(100 * used / span, 1) if span else None,
    }


def _some(life: list[Health]) -> list[Health]:
    """Return thirteen looks, from the first to the last."""
    return [life[round(at)] for at in np.linspace(0, len(life) - 1, min(13, len(life)))]


def _alarms(
    told: list[Any], sent_at: Any, found: list[verdict.Recovery], began: int
) -> tuple[dict[str, int], int]:
    """Return the alarms while nothing was wrong (how often each), and the forecasts left out."""
    alarms: Counter[str] = Counter()
    windows = [
        (
            int(sent_at[one.first]),
            int(sent_at[min(one.last, len(sent_at) - 1)]) + GRACE_SECONDS * 1e9,
        )
        for one in found
    ]
    left_out = before = 0
    for moment, name, level, message, count in told:
        if name.endswith("forecast"):
            left_out += count - before if count >= before else count
            before = count
        quiet = moment > began + QUIET_SECONDS * 1e9 and moment < int(sent_at[-1])
        if level and quiet and not any(first <= moment <= last for first, last in windows):
            alarms[f"{name}: {message}"] += 1
    return dict(alarms), left_out
