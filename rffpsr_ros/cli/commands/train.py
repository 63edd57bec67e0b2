"""Learn a model from bags.

The configuration says which topics and fields are observations and actions; 'rffpsr inspect'
writes one. The model file carries it, so that whoever has the model needs nothing else.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from rffpsr_ros.cli.cluster_client import cluster_client
from rffpsr_ros.cli.console import ProgressBar, say, say_json, warn
from rffpsr_ros.cli.outputs import PAGE, check_writable
from rffpsr_ros.cli.parser import Parser
from rffpsr_ros.cli.settings import (
    add_reading_arguments,
    load_configuration,
    parse_setting,
    reading_options,
)
from rffpsr_ros.cli.stage_clock import StageClock, peak_memory
from rffpsr_ros.cli.training_summary import TrainingSummary
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.registry import DEFAULT, learner_class, offered_kinds
from rffpsr_ros.parallel.processes import usable_cores
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.report.write import write_trained
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.training.bands import BANDS
from rffpsr_ros.training.train import TrainingPlan, train
from rffpsr_ros.training.train_more import all_bags, check_places, save_with_kept, train_more

_LEARNING = "learning."


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bags", metavar="BAG", nargs="+", help="bags, folders of bags, patterns")
    parser.add_argument("--config", metavar="FILE", help="channels and options")
    parser.add_argument(
        "--from",
        dest="start",
        metavar="MODEL",
        help="learn more: the bags are new ones for a model that was trained with --keep; channels"
        " and options are the model's",
    )
    parser.add_argument(
        "--forget",
        type=float,
        metavar="SHARE",
        help="with --from: so much less all that was learned before counts, 0 (default) to 1",
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="keep what --from needs later, beside the model as MODEL.kept",
    )
    parser.add_argument("--out", metavar="MODEL", required=True, help="the model file to write")
    offered = [kind.name for kind in offered_kinds()]
    parser.add_argument("--model", choices=offered, default=DEFAULT, help="kind of model")
    parser.add_argument(
        "--split",
        metavar="F,F,F",
        help="cut the bags, laid end to end, into training, validation and test part; the test"
        " part is left out",
    )
    parser.add_argument(
        "--validation", metavar="BAG", nargs="+", action="extend", help="bags that steer choices"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="seed of all randomness")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change one key of the configuration, such as learning.rank=20",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on after an interruption: keep the model at --out if this very training made it",
    )
    parser.add_argument(
        "--bands",
        choices=BANDS,
        default=BANDS[0],
        help="prediction bands: from errors that learning met on held-out parts, where it met any"
        " (held-out); always from learning anew without each third of the data (folds); or none",
    )
    parser.add_argument(
        "--no-check",
        action="store_true",
        help="do not check first whether the data can teach a model (see 'rffpsr check')",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="hand reading, both stages, folds, trials, baselines and, where learning.minibatches"
        " is more than 1, minibatches to the Dask cluster whose scheduler is there, such as"
        " tls://host:8786; its workers need the same bags at the same places; tcp:// is unsafe: who"
        " reaches it runs programs there",
    )
    parser.add_argument(
        "--report", metavar="FILE", help="write a page that shows how good the model is (.html)"
    )
    parser.add_argument("--profile", action="store_true", help="tell what each stage took")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Learn and write the model, and say how good it is on the validation part."""
    _check_start(arguments)
    if arguments.start is not None:
        _learn_more(arguments)
        return
    configuration, learning = _configured(arguments)
    target, began = _target(arguments, arguments.keep), time.monotonic()
    with cluster_client(arguments.scheduler) as client, ProgressBar(quiet=arguments.quiet) as bar:
        clock = StageClock(bar)
        trained = train(
            arguments.bags,
            configuration,
            kind=arguments.model,
            learning=learning,
            validation=arguments.validation or (),
            split=arguments.split,
            reading=reading_options(arguments),
            bands=arguments.bands,
            check=not arguments.no_check,
            resume=target if arguments.resume else None,
            keep=arguments.keep,
            progress=clock,
            before_learning=lambda plan: _before_learning(plan, bar, client is not None),
            client=client,
        )
    if not trained.resumed:
        save_with_kept(trained, target, all_bags(arguments.bags) if arguments.keep else ())
    stages = clock.stages() if arguments.profile else []
    _tell(arguments, TrainingSummary(target, trained, time.monotonic() - began, stages))


def _tell(arguments: argparse.Namespace, summary: TrainingSummary) -> None:
    """Say what training came to, and write the report if one is wanted."""
    if arguments.report is not None:
        with ProgressBar(quiet=arguments.quiet) as bar:
            trained, words = summary.trained, [arguments.words]
            write_trained(arguments.report, trained, summary.path, words, bar)
    if arguments.json:
        say_json(summary.as_json())
    else:
        say(*summary.lines())


_ANEW = ("config", "model", "split", "validation", "seed", "set", "resume", "bands", "no_check")
"""What is decided when a model is trained anew, and stays when it learns more."""


def _check_start(arguments: argparse.Namespace) -> None:
    """Refuse what does not go together with where learning starts."""
    if arguments.start is None:
        if arguments.config is None:
            raise InputError("--config is missing; give the channels to learn from")
        if arguments.forget is not None:
            raise InputError("--forget says what a model given by --from forgets; there is none")
        return
    usual = {"model": DEFAULT, "bands": BANDS[0]}
    for name in _ANEW:
        value = getattr(arguments, name)
        if value not in (None, False, [], usual.get(name)):
            option = name.replace("_", "-")
            raise InputError(
                f"--{option} is decided when a model is trained anew; leave it out beside --from"
            )


def _target(arguments: argparse.Namespace, keep: bool) -> Path:
    """Return where the model is going to be, and refuse places where nothing can be written."""
    target = check_writable(arguments.out)
    check_places(target, keep)
    if arguments.report is not None:
        check_writable(arguments.report, PAGE)
    return target


def _learn_more(arguments: argparse.Namespace) -> None:
    """Let a model learn from new bags too, and write it."""
    target, began = _target(arguments, keep=True), time.monotonic()
    with cluster_client(arguments.scheduler) as client, ProgressBar(quiet=arguments.quiet) as bar:
        clock = StageClock(bar)
        more = train_more(
            arguments.start,
            arguments.bags,
            forget=arguments.forget or 0.0,
            reading=reading_options(arguments),
            progress=clock,
            client=client,
        )
    more.save(target)
    stages = clock.stages() if arguments.profile else []
    _tell(arguments, TrainingSummary(target, more.trained, time.monotonic() - began, stages))


def _configured(arguments: argparse.Namespace) -> tuple[ChannelConfiguration, dict[str, Any]]:
    """Return the configuration, and the options of learning that were given with the command.

    A seed is for whatever draws: a model that draws nothing may be given one too.
    """
    if arguments.split and arguments.validation:
        raise InputError("--split names a validation part and so does --validation; give one")
    seed = [] if arguments.seed is None else [f"{_LEARNING}seed={arguments.seed}"]
    configuration = load_configuration(arguments.config, [*arguments.set, *seed])
    draws = "seed" in learner_class(arguments.model).configurable
    keys = [parse_setting(setting)[0] for setting in (*arguments.set, *(seed if draws else ()))]
    given = [key.removeprefix(_LEARNING) for key in keys if key.startswith(_LEARNING)]
    return configuration, {key: configuration.learning.get(key) for key in given}


def _before_learning(plan: TrainingPlan, bar: ProgressBar, clustered: bool) -> None:
    """Say what the recordings lack, and how much memory learning is going to take."""
    for sentence in plan.warnings:
        unless = "" if sentence in plan.damage else "; --no-check leaves this out"
        warn(f"{sentence} (docs/exploration.md{unless})")
    if isinstance(plan.learner, RFFPSR):
        megabytes = plan.learner.memory(plan.parts.train) / 2**20
        who = _who_learns(plan.learner, clustered)
        bar.note(
            f"learning takes at most {megabytes:.0f} MB beside the {peak_memory():.0f} MB that"
            f" {who} began with"
        )


def _who_learns(learner: RFFPSR, clustered: bool) -> str:
    """Return whose memory it takes, in words."""
    if clustered:
        return "this process and each worker"
    several = learner.options.folds != 1 and (learner.processes or usable_cores()) > 1
    return "each of the processes that learn" if several else "this process"
