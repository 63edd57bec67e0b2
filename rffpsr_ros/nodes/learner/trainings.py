"""The learner's trainings: begun when asked or after enough episodes, and watched."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.storage import check_folder, made_folder, refuse_to_replace_other_files
from rffpsr_ros.nodes.learner.training_run import (
    Manner,
    TrainingRun,
    model_stays,
    model_written,
)
from rffpsr_ros.nodes.shared.default_places import new_model_path, newest_model
from rffpsr_ros.nodes.shared.diagnostics import NodeFinding, on_one_line
from rffpsr_ros.signals.channels import ChannelConfiguration

LOGGED_EVERY = 2.0
"""Seconds between lines on a training's progress, at least."""


class Trainings:
    """Begins trainings in processes of their own.

    Parameters
    ----------
    value
        Gives a parameter's value.
    logger
        Of the node.
    """

    def __init__(self, value: Callable[[str], Any], logger: Any) -> None:
        self.current: TrainingRun | None = None
        self._value, self._logger = value, logger
        self._logged = ("", 0.0)
        """The stage of the training that was logged last, and when (s)."""
        self._left_out: set[str] = set()
        """What was said of episodes that cannot be read."""
        self._known: frozenset[Path] = frozenset()
        """The episodes that there were when the last training began, or the node started."""

    def know(self, episodes: Iterable[Path]) -> None:
        """Take all others than these episodes for new."""
        self._known = frozenset(episodes)

    def due(self, episodes: Iterable[Path]) -> bool:
        """Return whether there are so many new episodes that it is time to train."""
        wanted: int = self._value("retrain_after")
        if not wanted or self.current is not None:
            return False
        # Not by how many there are: some may have been removed since.
        return len(frozenset(episodes) - self._known) >= wanted

    def begin(
        self, configuration: ChannelConfiguration, bags: Sequence[Path], automatic: bool
    ) -> NodeFinding:
        """Begin to train, and return what is to be told of it.

        Raises
        ------
        InputError
            If the model cannot be written where it shall be.
        """
        self.know(bags)
        path = self._value("model_path")
        target = new_model_path(path, datetime.now())
        refuse_to_replace_other_files(target)
        check_folder(made_folder(target.parent) / target.name)
        manner = Manner(
            self._value("training_niceness"),
            self._value("training_processes"),
            "" if self._value("train_anew") else newest_model(path),
            automatic,
            self._value("training_forget"),
            self._value("report"),
        )
        self.current = TrainingRun(configuration.to_mapping(), bags, target, manner)
        self._logger.info(f"training on {len(bags)} episodes")
        return NodeFinding("learner", "ok", "training", {"episodes": len(bags)})

    def _warn(self, sentence: str, is_left_out: bool) -> None:
        """Log a warning; that an episode is left out not again with every training."""
        if not is_left_out:
            self._logger.warning(on_one_line(f"{sentence}; see docs/exploration.md"))
        elif sentence not in self._left_out:
            self._left_out.add(sentence)
            self._logger.warning(on_one_line(sentence))

    def _log_progress(self, training: TrainingRun) -> None:
        """Log the stage, with the error by now, unless it is the last one or follows too soon."""
        stage, when = self._logged
        if training.stage == stage or time.monotonic() - when < LOGGED_EVERY:
            return
        self._logged = training.stage, time.monotonic()
        error = training.error
        by_now = "" if error is None else f"; error {error:.3g} standard deviations by now"
        self._logger.info(on_one_line(f"training: {training.stage}{by_now}"))

    def cancel(self) -> NodeFinding:
        """End the training.

        Raises
        ------
        InputError
            If there is none.
        """
        if self.current is None:
            raise InputError("no training is under way")
        self.current.cancel()
        self.current = None
        self._logger.info("training was cancelled")
        return NodeFinding("learner", "ok", "training was cancelled", {})

    def watch(self) -> NodeFinding | None:
        """Return what came of the training once it is over.

        Raises
        ------
        InputError
            If it failed.
        """
        training = self.current
        if training is None:
            return None
        known = len(training.warnings)
        result = training.poll()
        for sentence in training.warnings[known:]:
            self._warn(sentence, sentence in training.left_out)
        if result is None:
            self._log_progress(training)
            return None
        self.current = None
        if "error" in result:
            raise InputError(f"training failed: {result['error']}")
        told = model_stays if "stays" in result else model_written
        outcome = told(result, training.warnings)
        said = f"{outcome.message} ({result.get('decision', '')})"
        self._logger.info(on_one_line(said))
        return outcome
