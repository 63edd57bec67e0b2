"""A running filter with its robot: what it publishes, and whether it tells the truth."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.audit.case import Broken, non_finite, untrue_state
from benchmarks.live_nodes import Ros, learn
from benchmarks.live_robot import START_NS, Robot
from rffpsr_ros.models.storage import read_model_file
from rffpsr_ros.simulation.swimmer import Swimmer
from rffpsr_ros.simulation.synthetic import SyntheticSystem

NODE = "/rffpsr_filter"
ENOUGH = 8
"""Forecasts after which a node has recovered."""


class FilterStage:
    """A filter that serves a copy of a model, logs, and is listened to on every topic."""

    def __init__(self, ros: Ros) -> None:
        from diagnostic_msgs.msg import DiagnosticArray
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        self.ros, self.peer = ros, ros.peer
        self.good = learn(SyntheticSystem(), ros.folder, "good")
        self.model = ros.folder / "served.psr"
        self.sequences = ros.folder / "sequences"
        shutil.copy(self.good, self.model)
        self.robot = Robot(ros.peer)
        self.plans = ros.peer.publisher(f"{NODE}/planned_actions", Float64MultiArray)
        self.node = ros.start(
            "filter_node", model_path=self.model, log_sequence=self.sequences, horizon=5, lead=3
        )
        floats = ("prediction", "band")
        self.outputs: dict[str, list[Any]] = {
            name: ros.peer.collect(f"{NODE}/{name}", Float64MultiArray) for name in floats
        }
        self.outputs["predicted"] = ros.peer.collect(f"{NODE}/predicted", JointState)
        self.diagnostics = ros.peer.collect("/diagnostics", DiagnosticArray)
        self.node.wait_for("serving")
        ros.peer.matched("/joint_states", "/command", f"{NODE}/planned_actions")
        ros.peer.heard(f"{NODE}/prediction")
        self.recovers()

    def foreign_model(self) -> Path:
        """Return the file of a model of another robot."""
        path = self.ros.folder / "foreign.psr"
        return path if path.exists() else learn(Swimmer(), self.ros.folder, "foreign")

    def restore(self) -> None:
        """Put the good model in its place, and have it served."""
        if self.model.is_dir() and not self.model.is_symlink():
            self.model.rmdir()
        self.model.unlink(missing_ok=True)
        shutil.copy(self.good, self.model)
        answer = self.peer.call(f"{NODE}/reload")
        if not answer.success:
            raise untrue_state(f"a good model is refused: {answer.message}")
        self.peer.matched("/joint_states", "/command")

    def change_state(self, transition: int) -> bool:
        """Ask for a transition of the life cycle."""
        from lifecycle_msgs.msg import Transition
        from lifecycle_msgs.srv import ChangeState

        request = ChangeState.Request(transition=Transition(id=transition))
        return bool(self.peer.call(f"{NODE}/change_state", ChangeState, request).success)

    def recovers(self) -> None:
        """Let the robot behave until there are forecasts again; hold them and what is told true."""
        self.robot.now_ns = max(self.robot.now_ns, START_NS)
        before = len(self.outputs["prediction"])

        def forecasts() -> bool:
            self.robot.run(1)
            return not self.node.alive or len(self.outputs["prediction"]) >= before + ENOUGH

        self.peer.until(forecasts, "forecasts of a robot that behaves")
        if not self.node.alive:
            return
        self._check_numbers()
        told = self._told_from_now_on()
        if told.get("callbacks", (b"\x02", "nothing"))[0] != b"\x00":
            raise Broken("traceback", f"a callback failed: {told.get('callbacks')}")
        if told["forecast"][1].startswith("not following"):
            raise untrue_state(f"it forecasts, and says: {told['forecast'][1]}")
        checksum = read_model_file(self.model).header["checksum"]
        if checksum not in told["model"][2]:
            raise untrue_state(f"another model is told than is served: {told['model']}")

    def _check_numbers(self) -> None:
        for name, messages in self.outputs.items():
            for message in messages:
                numbers = message.position if name == "predicted" else message.data
                if not np.isfinite(numbers).all():
                    raise non_finite(f"~/{name}: {list(numbers)[:6]}")
            messages[:] = messages[-1:]

    def _told_from_now_on(self) -> dict[str, tuple[bytes, str, str]]:
        """Return level, message and values by aspect, of diagnostics that are made after now."""
        self.diagnostics.clear()

        def whole() -> Any:
            self.robot.run(1)
            return [array for array in self.diagnostics if len(array.status) > 1]

        newest = self.peer.until(whole, "diagnostics")[-1]
        return {
            one.name.split(": ")[-1]: (one.level, one.message, str(one.values))
            for one in newest.status
        }
