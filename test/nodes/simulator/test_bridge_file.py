"""The bridge's configuration names a world's topics; a spoilt one is refused in one sentence."""

from pathlib import Path

import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.simulator.world import read_bridge

LAUGHS = "- &a0 [x]\n" + "".join(
    f"- &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 8)
)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (LAUGHS.encode(), "values, counted with its aliases"),
        (b"- " + b"[" * 5000, "nested more than"),
        (b"# x\n" * 2**20, "characters"),
        (b"a: [\n", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b"- {ros_topic_name: a}\n", "must be a list of entries"),
    ],
)
def test_a_spoilt_bridge_file_is_refused(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "gazebo_bridge_x.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError) as refusal:
        read_bridge(path)
    assert why in str(refusal.value)
    assert "\n" not in str(refusal.value)
