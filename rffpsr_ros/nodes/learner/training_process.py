"""Training in a process of its own: a request on standard input, progress as JSON lines on output.

The request is one JSON line: ``channels`` (the configuration), ``bags``, ``out`` (the model file),
``staging``, a folder beside it that this process makes, writes the model in, and removes,
``niceness``, by how much it stands back behind other processes, and ``processes``, how many learn
side by side if the configuration does not say, ``start``, the model to go on from if that can be,
``automatic``, whether the new model must be better than that, ``forget``, how much less what was
learned before counts, and ``report``, whether a page on the model is written beside it. What the
recordings lack is told as warnings, and which episodes cannot be read and are left out.
Standard input stays open as long as the parent lives and wants the model; when it closes, or on
SIGTERM, this process ends and leaves no file behind. It imports no ROS.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.forecasting.live_error import training_error
from rffpsr_ros.models.storage import refuse_to_replace_other_files
from rffpsr_ros.nodes.learner.retraining import Telling, retrain
from rffpsr_ros.numerics.priority import stand_back
from rffpsr_ros.recipe.more.kept import Learned
from rffpsr_ros.recipe.more.kept_file import kept_path, write_kept
from rffpsr_ros.report.write import report_beside
from rffpsr_ros.training.train import Trained, TrainingPlan
from rffpsr_ros.training.verdict import training_verdict


def main() -> int:
    """Train as asked on standard input; return 0 if a model was written."""
    request = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_watch_parent, daemon=True).start()
    stand_back(request["niceness"])
    try:
        result = carry_out(request)
    except InputError as problem:
        _tell({"error": str(problem)})
        return 2
    _tell(result)
    return 0


def carry_out(request: Mapping[str, Any]) -> dict[str, Any]:
    """Train as requested and write the model, if it is wanted; return where it is and how good.

    Raises
    ------
    InputError
        If the bags do not give a model.
    """
    made = retrain(request, Telling(_progress, _warn, _left_out))
    for sentence in made.warnings:
        _tell({"warning": sentence})
    target, staging = Path(request["out"]), Path(request["staging"])
    if made.trained is None:
        return {"stays": request["start"], "decision": made.decision}
    trained = made.trained
    if trained.kept is None:
        _write(trained.model, target, staging)
    else:
        learned = Learned(trained.model, trained.kept)
        _write(trained.model, target, staging, lambda path: write_kept(path, learned, made.bags))
    report = _reported(trained, target) if request["report"] else {}
    error = training_error(trained.model)
    mean_squares = [] if error is None else error.mean(axis=1).tolist()
    described = trained.recordings.describe()
    return {
        "model": str(target),
        "trained_on": described,
        "mse": mean_squares,
        "decision": made.decision,
        "verdict": " ".join(training_verdict(trained.model, trained.validation).sentences),
        **report,
    }


def _reported(trained: Trained, target: Path) -> dict[str, str]:
    """Write the report beside the model; where that cannot be, say why: the model counts."""
    try:
        return {"report": str(report_beside(trained, target, (), _progress))}
    except InputError as problem:
        _tell({"warning": f"no report: {problem}"})
        return {}


def _write(
    model: Any, target: Path, staging: Path, keep: Callable[[Path], None] | None = None
) -> None:
    """Let the model appear at its place, complete or not at all; first what is kept beside it."""
    refuse_to_replace_other_files(target)
    try:
        staging.mkdir(parents=True)
        model.save(staging / "model")
        if keep is not None:
            keep(staging / "kept")
            (staging / "kept").replace(kept_path(target))
        (staging / "model").replace(target)
    except (OSError, InputError) as problem:
        # Nobody knows the hidden place that it is written in first.
        fault = problem if isinstance(problem, OSError) else problem.__cause__
        if not isinstance(fault, OSError):
            raise
        raise InputError(f"cannot write {shown(target, 200)}: {fault.strerror}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _warn(plan: TrainingPlan) -> None:
    """Tell what is wrong with the recordings; training goes on."""
    for sentence in plan.warnings:
        _tell({"warning": sentence})


def _left_out(sentence: str) -> None:
    """Tell of an episode that is not learned from; training goes on."""
    _tell({"left out": sentence})


def _progress(stage: str, fraction: float, error: float | None = None) -> None:
    if error is not None and not math.isfinite(error):
        error = None
    _tell({"stage": stage, "fraction": fraction, "error_by_now": error})


def _tell(entry: Mapping[str, Any]) -> None:
    print(json.dumps(entry), flush=True)


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
