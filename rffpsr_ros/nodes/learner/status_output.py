"""What the learner tells of itself on latched topics: a status, and whether it records."""

from __future__ import annotations

from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Bool

from rffpsr_ros.nodes.learner.episode_keeper import EpisodeKeeper
from rffpsr_ros.nodes.learner.training_run import TrainingRun
from rffpsr_ros.nodes.shared.diagnostics import NodeFinding, status
from rffpsr_ros.nodes.shared.surroundings import clock_finding

PATIENCE = Duration(nanoseconds=200_000_000)
"""How long to wait at the end for the listeners of a topic."""
LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


class StatusOutput:
    """Publishes ``~/status`` and ``~/recording`` when they change."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._status = node.create_publisher(DiagnosticStatus, "~/status", LATCHED)
        self._recording = node.create_publisher(Bool, "~/recording", LATCHED)
        self._told: tuple[Any, ...] = ()

    def tell(
        self, finding: NodeFinding, keeper: EpisodeKeeper | None, training: TrainingRun | None
    ) -> None:
        """Tell a finding with how far training is, and what is recorded."""
        episode = None if keeper is None else keeper.episode
        values = dict(finding.values)
        if keeper is not None:
            values["kept episodes"] = len(keeper.kept)
        if training is not None:
            values |= training.progress()
        values["recording"] = "" if episode is None else episode.name
        clock, faults = clock_finding(self._node), self._node.guard.finding()
        if finding.level == "ok" and clock.level != "ok":
            finding = finding._replace(level=clock.level, message=clock.message)
        if faults.level != "ok":
            finding = finding._replace(level=faults.level, message=faults.message)
        news = (finding.level, finding.message, tuple(values.items()))
        if news == self._told:
            return
        self._told = news
        told = finding._replace(values=values)
        self._status.publish(status(self._node.get_name(), told))
        self._recording.publish(Bool(data=episode is not None))

    def arrived(self) -> None:
        """Wait, not for long, until reliable listeners have all that was told."""
        for publisher in (self._status, self._recording):
            publisher.wait_for_all_acked(PATIENCE)
