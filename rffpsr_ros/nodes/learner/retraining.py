"""What a training of the learner does: it goes on from the newest model or begins anew.

It begins anew where it cannot go on, and where episodes have grown to more than twice what the
recipe decided by: decisions follow the data, at a cost that all that was learned from bounds. A
training that the learner began by itself holds some new episodes out where they are long enough,
and only a model that forecasts them better than the one before takes its place. This is without
ROS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.nodes.learner.episode_reading import LeaveOut, read_episodes
from rffpsr_ros.nodes.learner.judging import (
    HeldOutEpisodes,
    held_out,
    held_out_errors,
    judged_horizon,
)
from rffpsr_ros.parallel.processes import PROCESSES
from rffpsr_ros.progress import Progress
from rffpsr_ros.recipe.more.kept_file import kept_path, read_kept
from rffpsr_ros.recipe.more.learn_more import OUTGROWN, chosen_with
from rffpsr_ros.recipe.more.new_recordings import fewest_ticks
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.training.configuration import channel_configuration
from rffpsr_ros.training.train import Trained, TrainingPlan, train
from rffpsr_ros.training.train_more import all_bags, own_channels, train_more

ALL = (1, 0, 0)
"""Parts of the recordings: every episode is trained on, whatever the configuration splits off."""


class Retrained(NamedTuple):
    """What came of a training."""

    trained: Trained | None
    """None: the model that there is stays."""
    bags: Sequence[str]
    """All that the model has learned from."""
    decision: str
    """What was decided, and why."""
    warnings: Sequence[str] = ()
    """What was not told before learning."""


class Telling(NamedTuple):
    """Who is told of a training under way."""

    progress: Progress
    before_learning: Callable[[TrainingPlan], None]
    left_out: LeaveOut


class Base(NamedTuple):
    """A model that learning can go on from, and the episodes that it does not know."""

    path: Path
    model: PredictiveModel[Any]
    new: Sequence[Path]
    fewest: int
    """Ticks in a row that an episode must have to be learned from and to judge by."""
    outgrown: bool
    """Whether all that it knows is there, and so much more that learning anew is worth it."""


def retrain(request: Mapping[str, Any], tell: Telling) -> Retrained:
    """Train as a request says, see `training_process`.

    Raises
    ------
    InputError
        If the bags do not give a model.
    """
    bags = all_bags(request["bags"])
    base = _base(request["start"], request["channels"], bags, request["forget"])
    if isinstance(base, str):
        return _anew(request, bags, "trained on all", base, tell)
    new = read_episodes(base.new, own_channels(base.model, base.path), tell.progress, tell.left_out)
    if not new:
        why = f": {base.path.name} knows every episode that can be read"
        return _anew(request, bags, "trained on all", why, tell)
    judged, told = held_out(new, base.fewest) if request["automatic"] else HeldOutEpisodes([], "")
    if base.outgrown:
        not_learned_from = {*base.new} - {*new} | {*judged}
        learned_from = [bag for bag in bags if bag not in not_learned_from]
        why = f", more than {OUTGROWN:g} times what {base.path.name} was decided by"
        made = _anew(request, learned_from, "trained anew on", why, tell)
    else:
        learned_from = [bag for bag in new if bag not in judged]
        made = _going_on(request, base, learned_from, tell.progress)
    made = made._replace(decision=made.decision + told)
    return _better(base, made, [run for bag in judged for run in new[bag]], tell.progress)


def _anew(
    request: Mapping[str, Any], bags: Sequence[Path], what: str, why: str, tell: Telling
) -> Retrained:
    """Train on the bags that can be read, and tell how many they are."""
    asked = _with_processes(request)
    read = read_episodes(bags, channel_configuration(asked), tell.progress, tell.left_out)
    bags = list(read) or bags
    trained = train(
        bags,
        asked,
        split=ALL,
        keep=_can_go_on(request["channels"]),
        progress=tell.progress,
        before_learning=tell.before_learning,
    )
    return Retrained(trained, [*map(str, bags)], f"{what} {len(bags)} episodes{why}")


def _going_on(
    request: Mapping[str, Any], base: Base, bags: Sequence[Path], progress: Progress
) -> Retrained:
    more = train_more(
        base.path,
        bags,
        forget=request["forget"],
        processes=request["channels"].get("learning", {}).get(PROCESSES, request["processes"]),
        progress=progress,
    )
    decision = f"went on from {base.path.name} with {len(bags)} new episodes"
    return Retrained(more.trained, more.bags, decision, more.trained.warnings)


def _better(
    base: Base, made: Retrained, judged: Sequence[Trajectory], progress: Progress
) -> Retrained:
    """Return what was made if it forecasts held-out episodes better; else the old model stays."""
    assert made.trained is not None
    if not judged:
        return made
    progress("judging", 0.0)
    horizon = judged_horizon(base.model)
    old, new = held_out_errors((base.model, made.trained.model), judged, horizon)
    told = f"error {new:.3g} against {old:.3g} standard deviations on {len(judged)} held out"
    if new < old:
        return made._replace(decision=f"{made.decision}; the new model is better: {told}")
    decision = f"{made.decision}; the new model is not better: {told}"
    return Retrained(None, (), decision, made.warnings)


def _with_processes(request: Mapping[str, Any]) -> dict[str, Any]:
    channels = request["channels"]
    learning = {PROCESSES: request["processes"], **channels.get("learning", {})}
    return {**channels, "learning": learning}


def _can_go_on(channels: Mapping[str, Any]) -> bool:
    """Return whether learning can go on later from what such a configuration gives."""
    learning = channels.get("learning", {})
    plain = learning.get("observation_components") is None
    policy = channels.get("dataset", {}).get("policy") is not None
    return plain and not policy and learning.get("refinement") != "window"


def _base(
    start: str, channels: Mapping[str, Any], bags: Sequence[Path], forget: float
) -> Base | str:
    """Return what learning can go on from; else, in words that end a sentence, why not."""
    path = Path(start)
    if not start or not path.exists():
        return ""
    try:
        model = load_model(path)
        kept, known = read_kept(kept_path(path), model)
        if not _same_columns(model, channels):
            return f": the channels are others than those of {path.name}"
    except InputError as problem:
        return f": learning could not go on ({problem})"
    new = [bag for bag in bags if str(bag) not in known]
    if not new:
        return f": {path.name} knows every episode"
    all_there = not forget and len(known) + len(new) == len(bags)
    ticks = kept.ticks / len(known) * len(bags)  # new episodes are read later: as long as the known
    outgrown = all_there and ticks > OUTGROWN * chosen_with(model, kept)
    fewest = max(fewest_ticks(model, kept), judged_horizon(model) + 1)
    return Base(path, model, new, fewest, outgrown)


def _same_columns(model: PredictiveModel[Any], channels: Mapping[str, Any]) -> bool:
    """Return whether a model has learned from such channels, whatever the options."""
    if model.signature.channels is None:
        return False
    before, now = map(ChannelConfiguration.from_mapping, (model.signature.channels, channels))
    if (before.rate, before.stamps, before.max_gap) != (now.rate, now.stamps, now.max_gap):
        return False
    # Types and units are the bags': a configuration need not name them.
    one, other = (
        [replace(channel, type="", units=()) for channel in each.channels] for each in (before, now)
    )
    return one == other and len(before.actions) == len(now.actions)
