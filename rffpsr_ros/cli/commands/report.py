"""Show on one page how good a model is: an HTML file that needs no network.

It begins with the verdict; then come errors by horizon beside baselines, forecasts over what was
observed, coverage of bands, residual checks, the data, what learning tried, and how to reproduce
it. Judged is as by 'rffpsr evaluate', whose figures stand on the page.
"""

from __future__ import annotations

import argparse

from rffpsr_ros.cli.console import ProgressBar, say
from rffpsr_ros.cli.judged_bags import add_judging_arguments, judge_bags
from rffpsr_ros.cli.outputs import PAGE, check_writable
from rffpsr_ros.cli.parser import Parser
from rffpsr_ros.models.loading import load
from rffpsr_ros.report.write import Origin, write_report


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    add_judging_arguments(parser)
    parser.add_argument("--out", metavar="FILE", required=True, help="the page to write (.html)")


def run(arguments: argparse.Namespace) -> None:
    """Write the page and print the verdict."""
    model, file = load(arguments.model)
    target = check_writable(arguments.out, PAGE)
    with ProgressBar(quiet=arguments.quiet) as progress:
        judged = judge_bags(arguments, model, progress)
        origin = Origin(judged.recordings.report, file, [arguments.words])
        write_report(target, judged.judgement, origin, progress)
    say(f"report written to {target}", *judged.judgement.verdict.lines())
