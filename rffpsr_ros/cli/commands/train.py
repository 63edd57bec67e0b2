"""Learn a model from bags.

The configuration says which topics and fields are observations and actions; 'rffpsr inspect'
writes one. The model file carries it, so that whoever has the model needs nothing else.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.cli.cluster_client import cluster_client
from rffpsr_ros.cli.commands.check import warnings_before_training
from rffpsr_ros.cli.console import ProgressBar, say, say_json, warn
from rffpsr_ros.cli.cross_validation_table import CROSS_VALIDATION, cross_validation_table
from rffpsr_ros.cli.outputs import check_writable
from rffpsr_ros.cli.parser import Parser
from rffpsr_ros.cli.resuming import REQUEST, check_same_training, kind_asked_for, request_of
from rffpsr_ros.cli.settings import (
    add_reading_arguments,
    load_configuration,
    parse_setting,
)
from rffpsr_ros.cli.stage_clock import (
    Stage,
    StageClock,
    peak_memory,
    stage_table,
    stages_as_json,
)
from rffpsr_ros.data.subsample import subsample
from rffpsr_ros.errors import InputError, check_known
from rffpsr_ros.evaluation.comparison import compare
from rffpsr_ros.evaluation.horizon_error import HorizonErrors
from rffpsr_ros.evaluation.report import errors_as_json, text_table
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.models.registry import kinds, learner_of, offered_kinds
from rffpsr_ros.parallel.cluster import workers_of
from rffpsr_ros.parallel.workers import Workers
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.training.bands import BANDS, measure_bands
from rffpsr_ros.training.known_policy import check_policy, without_policy
from rffpsr_ros.training.recordings import Parts, Recordings, split_recordings, store_recordings
from rffpsr_ros.training.recordings import Progress as Reporting

_LEARNING = "learning."
_BASELINES = ("last_observation", "linear_arx")


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bags", metavar="BAG", nargs="+", help="bags, folders of bags, patterns")
    parser.add_argument("--config", metavar="FILE", required=True, help="channels and options")
    parser.add_argument("--out", metavar="MODEL", required=True, help="the model file to write")
    offered = [kind.name for kind in offered_kinds()]
    parser.add_argument("--model", choices=offered, default=offered[0], help="kind of model")
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
        help="do not look first whether the data can teach a model (see 'rffpsr check')",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="hand reading, both stages and, where learning.minibatches is more than 1, refinement"
        " to the Dask cluster whose scheduler is there, such as tcp://host:8786; its workers need"
        " the same bags at the same places",
    )
    parser.add_argument("--profile", action="store_true", help="tell what each stage took")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Learn and write the model, and say how good it is on the validation part."""
    configuration, learner = _prepared(arguments)
    target = check_writable(arguments.out)
    began = time.monotonic()
    with cluster_client(arguments.scheduler) as client, ProgressBar(quiet=arguments.quiet) as shown:
        progress = StageClock(shown)
        workers = workers_of(client)
        recordings = store_recordings(arguments.bags, configuration, arguments, progress, workers)
        parts = _parts(arguments, configuration, recordings, progress, workers)
        request = request_of(arguments.model, learner, parts, workers)
        if arguments.resume and target.exists():
            check_same_training(target, request)
            say(f"{target} is already trained on these data with these options")
            return
        # Checking, judging and bands look at recordings again and again: a subsample serves them.
        generator = np.random.default_rng(0)
        known = Parts(*(subsample(part, generator, workers) for part in parts))
        if kinds()[arguments.model].uses_actions and not arguments.no_check:
            progress("checking the data", 0.0)
            for sentence in warnings_before_training(
                known.train, configuration.learning, recordings
            ):
                warn(f"{sentence} (docs/exploration.md; --no-check does not look)")
        if isinstance(learner, RFFPSR):
            shown.note(_memory_note(learner, parts, client is not None))
        model = learner.fit(parts.train, parts.validation or None, progress=progress, client=client)
        errors = _validation_errors(model, known, arguments.model, progress)
        used = [*known.train, *known.validation]
        model = measure_bands(model, learner, used, progress, arguments.bands)
    model = signed(model, configuration, recordings)
    model = _with_request(model, request, errors)
    model.save(target)
    stages = progress.stages() if arguments.profile else []
    seconds = time.monotonic() - began
    summary = _Summary(target, model, recordings, parts, errors, seconds, stages)
    if arguments.json:
        say_json(summary.as_json())
    else:
        say(*summary.lines())


def _memory_note(learner: RFFPSR, parts: Parts, clustered: bool) -> str:
    """Return how much memory learning is going to take."""
    megabytes = learner.memory(parts.train) / 2**20
    who = "this process and each worker" if clustered else "this process"
    return (
        f"learning takes at most {megabytes:.0f} MB beside the {peak_memory():.0f} MB that"
        f" {who} began with"
    )


def _prepared(arguments: argparse.Namespace) -> tuple[ChannelConfiguration, Learner]:
    """Return the configuration and the learner, everything checked that can be before reading."""
    settings = list(arguments.set)
    if arguments.seed is not None and arguments.model == "rff_psr":
        settings.append(f"{_LEARNING}seed={arguments.seed}")
    if arguments.split and arguments.validation:
        raise InputError("--split names a validation part and so does --validation; give one")
    configuration = load_configuration(arguments.config, settings)
    check_known(configuration.dataset, ("split", "policy"), group="dataset.")
    check_policy(configuration)
    keys = [parse_setting(setting)[0] for setting in settings]
    explicit = [key.removeprefix(_LEARNING) for key in keys if key.startswith(_LEARNING)]
    return configuration, learner_of(arguments.model, configuration.learning, explicit)


def _parts(
    arguments: argparse.Namespace,
    configuration: ChannelConfiguration,
    recordings: Recordings,
    progress: Reporting,
    workers: Workers,
) -> Parts:
    if arguments.validation:
        stage = "reading validation bags"
        held_out = store_recordings(
            arguments.validation, configuration, arguments, progress, workers, stage
        )
        return Parts(recordings.trajectories, held_out.trajectories, [])
    fractions = arguments.split or _split_text(configuration.dataset)
    if fractions:
        return split_recordings(recordings.trajectories, fractions)
    return Parts(recordings.trajectories, [], [])


def _split_text(dataset: Mapping[str, Any]) -> str | None:
    value = dataset.get("split")
    if value is None or isinstance(value, str):
        return value
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _validation_errors(
    model: PredictiveModel[Any], parts: Parts, kind: str, progress: Reporting
) -> dict[str, HorizonErrors]:
    """Return the errors of the model and the baselines on a validation part that was named.

    A model that was chosen by cross-validation has learned from that part too.
    """
    if not parts.validation or CROSS_VALIDATION in model.record.metrics:
        return {}
    progress("validation", 0.0)
    contestants: dict[str, PredictiveModel[Any] | Learner] = {kind: model}
    for name in _BASELINES:
        contestants.setdefault(name, learner_of(name, {}))
    try:
        return compare(contestants, parts.validation, parts.train, parts.validation).errors
    except InputError as problem:
        warn(f"the validation part says little: {problem}")
        return {}


def signed(
    model: PredictiveModel[Any], configuration: ChannelConfiguration, recordings: Recordings
) -> PredictiveModel[Any]:
    """Return the model with what its columns are made of."""
    bag = recordings.report.bags[0]
    signature = replace(
        model.signature,
        channels=without_policy(configuration).with_types(bag.topic_types).to_mapping(),
        observation_units=bag.observation_units,
        action_units=bag.action_units,
    )
    return model.replaced(signature=signature)


def _with_request(
    model: PredictiveModel[Any],
    request: Mapping[str, Any],
    errors: Mapping[str, HorizonErrors],
) -> PredictiveModel[Any]:
    """Return the model with what was asked for, and how it did beside the baselines."""
    options = {**model.record.options, REQUEST: request}
    metrics = dict(model.record.metrics)
    if errors:
        metrics["validation"] = {name: errors_as_json(one) for name, one in errors.items()}
    return model.replaced(record=replace(model.record, options=options, metrics=metrics))


class _Summary(NamedTuple):
    """What training tells its user."""

    path: Path
    model: PredictiveModel[Any]
    recordings: Recordings
    parts: Parts
    errors: dict[str, HorizonErrors]
    seconds: float
    stages: list[Stage]

    def as_json(self) -> dict[str, Any]:
        return {
            "model": str(self.path),
            "kind": self.model.kind,
            "seconds": self.seconds,
            "ticks": {name: sum(map(len, part)) for name, part in self.parts._asdict().items()},
            "period": self.model.signature.period,
            "observation_names": list(self.model.signature.observation_names),
            "action_names": list(self.model.signature.action_names),
            "notes": list(self.model.record.notes),
            "validation": {name: errors_as_json(one) for name, one in self.errors.items()},
            CROSS_VALIDATION: self.model.record.metrics.get(CROSS_VALIDATION, {}),
            **({"profile": stages_as_json(self.stages)} if self.stages else {}),
        }

    def lines(self) -> list[str]:
        used = [f"{sum(map(len, p))} {name}" for name, p in self.parts._asdict().items() if p]
        lines = [
            f"read {self.recordings.describe()}; ticks used: {', '.join(used)}",
            f"learned {kind_asked_for(self.model)} in {self.seconds:.1f} s, written to {self.path}",
            *(f"note: {note}" for note in self.model.record.notes),
        ]
        if self.errors:
            lines += ["", "mean squared error on the validation part, summed over observations:"]
            lines += text_table(self.errors).splitlines()
        tried = cross_validation_table(self.model.record)
        if tried:
            lines += ["", "mean squared error on parts held out in turn, summed over observations:"]
            lines += tried
        if self.stages:
            lines += ["", *stage_table(self.stages)]
        return lines
