"""Starting a node: what is wrong is one sentence and an exit code, and Ctrl-C is always heard."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--params-file", "/nowhere.yaml"], "Couldn't parse params file: '--params-file /nowhere"),
        (["-p", "horizon"], "Couldn't parse parameter override rule: '-p horizon'"),
        (["-r", "__node:=bad-name"], "Couldn't parse remap rule: '-r __node:=bad-name'"),
        (["--unheard-of"], "unknown ROS arguments: ['--unheard-of']"),
    ],
)
def test_what_ros_refuses_is_one_line(arguments: list[str], said: str) -> None:
    command = [sys.executable, str(CHECKOUT / "executables" / "filter_node"), "--ros-args"]
    ended = subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=CHECKOUT,
        check=False,
    )
    assert ended.returncode == 2
    (line,) = [line for line in ended.stderr.splitlines() if "[rffpsr_filter]" in line]
    assert said in line
    assert ".c:" not in line
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("node", ["filter_node", "excitation_node"])
def test_an_early_interrupt_ends_without_a_word(node: str) -> None:
    script = (
        "import runpy, signal, sys\n"
        "class Importing:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'rclpy': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Importing())\n"
        f"runpy.run_path('executables/{node}', run_name='__main__')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=60, cwd=CHECKOUT, check=False
    )
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, b"")
