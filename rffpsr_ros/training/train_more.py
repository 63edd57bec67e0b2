"""`train_more`: a model goes on learning, from new bags and what was kept beside it."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from rffpsr_ros.data.screening import DamageWarning
from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.storage import refuse_to_replace_other_files
from rffpsr_ros.parallel.cluster import workers_of
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recipe.more.kept import Learned
from rffpsr_ros.recipe.more.kept_file import FORM, kept_path, read_kept, write_kept
from rffpsr_ros.recipe.more.learn_more import learn_more
from rffpsr_ros.recordings.bags.files import find_bags
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.training.recordings import (
    BagPaths,
    BagRecordings,
    ReadingOptions,
    Split,
    store_recordings,
)
from rffpsr_ros.training.request import BEGINNINGS, MOST_BEGINNINGS, REQUEST, digests
from rffpsr_ros.training.train import Trained
from rffpsr_ros.training.verdict import VERDICT, remembered_verdict, training_verdict


class MoreTrained(NamedTuple):
    """What `train_more` returns.

    Attributes
    ----------
    trained
        The model, and what its user may want to know of it.
    bags
        All that it has learned from, the old ones too.
    """

    trained: Trained
    bags: tuple[str, ...]

    def save(self, path: str | Path) -> None:
        """Write the model, and beside it what learning can go on from."""
        save_with_kept(self.trained, path, self.bags)


def train_more(
    model: str | Path,
    bags: BagPaths,
    *,
    forget: float = 0.0,
    reading: ReadingOptions | None = None,
    processes: int | None = None,
    progress: Progress = silent,
    client: Any = None,
) -> MoreTrained:
    """Return the model of a file that has learned from new bags too.

    The channels are the model's own. What was kept of its learning lies beside the file.

    Parameters
    ----------
    model
        The model file; what was kept has its name and ``.kept``.
    bags
        New bags, folders of bags or patterns.
    forget
        The share, 0 to 1, that all that was learned before loses of what it counts.
    reading
        What bags do not say themselves.
    processes
        How many learn side by side; None: one for each core.
    progress
        Called with each stage, the fraction of it that is done, and the error by then.
    client
        Of a Dask cluster.

    Raises
    ------
    InputError
        If nothing was kept of the model, a bag was learned from already or cannot be read, or the
        recordings do not fit the model.
    """
    before = load_model(model)
    kept, known = read_kept(kept_path(model), before)
    new = _new_bags(bags, known)
    channels = own_channels(before, model)
    workers = workers_of(client)
    recordings = store_recordings(new, channels, reading, progress, workers)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DamageWarning)
        learned = learn_more(
            before,
            kept,
            recordings.trajectories,
            forget=forget,
            progress=progress,
            processes=processes,
            client=client,
        )
    damage = tuple(str(one.message) for one in caught if one.category is DamageWarning)
    for one in caught:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    made = _remembering(learned.model, before, recordings)
    trained = Trained(
        made, recordings, Split(recordings.trajectories, [], []), damage, {}, kept=learned.kept
    )
    return MoreTrained(trained, (*known, *map(str, new)))


def check_places(path: str | Path, keep: bool) -> None:
    """Refuse to learn for a place where something else than a model is, or than what is kept.

    Raises
    ------
    InputError
        If there is; where learning is going to ``keep`` something, beside the model too.
    """
    refuse_to_replace_other_files(path)
    if keep:
        refuse_to_replace_other_files(kept_path(path), FORM)


def save_with_kept(trained: Trained, path: str | Path, bags: Sequence[str | Path]) -> None:
    """Write a model, and beside it what was kept of its learning, if anything was.

    Raises
    ------
    InputError
        If one cannot be written there; it says so if the model was.
    """
    trained.model.save(path)
    if trained.kept is None:
        return
    try:
        write_kept(kept_path(path), Learned(trained.model, trained.kept), bags)
    except InputError as fault:
        raise InputError(
            f"the model is in {shown(path, 200)}, but it cannot learn more later: {fault}"
        ) from None


def all_bags(bags: BagPaths) -> list[Path]:
    """Return the bags at paths, whatever folder this process is in later."""
    given = [bags] if isinstance(bags, str | Path) else bags
    return [path.resolve() for path in find_bags(given)]


def _new_bags(bags: BagPaths, known: Sequence[str]) -> list[Path]:
    found = all_bags(bags)
    for path in found:
        if str(path) in known:
            raise InputError(
                f"the model has learned from {shown(path, 200)} already; name only new bags"
            )
    return found


def own_channels(model: PredictiveModel[Any], path: str | Path) -> ChannelConfiguration:
    """Return the channels that new bags are read with for the model of a file.

    Raises
    ------
    InputError
        If it has none.
    """
    if model.signature.channels is None:
        raise InputError(f"model '{path}' has no channels, so bags cannot be read for it")
    return ChannelConfiguration.from_mapping(model.signature.channels)


def _remembering(
    model: PredictiveModel[Any], before: PredictiveModel[Any], recordings: BagRecordings
) -> PredictiveModel[Any]:
    """Return the model with a request of its own: that of before, with the new data."""
    options = dict(model.record.options)
    asked = before.record.options.get(REQUEST)
    if isinstance(asked, Mapping):
        digest = hashlib.sha256(str(asked.get("data")).encode())
        new = digests(recordings.trajectories)
        digest.update(new["data"].encode())
        known = [*asked.get(BEGINNINGS, ()), *new[BEGINNINGS]]
        data = digest.hexdigest()[:16]
        options[REQUEST] = {**asked, "data": data, BEGINNINGS: known[:MOST_BEGINNINGS]}
    metrics = dict(model.record.metrics)
    metrics[VERDICT] = remembered_verdict(training_verdict(model, {}))
    return model.replaced(record=replace(model.record, options=options, metrics=metrics))
