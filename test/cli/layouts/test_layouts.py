"""Layouts draw what the nodes publish: every curve is found in messages made as the nodes do."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from rffpsr_ros.cli.commands.layout import HORIZON, layouts
from rffpsr_ros.cli.layouts.curves import ASPECT, Observed, observed
from rffpsr_ros.cli.main import main
from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.bags.writer import BagWriter
from rffpsr_ros.recordings.forecast_messages import predicted_message, trajectory_message
from rffpsr_ros.signals.channel_file import load_channels
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.sampler import Sampler

CHECKOUT = Path(__file__).resolve().parents[3]
ARM = CHECKOUT / "config" / "arm.yaml"
LAYOUTS = CHECKOUT / "layouts"
JOINTS = "sensor_msgs/msg/JointState"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Any]:
    """Return a function that makes messages."""
    with BagWriter(tmp_path / "made") as bag:
        bag.add_topic("/joint_states", JOINTS)
        bag.add_topic("/trajectory", "trajectory_msgs/msg/JointTrajectory")
        yield bag.message


def measured(make: Any) -> Any:
    """Return the message of joints that the arm's bridge gives."""
    header = make(
        "std_msgs/msg/Header",
        stamp=make("builtin_interfaces/msg/Time", sec=7, nanosec=0),
        frame_id="",
    )
    numbers = np.array([0.1, 0.2])
    joints = ["shoulder", "elbow"]
    return make(
        JOINTS, header=header, name=joints, position=numbers, velocity=numbers, effort=numbers
    )


def names_of(make: Any) -> tuple[str, ...]:
    """Return what the arm's observations are called once its messages were heard."""
    sampler = Sampler(load_channels(ARM))
    deque(sampler.feed("joint_states", 7_000_000_000, measured(make)), maxlen=0)
    return sampler.observation_names


def published(make: Any) -> dict[str, Any]:
    """Return the messages that a layout of the arm can draw, by topic."""
    names = names_of(make)
    values = np.arange(float(len(names)))
    forecast = np.ones((HORIZON, len(names)))
    joints = predicted_message(make, values, names, 7_000_000_000)
    return {
        "/joint_states": measured(make),
        "/rffpsr_filter/predicted": joints,
        "/rffpsr_filter/error": joints,
        "/rffpsr_filter/trajectory": trajectory_message(make, forecast, names, 0, 0.05),
    }


def curves_of_joints(topic: str, message: Any) -> Iterator[str]:
    """Yield the curves that PlotJuggler makes of a JointState."""
    for array in ("position", "velocity", "effort"):
        for joint, _ in zip(message.name, getattr(message, array), strict=False):
            yield f"{topic}/{joint}/{array}"


def curves_of_diagnostics() -> set[str]:
    """Return the curves that PlotJuggler makes of the filter's diagnostics."""
    pytest.importorskip("rclpy", reason="needs ROS 2")
    from rffpsr_ros.forecasting.drift import DriftTest
    from rffpsr_ros.nodes.filter.report import forecast_finding
    from rffpsr_ros.nodes.shared.diagnostics import status

    squares = np.ones((HORIZON, 4))
    drift = SimpleNamespace(
        ratio=1.0,
        ratios=np.ones(4),
        outside=deque([False]),
        alarm=None,
        far=False,
        drifted=lambda warning: False,
    )
    assert set(vars(drift)) <= {*dir(DriftTest), *drift_attributes(DriftTest)}
    novelty = SimpleNamespace(score=0.1, surprises=0.1, outside=0.1)
    follower: Any = SimpleNamespace(
        options=SimpleNamespace(future_actions="hold"),
        live_error=SimpleNamespace(
            by_horizon=squares, reference=squares, drift=drift, novelty=novelty
        ),
        state=None,
        resets={},
        events={},
        withholds=False,
        ended_by="",
        model=SimpleNamespace(
            signature=SimpleNamespace(
                observation_names=tuple("abcd"), observation_units=(), period=0.05
            )
        ),
    )
    times: Any = SimpleNamespace(steps=1, values=dict)
    backlog: Any = SimpleNamespace(left_out=0, newly_left_out=0)
    finding = forecast_finding(follower, times, 4.0, backlog)
    message = status("rffpsr_filter", finding)
    assert message.name == ASPECT
    return {f"/diagnostics/{message.name}/{pair.key}" for pair in message.values}


def drift_attributes(kind: type) -> set[str]:
    """Return what the class sets on its instances."""
    import inspect

    return set(re.findall(r"self\.(\w+)", inspect.getsource(kind)))


def arm() -> list[Observed]:
    return observed(load_channels(ARM))


def test_the_installed_layouts_of_the_arm_are_what_the_command_writes(tmp_path: Path) -> None:
    assert main(["layout", str(ARM), "--out", str(tmp_path / "out")]) == 0
    for name in layouts(arm()):
        installed = (LAYOUTS / f"arm_{name}").read_text(encoding="utf-8")
        assert installed == (tmp_path / "out" / name).read_text(encoding="utf-8"), name


def test_observations_are_called_as_the_sampler_calls_them(make: Any) -> None:
    assert tuple(one.name for one in arm()) == names_of(make)


def test_plotjuggler_finds_every_curve_in_what_is_published(make: Any) -> None:
    root = Xml.fromstring(layouts(arm())["plotjuggler.xml"])
    curves = {str(curve.get("name")) for curve in root.iter("curve")}
    messages = published(make)
    joints = [topic for topic in messages if topic != "/rffpsr_filter/trajectory"]
    known = {curve for topic in joints for curve in curves_of_joints(topic, messages[topic])}
    assert curves - known - curves_of_diagnostics() == set()
    assert len(curves & known) == 3 * 4  # measured, predicted, error


def test_plotjuggler_listens_to_every_topic_by_the_stamps_of_headers() -> None:
    root = Xml.fromstring(layouts(arm())["plotjuggler.xml"])
    (plugin,) = root.iterfind("Plugins/plugin")
    settings = {one.tag: one.get("value") for one in plugin}
    assert settings["use_header_stamp"] == "true"
    topics = str(settings["selected_topics"]).split(";")
    curves = [str(curve.get("name")) for curve in root.iter("curve")]
    assert all(any(curve.startswith(f"{topic}/") for topic in topics) for curve in curves)
    (streamer,) = root.iterfind("previouslyLoaded_Streamer")
    assert streamer.get("name") == plugin.get("ID") == "ROS2 Topic Subscriber"


def test_plotjuggler_reads_the_structure() -> None:
    """Its reader takes the first splitter of a container, and as many areas as its count says."""
    root = Xml.fromstring(layouts(arm())["plotjuggler.xml"])
    assert root.tag == "root"
    (tabs,) = root.iterfind("tabbed_widget")
    assert tabs.get("parent") == "main_window"
    for tab in tabs.iterfind("Tab"):
        for container in tab.iterfind("Container"):
            (splitter,) = container
            assert splitter.tag == "DockSplitter"
            assert splitter.get("orientation") in ("-", "|")
            shares = [float(share) for share in str(splitter.get("sizes")).split(";")]
            assert len(splitter) == int(str(splitter.get("count"))) == len(shares)
            assert sum(shares) == pytest.approx(1, abs=1e-4)
            assert all([part.tag for part in area] == ["plot"] for area in splitter)
            assert all(area[0].get("mode") == "TimeSeries" for area in splitter)


def value_at(message: Any, path: str) -> Any:
    """Return what a message path of Foxglove finds in a message."""
    for name, index in re.findall(r"\.(\w+)(\[[\d:]+\])?", path):
        message = (
            [getattr(one, name) for one in message] if _many(message) else getattr(message, name)
        )
        if index and index != "[:]":
            at = int(index[1:-1])
            message = [one[at] for one in message] if _many(message) else message[at]
    return message


def _many(value: Any) -> bool:
    return isinstance(value, list)


PLOT_KEYS = {
    "foxglovePanelTitle", "lichtblickPanelTitle", "paths", "xAxisVal", "isSynced", "showLegend",
    "legendDisplay",
    "showPlotValuesInLegend", "showXAxisLabels", "showYAxisLabels", "sidebarDimension",
    "followingViewWidth",
}  # fmt: skip


def test_foxglove_finds_every_path_in_what_is_published(make: Any) -> None:
    panels = json.loads(layouts(arm())["foxglove.json"])["configById"]
    messages = published(make)
    paths = [path for panel in panels.values() for path in panel.get("paths", ())]
    assert len(paths) == 4 * 2 + 4 + 4
    for path in paths:
        topic, fields = re.fullmatch(r"([/\w]+)((?:\.\w+(?:\[[\d:]+\])?)+)", path["value"]).groups()  # type: ignore[union-attr]
        found = value_at(messages[topic], fields)
        assert np.isfinite(np.asarray(found, dtype=float)).all()
        assert path["timestampMethod"] in ("headerStamp", "receiveTime")
    assert panels["DiagnosticSummary!all"]["topicToRender"] == "/diagnostics"


def test_foxglove_reads_the_structure() -> None:
    layout = json.loads(layouts(arm())["foxglove.json"])
    assert set(layout) == {"configById", "globalVariables", "userNodes", "playbackConfig", "layout"}
    for name, panel in layout["configById"].items():
        if name.startswith("Plot!"):
            assert set(panel) <= PLOT_KEYS
            assert PLOT_KEYS - set(panel) <= {"followingViewWidth"}

    def panels(part: Any) -> Iterator[str]:
        if isinstance(part, str):
            yield part
            return
        assert set(part) == {"first", "second", "direction", "splitPercentage"}
        assert 0 < part["splitPercentage"] < 100
        for side in ("first", "second"):
            yield from panels(part[side])

    shown = list(panels(layout["layout"]))
    assert sorted(shown) == sorted(layout["configById"])


def test_rqt_plot_names_what_is_published(make: Any) -> None:
    lines = layouts(arm())["rqt_plot.txt"].splitlines()
    messages = published(make)
    words = [word for line in lines if line.startswith("rqt_plot ") for word in line.split()[1:]]
    assert len(words) == 8
    for word in words:
        topic, array, index = re.fullmatch(r"(/.+)/(\w+)\[(\d+)\]", word).groups()  # type: ignore[union-attr]
        assert np.isfinite(getattr(messages[topic], array)[int(index)])


def test_topics_of_the_layouts_are_those_that_the_filter_declares() -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2")
    from rffpsr_ros.nodes.filter.interface import FILTER

    declared = {one.name.replace("~", f"/{FILTER.name}") for one in FILTER.topics}
    named = set(re.findall(r"/rffpsr_filter/\w+", "".join(layouts(arm()).values())))
    assert named
    assert named - declared == set()


CAR = """\
rate: 50.0
observation:
  inputs: [imu, wheel]
  imu: {topic: /imu/data, type: sensor_msgs/msg/Imu, fields: [angular_velocity.z]}
  wheel: {topic: wheels, type: std_msgs/msg/Float64MultiArray, fields: ["data[1]", "sin(data[0])"]}
action:
  inputs: [command]
  command: {topic: /cmd_vel, type: geometry_msgs/msg/Twist, fields: [linear.x]}
"""


def test_other_messages_and_computed_observations(tmp_path: Path) -> None:
    (tmp_path / "car.yaml").write_text(CAR, encoding="utf-8")
    files = layouts(observed(load_channels(tmp_path / "car.yaml")), horizon=1)
    for text in ("/imu/data/angular_velocity/z", "/wheels/data[1]"):
        assert f'"{text}"' in files["plotjuggler.xml"]
        assert f"rqt_plot {text} /rffpsr_filter/predicted/position" in files["rqt_plot.txt"]
    assert "/imu/data.angular_velocity.z" in files["foxglove.json"]
    panel = json.loads(files["foxglove.json"])["configById"]["Plot!over2"]
    assert [path["label"] for path in panel["paths"]] == ["predicted"]  # nothing measured to draw
    wheel = json.loads(files["foxglove.json"])["configById"]["Plot!over1"]["paths"][0]
    assert wheel == {**wheel, "value": "/wheels.data[1]", "timestampMethod": "receiveTime"}


def test_a_range_without_an_end_asks_for_a_model() -> None:
    text = {"topic": "/scan", "type": "sensor_msgs/msg/LaserScan", "fields": ["ranges[2:]"]}
    action = {"topic": "/u", "type": "std_msgs/msg/Float64", "fields": ["data"]}
    configuration = ChannelConfiguration.from_mapping(
        {
            "rate": 10.0,
            "observation": {"inputs": ["scan"], "scan": text},
            "action": {"inputs": ["u"], "u": action},
        },
        "here",
    )
    with pytest.raises(InputError, match="give a trained model"):
        observed(configuration)
    found = observed(configuration, ["scan.ranges[2]", "scan.ranges[3]"], ["m", "m"])
    assert [(one.name, one.unit) for one in found] == [
        ("scan.ranges[2]", "m"),
        ("scan.ranges[3]", "m"),
    ]
