"""Training in a process of its own: a request on standard input, progress as JSON lines on output.

The request is one JSON line: ``channels`` (the configuration), ``bags`` and ``out`` (the model
file). What the recordings lack is told as warnings. Standard input stays open as long as the parent
lives and wants the model; when it closes, or on SIGTERM, this process ends and leaves no file
behind. It imports no ROS.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from rffpsr_ros.cli.commands.check import warnings_before_training
from rffpsr_ros.cli.commands.train import signed
from rffpsr_ros.data.subsample import subsample
from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.live_error import training_error
from rffpsr_ros.models.registry import learner_of
from rffpsr_ros.parallel.workers import THIS_PROCESS
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.training.bands import measure_bands
from rffpsr_ros.training.recordings import Recordings, store_recordings

KIND = "rff_psr"
NICENESS = 10
"""How far training stands back behind what the robot needs."""


def main() -> int:
    """Train as asked on standard input; return 0 if a model was written."""
    request = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_watch_parent, daemon=True).start()
    _stand_back()
    try:
        result = train(request)
    except InputError as problem:
        _tell({"error": str(problem)})
        return 2
    _tell(result)
    return 0


def train(request: Mapping[str, Any]) -> dict[str, Any]:
    """Read the bags, learn, write the model; return where it is and how good.

    Raises
    ------
    InputError
        If the bags do not give a model.
    """
    configuration = ChannelConfiguration.from_mapping(request["channels"])
    learner = learner_of(KIND, configuration.learning)
    reading = argparse.Namespace(ros_distro=None, msg_path=())
    recordings = store_recordings(request["bags"], configuration, reading, _progress)
    _warn(configuration, recordings)
    model = learner.fit(recordings.trajectories, progress=_progress)
    model = measure_bands(model, learner, recordings.trajectories, _progress)
    model = signed(model, configuration, recordings)
    target = Path(request["out"])
    target.parent.mkdir(parents=True, exist_ok=True)
    model.save(target)
    error = training_error(model)
    mean_squares = [] if error is None else error.mean(axis=1).tolist()
    return {"model": str(target), "trained_on": recordings.describe(), "mse": mean_squares}


def _warn(configuration: ChannelConfiguration, recordings: Recordings) -> None:
    """Tell what is wrong with the recordings; training goes on."""
    _progress("checking the data", 0.0)
    known = subsample(recordings.trajectories, np.random.default_rng(0), THIS_PROCESS)
    for sentence in warnings_before_training(known, configuration.learning, recordings):
        _tell({"warning": sentence})


def _progress(stage: str, fraction: float, error: float | None = None) -> None:
    if error is not None and not math.isfinite(error):
        error = None
    _tell({"stage": stage, "fraction": fraction, "error_by_now": error})


def _tell(entry: Mapping[str, Any]) -> None:
    print(json.dumps(entry), flush=True)


def _stand_back() -> None:
    """Leave the processor to what the robot needs, also where Linux divides it by sessions."""
    with suppress(OSError):
        os.nice(NICENESS)
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(NICENESS))


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _watch_parent() -> None:
    """End this process once nobody holds the other end of standard input any more."""
    # Not sys.stdin: its lock, held by a waiting thread, would stop the interpreter's end.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    raise SystemExit(main())
