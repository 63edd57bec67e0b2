"""What `benchmarks.speed` measures: jobs that learn, and references of the same machine.

Each job is prepared, then done once in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.linalg
from rosbags.highlevel import AnyReader

from benchmarks.datasets import synth
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.windows import window_chunks
from rffpsr_ros.evaluation.horizon_error import horizon_errors, observation_range
from rffpsr_ros.psr.fourier_features import draw_frequencies, random_fourier_features
from rffpsr_ros.psr.two_stage import TwoStageOptions, two_stage_regression
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.bags.writer import BagWriter
from rffpsr_ros.recordings.stored_trajectory import store_bags
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import Policy, dataset, open_loop

PAST, FUTURE, RANK = 20, 10, 20
LIMIT = 10**9  # bytes of address space that streaming may take
BAGS, STREAM_RANK = 10, 10  # of streaming: bags that are read, and cap on directions
MEGABYTE = 2**20

SEEDS, AUTHORS_ITERATIONS = 5, 5  # of learning synth.mat to the error below

AUTHORS_VALIDATION = 0.105
"""Mean over h1..h10 and the five validation trajectories of synth.mat, of the authors' refined
model (joint S1, D = 20, seed 0: shared/reference/models_seed0.mat), by their evaluation."""

Figures = dict[str, float]


class Row(NamedTuple):
    """What is measured: a job and its sizes."""

    job: str
    windows: int = 0
    features: int = 0


def recording(windows: int) -> Run:
    """Return a standardised run of the synthetic system; a long one repeats 20 000 ticks of it."""
    system = SyntheticSystem()
    low, high = system.action_limits

    def policy(generator: np.random.Generator) -> Policy:
        return open_loop(uniform_hold(generator, low, high, system.period))

    ticks = windows + PAST + FUTURE
    (seen,) = dataset(system, policy, 1, ticks=min(ticks, 20_000), seed=0)
    columns = []
    for rows in (seen.observations, seen.actions):
        standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        columns.append(np.resize(standard, (ticks, rows.shape[1])))
    return Run(*columns)


def learn(row: Row) -> Callable[[], Figures]:
    """Return both stages, joint, at rank 20, as a job."""
    run = recording(row.windows)
    options = TwoStageOptions(past=PAST, future=FUTURE, features=row.features, rank=RANK)

    def job() -> Figures:
        two_stage_regression([run], options, np.random.default_rng(0))
        return {}

    return job


def textbook(row: Row) -> Callable[[], Figures]:
    """Return features in double precision, held whole, and dense decompositions, as a job."""
    run = recording(row.windows)

    def job() -> Figures:
        generator = np.random.default_rng(0)
        (windows,) = window_chunks([run], PAST, FUTURE, chunk=row.windows)
        views = windows.history, windows.observations[:, 0], windows.actions[:, 0]
        for points in (*views, windows.future_observations, windows.future_actions):
            frequencies = draw_frequencies(points.shape[1], row.features, 1.0, generator)
            features = random_fourier_features(points, frequencies)
            size = features.shape[1]
            directions = scipy.linalg.eigh(
                features.T @ features, subset_by_index=[size - RANK, size - 1]
            )[1]
            features @ directions
        return {}

    return job


def stream(row: Row) -> Callable[[], Figures]:
    """Return learning from bags within a limit of address space, as a job; writing is not in it.

    One bag is written; the others are further names of its files, and are read like bags of their
    own. Every message holds an observation and an action.
    """
    folder = tempfile.TemporaryDirectory()
    first = Path(folder.name) / "bag_0"
    write_bag(first, recording(row.windows // BAGS))
    for number in range(1, BAGS):
        other = Path(folder.name) / f"bag_{number}"
        other.mkdir()
        for file in first.iterdir():
            os.link(file, other / file.name)
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    columns = {"topic": "/robot", "type": "geometry_msgs/msg/Vector3"}
    configuration = ChannelConfiguration.from_mapping(
        {
            "rate": 100.0,
            "observation": {"inputs": ["o"], "o": {**columns, "fields": ["x"]}},
            "action": {"inputs": ["a"], "a": {**columns, "fields": ["y"]}},
        }
    )
    learner = RFFPSR(
        features=row.features,
        rank=STREAM_RANK,
        past=PAST,
        future=FUTURE,
        iterations=20,
        folds=1,
    )

    def job() -> Figures:
        began = time.process_time()
        with AnyReader([first]) as reader:
            for connection, _, data in reader.messages():
                reader.deserialize(data, connection.msgtype)
        decoding = time.process_time() - began
        bags = store_bags(folder.name, configuration)
        trajectories = [trajectory for bag in bags for trajectory in bag.trajectories()]
        read = time.process_time()
        learner.fit(trajectories)
        return {
            "decoding all messages": BAGS * decoding,
            "reading": read - began - decoding,
            "learning": time.process_time() - read,
            "ticks": float(sum(map(len, trajectories))),
            "predicted": learner.memory(trajectories) / MEGABYTE,
            "limit": LIMIT / MEGABYTE,
            "seconds": time.process_time() - began - decoding,
        }

    return job


def write_bag(path: Path, run: Run) -> None:
    """Write a run at 100 ticks/s as Vector3 messages (observation, action, 0), serialised at once.

    CDR: four bytes that tell the byte order, then three doubles.
    """
    values = np.zeros((len(run.actions), 3))
    values[:, 0], values[:, 1] = run.observations[:, 0], run.actions[:, 0]
    messages = np.zeros((len(values), 28), np.uint8)
    messages[:, 1] = 1
    messages[:, 4:] = values.astype("<f8").view(np.uint8)
    with BagWriter(path) as bag:
        bag.add_topic("/robot", "geometry_msgs/msg/Vector3")
        for tick, message in enumerate(messages):
            bag.write_raw("/robot", 1_000_000_000 + tick * 10_000_000, message.data)


def authors(row: Row) -> Callable[[], Figures]:
    """Return learning synth.mat to the authors' refined validation error, as a job.

    A single RFF-PSR of the default sizes, refined briefly; of several seeds the slowest and the
    worst count.
    """
    split = synth()
    learners = [RFFPSR(folds=1, iterations=AUTHORS_ITERATIONS, seed=seed) for seed in range(SEEDS)]
    clip = observation_range(split.train)

    def learned(learner: RFFPSR) -> tuple[float, ...]:
        began = time.process_time()
        model = learner.fit(split.train, split.validation)
        seconds = time.process_time() - began
        errors = (
            float(horizon_errors(model, runs, 10, 9, clip).mse.mean())
            for runs in (split.validation, split.test)
        )
        return seconds, *errors

    def job() -> Figures:
        worst = np.max([learned(learner) for learner in learners], axis=0)
        names = "seconds", "validation", "test"
        predicted = learners[0].memory(split.train) / MEGABYTE
        return {**dict(zip(names, worst.tolist(), strict=True)), "predicted": predicted}

    return job


def peak() -> float:
    """Return the most memory (MB) that this process ever held.

    What `getrusage` calls so includes what the process that started this one held.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kilobytes = status.split("VmHWM:")[1].split()[0]
    return float(kilobytes) / 1024


def machine(_: Row) -> Callable[[], Figures]:
    """Return matrix products (GFlop/s, single and double) and memory copies (GB/s), as a job."""
    return _machine


def _machine() -> Figures:
    figures = {}
    for name, kind in (("single", np.float32), ("double", np.float64)):
        square = np.ones((1500, 1500), kind)
        square @ square
        began = time.process_time()
        for _ in range(3):
            square @ square
        figures[f"{name} GFlop/s"] = 3 * 2 * 1500**3 / (time.process_time() - began) / 1e9
    block, copied = np.ones(2**24), np.ones(2**24)
    began = time.process_time()
    for _ in range(5):
        copied[:] = block
    figures["copy GB/s"] = 5 * block.nbytes / (time.process_time() - began) / 1e9
    return figures


def products(row: Row) -> float:
    """Return the floating-point operations of feature maps that learning cannot do without.

    Every map once: from its points to phases, from waves to features; of histories once more, for
    stage two.
    """
    sizes = 2 * PAST, 1, 1, FUTURE, FUTURE, 2 * PAST
    return row.windows * sum(2 * row.features * (size + 2 * RANK) for size in sizes)


JOBS: Mapping[str, Callable[[Row], Callable[[], Figures]]] = {
    "learn": learn,
    "textbook": textbook,
    "stream": stream,
    "authors": authors,
    "machine": machine,
}


def do_job(row: Row) -> Figures:
    """Do one job and return what it took: processor seconds, and MB at its peak and before."""
    job = JOBS[row.job](row)
    before, began = peak(), time.process_time()
    figures = job()
    figures.setdefault("seconds", time.process_time() - began)
    return {**figures, "peak": peak(), "before": before}
