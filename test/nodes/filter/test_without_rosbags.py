"""A robot that only runs the filter needs no rosbags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

BLOCK = """\
import sys
sys.modules["rosbags"] = None
"""
PERIOD_NS = 50_000_000


def test_the_filter_follows_and_says_that_it_keeps_no_log(
    ros: Any, synthetic_model: Path, tmp_path: Path
) -> None:
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    (tmp_path / "sitecustomize.py").write_text(BLOCK)
    ros.environment["PYTHONPATH"] = f"{tmp_path}:{ros.environment['PYTHONPATH']}"
    node = ros.start("filter_node", model_path=synthetic_model, log_sequence=tmp_path / "log")
    peer = ros.peer
    forecasts = peer.collect("/rffpsr_filter/prediction", Float64MultiArray)
    for topic in ("/joint_states", "/command"):
        peer.publisher(topic, JointState)
    peer.matched("/joint_states", "/command")
    node.wait_for("serving")
    peer.heard("/rffpsr_filter/prediction")
    for tick in range(20):
        for topic, late, values in (
            ("/command", 0, {"name": ["a"], "effort": [0.1]}),
            ("/joint_states", 1000, {"name": ["o"], "position": [0.2]}),
        ):
            message = JointState(**values)
            stamp_ns = 10**12 + tick * PERIOD_NS + late
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
            peer.publish(topic, message)
        peer.spin()
    peer.until(lambda: len(forecasts) >= 10, "forecasts")
    node.wait_for("a log needs rosbags, which is not installed: pip install rosbags")
    assert node.count("[ERROR]") == 1
    assert node.end() == 0
