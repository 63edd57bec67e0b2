"""What is kept of compiled functions is that of all files that they are made of."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

import rffpsr_ros
from rffpsr_ros.psr.runtime import compiled_code

PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from kernels.compiled_kernels import eliminate
solution = np.array([6.0, 4.0])
eliminate(np.diag([2.0, 4.0]), solution)
print(json.dumps([solution.tolist(), sum(eliminate.stats.cache_hits.values())]))
"""


def test_code_is_made_anew_when_a_file_beside_it_has_changed(tmp_path: Path) -> None:
    """Functions of one file call those of another, which numba alone does not look at."""
    original = Path(rffpsr_ros.__file__).parent / "psr" / "runtime"
    copied = tmp_path / "kernels"
    copied.mkdir()
    for path in original.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        own = text.replace("rffpsr_ros.psr.runtime.", "kernels.")
        (copied / path.name).write_text(own, encoding="utf-8")
    root = str(Path(rffpsr_ros.__file__).parents[1])

    def hits() -> int:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
        done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
        solution, hits = json.loads(done.stdout)
        assert solution == [3.0, 1.0]
        return int(hits)

    assert [hits(), hits()] == [0, 1]
    with (copied / "lanes.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert [hits(), hits()] == [0, 1]


def test_code_that_was_made_is_what_models_call() -> None:
    """Made for other types than models use, it would be compiled once more."""
    compiled_code.make("single")
    assert compiled_code.is_kept("single")
    from rffpsr_ros.psr.runtime.compiled_step import CompiledStep
    from test.psr.runtime.test_serving_steps import CASES, SCALING, WEIGHTS

    parameters, structure, expected = CASES["every term"]
    known = [len(function.signatures) for function, _ in compiled_code.FORMS["single"]]
    CompiledStep(parameters, structure, *SCALING, WEIGHTS, (0.0, 1.0), expected)
    after = [len(function.signatures) for function, _ in compiled_code.FORMS["single"]]
    assert known == after


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="needs Linux's list of locks")
def test_processes_make_code_one_after_the_other() -> None:
    compiled_code.make("single")  # so that the other has little to do once it may
    with compiled_code.alone("single"):
        command = [sys.executable, "-m", compiled_code.__name__, "5", "single"]
        other = subprocess.Popen(command)
        waiting = re.compile(rf"-> FLOCK .* {other.pid} ")
        while not waiting.search(Path("/proc/locks").read_text(encoding="utf-8")):
            assert other.poll() is None, "it did not wait"
    assert other.wait() == 0
