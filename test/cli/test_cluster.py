"""What a cluster learns has the same bits as what one process learns, also when a worker dies."""

import hashlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from rffpsr_ros.cli.cluster_client import cluster_client
from rffpsr_ros.data import window_source
from rffpsr_ros.data.moments import Regression
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.summary import summarise
from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.data.windows import Windows
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.rff_psr.fit import initialise, refine
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData, fit_two_stages, with_validation
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.parallel.cluster import Cluster
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.progress import silent
from rffpsr_ros.psr.feature_set import fit_features
from rffpsr_ros.psr.two_stage import TwoStageOptions, two_stage_regression
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory

PAST, FUTURE = 4, 3
USUAL_BLOCK = window_source.BLOCK


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Return the client of a fresh cluster of two worker processes; a killed one is replaced."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(processes=True, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        connected.wait_for_workers(2)
        yield connected


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks of few windows: there is something to hand out."""
    monkeypatch.setattr(window_source, "BLOCK", 64)


def recordings(count: int = 4, ticks: int = 200) -> list[Trajectory]:
    draw = np.random.default_rng(0)
    made = []
    for _ in range(count):
        actions = draw.uniform(-1, 1, (ticks, 1))
        state, seen = 0.0, []
        for action in actions[:, 0]:
            state = 0.8 * np.sin(state) + action
            seen.append([state, state**2])
        made.append(Trajectory(np.array(seen), actions, 0.02))
    return made


# Functions within functions travel to the workers by value; these could not import a test's module.


def products() -> Callable[[Windows], Regression]:
    """Return what gives the moments of windows."""

    def moments(windows: Windows) -> Regression:
        history = windows.history
        regression = Regression.zeros(history.shape[1], history.shape[1])
        regression.add(history, history)
        return regression

    return moments


def fatal(marked: float, flag: Path) -> Callable[[Windows], Regression]:
    """Return the same; whoever meets the marked window first is killed, as a kernel would."""
    moments = products()

    def moments_or_death(windows: Windows) -> Regression:
        if marked in windows.observations and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return moments(windows)

    return moments_or_death


def source(workers: Workers) -> WindowSource:
    runs = [Run(np.array(t.observations), np.array(t.actions)) for t in recordings()]
    runs[2].observations[100] = 12345.0
    return WindowSource([window_source.RunInMemory(run) for run in runs], PAST, FUTURE, workers)


def bits(value: Any) -> list[bytes]:
    """Return the bytes of every array within."""
    if isinstance(value, np.ndarray):
        return [value.tobytes()]
    if isinstance(value, tuple):
        return [part for item in value for part in bits(item)]
    return []


def test_moments_have_the_same_bits(client: Any) -> None:
    alone, together = (source(w).total(products()) for w in (THIS_PROCESS, Cluster(client)))
    assert alone.input_input.count == together.input_input.count > 0
    assert bits(alone.input_input.total) == bits(together.input_input.total)


def test_a_killed_worker_costs_nothing_but_time(client: Any, tmp_path: Path) -> None:
    flag = tmp_path / "killed"
    together = source(Cluster(client)).total(fatal(12345.0, flag))
    assert flag.exists()  # a worker was killed in the middle
    with one_blas_thread():
        alone = source(THIS_PROCESS).total(products())
    assert bits(alone.input_input.total) == bits(together.input_input.total)


@pytest.mark.parametrize("method", ["joint", "conditional"])
def test_both_stages_have_the_same_bits(client: Any, method: Any) -> None:
    options = TwoStageOptions(
        past=PAST, future=FUTURE, features=30, rank=8, state_rank=6, stage_one=method
    )

    def learned(workers: Workers) -> list[bytes]:
        with one_blas_thread():
            result = two_stage_regression(source(workers), options, np.random.default_rng(1))
        return bits((*result.features[5:], *result.system))

    assert learned(THIS_PROCESS) == learned(Cluster(client))


def test_the_learner_takes_a_client_and_learns_the_same(client: Any) -> None:
    learner = RFFPSR(past=PAST, future=FUTURE, features=30, iterations=10, folds=1)
    alone, together = (learner.fit(recordings(), client=one) for one in (None, client))
    assert isinstance(alone, RFFPSRModel)
    assert isinstance(together, RFFPSRModel)
    assert bits(tuple(alone.parts)) == bits(tuple(together.parts))


class Watched(Cluster):
    """A cluster whose gradients are counted by step; a worker may be killed at one of them."""

    def __init__(self, client: Any, flag: Path | None = None, deadly_step: int = 0) -> None:
        super().__init__(client)
        self.steps: list[int] = []
        self._flag, self._deadly_step = flag, deadly_step

    def broadcast(self, value: Any) -> Any:
        self._held = super().broadcast(value)
        return self

    def map(self, function: Any, items: Any) -> Iterator[Any]:
        self.steps.append(len(items))
        if len(self.steps) == self._deadly_step:
            assert self._flag is not None
            function = death_before(function, self._flag)
        results: Iterator[Any] = self._held.map(function, items)
        return results


def death_before(function: Callable[..., Any], flag: Path) -> Callable[..., Any]:
    """Return the function; whoever comes to it first is killed instead."""

    def function_or_death(*arguments: Any) -> Any:
        if not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments)

    return function_or_death


REFINED = RFFPSR(
    past=PAST, future=FUTURE, features=30, iterations=20, minibatches=3, refine_from="light"
)
"""Of the thirty segments of twelve recordings each step looks at twenty-four."""


def refined(workers: Workers) -> list[bytes]:
    """Return the bits of weights after refinement; learned features leave it nothing to better."""
    options, settings = replace(REFINED.options, narx_learning="off"), FitSettings()
    train, held_out, _ = with_validation(recordings(12, 300), None, options)
    data = TrainingData(train, held_out, summarise(train, options.past, options.future))
    with one_blas_thread():
        fitted = fit_two_stages(data, options, settings, fit_features, silent)
        start = initialise(fitted, options, settings, silent)
        refined_predictor = refine(fitted, start, options, settings, silent, workers)
    assert refined_predictor.notes["iterations"] > 0
    return bits(tuple(refined_predictor.parameters))


def test_refinement_has_the_same_bits_also_when_a_worker_is_killed_in_the_middle(
    client: Any, tmp_path: Path
) -> None:
    flag = tmp_path / "killed"
    together, bereft = Watched(client), Watched(client, flag, deadly_step=7)
    alone = refined(THIS_PROCESS)
    assert refined(together) == alone
    assert refined(bereft) == alone
    assert flag.exists()
    assert bereft.steps == together.steps
    assert len(bereft.steps) >= 20
    assert set(bereft.steps) == {3}


@pytest.mark.parametrize("folds", [1, 2])
def test_a_learner_with_many_minibatches_learns_the_same(
    client: Any, folds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if folds > 1:  # where starts are compared, workers find them, who have the usual blocks
        monkeypatch.setattr(window_source, "BLOCK", USUAL_BLOCK)
    less = {"folds": folds, "narx_features": 0}
    learner = RFFPSR(**asdict(REFINED.options) | less)
    written = []
    for chosen in (None, client):
        learner.fit(recordings(9, 100), client=chosen).save(tmp_path / "model")
        written.append(hashlib.sha256((tmp_path / "model").read_bytes()).hexdigest())
    assert written[0] == written[1]


def test_folds_and_trials_are_learned_by_the_workers(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window_source, "BLOCK", USUAL_BLOCK)  # the workers have that
    told: list[str] = []

    def progress(stage: str, fraction: float, error: float | None = None) -> None:
        told.append(stage)

    few: dict[str, Any] = {"features": 30, "narx_features": 20, "narx_units": "sigmoids"}
    learner = RFFPSR(past=PAST, future=FUTURE, iterations=4, **few)
    written = []
    for chosen in (None, client):
        learner.fit(recordings(9, 100), client=chosen, progress=progress).save(tmp_path / "model")
        written.append((tmp_path / "model").read_bytes())
    assert written[0] == written[1]
    assert sum(stage == "model 1 of 3, stage one" for stage in told) >= 1


@pytest.fixture
def two_bags(tmp_path: Path, workshop: Any) -> list[Path]:
    """Return bags of the robot, each in a file of its own."""
    return [workshop.write_robot(tmp_path / f"bag_{i}", ticks=150 + 40 * i) for i in range(2)]


def test_training_on_a_cluster_writes_the_same_model(
    client: Any, run: Any, workshop: Any, two_bags: list[Path], tmp_path: Path
) -> None:
    config = tmp_path / "robot.yaml"
    config.write_text(workshop.configuration)
    models = tmp_path / "alone", tmp_path / "together"
    for model, more in zip(models, ((), ("--scheduler", client.scheduler.address)), strict=True):
        one = ("--set", "learning.folds=1")
        words = (*two_bags, "--config", config, "--out", model, *workshop.quick, *one, *more)
        outcome = run("train", *words)
        assert outcome.code == 0, outcome.err
    assert models[0].read_bytes() == models[1].read_bytes()


SOURCE = """
import time
from pathlib import Path

class Tell:
    def __init__(self, flag):
        self.flag = flag
    def __call__(self, progress):
        Path(self.flag).write_text("begun")
        try:
            while True:
                progress("still", 0.5)
                time.sleep(0.001)
        finally:
            Path(self.flag).write_text("ended")
"""


def test_a_task_that_nobody_wants_any_more_ends(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "telling_task.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def find(folder: Path) -> None:
        sys.path.append(str(folder))

    client.run(find, tmp_path)
    telling: Any = import_module("telling_task")
    flag = tmp_path / "flag"

    def until(word: str) -> None:
        deadline = time.monotonic() + 60
        while not (flag.exists() and flag.read_text() == word):
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.005)

    pending = Cluster(client).submit(telling.Tell(str(flag)), silent)
    until("begun")
    pending.cancel()
    until("ended")


def test_a_scheduler_that_does_not_answer_is_one_sentence(
    run: Any, workshop: Any, two_bags: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("rffpsr_ros.cli.cluster_client.CONNECTION_SECONDS", 0.2)
    config = tmp_path / "robot.yaml"
    config.write_text(workshop.configuration)
    address = "tcp://127.0.0.1:9"  # the discard port: nobody listens
    outcome = run(
        "train", *two_bags, "--config", config, "--out", tmp_path / "m", "--scheduler", address
    )
    assert outcome.code != 0
    assert f"no Dask scheduler answers at {address}" in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("address", "warned"), [("tcp://host:8786", True), ("tls://host:1", False)]
)
def test_a_scheduler_without_encryption_is_called_unsafe(
    address: str,
    warned: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    distributed = pytest.importorskip("distributed")
    connected = MagicMock()
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: connected)
    with cluster_client(address):
        pass
    assert ("runs programs on every machine" in capsys.readouterr().err) is warned


def test_a_scheduler_that_may_not_be_talked_to_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(
        distributed, "Client", MagicMock(side_effect=RuntimeError("encryption required"))
    )
    with pytest.raises(InputError, match="tcp://host:1: encryption required"):
        cluster_client("tcp://host:1").__enter__()
