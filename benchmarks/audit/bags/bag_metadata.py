"""Bags whose metadata.yaml says something else than what is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.audit.bags.small_bags import whole

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 12)
)
"""A list of 10^12 values."""

MERGES = "b0: &b0 {k: v}\n" + "".join(
    f"b{k}: &b{k} {{<<: [{', '.join([f'*b{k - 1}'] * 10)}]}}\n" for k in range(1, 12)
)
"""A mapping into which 10^12 others are merged."""

DEEP = "deep: " + "[" * 50_000 + "]" * 50_000 + "\n"

INSTEAD = {
    "": "empty metadata",
    "{[": "metadata that are no YAML",
    "\x00\x01": "binary metadata",
    "- a\n- b\n": "metadata of a list",
    "rosbag2_bagfile_information: 3\n": "metadata of a number",
    "rosbag2_bagfile_information: &r {a: *r}\n": "metadata that hold themselves",
    LAUGHS: "metadata of a billion laughs",
    MERGES: "metadata of merges",
    DEEP: "deep metadata",
    "x: 1\n" * 2_000_000: "long metadata",
    "x: " + "9" * 1_000_000: "a long number",
    "x: " + "1:" * 200_000 + "1": "a long time of day",
    "x: !!python/object/apply:os.system ['true']\n": "metadata that call a program",
}

REPLACED: dict[str, tuple[str, str]] = {
    "version 99": ("version: 9", "version: 99"),
    "version of text": ("version: 9", "version: nine"),
    "another storage": ("storage_identifier: ", "storage_identifier: x"),
    "a list for the storage": ("storage_identifier: ", "storage_identifier: [1] #"),
    "a path outside": ("relative_file_paths:\n", "relative_file_paths:\n  - ../../etc/passwd\n"),
    "an absolute path": ("relative_file_paths:\n", "relative_file_paths:\n  - /etc/passwd\n"),
    "a path of nothing": ("relative_file_paths:\n", "relative_file_paths:\n  - ''\n"),
    "a path of a folder": ("relative_file_paths:\n", "relative_file_paths:\n  - .\n"),
    "a path of a number": ("relative_file_paths:\n", "relative_file_paths:\n  - 7\n"),
    "a name of two lines": ("name: /joints", 'name: "/joints\\n[ERROR] lost"'),
    "a type of two lines": ("type: sensor_msgs", 'type: "x\\n[ERROR] lost" #'),
    "an unknown type": ("sensor_msgs/msg/JointState", "sensor_msgs/msg/JointStat"),
    "a type of another topic": ("sensor_msgs/msg/JointState", "std_msgs/msg/String"),
    "a negative count": ("message_count: 40", "message_count: -40"),
    "a huge count": ("message_count: 40", "message_count: " + "9" * 400),
    "a count of text": ("message_count: 40", "message_count: many"),
    "a negative duration": ("nanoseconds: ", "nanoseconds: -"),
    "a duration of text": ("nanoseconds: ", "nanoseconds: x"),
    "another serialisation": ("serialization_format: cdr", "serialization_format: json"),
    "a serialisation of a list": ("serialization_format: cdr", "serialization_format: [cdr]"),
    "profiles of a number": ("offered_qos_profiles: ", "offered_qos_profiles: 5 #"),
    "a list for the distribution": ("ros_distro: ", "ros_distro: [x] #"),
    "compression of what is not": ("compression_mode: ''", "compression_mode: message"),
    "compression unknown": ("compression_mode: ''", "compression_mode: 7"),
}


def by_metadata(storage: str) -> dict[str, Callable[[Path], Path]]:
    """Return makers of bags by what is wrong with their metadata."""

    def with_text(text: str) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            file = whole(folder / "bag", storage)
            (file.parent / "metadata.yaml").write_text(text, encoding="utf-8")
            return file.parent

        return make

    def with_change(old: str, new: str) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            bag = whole(folder / "bag", storage).parent
            text = (bag / "metadata.yaml").read_text(encoding="utf-8")
            assert old in text, f"{old} is not in {text}"
            (bag / "metadata.yaml").write_text(text.replace(old, new), encoding="utf-8")
            return bag

        return make

    return {
        **{name: with_text(text) for text, name in INSTEAD.items()},
        **{name: with_change(*change) for name, change in REPLACED.items()},
    }
