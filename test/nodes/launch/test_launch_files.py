"""The launch files under real launch, from an installation."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rffpsr_ros.signals.channel_file import load_channels

CHECKOUT = Path(__file__).resolve().parents[3]
FILES = sorted(path.name for path in (CHECKOUT / "launch").glob("*.launch.py"))
PATIENCE = 40.0
COMMON = {"params_file", "model_path", "namespace", "use_sim_time", "autostart", "log_level"}


class Launched:
    """A launch file under ``ros2 launch``, in a process of its own."""

    def __init__(self, words: list[str]) -> None:
        self.lines: list[str] = []
        command = [sys.executable, "-c", "import ros2cli.cli; raise SystemExit(ros2cli.cli.main())"]
        self.process = subprocess.Popen(
            [*command, "launch", "rffpsr_ros", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(re.sub(r"\x1b\[\d+m", "", line.rstrip()))

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in self.output:
            alive = self.process.poll() is None or self._reader.is_alive()
            assert alive, f"ended without '{text}':\n{self.output}"
            assert time.monotonic() < deadline, f"waited in vain for '{text}':\n{self.output}"
            self._reader.join(0.02)

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self._reader.join(5)


@pytest.fixture
def launch(installed: Path, ros: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable]:  # type: ignore[type-arg]
    """Return a function that launches a file in a domain of its own."""
    for name in ("ROS_DOMAIN_ID", "ROS_HOME", "ROS_LOG_DIR", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, ros.environment[name])
    launched: list[Launched] = []

    def start(*words: str) -> Launched:
        launched.append(Launched(list(words)))
        return launched[-1]

    yield start
    for one in launched:
        one.end()
        print(one.output)


@pytest.mark.parametrize("file", FILES)
def test_every_file_tells_its_arguments(launch: Callable[..., Launched], file: str) -> None:
    shown = launch(file, "--show-args")
    assert shown.process.wait(PATIENCE) == 0
    shown.end()
    declared = set(re.findall(r"'(\w+)':", shown.output))
    missing = COMMON - declared
    assert not missing - ({"model_path", "autostart"} if file == "simulation.launch.py" else set())


def test_filter_without_arguments_waits_for_the_learners_first_model(
    launch: Callable[..., Launched], ros: Any, synthetic_model: Path
) -> None:
    started = launch("filter.launch.py")
    started.wait_for("there is no model in")
    models = Path(ros.environment["ROS_HOME"]) / "rffpsr" / "models"
    models.mkdir(parents=True, exist_ok=True)
    # As the learner does: written beside, then moved, so that nobody sees half a file.
    (models / "beside").write_bytes(synthetic_model.read_bytes())
    (models / "beside").rename(models / "model_2026-01-01_00-00-00.psr")
    started.wait_for("serving rff_psr model")
    assert started.end() == 0


def test_arguments_reach_the_node(
    launch: Callable[..., Launched], ros: Any, synthetic_model: Path
) -> None:
    from rcl_interfaces.srv import GetParameters

    started = launch(
        "filter.launch.py",
        f"model_path:={synthetic_model}",
        "namespace:=left",
        "use_sim_time:=true",
        "autostart:=true",
        "log_level:=warn",
    )
    names = ["model_path", "use_sim_time", "autostart"]
    request = GetParameters.Request(names=names)
    answer = ros.peer.call("/left/rffpsr_filter/get_parameters", GetParameters, request)
    path, sim_time, autostart = answer.values
    assert path.string_value == str(synthetic_model)
    assert sim_time.bool_value
    assert autostart.bool_value
    assert "serving" not in started.output  # that is information, less than a warning
    assert started.end() == 0


def test_learner_records_what_a_simulation_shows(launch: Callable[..., Launched], ros: Any) -> None:
    launch("simulation.launch.py", "system:=swimmer", "speed:=3.0").wait_for("exciting")
    learner = launch("learner.launch.py", "params_file:=swimmer", "use_sim_time:=true")
    learner.wait_for("listening to joint_states, goal, joint_commands")
    started = ros.peer.call("/rffpsr_learner/start_episode")
    assert started.success, started.message
    learner.wait_for("recording")
    from sensor_msgs.msg import JointState

    states = ros.peer.collect("/joint_states", JointState)
    ros.peer.until(lambda: len(states) > 60, "60 joint states")
    ended = ros.peer.call("/rffpsr_learner/end_episode")
    assert ended.success, ended.message
    from rffpsr_ros.episodes.bag_reader import read_bags

    (bag,) = (Path(ros.environment["ROS_HOME"]) / "rffpsr" / "episodes").glob("20*")
    (episode,) = read_bags([bag], load_channels(CHECKOUT / "config" / "swimmer.yaml"))
    assert len(episode) > 40
    assert abs(episode.actions).max() > 1.0


def test_demo_starts_everything(launch: Callable[..., Launched], ros: Any) -> None:
    demo = launch("demo.launch.py", "speed:=10.0")
    for text in ("simulating 'synthetic'", "exciting /joint_commands", "listening to", "no model"):
        demo.wait_for(text)
    demo.wait_for("kept")
    assert demo.end() == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("simulation.launch.py", "system:=swimer"), "did you mean 'swimmer'"),
        (("simulation.launch.py", "speed:=fast"), "'fast'; it must be a number"),
        (("learner.launch.py", "params_file:=nowhere.yaml"), "no parameter file 'nowhere.yaml'"),
        (("filter.launch.py", "use_sim_time:=yes"), "it must be true or false"),
    ],
)
def test_faults_are_one_sentence(
    launch: Callable[..., Launched], words: tuple[str, ...], said: str
) -> None:
    started = launch(*words)
    assert started.process.wait(PATIENCE) == 1
    started.end()
    assert said in started.output
    assert "Traceback" not in started.output


def test_executables_are_installed_where_ros2_run_looks(installed: Path) -> None:
    names = {path.name for path in (CHECKOUT / "executables").iterdir()}
    found = {path.name: path for path in (installed / "lib" / "rffpsr_ros").iterdir()}
    assert found.keys() == names
    assert all(path.stat().st_mode & 0o111 for path in found.values())


PARAMETER_FILES = sorted((CHECKOUT / "config").glob("*.yaml"))
"""Those for nodes; others, such as a bridge's, hold no parameters."""


@pytest.mark.parametrize("file", PARAMETER_FILES, ids=lambda path: path.stem)
def test_parameter_files_hold_a_channel_configuration(file: Path) -> None:
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    if isinstance(content, dict) and "/**" in content:
        assert load_channels(file).rate > 0
