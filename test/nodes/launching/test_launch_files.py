"""The launch files under real launch, from an installation."""

from __future__ import annotations

import os
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
PATIENCE = 120.0
COMMON = {"params_file", "model_path", "namespace", "use_sim_time", "autostart", "log_level"}


def has_package(name: str) -> bool:
    from ament_index_python.packages import get_packages_with_prefixes

    return name in get_packages_with_prefixes()


class Launched:
    """A launch file under ``ros2 launch``, in a process of its own."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.lines: list[str] = []
        command = [sys.executable, "-c", "import ros2cli.cli; raise SystemExit(ros2cli.cli.main())"]
        self.process = subprocess.Popen(
            [*command, "launch", "rffpsr_ros", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,  # not the checkout, whose package would be imported
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

    @property
    def pids(self) -> list[int]:
        """Of the processes that were started, in their order."""
        return [int(pid) for pid in re.findall(r"process started with pid \[(\d+)\]", self.output)]

    def wait_for(self, text: str) -> None:
        self.wait_until(lambda: text in self.output, f"'{text}'")

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            alive = self.process.poll() is None or self._reader.is_alive()
            assert alive, f"ended without {what}:\n{self.output}"
            assert time.monotonic() < deadline, f"waited in vain for {what}:\n{self.output}"
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
        launched.append(Launched(list(words), ros.folder))
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
    without_lifecycle_nodes = file in ("simulation.launch.py", "collect.launch.py")
    absent = {"model_path", "autostart"} if without_lifecycle_nodes else set()
    if file == "view.launch.py":  # it starts nodes of other packages only
        absent = COMMON - {"use_sim_time"}
    assert COMMON - declared <= absent


def test_view_names_the_packages_that_it_lacks(launch: Callable[..., Launched]) -> None:
    if has_package("rviz2"):
        pytest.skip("RViz is installed")
    shown = launch("view.launch.py")
    assert shown.process.wait(PATIENCE) == 1
    shown.end()
    assert re.search(r"not installed: .*rviz2; apt install .*ros-\$ROS_DISTRO-rviz2", shown.output)


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
        "lead:=3",
        "deadline:=2",
        "addapt:=true",
    )
    names = ["model_path", "use_sim_time", "autostart", "lead", "deadline", "adapt"]
    request = GetParameters.Request(names=names)
    answer = ros.peer.call("/left/rffpsr_filter/get_parameters", GetParameters, request)
    path, sim_time, autostart, lead, deadline, adapt = answer.values
    assert path.string_value == str(synthetic_model)
    assert sim_time.bool_value
    assert autostart.bool_value
    assert lead.integer_value == 3
    assert deadline.double_value == 2.0
    assert not adapt.bool_value
    assert "launch argument 'addapt' is unknown; did you mean 'adapt'?" in started.output
    assert "serving" not in started.output  # that is information, less than a warning
    assert started.end() == 0


def test_a_killed_filter_is_started_again_unless_told_not_to(
    launch: Callable[..., Launched], synthetic_model: Path
) -> None:
    words = "filter.launch.py", f"model_path:={synthetic_model}", "respawn_delay:=0.1"
    started = launch(*words)
    started.wait_for("serving rff_psr model")
    first = started.pids[-1]
    os.kill(first, signal.SIGKILL)
    started.wait_until(lambda: started.output.count("serving rff_psr model") == 2, "a second life")
    assert started.pids[-1] != first
    assert started.end() == 0
    once = launch(*words, "respawn:=false")
    once.wait_for("serving rff_psr model")
    os.kill(once.pids[-1], signal.SIGKILL)
    once.process.wait(PATIENCE)
    assert once.output.count("serving rff_psr model") == 1


def test_learner_records_what_a_simulation_shows(launch: Callable[..., Launched], ros: Any) -> None:
    launch("simulation.launch.py", "system:=swimmer", "speed:=3.0").wait_for("exciting")
    learner = launch("learner.launch.py", "params_file:=swimmer", "use_sim_time:=true")
    learner.wait_for("listening to joint_states, goal, joint_commands")

    def listens() -> bool:
        infos = map(ros.peer.node.get_subscriptions_info_by_topic, ("/joint_states", "/goal"))
        return all(any(one.node_name == "rffpsr_learner" for one in found) for found in infos)

    # What is to be recorded takes a second or two; a learner that finds it late would miss it.
    ros.peer.until(listens, "the learner to have found its topics")
    start = "/rffpsr_learner/start_episode"
    ros.peer.until(lambda: ros.peer.call(start).success, "an episode")  # and /clock
    learner.wait_for("recording")
    from sensor_msgs.msg import JointState

    states = ros.peer.collect("/joint_states", JointState)
    ros.peer.until(lambda: len(states) > 120, "120 joint states")
    ended = ros.peer.call("/rffpsr_learner/end_episode")
    assert ended.success, ended.message
    from rffpsr_ros.recordings.bags.reader import read_bags

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


def test_control_closes_the_loop_before_the_learned_robot(
    launch: Callable[..., Launched], ros: Any, synthetic_model: Path
) -> None:
    from std_msgs.msg import Float64MultiArray

    started = launch("control.launch.py", f"model_path:={synthetic_model}", "learned:=true")
    started.wait_for("a free run says more than the mean for")
    started.wait_for("nothing is sent until ~/enable is called")
    plans = ros.peer.collect("/rffpsr_controller/planned_actions", Float64MultiArray)
    ros.peer.publisher("/rffpsr_controller/reference", Float64MultiArray)
    ros.peer.matched("/rffpsr_controller/reference")
    assert ros.peer.call("/rffpsr_controller/enable").success

    def planned() -> bool:
        ros.peer.publish("/rffpsr_controller/reference", Float64MultiArray(data=[0.05]))
        ros.peer.wait(0.05)
        return bool(plans)

    ros.peer.until(planned, "a plan")
    assert started.end() == 0


def test_collect_records_episodes_and_ends(launch: Callable[..., Launched], tmp_path: Path) -> None:
    collecting = launch(
        "collect.launch.py",
        "system:=synthetic",
        "gazebo:=false",
        "episodes:=2",
        "duration:=3.0",
        "speed:=4.0",
        f"dataset_directory:={tmp_path / 'episodes'}",
    )
    collecting.wait_for("episode 2 of 2 is recorded")
    collecting.wait_for("the command is zero (at the end)")
    assert collecting.process.wait(PATIENCE) == 0
    channels = load_channels(CHECKOUT / "config" / "synthetic.yaml")
    from rffpsr_ros.recordings.bags.reader import read_bags

    runs = read_bags(sorted((tmp_path / "episodes").glob("20*")), channels)
    assert [len(run) > 40 for run in runs] == [True, True]


def test_collect_ends_when_its_simulator_dies(
    launch: Callable[..., Launched], tmp_path: Path
) -> None:
    collecting = launch(
        "collect.launch.py",
        "system:=synthetic",
        "gazebo:=false",
        f"dataset_directory:={tmp_path / 'episodes'}",
    )
    collecting.wait_for("recording episode")
    named = r"\[simulator_node-\d+\]: process started with pid \[(\d+)\]"
    os.kill(int(re.findall(named, collecting.output)[0]), signal.SIGKILL)
    # Launch tells the reason that the file gives, or one of its own, from release to release.
    told = re.compile(r"the simulator ended|simulator_node-\d+\] was required")
    collecting.wait_until(lambda: told.search(collecting.output) is not None, "the reason")
    collecting.process.wait(PATIENCE)


GZ_SIM = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo
from launch.substitutions import LaunchConfiguration

def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument("gz_args"),
        DeclareLaunchArgument("on_exit_shutdown", default_value="false"),
        LogInfo(msg=["gz sim ", LaunchConfiguration("gz_args"),
                     " shutdown ", LaunchConfiguration("on_exit_shutdown")]),
    ])
"""
PARAMETER_BRIDGE = """#!/usr/bin/env python3
import sys
files = [word for word in sys.argv if "launch_params" in word]
print("bridging", sys.argv[1], *[open(file).read() for file in files], flush=True)
"""


@pytest.fixture
def gazebo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that Gazebo's ROS packages are installed: they say how they were started."""
    prefix = tmp_path / "gazebo"
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    launches = prefix / "share" / "ros_gz_sim" / "launch"
    executables = prefix / "lib" / "ros_gz_bridge"
    for folder in (index, launches, executables, prefix / "share" / "ros_gz_bridge"):
        folder.mkdir(parents=True)
    for package in ("ros_gz_sim", "ros_gz_bridge"):
        (index / package).touch()
    (launches / "gz_sim.launch.py").write_text(GZ_SIM)
    bridge = executables / "parameter_bridge"
    bridge.write_text(PARAMETER_BRIDGE)
    bridge.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix), prepend=os.pathsep)


@pytest.mark.parametrize(
    ("world", "options"), [("arm", "-r -s "), ("arm_camera", "-r -s --headless-rendering ")]
)
def test_gazebo_bridge_and_nodes_are_started(
    launch: Callable[..., Launched], gazebo: None, prefix: Path, world: str, options: str
) -> None:
    started = launch("gazebo.launch.py", f"world:={world}", "headless:=true")
    file = prefix / "share" / "rffpsr_ros" / "worlds" / f"{world}.sdf"
    started.wait_for(f"gz sim {options}{file} shutdown true")
    started.wait_for(f"bridging /world/{world}/control@ros_gz_interfaces/srv/ControlWorld")
    started.wait_for(f"config/gazebo_bridge_{world}.yaml")
    started.wait_for("listening to ")
    started.wait_for("exciting /shoulder/torque, /elbow/torque")
    assert "filter_node" not in started.output
    assert started.end() == 0


def test_without_gazebo_it_says_what_to_do(launch: Callable[..., Launched]) -> None:
    started = launch("gazebo.launch.py")
    if started.process.wait(PATIENCE) == 0:
        pytest.skip("Gazebo is installed here")
    started.end()
    assert "simulation.launch.py world:=arm" in started.output
    assert "Traceback" not in started.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("simulation.launch.py", "world:=leg"), "there is no world 'leg'; give a path, or one of"),
        (("simulation.launch.py", "system:=swimer"), "did you mean 'swimmer'"),
        (("simulation.launch.py", "speed:=fast"), "'fast'; it must be a number"),
        (("learner.launch.py", "params_file:=nowhere.yaml"), "no parameter file 'nowhere.yaml'"),
        (("filter.launch.py", "use_sim_time:=yes"), "it must be true or false"),
        (("filter.launch.py", "adapt:=perhaps"), "adapt is 'perhaps'; it must be true or false"),
        (("learner.launch.py", "retrain_after:=2.5"), "'2.5'; it must be a whole number"),
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
