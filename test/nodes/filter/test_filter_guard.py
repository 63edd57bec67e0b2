"""What would have ended the filter node is one ERROR line; harmful parameters are refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.live_robot import PERIOD_NS
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.storage import read_model_file, write_model_file
from test.nodes.filter.test_filter_faults import Watched

NODE = "/rffpsr_filter"
LATEST_NS = (2**31 - 1) * 10**9


@pytest.mark.parametrize("executor", ["direct", "single_threaded"])
def test_a_stamp_at_the_end_of_time_ends_nothing(
    ros: Any, synthetic_model: Path, executor: str
) -> None:
    """With the lead, the stamp of ~/predicted does not fit into 32 bits of seconds."""
    from sensor_msgs.msg import JointState

    watched = Watched(ros, synthetic_model, executor=executor, horizon=40, lead=40)
    watched.begin()
    predicted = ros.peer.collect(f"{NODE}/predicted", JointState)
    ros.peer.heard(f"{NODE}/predicted")
    watched.predicts()
    watched.robot.now_ns = LATEST_NS - 20 * PERIOD_NS
    watched.robot.run(20)
    ros.peer.taken_by(NODE)
    assert watched.node.alive
    watched.robot.now_ns = 1_700_000_000 * 10**9
    watched.predicts()
    ros.peer.until(lambda: predicted and predicted[-1].header.stamp.sec < 1_800_000_000, "the lead")


def with_metrics(path: Path) -> None:
    file = read_model_file(path)
    header = json.loads(json.dumps(file.model))
    header["record"]["metrics"] = [1]
    write_model_file(path, header, file.arrays)


def with_errors_of_another_shape(path: Path) -> None:
    file = read_model_file(path)
    header = json.loads(json.dumps(file.model))
    for part in ("validation", "training"):
        header["record"]["metrics"][f"{part}_mse_by_observation"] = [1]
    write_model_file(path, header, file.arrays)


def without_a_column(path: Path) -> None:
    model = load_model(path)
    signature = replace(model.signature, observation_names=(), observation_units=())
    header = json.loads(json.dumps(read_model_file(path).model))
    header["signature"]["observation_names"] = list(signature.observation_names)
    write_model_file(path, header, read_model_file(path).arrays)


@pytest.mark.parametrize("damage", [with_metrics, with_errors_of_another_shape, without_a_column])
def test_a_reloaded_model_that_cannot_be_followed_is_one_error_line(
    ros: Any, synthetic_model: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "model.psr"
    shutil.copy(synthetic_model, path)
    watched = Watched(ros, path)
    watched.begin()
    watched.predicts()
    damage(path)
    watched.peer.call(f"{NODE}/reload")
    watched.robot.run(60)
    watched.diagnostics.clear()
    watched.peer.until(lambda: watched.diagnostics or not watched.node.alive, "diagnostics")
    assert watched.node.alive
    assert watched.node.count("Traceback") == 0
    shutil.copy(synthetic_model, path)
    assert watched.peer.call(f"{NODE}/reload").success
    watched.peer.matched("/joint_states", "/command")
    watched.predicts()


def test_parameters_of_every_kind_of_nonsense_are_refused(ros: Any, synthetic_model: Path) -> None:
    from rcl_interfaces.msg import Parameter, ParameterValue
    from rcl_interfaces.srv import SetParameters

    watched = Watched(ros, synthetic_model, horizon=5)
    watched.begin()
    for name, value in (
        ("lead", 6),
        ("horizon", 0),
        ("coverage", float("nan")),
        ("drift_warning", float("inf")),
        ("future_actions", "both\n[ERROR] forged"),
        ("model_path", "/etc/passwd"),
        ("start", 3),
    ):
        assert not watched.peer.set_parameter(NODE, name, value), name
    odd = Parameter(name="horizon", value=ParameterValue(type=99))
    request = SetParameters.Request(parameters=[odd])
    answer = watched.peer.call(f"{NODE}/set_parameters", SetParameters, request)
    assert [one.successful for one in answer.results] == [False]
    assert watched.peer.set_parameter(NODE, "lead", 5)
    watched.predicts()
    assert not any(line.startswith("[ERROR] forged") for line in watched.node.lines)


def test_a_lead_beyond_the_horizon_is_refused_at_the_start(ros: Any, synthetic_model: Path) -> None:
    node = ros.start("filter_node", model_path=synthetic_model, horizon=3, lead=4)
    assert node.process.wait(30) == 2
    node.wait_for("lead is 4; it must be at most the horizon 3")
    assert node.count("Traceback") == 0


def test_another_model_is_served_after_cleanup_set_configure(
    ros: Any, synthetic_model: Path, swimmer_model: Path, tmp_path: Path
) -> None:
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    def change(name: int) -> bool:
        request = ChangeState.Request(transition=Transition(id=name))
        return bool(ros.peer.call(f"{NODE}/change_state", ChangeState, request).success)

    first, second = tmp_path / "first.psr", tmp_path / "second.psr"
    shutil.copy(swimmer_model, first)
    shutil.copy(synthetic_model, second)
    watched = Watched(ros, first)
    watched.node.wait_for("serving")
    assert not watched.peer.set_parameter(NODE, "model_path", str(second))
    assert change(Transition.TRANSITION_DEACTIVATE)
    assert change(Transition.TRANSITION_CLEANUP)
    assert not watched.peer.set_parameter(NODE, "model_path", "/etc/hosts")
    assert watched.peer.set_parameter(NODE, "model_path", str(second))
    assert change(Transition.TRANSITION_CONFIGURE)
    watched.node.wait_for(str(second))
    watched.begin()
    watched.node.wait_for("waiting for a first sample")
    assert watched.node.count("forecasts begin") == 0
    watched.robot.run(12)
    watched.node.wait_for("forecasts begin once the filter is activated")
    assert watched.forecasts == []
    assert change(Transition.TRANSITION_ACTIVATE)
    watched.predicts()


def test_after_its_shutdown_it_is_silent_whatever_becomes_of_the_model(
    ros: Any, synthetic_model: Path, tmp_path: Path
) -> None:
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    model, copy = tmp_path / "model.psr", tmp_path / "copy.psr"
    for path in (model, copy):
        shutil.copy(synthetic_model, path)
    watched = Watched(ros, model)
    watched.node.wait_for("serving")
    shutdown = Transition(id=Transition.TRANSITION_ACTIVE_SHUTDOWN)
    request = ChangeState.Request(transition=shutdown)
    assert watched.peer.call(f"{NODE}/change_state", ChangeState, request).success
    said = len(watched.node.lines)
    copy.replace(model)
    watched.told("model", "no model is served")  # so rounds are made
    answer = watched.peer.call(f"{NODE}/reload")
    assert (answer.success, answer.message) == (False, "the node was shut down; start it anew")
    watched.told("model", "no model is served")
    assert watched.node.lines[said:] == []


def test_a_model_file_that_is_gone_is_not_a_newer_one(
    ros: Any, synthetic_model: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model.psr"
    shutil.copy(synthetic_model, model)
    watched = Watched(ros, model)
    watched.node.wait_for("serving")
    model.unlink()
    watched.told("model", "the model file is gone; the model in memory stays in service")
    shutil.copy(synthetic_model, model)
    watched.told("model", "there is a newer model file")


def test_a_joint_that_is_renamed_in_mid_run_is_told_of(ros: Any, synthetic_model: Path) -> None:
    watched = Watched(ros, synthetic_model)
    watched.begin()
    watched.predicts()
    for _ in range(15):
        watched.robot.tick(name=["elbow"], position=[0.1])
    watched.told("forecast", "none gave a finite number for ")
    watched.node.wait_for("messages arrive on /joint_states, but for longer than max_gap")
    assert watched.node.count("messages arrive on /joint_states") == 1
    watched.predicts()
    watched.told("forecast", "following")


def test_what_is_waited_for_is_named_as_it_was_remapped(ros: Any, synthetic_model: Path) -> None:
    node = ros.start("filter_node", "/joint_states:=/arm/joints", model_path=synthetic_model)
    node.wait_for("waiting for a first sample of /arm/joints")


def test_damaged_bytes_on_every_topic_are_left_out(ros: Any, synthetic_model: Path) -> None:
    from std_msgs.msg import Float64MultiArray

    watched = Watched(ros, synthetic_model, future_actions="topic")
    watched.begin()
    watched.peer.publisher(f"{NODE}/planned_actions", Float64MultiArray)
    watched.peer.matched(f"{NODE}/planned_actions")
    watched.predicts()
    draw = np.random.default_rng(0)
    for length in (0, 1, 4, 5, 60):
        for topic in (f"{NODE}/planned_actions", "/joint_states", "/command"):
            watched.peer._publishers[topic].publish(draw.bytes(length))
    watched.predicts()
