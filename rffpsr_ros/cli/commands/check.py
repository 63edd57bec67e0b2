"""Tell whether bags can teach a model, before anything is learned from them.

Checked is what the theory asks of training data: enough of it, actions that vary given the past,
observations that respond to them, and a policy that is blind to the observations.
docs/exploration.md says how to read the figures and what to do.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from rffpsr_ros.cli.console import ProgressBar, aligned, say, say_json
from rffpsr_ros.cli.outputs import check_plot
from rffpsr_ros.cli.parser import Parser
from rffpsr_ros.cli.settings import add_reading_arguments, load_configuration, reading_options
from rffpsr_ros.exploration.check import ExplorationCheck
from rffpsr_ros.exploration.findings import as_json, findings
from rffpsr_ros.exploration.plot import plot_exploration
from rffpsr_ros.exploration.response_words import nav2_lines, response_table
from rffpsr_ros.models.registry import DEFAULT, learner_of
from rffpsr_ros.training.configuration import asked_split, check_dataset
from rffpsr_ros.training.data_check import check_data
from rffpsr_ros.training.recordings import BagRecordings, read_recordings, split_recordings


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bags", metavar="BAG", nargs="+", help="bags, folders of bags, patterns")
    parser.add_argument("--config", metavar="FILE", required=True, help="channels and options")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change one key of the configuration, such as learning.rank=20",
    )
    parser.add_argument(
        "--split",
        metavar="F,F,F",
        help="check the training part alone, as 'rffpsr train' with the same split does; default:"
        " the configuration's dataset.split, else all",
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the figures (.png, .pdf, .svg)")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the verdicts and the figures behind them."""
    configuration = load_configuration(arguments.config, arguments.set)
    check_dataset(configuration)
    shares = asked_split(arguments.split, configuration.dataset)
    learner_of(DEFAULT, configuration.learning)  # a misspelt option is refused before reading
    if arguments.plot is not None:
        check_plot(arguments.plot)
    with ProgressBar(quiet=arguments.quiet) as progress:
        recordings = read_recordings(
            arguments.bags, configuration, reading_options(arguments), progress
        )
        progress("checking", 0.0)
        checked = recordings.trajectories
        if shares is not None:
            checked = split_recordings(checked, shares).train
        units = recordings.action_units
        measured = check_data(checked, configuration.learning, units, responses=True)
        check = replace(measured, on_both_sides=configuration.on_both_sides)
        if arguments.plot is not None:
            names = ", ".join(Path(bag).name for bag in arguments.bags)
            plot_exploration(check, arguments.plot, names)
    if arguments.json:
        say_json(as_json(check))
    else:
        say(*_lines(check, recordings))


def _lines(check: ExplorationCheck, recordings: BagRecordings) -> list[str]:
    lines = [f"read {recordings.describe()}"]
    if check.ticks < recordings.ticks:
        lines.append(f"checked the training part, {check.ticks} ticks, as 'rffpsr train' does")
    if check.measured_ticks < check.ticks:
        lines.append(f"measured {check.measured_ticks} ticks, in stretches spread evenly")
    found = findings(check)
    marks = {"ok": "good", "note": "note", "warning": "WARNING"}
    lines += ["", *(f"{marks[one.level]:<8} {one.sentence}" for one in found)]
    count = sum(one.level == "warning" for one in found)
    verdict = "these data can teach a model"
    if count:
        verdict = f"{count} {'thing' if count == 1 else 'things'} to put right; see above"
    return [*lines, *_figures(check), *_responses(check), "", verdict]


def _responses(check: ExplorationCheck) -> list[str]:
    """Return how soon observations respond, and the lines that a navigation stack takes of it."""
    table = response_table(check.responses or ())
    if not table:
        return []
    lines = ["", *aligned(table, range(2, 4)), "(beside its uncertainty; one standard error)"]
    timed = {one.action for one in check.responses or ()}
    moved = [one.name for one in check.channels if not one.constant]
    if vague := [f"'{name}'" for name in moved if name not in timed]:
        lines.append(f"(when anything responds to {' or '.join(vague)} is not clear)")
    if delays := nav2_lines(check.responses or ()):
        lines += ["", "for Nav2's MPPI controller:", *delays]
    return lines


def _figures(check: ExplorationCheck) -> list[str]:
    posed = check.conditioning
    if posed is None:
        return []
    rows = [
        ("history E[h h'] (stage one)", posed.history),
        ("future actions given history (joint stage one)", posed.future_action_given_history),
        ("history x future actions (conditional)", posed.history_action),
        ("states' spread, squared (stage two)", posed.state**2),
    ]
    for channel in check.channels:
        if channel.freedom is None:
            continue
        rows.append((f"next '{channel.name}' given history, pooled", channel.freedom.alone))
        if len(channel.freedom.by_history):
            seldom = channel.freedom.seldom
            rows.append((f"next '{channel.name}' given one history, lowest 5 %", seldom))
    table = [["eigenvalues of", "how many", "largest", "smallest", "condition"]]
    for name, values in rows:
        smallest = max(float(values[-1]), 0.0)
        condition = f"{values[0] / smallest:.1e}" if smallest > 1e-15 * values[0] else "infinite"
        figures = (str(len(values)), f"{values[0]:.1e}", f"{smallest:.1e}", condition)
        table.append([name, *figures])
    return [
        "",
        *aligned(table, range(1, 5)),
        f"(what lies below the ridge, {check.options.ridge:g}, is not learned)",
    ]
