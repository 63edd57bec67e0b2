"""What is in bags is told as a careful reader would, and the proposal trains as it stands."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from rffpsr_ros import read_bags
from rffpsr_ros.recordings.bags.writer import BagWriter
from rffpsr_ros.signals import load_channels
from rffpsr_ros.training.proposal.propose import parse_choice

Run = Callable[..., Any]
TWIST = "geometry_msgs/msg/Twist"
IMU = "sensor_msgs/msg/Imu"


@pytest.fixture
def vehicle(here: Path) -> Path:
    """Return a bag with an IMU at 100 Hz, a late command at 10 Hz, a log and a scan."""
    with BagWriter(here / "vehicle") as bag:
        for topic, kind in (
            ("/imu/data_raw", IMU),
            ("/cmd_vel", TWIST),
            ("/scan", "sensor_msgs/msg/LaserScan"),
            ("/rosout", "std_msgs/msg/String"),
        ):
            bag.add_topic(topic, kind)
        for k in range(1000):
            now = 1_000_000_000 + k * 10_000_000 + (2_000_000_000 if k >= 700 else 0)
            wave = float(np.sin(0.1 * k))
            bag.write("/imu/data_raw", now, imu(bag, now, wave))
            if k % 10 == 0 and k >= 300:
                bag.write("/cmd_vel", now, bag.message(
                    TWIST, linear=vector(bag, wave / 2, 0.0), angular=vector(bag, 0.0, -wave)
                ))  # fmt: skip
            if k % 100 == 0:
                bag.write("/scan", now, scan(bag, now))
                bag.write("/rosout", now, bag.message("std_msgs/msg/String", data="hello"))
    return here / "vehicle"


def vector(bag: BagWriter, x: float, z: float) -> Any:
    return bag.message("geometry_msgs/msg/Vector3", x=x, y=0.0, z=z)


def header(bag: BagWriter, now_ns: int) -> Any:
    seconds, rest = divmod(now_ns, 1_000_000_000)
    stamp = bag.message("builtin_interfaces/msg/Time", sec=seconds, nanosec=rest)
    return bag.message("std_msgs/msg/Header", stamp=stamp, frame_id="base")


def imu(bag: BagWriter, now_ns: int, wave: float) -> Any:
    turned = bag.message(
        "geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=np.sin(wave), w=np.cos(wave)
    )
    nothing = np.zeros(9)
    return bag.message(
        IMU,
        header=header(bag, now_ns),
        orientation=turned,
        orientation_covariance=nothing,
        angular_velocity=vector(bag, 0.0, 3 * wave),
        angular_velocity_covariance=nothing,
        linear_acceleration=vector(bag, wave, 9.81),
        linear_acceleration_covariance=nothing,
    )


def scan(bag: BagWriter, now_ns: int) -> Any:
    numbers = dict.fromkeys(
        ("angle_min", "angle_max", "angle_increment", "time_increment", "scan_time"), 0.0
    )
    return bag.message(
        "sensor_msgs/msg/LaserScan",
        header=header(bag, now_ns),
        **numbers,
        range_min=0.1,
        range_max=30.0,
        ranges=np.linspace(1, 5, 360, dtype=np.float32),
        intensities=np.empty(0, dtype=np.float32),
    )


def test_rates_gaps_and_ranges(run: Run, vehicle: Path) -> None:
    found = json.loads(run("inspect", vehicle, "--json").out)
    imu_found = found["topics"]["/imu/data_raw"]
    assert imu_found["messages"] == 1000
    assert imu_found["rate"] == pytest.approx(100)
    assert imu_found["jitter"] == pytest.approx(0, abs=1e-9)
    assert (imu_found["gaps"], imu_found["longest_gap"]) == (1, pytest.approx(2.01))
    assert imu_found["fields"]["angular_velocity.z"]["high"] == pytest.approx(3, abs=0.01)
    assert imu_found["fields"]["linear_acceleration.z"]["low"] == 9.81
    assert imu_found["fields"]["yaw(orientation)"]["high"] == pytest.approx(2, abs=0.01)
    assert not any("covariance" in path for path in imu_found["fields"])
    assert found["topics"]["/scan"]["fields"]["ranges[0:360]"] == {
        "low": 1.0, "high": 5.0, "missing": 0.0
    }  # fmt: skip
    assert found["topics"]["/rosout"]["fields"] == {}


def test_elements_of_an_array_that_never_change_are_told(run: Run, here: Path) -> None:
    kind, draw = "std_msgs/msg/Float64MultiArray", np.random.default_rng(0)
    with BagWriter(here / "skin") as bag:
        for topic in ("/skin", "/motor/command"):
            bag.add_topic(topic, kind)
        layout = bag.message("std_msgs/msg/MultiArrayLayout", dim=[], data_offset=0)
        for k in range(400):
            now = 1_000_000_000 + k * 10_000_000
            pressed = draw.normal(size=20)
            pressed[[3, 18, 19]] = 0.0
            bag.write("/skin", now, bag.message(kind, layout=layout, data=pressed))
            bag.write("/motor/command", now, bag.message(kind, layout=layout, data=pressed[:1]))
    asked = run("inspect", "skin", "--observation", "/skin:data[2:20]", "--write-config", "c.yaml")
    assert "elements of 'data[2:20]' of /skin never change" in asked.out + asked.err
    assert "those that do: data[2], data[4:18]" in asked.out + asked.err
    fine = run("inspect", "skin", "--observation", "/skin:data[4:18]", "--write-config", "d.yaml")
    assert "never change" not in fine.out + fine.err


def test_time_going_back_and_jitter_are_told(run: Run, workshop: Any, here: Path) -> None:
    generator = np.random.default_rng(0)
    times = 20 * np.arange(1000) + generator.choice([-2, 2], 1000)
    times[600:] -= 5000
    with BagWriter(here / "bag") as bag:
        bag.add_topic("/encoder", workshop.encoder_type)
        for log, time in enumerate(times):
            message = workshop.encoder(bag, (10_000 + int(time)) * 1_000_000, elbow=float(log))
            bag.write("/encoder", 1 + log * 20_000_000, message)
    topic = json.loads(run("inspect", "bag", "--json").out)["topics"]["/encoder"]
    assert topic["jumps_back"] == 1
    assert topic["rate"] == pytest.approx(50)
    assert topic["jitter"] == pytest.approx(np.sqrt(8) / 20, rel=0.05)
    assert "time goes back 1 x" in run("inspect", "bag").out


def test_proposal_takes_what_varies_and_says_why(run: Run, vehicle: Path) -> None:
    outcome = run("inspect", vehicle, "--write-config", "c.yaml")
    assert outcome.code == 0
    configuration = load_channels("c.yaml")
    assert configuration.rate == 100.0
    (seen,), (told,) = configuration.observations, configuration.actions
    assert (seen.name, seen.topic) == ("imu", "/imu/data_raw")
    assert seen.fields == ("angular_velocity.z", "linear_acceleration.x")
    assert seen.units == ("rad/s", "m/s^2")
    assert (told.name, told.topic) == ("cmd_vel", "/cmd_vel")
    assert told.fields == ("linear.x", "angular.z")
    text = Path("c.yaml").read_text()
    assert "-3 to 3" in text
    assert "(3.0 s after the first observation)" in text
    assert str(vehicle.parent) not in text


def test_written_configuration_is_ros_parameters_and_trains_at_once(
    run: Run, vehicle: Path
) -> None:
    run("inspect", vehicle, "--write-config", "c.yaml")
    parameters = yaml.safe_load(Path("c.yaml").read_text())["/**"]["ros__parameters"]
    assert isinstance(parameters["rate"], float)  # a node refuses 100 for a double
    assert {type(u) for u in parameters["observation"]["imu"]["units"]} == {str}
    words = ["--config", "c.yaml", "--out", "m", "--model", "linear_arx"]
    assert run("train", "vehicle", *words).code == 0


def test_chosen_topics_and_fields_are_taken_as_they_are(run: Run, vehicle: Path) -> None:
    words = [
        "--observation", "/scan:ranges[0:3],clip(ranges[5], 0, 10)",
        "--observation", "imu/data_raw:sin(yaw(orientation))",
        "--action", "/cmd_vel:linear.x",
    ]  # fmt: skip
    assert run("inspect", vehicle, *words, "--write-config", "c.yaml").code == 0
    configuration = load_channels("c.yaml")
    scan_channel, imu_channel = configuration.observations
    assert scan_channel.fields == ("ranges[0:3]", "clip(ranges[5], 0, 10)")
    assert scan_channel.max_age == 3.0  # three of its own intervals
    assert imu_channel.fields == ("sin(yaw(orientation))",)
    assert configuration.rate == 1.0
    (first, *_) = read_bags(vehicle, load_channels("c.yaml"))
    assert first.observations.shape[1] == 5


def test_configuration_in_the_way_is_not_overwritten(run: Run, vehicle: Path, here: Path) -> None:
    (here / "c.yaml").write_text("mine")
    outcome = run("inspect", vehicle, "--write-config", "c.yaml")
    assert outcome.code == 2
    assert "exists already" in outcome.err
    assert (here / "c.yaml").read_text() == "mine"


def test_joints_are_found_by_name(run: Run, robot: Path) -> None:
    found = json.loads(run("inspect", robot, "--json").out)
    assert set(found["topics"]["/encoder"]["fields"]) == {"position.elbow", "position.wrist"}
    assert found["proposal"]["observation"]["encoder"]["fields"] == ["position.elbow"]
    assert found["proposal"]["action"]["motor"]["topic"] == "/motor"


def test_nothing_to_propose_is_no_fault_unless_asked_for(
    run: Run, workshop: Any, here: Path
) -> None:
    with BagWriter(here / "bag") as bag:
        bag.add_topic("/encoder", workshop.encoder_type)
        for k in range(10):
            bag.write("/encoder", k + 1, workshop.encoder(bag, k * 10**7, elbow=float(k)))
    outcome = run("inspect", "bag")
    assert outcome.code == 0
    assert "no configuration is proposed: no topic of the bags looks like a command" in outcome.out
    assert run("inspect", "bag", "--write-config", "c.yaml").code == 2


def test_fields_part_at_outer_commas_only() -> None:
    choice = parse_choice("/t:clip(a[0], 0, 1),b['x,y'],c")
    assert choice == ("/t", ("clip(a[0], 0, 1)", "b['x,y']", "c"))


def test_jackal_from_the_command_line_alone(run: Run, shared: Path, here: Path) -> None:
    pytest.importorskip("matplotlib")
    bag = shared / "data" / "jackal" / "jackal.bag"
    assert run("inspect", bag, "--write-config", "jackal.yaml").code == 0
    settings = ("iterations=5", "features=30", "folds=1", "narx_learning=off")
    small = [word for one in settings for word in ("--set", f"learning.{one}")]
    quick = [*small, "--quiet", "--split", "0.7,0.1,0.2"]
    assert run("train", bag, "--config", "jackal.yaml", "--out", "m", *quick).code == 0
    words = ["--model", "m", "--split", "0.7,0.1,0.2", "--plot", "errors.png", "--json"]
    result = json.loads(run("evaluate", bag, *words).out)
    assert set(result["models"]) == {"rff_psr", "last_observation", "linear_arx"}
    for out in ("ahead.csv", "ahead"):
        assert run("predict", bag, "--model", "m", "--out", out, "--every", 10).code == 0
    names = {path.name for path in here.iterdir()}
    assert names == {"jackal.yaml", "m", "errors.png", "ahead.csv", "ahead"}
    assert re.search(r"imu.*rad/s", run("info", "m").out)


@pytest.mark.parametrize(
    ("field", "meant"), [("position.elbo", "position.elbow"), ("elbow", "position.elbow")]
)
def test_a_field_that_is_not_there_is_refused(
    field: str, meant: str, run: Run, robot: Path
) -> None:
    outcome = run("inspect", robot, "--observation", f"/encoder:{field}")
    assert outcome.code == 2
    assert f"has no field '{field}'; did you mean '{meant}'?" in outcome.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--observation", "/encoder", "--action", "/encoder"], "an observation and as an action"),
        (
            ["--observation", "/encoder:position.elbow", "--action", "encoder:position.elbow"],
            "an observation and as an action",
        ),
        (["--observation", "/encoder:position.elbow,position.elbow"], "an observation twice"),
    ],
)
def test_a_field_is_chosen_once(words: list[str], said: str, run: Run, robot: Path) -> None:
    outcome = run("inspect", robot, *words)
    assert outcome.code == 2
    assert outcome.err.endswith(
        f"'position.elbow' of /encoder is chosen as {said}; leave it out once\n"
    )


def test_a_topic_named_as_a_whole_has_the_fields_that_are_left(run: Run, here: Path) -> None:
    rows = "".join(f"{k},{k % 3},{k % 5},{k % 7}\n" for k in range(30))
    (here / "t.csv").write_text(f"time,u,x,y\n{rows}")
    assert run("csv2bag", "t.csv", "--out", "bag", "--quiet").code == 0
    chosen = ["--observation", "/table", "--action", "/table:position.u"]
    shown = run("inspect", "bag", *chosen, "--quiet").out
    assert "  observation  /table: position.x, position.y\n" in shown
    chosen = ["--observation", "/table:position.x", "--action", "/table"]
    shown = run("inspect", "bag", *chosen, "--quiet").out
    assert "  action  /table: position.u, position.y\n" in shown


def test_what_most_ticks_would_lack_is_told(run: Run, here: Path) -> None:
    rows = [f"{20 * k},{k % 3},{'' if k % 5 else k}\n" for k in range(90)]
    (here / "t.csv").write_text("time,u,y\n" + "".join(rows))
    assert run("csv2bag", "t.csv", "--out", "bag", "--time-unit", "ms", "--quiet").code == 0
    alone = run("inspect", "bag", "--action", "/table:position.u")
    assert "; there is /table:position.y (80 % missing)" in alone.err
    chosen = ["--action", "/table:position.u", "--observation", "/table:position.y"]
    said = run("inspect", "bag", *chosen, "--quiet").out
    assert "20 % of the ticks would hold 'position.y' of /table, which most of its" in said


def test_a_sensor_that_comes_irregularly_is_told(run: Run, here: Path) -> None:
    times = [100 * k + t for k in range(40) for t in (0, 10, 20)]
    table = "".join(f"{t},{t % 7},{t % 9}\n" for t in times)
    (here / "t.csv").write_text(f"time,u,y\n{table}")
    assert run("csv2bag", "t.csv", "--out", "bag", "--time-unit", "ms", "--quiet").code == 0
    said = run("inspect", "bag", "--action", "/table:position.u", "--quiet").out
    assert "note: about 30 % of the ticks would hold a message of /table" in said


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("name[0]", "topic /encoder: field path 'name[0]' is a text, not a number"),
        ("header.stmp.sec", "did you mean 'stamp'?"),
        ("position.elbo", "did you mean 'position.elbow'?"),
    ],
)
def test_a_chosen_field_must_be_one(field: str, said: str, run: Run, robot: Path) -> None:
    outcome = run("inspect", robot, "--observation", f"/encoder:{field}")
    assert outcome.code == 2
    assert said in outcome.err


def test_ranges_of_chosen_fields_are_shown(run: Run, robot: Path) -> None:
    chosen = ["--observation", "/encoder:sin(position.elbow),position[9],effort[0]"]
    said = run("inspect", robot, *chosen, "--quiet").out
    assert re.search(r"\n  sin\(position\.elbow\) +-?0\.\d+ to 0\.\d+\n", said)
    assert "note: 'position[9]' of /encoder is never a number, so it teaches nothing" in said
    assert "note: 'effort[0]' of /encoder is never a number, so it teaches nothing" in said


@pytest.mark.parametrize("name", ["elbow", "position.elbow"])
def test_a_field_in_place_of_a_topic_is_answered_with_both(
    name: str, run: Run, robot: Path
) -> None:
    outcome = run("inspect", robot, "--observation", name)
    assert outcome.err.endswith(f"no topic {name}; did you mean /encoder:position.elbow?\n")
