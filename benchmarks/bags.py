"""How fast bags are read, sampled and learned from, and how much memory that takes.

Run as ``python -m benchmarks.bags``. A bag of JointState messages (six joints at 1 kHz, as a joint
state broadcaster sends them; positions are observed, efforts, held for 50 ms each, are the
actions) is written to a temporary folder. Then, each in a process of its own: rosbags alone decodes
every message; the bag is read into trajectories of 20 ticks/s; it is read and a model is learned
without refinement; it is read at one tick per message. The same at a quarter of the length tells
how memory grows.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from rosbags.highlevel import AnyReader

from rffpsr_ros import RFFPSR, Trajectory, read_bags
from rffpsr_ros.recordings.bags.writer import BagWriter
from rffpsr_ros.signals import ChannelConfiguration

TYPE = "sensor_msgs/msg/JointState"
TOPIC = "/joint_states"
JOINTS = [f"joint_{number}" for number in range(1, 7)]
MESSAGE_RATE = 1000.0
RATE = 20.0
HELD = round(MESSAGE_RATE / RATE)  # messages that one command lasts

CONFIGURATION = {
    "rate": RATE,
    "observation": {
        "inputs": ["joints"],
        "joints": {"topic": TOPIC, "type": TYPE, "fields": [f"position.{j}" for j in JOINTS]},
    },
    "action": {
        "inputs": ["efforts"],
        "efforts": {"topic": TOPIC, "type": TYPE, "fields": [f"effort.{j}" for j in JOINTS]},
    },
}


def write_bag(path: Path, messages: int, seed: int = 0) -> None:
    """Write a bag of ``messages`` JointStates of six damped joints driven by random efforts."""
    generator = np.random.default_rng(seed)
    position, speed = np.zeros(6), np.zeros(6)
    with BagWriter(path) as bag:
        bag.add_topic(TOPIC, TYPE)
        for number in range(messages):
            if number % HELD == 0:
                effort = generator.normal(size=6)
            now_ns = round((number + 1) * 1e9 / MESSAGE_RATE)
            seconds, rest = divmod(now_ns, 1_000_000_000)
            stamp = bag.message("builtin_interfaces/msg/Time", sec=seconds, nanosec=rest)
            message = bag.message(
                TYPE,
                header=bag.message("std_msgs/msg/Header", stamp=stamp, frame_id="base_link"),
                name=JOINTS,
                position=position,
                velocity=speed,
                effort=effort,
            )
            bag.write(TOPIC, now_ns, message)
            speed = speed + (10 * effort - 20 * np.sin(position) - speed) / MESSAGE_RATE
            position = position + speed / MESSAGE_RATE


def decode_all(path: Path) -> None:
    """Decode every message with rosbags alone."""
    with AnyReader([path]) as reader:
        for connection, _, data in reader.messages():
            reader.deserialize(data, connection.msgtype)


def read(path: Path, rate: float = RATE) -> list[Trajectory]:
    """Read the bag into trajectories."""
    return read_bags(path, ChannelConfiguration.from_mapping({**CONFIGURATION, "rate": rate}))


def read_every_message(path: Path) -> None:
    """Read the bag with a tick for each message: the most that sampling can cost."""
    read(path, MESSAGE_RATE)


def read_and_learn(path: Path) -> None:
    """Read the bag and learn a model without refinement."""
    RFFPSR(refinement="none").fit(read(path))


JOBS: Mapping[str, Callable[[Path], object]] = {
    "rosbags alone, decoding": decode_all,
    "read and sampled": read,
    "read, sampled and learned": read_and_learn,
    "read, a tick per message": read_every_message,
}


def measure(job: str, path: Path) -> dict[str, float]:
    """Return wall and processor seconds and peak memory (MB) of a job in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.bags", "--job", job, "--bag", str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def run_job(job: str, path: Path) -> None:
    """Do one job and print what it took as JSON."""
    before = _peak()
    wall, processor = time.perf_counter(), time.process_time()
    JOBS[job](path)
    measured = {
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - processor,
        "peak": _peak(),
        "before": before,
    }
    print(json.dumps(measured))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print a table; with ``--out`` also write the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--job", choices=tuple(JOBS), help=argparse.SUPPRESS)
    parser.add_argument("--bag", type=Path, help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    if parsed.job:
        run_job(parsed.job, parsed.bag)
        return
    results: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for messages in (parsed.messages // 4, parsed.messages):
            bag = Path(folder) / f"bag_{messages}"
            write_bag(bag, messages)
            print(f"\n{messages} messages")
            results[str(messages)] = table = {}
            for job in JOBS:
                table[job] = measured = measure(job, bag)
                measured["messages_per_second"] = messages / measured["processor_seconds"]
                print(
                    f"{job:<28}{measured['processor_seconds']:8.1f} s"
                    f"{measured['messages_per_second']:10.0f} messages/s"
                    f"{measured['peak']:8.0f} MB ({measured['before']:.0f} MB before)",
                    flush=True,
                )
    if parsed.out:
        parsed.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _peak() -> float:
    """Return this process's peak memory in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
