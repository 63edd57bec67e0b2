"""Logs of what a node was fed, with entries that no node writes."""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audit.bags.small_bags import CHANNELS, START, STEP, STORE, TOPICS, command, joints
from benchmarks.audit.case import Case, non_finite
from benchmarks.audit.mutations import damaged
from benchmarks.audit.runner import Group
from rffpsr_ros.forecasting.along_bag import replay
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.replay import Replay
from rffpsr_ros.forecasting.sequence_log import CONTROL_TOPIC, CONTROL_TYPE, PLAN_TOPIC, SequenceLog
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration

TICKS = 60
OPTIONS = FollowOptions(5, compiled=False)


@lru_cache(maxsize=1)
def _model() -> Any:
    rng = np.random.default_rng(0)
    observation = ("arm.position.elbow", "arm.position.wrist")
    runs = []
    for _ in range(3):
        acted = rng.normal(size=(200, 1))
        seen = np.cumsum(np.hstack([acted, -acted]), axis=0) * 0.1
        runs.append(Trajectory(seen, acted, STEP / 1e9, observation, ("motor.data[0]",)))
    model = LinearARX().fit(runs)
    channels = ChannelConfiguration.from_mapping(CHANNELS).to_mapping()
    return model.replaced(signature=replace(model.signature, channels=channels))


Write = Callable[[SequenceLog], None]
"""What stands in a log in the middle of its messages."""


def _log(folder: Path, write: Write) -> Path:
    path = folder / "log"
    log = SequenceLog(path, STORE, {topic.name: topic.type for topic in TOPICS}, START)
    log.options(OPTIONS, "0" * 64)
    for tick in range(TICKS):
        now = START + tick * STEP
        log.message("/command", now - STEP // 5, command(np.sin(tick / 5)))
        log.message("/joints", now, joints(now, value=tick / TICKS))
        if tick == TICKS // 2:
            write(log)
    log.close()
    return path


def _entry(text: str) -> Write:
    def write(log: SequenceLog) -> None:
        log._write(CONTROL_TOPIC, log._bag.message(CONTROL_TYPE, data=text))

    return write


def _options(**odd: Any) -> Write:
    return _entry(json.dumps({"options": {**OPTIONS.to_mapping(), **odd}, "model": "x"}))


def _plan(rows: Any) -> Write:
    return lambda log: log.plan(np.asarray(rows, dtype=np.float64), log.last_ns + 1)


def _raw(topic: str, data: bytes) -> Write:
    return lambda log: log.message(topic, log.last_ns + 1, data)


BY_HAND: dict[str, Write] = {
    "good": lambda log: None,
    "no JSON": _entry("{["),
    "empty": _entry(""),
    "a list": _entry("[1, 2]"),
    "a number": _entry("7"),
    "null": _entry("null"),
    "deep JSON": _entry("[" * 100_000),
    "unknown options": _options(surprise=1),
    "a horizon of text": _options(horizon="ten"),
    "a horizon of 0": _options(horizon=0),
    "a horizon of a billion": _options(horizon=10**9),
    "a negative horizon": _options(horizon=-5),
    "a horizon of nan": _options(horizon=float("nan")),
    "a lead of a billion": _options(lead=10**9),
    "forecasts after every 0 ticks": _options(publish_every=0),
    "future actions unknown": _options(future_actions="guess\n[ERROR] lost"),
    "a coverage of 7": _options(coverage=7.0),
    "a coverage of text": _options(coverage="x"),
    "a start unknown": _options(start="nowhere"),
    "a threshold of text": _options(rejection_threshold="x"),
    "a threshold of nan": _options(rejection_threshold=[float("nan")]),
    "adapt of text": _options(adapt="x"),
    "adapt of a number": _options(adapt=1),
    "options of a list": _entry('{"options": [1]}'),
    "a reset without a start": _entry('{"reset": "x"}'),
    "a reset of a number": _entry('{"reset": 7, "start": 7}'),
    "a plan of nothing": _plan(np.empty((0, 1))),
    "a plan of nan": _plan([[np.nan]]),
    "a plan of 1e308": _plan([[1e308]] * 20),
    "a plan of other columns": _plan(np.ones((3, 4))),
    "a long plan": _plan(np.ones((100_000, 1))),
    "a plan cut short": _raw(PLAN_TOPIC, b"\0\1\0\0\7"),
    "an entry cut short": _raw(CONTROL_TOPIC, b"\0\1\0\0\xff\xff\xff\xff"),
    "joints of 1e308": _raw("/joints", joints(START + TICKS * STEP, value=1e308)),
    "joints of nothing": _raw("/joints", b""),
}


def cases(seed: int) -> Iterator[Case]:
    """Yield the logs made by hand, then damaged ones without end."""
    for name, write in BY_HAND.items():
        yield Case(name, partial(_follow, partial(_made, write)))
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        whole = _log(Path(folder), _plan(np.ones((9, 1))))
        files = {file.name: file.read_bytes() for file in sorted(whole.iterdir())}
    control = json.dumps({"options": OPTIONS.to_mapping(), "model": "0" * 64}).encode()
    for number in range(10**9):
        name = sorted(files)[number % len(files)]
        spoilt = {**files, name: damaged(files[name], rng)}
        yield Case(f"damaged {name} {number}", partial(_follow, partial(_copied, spoilt)))
        text = damaged(control, rng).decode("utf-8", "replace")
        yield Case(f"damaged entry {number}", partial(_follow, partial(_made, _entry(text))))


def _made(write: Write, folder: Path) -> Path:
    return _log(folder, write)


def _copied(files: dict[str, bytes], folder: Path) -> Path:
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def _follow(make: Callable[[Path], Path]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            for forecast in replay(Replay(_model(), make(folder), OPTIONS)):
                if not np.isfinite(forecast.values).all():
                    raise non_finite("a forecast")
    finally:
        shutil.rmtree(folder)


def _prepare() -> Sequence[Any]:
    return [_model()]


GROUP = Group("replay", cases, size=400, seconds=10.0, prepare=_prepare)
