"""The report of a model: put together from its parts, and written whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rffpsr_ros.errors import InputError, counted, shown
from rffpsr_ros.evaluation.followed import follow
from rffpsr_ros.evaluation.verdict import ModelVerdict
from rffpsr_ros.models.loading import load
from rffpsr_ros.models.storage import ModelFile
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recordings.bags.read_report import ReadReport
from rffpsr_ros.report.coverage_section import coverage_section
from rffpsr_ros.report.data_section import checked, data_section
from rffpsr_ros.report.error_section import error_section
from rffpsr_ros.report.forecast_section import forecast_section
from rffpsr_ros.report.page import MARK, page
from rffpsr_ros.report.recipe_section import recipe_section
from rffpsr_ros.report.reproduction_section import reproduction_section
from rffpsr_ros.report.residual_section import residual_section
from rffpsr_ros.report.response_section import response_section
from rffpsr_ros.training.judgement import Judgement, judge_trained
from rffpsr_ros.training.request import kind_asked_for
from rffpsr_ros.training.train import Trained
from rffpsr_ros.training.verdict import remembered_verdict_of


class Origin(NamedTuple):
    """Where what is reported comes from, as far as it is known.

    Attributes
    ----------
    report
        What the bags gave.
    file
        The model's file.
    commands
        The words of each command that led here.
    """

    report: ReadReport | None = None
    file: ModelFile | None = None
    commands: Sequence[Sequence[str]] = ()


def report_page(
    judgement: Judgement, origin: Origin | None = None, progress: Progress = silent
) -> str:
    """Return a page on a model that was judged; it needs nothing beside itself."""
    origin = origin or Origin()
    model, options = judgement.model, judgement.options
    horizon, start = options.horizon, options.start
    followed = follow(model, judgement.parts.test, horizon, start, progress)
    progress("writing the report", 0.0)
    check = checked(judgement, origin.report)
    said, remarks = _verdicts(judgement)
    sections = [
        error_section(judgement),
        forecast_section(judgement, followed),
        coverage_section(judgement),
        residual_section(judgement, followed),
        data_section(judgement, check, origin.report),
        recipe_section(model),
        response_section(check),
        reproduction_section(judgement, origin.file, origin.commands),
    ]
    name = Path(judgement.path).name
    seen, acted = len(model.signature.observation_names), len(model.signature.action_names)
    columns = f"{counted(seen, 'observation')} from {counted(acted, 'action')}"
    subtitle = f"{kind_asked_for(model)}: {columns}, a tick of {model.signature.period:g} s"
    title = f"How well {name} forecasts"
    return page(title, subtitle, said, remarks, sections, judgement.as_json())


def write_report(
    path: str | Path,
    judgement: Judgement,
    origin: Origin | None = None,
    progress: Progress = silent,
) -> None:
    """Write the page.

    Raises
    ------
    InputError
        If it cannot be written there.
    """
    target = Path(path)
    text = report_page(judgement, origin, progress)
    staged = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        staged.write_text(text, encoding="utf-8", errors="backslashreplace")
        staged.replace(target)
    except OSError as fault:
        raise InputError(f"cannot write {shown(target, 200)}: {fault.strerror}") from None
    finally:
        with suppress(OSError):
            staged.unlink(missing_ok=True)


def report_beside(
    trained: Trained,
    model: Path,
    commands: Sequence[Sequence[str]] = (),
    progress: Progress = silent,
) -> Path:
    """Write the report of a model that was just learned beside its file, and return where.

    Raises
    ------
    InputError
        If something else has that name, it cannot be written, or no recording is long enough.
    """
    target = model.with_name(f"{model.name}.html")
    if target.exists() and not _is_report(target):
        said = f"{shown(target, 200)} is no report; it stays, and no report is written"
        raise InputError(said)
    write_trained(target, trained, model, commands, progress)
    return target


def write_trained(
    path: str | Path,
    trained: Trained,
    model: Path,
    commands: Sequence[Sequence[str]] = (),
    progress: Progress = silent,
) -> None:
    """Write the report of a model that was just learned and written.

    Raises
    ------
    InputError
        If it cannot be written, or no recording is long enough.
    """
    origin = Origin(trained.recordings.report, load(model).file, commands)
    write_report(path, judge_trained(trained, str(model), progress), origin, progress)


def _is_report(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return MARK in stream.read(200)
    except OSError:
        return False


def _verdicts(judgement: Judgement) -> tuple[ModelVerdict, list[str]]:
    """Return the verdict that stands first, and what else is to be said.

    On what a model has learned from, that of its training comes first: parts held out are the
    better judge.
    """
    told = remembered_verdict_of(judgement.model.record.metrics)
    if told is None:
        return judgement.verdict, []
    if judgement.seen:
        return told, [
            "The figures below are of the recordings that the model has learned from, so they"
            f" flatter: {judgement.verdict.sentences[0]}"
        ]
    return judgement.verdict, [f"When it was trained: {told.sentences[0]}"]
