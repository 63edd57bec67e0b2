"""Measure a model's forecasts on bags, horizon by horizon, beside simple baselines.

The last observation always stands beside the model. Linear ARX does too where its training data
are known: with --split (the bags the model was trained on, cut as in training) or with
--train BAG.... Other models, such as an ARX that was trained before, are given with --beside.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rffpsr_ros.cli.console import ProgressBar, aligned, say, say_json
from rffpsr_ros.cli.outputs import check_writable
from rffpsr_ros.cli.parser import Parser, fraction, whole_number
from rffpsr_ros.cli.settings import add_reading_arguments, reading_options
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.calibration import Coverage, coverage
from rffpsr_ros.evaluation.comparison import Comparison, compare
from rffpsr_ros.evaluation.extrapolation import Extrapolation, extrapolations, told
from rffpsr_ros.evaluation.horizon_error import HorizonErrors
from rffpsr_ros.evaluation.plots import plot_errors, plot_forecast
from rffpsr_ros.evaluation.report import (
    coverage_as_json,
    coverage_table,
    errors_as_json,
    text_table,
)
from rffpsr_ros.evaluation.verdict import (
    ModelVerdict,
    broken_promise,
    paired_with_baseline,
    verdict,
)
from rffpsr_ros.forecasting.adaptation.adaptive_model import AdaptiveModel
from rffpsr_ros.forecasting.follower import channels_of
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.contract import Learner, PredictiveModel, Signature
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.training.recordings import (
    BagRecordings,
    Split,
    check_columns,
    read_recordings,
    split_recordings,
)
from rffpsr_ros.training.request import has_learned_from, kind_asked_for

_SHOWN = (1, 2, 3, 5, 10)
_FAR = 0.05
"""The share of a column's range by which it must be exceeded for the verdict to name it."""


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bags", metavar="BAG", nargs="+", help="bags, folders of bags, patterns")
    parser.add_argument("--model", metavar="MODEL", required=True, help="a model file")
    parser.add_argument(
        "--split", metavar="F,F,F", help="judge only the last of these parts of the bags"
    )
    parser.add_argument(
        "--train", metavar="BAG", nargs="+", action="extend", help="bags to fit linear ARX to"
    )
    parser.add_argument(
        "--beside", metavar="MODEL", nargs="+", action="extend", default=[], help="other models"
    )
    parser.add_argument(
        "--horizon", type=whole_number(1), default=10, metavar="H", help="ticks ahead (10)"
    )
    parser.add_argument(
        "--start", type=whole_number(0), default=9, metavar="T", help="first tick judged (9)"
    )
    parser.add_argument(
        "--coverage",
        type=fraction,
        default=0.9,
        metavar="C",
        help="the share of later observations that prediction bands shall cover (0.9)",
    )
    parser.add_argument(
        "--adapt",
        action="store_true",
        help="show the model, too, as it corrects itself by its errors along each recording",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw errors by horizon (.png, .pdf, .svg)")
    parser.add_argument(
        "--plot-forecast", metavar="FILE", help="draw forecasts over what was observed later"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the errors of the model and of the baselines beside it."""
    model = load_model(arguments.model)
    configuration = channels_of(model)
    for plot in (arguments.plot, arguments.plot_forecast):
        if plot is not None:
            check_writable(plot)
    if arguments.split and arguments.train:
        raise InputError("--split names a training part and so does --train; give one")
    with ProgressBar(quiet=arguments.quiet) as progress:
        reading = reading_options(arguments)
        recordings = read_recordings(arguments.bags, configuration, reading, progress)
        parts = Split([], [], recordings.trajectories)
        if arguments.split:
            parts = split_recordings(recordings.trajectories, arguments.split)
        if arguments.train:
            known = read_recordings(
                arguments.train, configuration, reading, progress, "reading training bags"
            )
            parts = parts._replace(train=known.trajectories)
        check_columns(parts.test or parts.train, model.signature, arguments.model)
        comparison = _comparison(model, arguments, parts, progress)
        _plot(comparison, parts, arguments)
        covered = coverage(
            model, parts.test, arguments.coverage, arguments.horizon, arguments.start
        )
    beyond = extrapolations(model, parts.test)
    seen = has_learned_from(model, parts.test)
    said = _verdict(comparison, parts, covered, beyond, seen)
    result = _Result(
        arguments.model, model.signature, recordings, parts, comparison, covered, beyond, said
    )
    if arguments.json:
        say_json(result.as_json())
    else:
        say(*result.lines())


def _comparison(
    model: PredictiveModel[Any], arguments: argparse.Namespace, parts: Split, progress: ProgressBar
) -> Comparison:
    if not parts.test:
        raise InputError(f"the split {arguments.split} leaves nothing to test on")
    compared: dict[str, PredictiveModel[Any] | Learner] = {kind_asked_for(model): model}
    if arguments.adapt:
        compared[f"{kind_asked_for(model)}, adaptive"] = AdaptiveModel(model, arguments.horizon)
    for path in arguments.beside:
        other = load_model(path)
        check_columns(parts.test, other.signature, path)
        kind = kind_asked_for(other)
        compared[Path(path).stem if kind in compared else kind] = other
    compared.setdefault("last_observation", LastObservation().fit(parts.train or parts.test))
    if parts.train:
        compared.setdefault("linear_arx", LinearARX(future=arguments.horizon))
    progress("evaluation", 0.0)
    return compare(
        compared,
        parts.test,
        parts.train,
        parts.validation or None,
        arguments.horizon,
        arguments.start,
    )


def _verdict(
    comparison: Comparison,
    parts: Split,
    covered: Coverage | None,
    beyond: Sequence[Extrapolation],
    seen: bool,
) -> ModelVerdict:
    """Return the verdict; ``seen`` is whether the model has learned from what it is judged on."""
    judged_on = f"{sum(map(len, parts.test))} ticks"
    limits = broken_promise(covered)
    if sentence := told([one for one in beyond if one.furthest > _FAR]):
        limits.append(sentence)
    if seen:
        judged_on += " that it has learned from"
        limits.insert(0, "recordings that it has not learned from will tell more")
    return verdict(paired_with_baseline(comparison.errors), judged_on, limits)


def _plot(comparison: Comparison, parts: Split, arguments: argparse.Namespace) -> None:
    title = Path(arguments.model).name
    if arguments.plot:
        plot_errors(comparison.errors, arguments.plot, title)
    if arguments.plot_forecast:
        models = {name: entry.model for name, entry in comparison.entries.items()}
        longest = max(parts.test, key=len)
        plot_forecast(models, longest, arguments.horizon, arguments.plot_forecast, title)


class _Result(NamedTuple):
    """What evaluation reports."""

    path: str
    signature: Signature
    recordings: BagRecordings
    parts: Split
    comparison: Comparison
    covered: Coverage | None
    beyond: Sequence[Extrapolation]
    verdict: ModelVerdict

    def as_json(self) -> dict[str, Any]:
        errors, names = self.comparison.errors, self.signature.observation_names
        return {
            "model": self.path,
            "horizon": self.comparison.horizon,
            "start": self.comparison.start,
            "period": self.comparison.period,
            "observation_names": list(names),
            "ticks": sum(map(len, self.parts.test)),
            "models": {name: errors_as_json(one) for name, one in errors.items()},
            "bands": self.covered and coverage_as_json(self.covered, names),
            "extrapolations": [one.as_json() for one in self.beyond],
            "verdict": self.verdict.as_json(),
        }

    def lines(self) -> list[str]:
        ticks = sum(map(len, self.parts.test))
        lines = [f"read {self.recordings.describe()}; judged on {ticks} ticks"]
        if sentence := told(self.beyond):
            lines.append(sentence)
        if "linear_arx" not in self.comparison.entries:
            lines.append(
                "linear ARX is not shown: say what to fit it to by --train BAG..., or --split if"
                " these bags were split in training"
            )
        errors = self.comparison.errors
        lines += ["", "mean squared error, summed over observations:"]
        lines += text_table(errors).splitlines()
        units = self.signature.observation_units or [""] * len(self.signature.observation_names)
        for column, (name, unit) in enumerate(
            zip(self.signature.observation_names, units, strict=True)
        ):
            lines += ["", f"{name} ({unit}):" if unit else f"{name}:"]
            lines += _by_observation(errors, column)
        if self.covered is not None:
            lines += ["", f"share that bands of {100 * self.covered.nominal:g} % covered (%):"]
            table = coverage_table(self.covered, self.signature.observation_names)
            lines += table.splitlines()
        return lines + self.verdict.lines()


def _by_observation(errors: Mapping[str, HorizonErrors], column: int) -> Sequence[str]:
    """Return MSE, RMSE and fit of one observation as a table."""
    last = next(iter(errors.values())).horizon
    horizons = sorted({h for h in (*_SHOWN, last) if h <= last})
    rows = [["model", "", *(f"h{h}" for h in horizons)]]
    for name, one in errors.items():
        for title, label, values, form in (
            (name, "MSE", one.mse_by_observation, ".3g"),
            ("", "RMSE", one.rmse, ".3g"),
            ("", "fit %", one.fit_percent, ".1f"),
        ):
            rows.append([title, label, *(format(values[h - 1, column], form) for h in horizons)])
    return aligned(rows, range(2, len(horizons) + 2))
