"""Channel configurations that an editor, a disk or somebody's ill will has spoilt."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.audit.bags.bag_metadata import DEEP, LAUGHS, MERGES
from benchmarks.audit.case import Broken, Case, by_hand_and_damaged
from benchmarks.audit.runner import Group
from rffpsr_ros.signals.channel_file import load_channels
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.sampler import Sampler

GOOD = """\
/**:
  ros__parameters:
    rate: 50.0
    max_gap: 0.5
    stamps: header
    observation:
      inputs: [arm, imu]
      arm: &arm
        topic: /encoder
        type: sensor_msgs/msg/JointState
        fields: ["position[0]", "clip(velocity[0], -1, 1)"]
        units: [rad, rad/s]
      imu: {topic: /imu, fields: [yaw(orientation), "unwrap(x)"], max_age: 1e-1}
    action:
      inputs: [motor]
      motor: {topic: /motor, fields: [data], initial: 0.0, max_age: 1.0}
    learning: {rank: 10, past: 5, stage_one: joint}
    dataset: {split: [0.7, 0.1, 0.2]}
"""


def _put(key: str, value: str) -> str:
    return GOOD.replace(f"    {key}: ", f"    {key}: {value} #", 1)


BY_HAND: dict[str, bytes] = {
    "good": GOOD.encode(),
    "empty": b"",
    "binary": bytes(range(256)),
    "UTF-16": GOOD.encode("utf-16"),
    "a list": b"- a\n- b\n",
    "a billion laughs": (LAUGHS + GOOD).encode(),
    "laughs as fields": (LAUGHS + _put("learning", "*a11")).encode(),
    "merges": (MERGES + GOOD).encode(),
    "a mapping within itself": (GOOD + "    again: &again {observation: *again}\n").encode(),
    "a channel within itself": GOOD.replace("{topic: /imu", "&i {self: *i, topic: /imu").encode(),
    "depth": (DEEP + GOOD).encode(),
    "dotted depth": ("a." * 50_000 + "b: 1\n" + GOOD).encode(),
    "deep fields": GOOD.replace("yaw(orientation)", "'" + "sin(" * 5000 + "x'").encode(),
    "a megabyte of spaces": (" " * 2**20 + "\n" + GOOD).encode(),
    "ten megabytes": (GOOD + "# x\n" * 2_500_000).encode(),
    "a long number": _put("rate", "9" * 500_000).encode(),
    "a long time of day": _put("rate", "1:" * 200_000 + "1").encode(),
    "a rate of nan": _put("rate", ".nan").encode(),
    "a rate of infinity": _put("rate", ".inf").encode(),
    "a rate of 1e-300": _put("rate", "1e-300").encode(),
    "a rate of 1e9": _put("rate", "1e9").encode(),
    "a gap of a day at 1 MHz": _put("rate", "1e6")
    .replace("max_gap: 0.5", "max_gap: 86400")
    .encode(),
    "a negative gap": _put("max_gap", "-1").encode(),
    "a gap of infinity": _put("max_gap", ".inf").encode(),
    "stamps of a date": _put("stamps", "2026-01-01").encode(),
    "a date that is none": _put("stamps", "2026-99-99").encode(),
    "an object of Python": _put("learning", "!!python/object/apply:os.system ['true']").encode(),
    "a picture": _put("learning", "!!binary x").encode(),
    "a set": _put("learning", "!!set {a, b}").encode(),
    "keys of lists": _put("learning", "{? [1, 2] : 3}").encode(),
    "a topic of many lines": GOOD.replace("/imu,", '"/imu\\n[ERROR] lost",').encode(),
    "a key of many lines": GOOD.replace("rate:", '"rate\\n[ERROR] lost":').encode(),
    "two documents": (GOOD + "---\n" + GOOD).encode(),
    "a thousand channels": GOOD.replace(
        "[arm, imu]", "[" + ", ".join(f"c{k}" for k in range(1000)) + "]"
    ).encode(),
    "an image of 99999 x 99999": GOOD.replace("yaw(orientation)", "image(99999x99999)").encode(),
    "a range without end": GOOD.replace('"position[0]"', '"position[0:999999999]"').encode(),
}


def cases(seed: int) -> Iterator[Case]:
    """Return the texts made by hand, then damaged ones without end."""
    return by_hand_and_damaged(BY_HAND, GOOD.encode(), _load, seed)


def _load(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "channels.yaml"
        path.write_bytes(data)
        channels = load_channels(path)
    again = ChannelConfiguration.from_mapping(channels.to_mapping())
    if again.to_mapping() != channels.to_mapping():
        raise Broken("untrue state", "a configuration is another one when it is written and read")
    Sampler(channels)


GROUP = Group("yaml", cases, size=2000, seconds=10.0)
