"""Measure a model's forecasts on bags, horizon by horizon, beside simple baselines.

The last observation always stands beside the model. Linear ARX does too where its training data
are known: with --split (the bags the model was trained on, cut as in training) or with
--train BAG.... Other models, such as an ARX that was trained before, are given with --beside.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from rffpsr_ros.cli.console import ProgressBar, aligned, say, say_json
from rffpsr_ros.cli.judged_bags import JudgedBags, add_judging_arguments, judge_bags
from rffpsr_ros.cli.outputs import check_plot
from rffpsr_ros.cli.parser import Parser
from rffpsr_ros.evaluation.extrapolation import told
from rffpsr_ros.evaluation.horizon_error import HorizonErrors
from rffpsr_ros.evaluation.plots import plot_errors, plot_forecast
from rffpsr_ros.evaluation.report import coverage_table, shown_horizons, text_table
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.training.judgement import Judgement


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    add_judging_arguments(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw errors by horizon (.png, .pdf, .svg)")
    parser.add_argument(
        "--plot-forecast", metavar="FILE", help="draw forecasts over what was observed later"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> None:
    """Print the errors of the model and of the baselines beside it."""
    model = load_model(arguments.model)
    for plot in (arguments.plot, arguments.plot_forecast):
        if plot is not None:
            check_plot(plot)
    with ProgressBar(quiet=arguments.quiet) as progress:
        judged = judge_bags(arguments, model, progress)
        _plot(judged.judgement, arguments)
    if arguments.json:
        say_json(judged.judgement.as_json())
    else:
        say(*_lines(judged))


def _plot(judgement: Judgement, arguments: argparse.Namespace) -> None:
    title, comparison = Path(arguments.model).name, judgement.comparison
    if arguments.plot:
        plot_errors(comparison.errors, arguments.plot, title)
    if arguments.plot_forecast:
        models = {name: entry.model for name, entry in comparison.entries.items()}
        longest = max(judgement.parts.test, key=len)
        plot_forecast(models, longest, arguments.horizon, arguments.plot_forecast, title)


def _lines(judged: JudgedBags) -> list[str]:
    judgement, recordings = judged
    signature, covered = judgement.model.signature, judgement.covered
    lines = [f"read {recordings.describe()}; judged on {judgement.ticks} ticks"]
    if sentence := told(judgement.beyond):
        lines.append(sentence)
    if "linear_arx" not in judgement.comparison.entries and not judgement.parts.train:
        lines.append(
            "linear ARX is not shown: say what to fit it to by --train BAG..., or --split if"
            " these bags were split in training"
        )
    errors = judgement.comparison.errors
    lines += ["", "mean squared error, summed over observations:"]
    lines += text_table(errors).splitlines()
    units = signature.observation_units or [""] * len(signature.observation_names)
    for column, (name, unit) in enumerate(zip(signature.observation_names, units, strict=True)):
        lines += ["", f"{name} ({unit}):" if unit else f"{name}:"]
        lines += _by_observation(errors, column)
    if covered is not None:
        lines += ["", f"share that bands of {100 * covered.nominal:g} % covered (%):"]
        table = coverage_table(covered, signature.observation_names)
        lines += table.splitlines()
    return lines + judgement.verdict.lines()


def _by_observation(errors: Mapping[str, HorizonErrors], column: int) -> Sequence[str]:
    """Return MSE, RMSE and fit of one observation as a table."""
    last = next(iter(errors.values())).horizon
    horizons = shown_horizons(last)
    rows = [["model", "", *(f"h{h}" for h in horizons)]]
    for name, one in errors.items():
        for title, label, values, form in (
            (name, "MSE", one.mse_by_observation, ".3g"),
            ("", "RMSE", one.rmse, ".3g"),
            ("", "fit %", one.fit_percent, ".1f"),
        ):
            rows.append([title, label, *(format(values[h - 1, column], form) for h in horizons)])
    return aligned(rows, range(2, len(horizons) + 2))
