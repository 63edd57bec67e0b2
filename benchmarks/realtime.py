"""The filter node at a robot's pace: ticks answered, latency, processor, memory; beside an echo.

    python -m benchmarks.realtime                        1 kHz for 60 s, and 100 Hz while training
    python -m benchmarks.realtime --seconds 10           shorter
    python -m benchmarks.realtime --kind single_rff_psr     one model, not the default ensemble
    python -m benchmarks.realtime --kind last_observation   what the node costs without its model
    python -m benchmarks.realtime --rates 1000 --executors direct single_threaded events
    python -m benchmarks.realtime --json figures.json

Six joints, positions observed, efforts acting; forecasts of 10 ticks at every tick. Latency is from
just before the publishing of a joint state to the receipt of its forecast, in another process. The
echo node answers with messages as large, on the same executor, without a model.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.six_joints import JOINT_STATE, JOINTS, channels, drive, run_of, signature
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.contract import Learner
from rffpsr_ros.nodes.shared.message_classes import typestore_of
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.episode_store import EpisodeStore
from rffpsr_ros.signals.stamps import stamp_of_cdr

CHECKOUT = Path(__file__).resolve().parents[1]
KINDS_OF_MODEL = ("rff_psr", "single_rff_psr", "last_observation")
HORIZON = 10
WARM_UP_SECONDS = 2.0
LOOK_NS = 50_000
"""How often the driver looks for answers: as exactly are latencies known."""
HEAD = """\
| run | ticks | answered % | p50 ms | p99 ms | processor % | growth MB |
| --- | --- | --- | --- | --- | --- | --- |"""
DOMAIN = int(os.environ.get("ROS_DOMAIN_ID", "77"))
PAGE = os.sysconf("SC_PAGE_SIZE")
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Figures:
    """What one run gave."""

    ticks: int
    answered_percent: float
    latency_p50_ms: float
    latency_p99_ms: float
    cpu_percent: float
    growth_megabytes: float


def train(rate: float, path: Path, kind: str = "rff_psr") -> None:
    """Learn a model with the default sizes, and few iterations: it is to be timed, not judged."""
    learner: Learner = LastObservation()
    if kind != "last_observation":
        learner = RFFPSR(iterations=3, folds=1 if kind == "single_rff_psr" else None)
    runs = [run_of(rate, 400, seed) for seed in range(5)]
    learner.fit(runs[:4], runs[4:]).replaced(signature=signature(rate)).save(path)


class Driver:
    """Publishes joint states at a rate and takes note of when their forecasts arrive."""

    def __init__(self, rate: float, lead: int) -> None:
        import rclpy
        from rclpy.node import Node
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        from rffpsr_ros.nodes.shared.rclpy_internals import take
        from rffpsr_ros.nodes.shared.topic_inputs import sensor_profile

        self._take = take
        rclpy.init(domain_id=DOMAIN)
        self._rate = rate
        self._node = Node("driver")
        self._publisher = self._node.create_publisher(JointState, "/joint_states", 10)
        self._arrived: dict[int, int] = {}
        self._lead_ns = round(lead * 1e9 / rate)
        profile = sensor_profile(1000)
        topic = "/rffpsr_filter/predicted"
        self._answers: Any = self._node.create_subscription(
            JointState, topic, self._note, profile, raw=True
        )
        # Received but not looked at: its publishing is part of the cost.
        topic = "/rffpsr_filter/prediction"
        self._forecasts: Any = self._node.create_subscription(
            Float64MultiArray, topic, _ignore, profile, raw=True
        )
        self._message = JointState(name=JOINTS)

    def connect(self) -> None:
        """Wait until node and driver hear each other."""
        deadline = time.monotonic() + 30
        while not (
            self._publisher.get_subscription_count() and self._answers.get_publisher_count()
        ):
            assert time.monotonic() < deadline, "the node does not answer"
            time.sleep(0.05)

    def run(self, seconds: float, pid: int) -> Figures:
        """Drive for some seconds; what is measured begins after the warm-up."""
        warm = int(WARM_UP_SECONDS * self._rate)
        ticks = int(seconds * self._rate) + warm
        positions, efforts = drive(self._rate, ticks, 99)
        efforts = np.roll(efforts, -1, axis=0)  # sent with a position is what acts from then on
        period_ns = round(1e9 / self._rate)
        start_ns = time.time_ns()
        began = time.perf_counter_ns()
        sent = []
        before = (0.0, 0.0)
        for tick in range(ticks):
            self._spin_until(began + tick * period_ns)
            if tick == warm:
                before = usage(pid)
            sent.append((start_ns + tick * period_ns, time.perf_counter_ns()))
            self._publish(sent[-1][0], positions[tick], efforts[tick])
        self._spin_until(time.perf_counter_ns() + 500_000_000)
        cpu, memory = usage(pid)
        measured = [(self._arrived.get(stamp), at) for stamp, at in sent[warm:]]
        latencies = (
            np.array([arrived - at for arrived, at in measured if arrived is not None]) / 1e6
        )
        return Figures(
            ticks - warm,
            100 * len(latencies) / (ticks - warm),
            *_percentiles(latencies),
            100 * (cpu - before[0]) / (ticks - warm) * self._rate,
            memory - before[1],
        )

    def first_answer(self, seconds: float) -> float:
        """Drive until a forecast arrives; return the seconds since the first tick.

        Raises
        ------
        RuntimeError
            If none arrives within so many seconds.
        """
        ticks = int(seconds * self._rate)
        positions, efforts = drive(self._rate, ticks, 99)
        period_ns, start_ns = round(1e9 / self._rate), time.time_ns()
        began = time.perf_counter_ns()
        for tick in range(ticks):
            self._spin_until(began + tick * period_ns)
            if self._arrived:
                return (min(self._arrived.values()) - began) / 1e9
            self._publish(start_ns + tick * period_ns, positions[tick], efforts[tick])
        raise RuntimeError(f"no forecast came within {seconds:g} s")

    def close(self) -> None:
        """Leave ROS."""
        import rclpy

        self._node.destroy_node()
        rclpy.shutdown()

    def _note(self, data: bytes) -> None:
        self._arrived[stamp_of_cdr(data, 0) - self._lead_ns] = time.perf_counter_ns()

    def _publish(self, stamp_ns: int, position: Any, effort: Any) -> None:
        stamp = self._message.header.stamp
        stamp.sec, stamp.nanosec = divmod(stamp_ns, 10**9)
        self._message.position = position.tolist()
        self._message.effort = effort.tolist()
        self._publisher.publish(self._message)

    def _spin_until(self, moment: int) -> None:
        """Take what arrives until a moment: by looking, which costs less than an executor."""
        while (left := moment - time.perf_counter_ns()) > 0:
            arrived = self._look(self._answers, self._note) or self._look(self._forecasts, _ignore)
            if not arrived and left > LOOK_NS:
                time.sleep(LOOK_NS / 1e9)

    def _look(self, subscription: Any, take: Callable[[bytes], None]) -> bool:
        """Take a message if there is one."""
        found = self._take(subscription)
        if found is None:
            return False
        take(found[0])
        return True


def _percentiles(latencies: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return median and 99th percentile; NaN if nothing was answered."""
    if not len(latencies):
        return np.nan, np.nan
    median, late = np.percentile(latencies, [50, 99]).tolist()
    return median, late


def _ignore(data: bytes) -> None:
    """Take a message without looking at it."""


def usage(pid: int) -> tuple[float, float]:
    """Return processor seconds and resident megabytes of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS, resident * PAGE / 1e6


@contextmanager
def node(command: Sequence[str], folder: Path, ready: str) -> Iterator[int]:
    """Run a node; yield its process number once it has printed that it is ready."""
    environment = {
        **os.environ,
        "ROS_HOME": str(folder),
        "ROS_LOG_DIR": str(folder / "log"),
        "ROS_DOMAIN_ID": str(DOMAIN),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")]),
    }
    process = subprocess.Popen(
        [sys.executable, *command],
        env=environment,
        cwd=CHECKOUT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if ready in line:
            break
    else:
        raise RuntimeError(f"{command[0]} ended before it was ready")
    try:
        yield process.pid
    finally:
        process.terminate()
        process.communicate()


def measure(
    command: Sequence[str], rate: float, lead: int, seconds: float, folder: Path
) -> Figures:
    """Return the figures of one node."""
    with node(command, folder, "serving") as pid:
        driver = Driver(rate, lead)
        try:
            driver.connect()
            return driver.run(seconds, pid)
        finally:
            driver.close()


@contextmanager
def training(rate: float, folder: Path) -> Iterator[None]:
    """Keep a learner node training on some episodes."""
    import yaml

    configuration = channels(rate)
    file = folder / "channels.yaml"
    file.write_text(yaml.safe_dump(configuration.to_mapping()), encoding="utf-8")
    record(rate, EpisodeStore(folder / "rffpsr" / "episodes"))
    command = ["executables/learner_node", "--ros-args", "-p", f"channels_file:={file}"]
    with node(command, folder, "listening"):
        _call("/rffpsr_learner/train")
        time.sleep(8)  # reading and two-stage regression; then refinement, which never ends here
        yield


def record(rate: float, store: EpisodeStore) -> None:
    """Store some episodes."""
    types = {"/joint_states": JOINT_STATE}
    types_known = typestore_of(types.values())
    make = types_known.types
    for seed in range(4):
        episode = store.begin(types, types_known, {}, datetime.now(), f"seed {seed}")
        positions, efforts = drive(rate, 1000, seed)
        for tick, (position, effort) in enumerate(zip(positions, efforts, strict=True)):
            now = round(1.7e18 + tick * 1e9 / rate)
            stamp: Any = make["builtin_interfaces/msg/Time"](*divmod(now, 10**9))
            header: Any = make["std_msgs/msg/Header"](stamp, "")
            message = make[JOINT_STATE](header, JOINTS, position, np.empty(0), effort)
            data = types_known.serialize_cdr(message, JOINT_STATE)
            episode.write("/joint_states", now, bytes(data))
        episode.keep()


def _call(service: str) -> None:
    import rclpy
    from rclpy.node import Node
    from std_srvs.srv import Trigger

    rclpy.init(domain_id=DOMAIN)
    caller = Node("caller")
    client: Any = caller.create_client(Trigger, service)
    assert client.wait_for_service(timeout_sec=30)
    future = client.call_async(Trigger.Request())
    rclpy.spin_until_future_complete(caller, future, timeout_sec=30)
    answer = future.result()
    caller.destroy_node()
    rclpy.shutdown()
    assert answer is not None
    assert answer.success, answer.message


def run(
    seconds: float, rates: Sequence[float], executors: Sequence[str], kind: str
) -> Iterator[tuple[str, Figures]]:
    """Yield the name and the figures of every run as it ends; of several rates the last one twice.

    The second time training goes on beside it.
    """
    runs = [(rate, False) for rate in rates] + [(rate, True) for rate in rates[1:][-1:]]
    with ExitStack() as stack:
        models = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for rate in rates:
            train(rate, models / f"{rate:g}.psr", kind)
        for rate, beside in runs:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            with training(rate, folder) if beside else nullcontext():
                for executor in executors:
                    name = f"{rate:g} Hz" + (", training beside" if beside else "")
                    name += f", {executor}" if len(executors) > 1 else ""
                    chosen = ["--ros-args", "-p", f"executor:={executor}"]
                    echo = ["-m", "benchmarks.echo_node", *chosen]
                    command = ["executables/filter_node", *chosen]
                    command += ["-p", f"model_path:={models / f'{rate:g}.psr'}"]
                    command += ["-p", f"lead:={HORIZON}", "-p", f"horizon:={HORIZON}"]
                    yield f"echo, {name}", measure(echo, rate, 0, seconds, folder)
                    yield f"filter, {name}", measure(command, rate, HORIZON, seconds, folder)


def row(name: str, one: Figures) -> str:
    """Return a run's figures as a row of the table."""
    return (
        f"| {name} | {one.ticks} | {one.answered_percent:.2f} | {one.latency_p50_ms:.3f}"
        f" | {one.latency_p99_ms:.3f} | {one.cpu_percent:.1f} | {one.growth_megabytes:.1f} |"
    )


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.realtime")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each run (60)")
    parser.add_argument("--rates", type=float, nargs="+", default=(1000.0, 100.0), metavar="HZ")
    parser.add_argument("--executors", nargs="+", default=("direct",), help="of the nodes (direct)")
    parser.add_argument("--kind", default="rff_psr", choices=KINDS_OF_MODEL)
    parser.add_argument("--json", type=Path, help="a file to write the figures to")
    arguments = parser.parse_args()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    results = {}
    print(HEAD, flush=True)
    for name, one in run(arguments.seconds, arguments.rates, arguments.executors, arguments.kind):
        results[name] = one
        print(row(name, one), flush=True)
    if arguments.json:
        figures = {name: asdict(one) for name, one in results.items()}
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
