"""Real nodes in processes of their own, a peer that talks to them, and quickly learned models.

Tests of the nodes and the audit of running nodes use them.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.simulation.system import System, simulate

CHECKOUT = Path(__file__).resolve().parents[1]
PATIENCE = 30.0
"""Seconds after which it counts as failed to wait any longer."""
DOMAINS = range(1, 100)

_LOOPBACK = {
    "ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT",  # else ROS adds shared memory by itself
    "FASTDDS_DEFAULT_PROFILES_FILE": str(CHECKOUT / "benchmarks" / "loopback.xml"),
}


def wait_until(
    condition: Callable[[], Any],
    what: str,
    between: Callable[[], None],
    patience: float = PATIENCE,
) -> Any:
    """Return the first true value of a condition, doing something between two looks."""
    deadline = time.monotonic() + patience
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        between()
    return value


def _is_heard(publisher: Any, listeners: int) -> bool:
    return int(publisher.get_subscription_count()) >= listeners


class NodeProcess:
    """A node of this package in a process of its own; its output is kept line by line."""

    def __init__(
        self,
        executable: str,
        arguments: Sequence[str],
        environment: dict[str, str],
        lock: IO[str],
    ):
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, str(CHECKOUT / "executables" / executable), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            pass_fds=[lock.fileno()],
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    @property
    def output(self) -> str:
        """Return everything printed so far."""
        return "\n".join(self.lines)

    def count(self, text: str) -> int:
        """Return how many lines hold a text."""
        return sum(text in line for line in self.lines)

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until a text was printed."""
        deadline = time.monotonic() + PATIENCE
        while self.count(text) < times:
            alive = self.process.poll() is None
            assert alive or self._reader.is_alive(), f"ended without '{text}':\n{self.output}"
            assert time.monotonic() < deadline, f"waited in vain for '{text}':\n{self.output}"
            time.sleep(0.01)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process.poll() is None

    def end(self, number: int = signal.SIGTERM, within: float = PATIENCE) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(
                f"did not end on signal {number} within {within} s:\n{self.output}"
            ) from None
        self._reader.join(5)
        return code


@contextmanager
def _loopback_alone() -> Iterator[None]:
    """Let participants of this process that are made meanwhile talk by UDP on this machine only.

    Fast DDS' shared memory fails who leaves after a neighbour was killed: now and then what it
    unlocks is mapped no more (SharedMemChannelResource::release), and its process ends by SIGSEGV;
    six times in 900 kills on a core with three such processes, and by UDP never in 900.
    """
    before = {name: os.environ.get(name) for name in _LOOPBACK}
    os.environ.update(_LOOPBACK)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class ServiceMissed(AssertionError):
    """A service was waited for in vain."""


class Peer:
    """A ROS node of the test's own process: publishes, listens and calls."""

    def __init__(self, domain: int) -> None:
        import rclpy
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.node import Node

        self.domain = domain
        self.context = Context()
        with _loopback_alone():
            rclpy.init(context=self.context, domain_id=domain)
            self.node: Any = Node("peer", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._publishers: dict[str, Any] = {}
        self._subscriptions: dict[str, Any] = {}
        self._clients: dict[str, Any] = {}
        self._newcomers: dict[str, Peer] = {}

    def publisher(self, topic: str, message_class: Any, qos: Any = 100) -> Any:
        """Return a publisher, made at the first call."""
        if topic not in self._publishers:
            self._publishers[topic] = self.node.create_publisher(message_class, topic, qos)
        return self._publishers[topic]

    def publish(self, topic: str, message: Any) -> None:
        """Publish a message."""
        self.publisher(topic, type(message)).publish(message)

    def forget(self, topic: str) -> None:
        """Destroy a publisher."""
        self.node.destroy_publisher(self._publishers.pop(topic))

    def collect(self, topic: str, message_class: Any, qos: Any = 1000) -> list[Any]:
        """Return a list to which every message of a topic is added."""
        messages: list[Any] = []
        self._subscriptions[topic] = self.node.create_subscription(
            message_class, topic, messages.append, qos
        )
        return messages

    def spin(self) -> None:
        """Take one thing that has arrived, or arrives soon."""
        self.executor.spin_once(timeout_sec=0.02)

    def wait(self, seconds: float) -> None:
        """Let the robot's own time pass."""
        deadline = time.monotonic() + seconds
        self.executor.spin_once(timeout_sec=0)
        while time.monotonic() < deadline:
            self.executor.spin_once(timeout_sec=min(seconds, 0.005))

    def settle(self) -> None:
        """Wait until reliable listeners have acknowledged all that was published, and taken it."""
        from rclpy.duration import Duration

        for publisher in self._publishers.values():
            assert publisher.wait_for_all_acked(Duration(seconds=PATIENCE))
        self.wait(0.3)

    def taken_by(self, node: str) -> None:
        """Wait until a lifecycle node has taken everything that was sent to it before.

        It takes messages before calls. Once in a while the first call arrives just after it has
        looked for messages, and is answered before one that was sent earlier; not so the second.
        """
        from lifecycle_msgs.srv import GetState

        for _ in range(2):
            self.call(f"{node}/get_state", GetState)

    def set_parameter(self, node: str, name: str, value: Any) -> bool:
        """Set a parameter of a node; return whether it was accepted."""
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        changed = Parameter(name, value=value).to_parameter_msg()
        request = SetParameters.Request(parameters=[changed])
        answer = self.call(f"{node}/set_parameters", SetParameters, request)
        return bool(answer.results[0].successful)

    def until(self, condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
        """Spin until a condition holds, and return its value."""
        return wait_until(condition, what, self.spin, patience)

    def matched(self, *topics: str, listeners: int = 1) -> None:
        """Wait until so many listen to each topic that is published here."""
        for topic in topics:
            enough = partial(_is_heard, self._publishers[topic], listeners)
            self.until(enough, f"a listener to {topic}")

    def heard(self, topic: str) -> None:
        """Wait until what is collected of a topic has a publisher."""
        self.until(self._subscriptions[topic].get_publisher_count, f"a publisher of {topic}")

    def call(self, name: str, kind: Any = None, request: Any = None) -> Any:
        """Call a service (by default a Trigger) and return the answer.

        Discovery now and then misses one half of a service for good, and a new client of the same
        participant misses it too; a new participant finds it.
        """
        from std_srvs.srv import Trigger

        kind = kind or Trigger
        if name not in self._newcomers:
            try:
                return self._call(name, kind, request, PATIENCE / 3)
            except ServiceMissed:
                self._newcomers[name] = Peer(self.domain)
        return self._newcomers[name]._call(name, kind, request, PATIENCE)

    def _call(self, name: str, kind: Any, request: Any, patience: float) -> Any:
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
        client = self._clients[name]
        try:
            self.until(client.service_is_ready, f"service {name}", patience)
        except AssertionError as missed:
            raise ServiceMissed(str(missed)) from None
        future = client.call_async(request or kind.Request())
        self.until(future.done, f"an answer of {name}")
        return future.result()

    def close(self) -> None:
        """Leave."""
        import rclpy

        from rffpsr_ros.nodes.shared.rclpy_internals import leave_executor

        for newcomer in self._newcomers.values():
            newcomer.close()
        leave_executor(self.node)
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


class Ros:
    """One domain with the nodes started in it.

    These hold the domain's lock too: where whoever started them is killed and they live on, nobody
    else meets them.
    """

    def __init__(self, domain: int, folder: Path, lock: IO[str]) -> None:
        self.domain = domain
        self.folder = folder
        self._lock = lock
        self.nodes: list[NodeProcess] = []
        self.peer = Peer(domain)
        self._others: list[Peer] = []
        self.environment = {
            **os.environ,
            "ROS_DOMAIN_ID": str(domain),
            "ROS_HOME": str(folder / "home"),
            "ROS_LOG_DIR": str(folder / "log"),
            "PYTHONPATH": os.pathsep.join(
                [str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
            "OPENBLAS_NUM_THREADS": "1",
        }

    def start(self, executable: str, *remaps: str, **parameters: Any) -> NodeProcess:
        """Start a node; ``__`` in a parameter's name stands for a dot."""
        arguments = ["--ros-args"]
        if executable == "filter_node":
            parameters.setdefault("compiled", False)  # numba alone takes a second to import
        for remap in remaps:
            arguments += ["-r", remap]
        for name, value in parameters.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            if isinstance(value, str) and not value:
                text = "''"
            arguments += ["-p", f"{name.replace('__', '.')}:={text}"]
        node = NodeProcess(executable, arguments, self.environment, self._lock)
        self.nodes.append(node)
        return node

    def renew_peer(self) -> None:
        """Begin a new peer: to an old one, a killed node seems to live on for a while."""
        self.peer.close()
        self.peer = Peer(self.domain)

    def another_peer(self) -> Peer:
        """Return a peer beside the usual one."""
        self._others.append(Peer(self.domain))
        return self._others[-1]

    def close(self) -> None:
        """End everything that still runs."""
        for node in self.nodes:
            if node.alive:
                node.process.kill()
                node.process.wait()
            print(node.output)  # pytest shows it beside a failure
        for peer in [self.peer, *self._others]:
            peer.close()


@contextmanager
def free_domain(folder: Path) -> Iterator[Ros]:
    """Give a domain that nothing else of this machine uses at the same time."""
    for domain in DOMAINS:
        path = Path(tempfile.gettempdir()) / f"rffpsr_test_domain_{domain}.lock"
        with path.open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            ros = Ros(domain, folder, lock)
            try:
                yield ros
            finally:
                ros.close()
            return
    raise AssertionError("every ROS domain is in use")


def channels(system: System, max_gap: float = 0.5) -> ChannelConfiguration:
    """Return channels on joint states and commands with headers, named as a system's columns."""
    names = {"observation": system.observation_names, "action": system.action_names}
    return ChannelConfiguration.from_mapping(
        {
            "rate": 1.0 / system.period,
            "max_gap": max_gap,
            "observation": {
                "inputs": ["joints"],
                "joints": {
                    "topic": "/joint_states",
                    "type": "sensor_msgs/msg/JointState",
                    "fields": [f"position.{name}" for name in names["observation"]],
                },
            },
            "action": {
                "inputs": ["command"],
                "command": {
                    "topic": "/command",
                    "type": "sensor_msgs/msg/JointState",
                    "fields": [f"effort.{name}" for name in names["action"]],
                },
            },
        }
    )


def learn(system: System, folder: Path, name: str) -> Path:
    """Learn a model of a simulated system, fast rather than well, and return its file."""
    from dataclasses import replace

    from rffpsr_ros.evaluation.calibration import residuals
    from rffpsr_ros.models.bands import conformal_bands
    from rffpsr_ros.models.contract import Signature

    configuration = channels(system)
    low, high = system.action_limits
    # Bands are of long runs: a robot that is watched for long goes where 120 ticks do not lead.
    runs = [
        simulate(system, np.random.default_rng(n).uniform(low, high, (ticks, len(low))), seed=n)
        for n, ticks in enumerate(4 * [120] + 4 * [400])
    ]
    observed = [f"joints.{f}" for f in configuration.observations[0].fields]
    acted = [f"command.{f}" for f in configuration.actions[0].fields]
    named = [Trajectory(r.observations, r.actions, r.period, observed, acted) for r in runs]
    model = SingleRFFPSR(
        iterations=5, features=40, past=8, future=5, arx_past=8, narx_features=20
    ).fit(named[:3], named[3:4])
    signature = Signature.of(named[0])
    model = model.replaced(
        signature=replace(signature, channels=configuration.to_mapping()),
        bands=conformal_bands(residuals(model, named[4:], 5, 9)),
    )
    path = folder / f"{name}.psr"
    model.save(path)
    return path
