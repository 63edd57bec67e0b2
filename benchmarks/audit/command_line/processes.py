"""What surrounds a process of the command line: streams, signals, limits, folders, languages."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import rffpsr_ros
from benchmarks.audit.case import Case
from benchmarks.audit.command_line.bench import QUICK, bench
from benchmarks.audit.command_line.verdict import Said, check_left, held, judge
from benchmarks.audit.command_line.words import USUAL
from rffpsr_ros.cli.main import INTERRUPTED, TERMINATED
from rffpsr_ros.errors import InputError

_SECONDS = 60.0
_COMMAND = (sys.executable, "-m", "rffpsr_ros.cli.main")
_CHECKOUT = str(Path(rffpsr_ros.__file__).parents[1])

IN_A_SHELL = {
    "a reader that goes away": ("rffpsr info m.psr --json | head -c 10", {}),
    "a reader that has gone": ("rffpsr completion bash | true", {}),
    "output that is closed": ("rffpsr info m.psr >&-", {}),
    "output that is closed, in JSON": ("rffpsr inspect bag --quiet --json >&-", {}),
    "complaints that are closed": ("rffpsr info none 2>&-", {}),
    "complaints to nobody": ("rffpsr info none 2>&1 | true", {}),
    "complaints to a full disk": ("rffpsr info none 2>/dev/full", {}),
    "progress that is closed": ("rffpsr check bag --config c.yaml 2>&-", {}),
    "progress to a full disk": ("rffpsr check bag --config c.yaml 2>/dev/full", {}),
    "input that is closed": ("rffpsr info m.psr <&-", {}),
    "all that is closed": ("rffpsr inspect bag <&- >&- 2>&-", {}),
    "output to a full disk": ("rffpsr inspect bag --quiet >/dev/full", {}),
    "help to a full disk": ("rffpsr train --help >/dev/full", {}),
    "LANG=C": ("rffpsr inspect bag --quiet", {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}),
    "ASCII": ("rffpsr info m.psr", {"PYTHONIOENCODING": "ascii:strict"}),
    "a name beyond ASCII": ("rffpsr info m\u00e4.psr", {"PYTHONIOENCODING": "ascii"}),
    "a model beyond ASCII": (
        "rffpsr info \u00fc.psr",
        {"PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C"},
    ),
    "no folder for temporary files": ("rffpsr inspect bag --quiet", {"TMPDIR": "/none"}),
    "no home": ("rffpsr evaluate bag --model m.psr --plot a.png --quiet", {"HOME": "/none"}),
    "no place for matplotlib": (
        "rffpsr evaluate bag --model m.psr --plot a.png --quiet",
        {"MPLCONFIGDIR": "/proc/none", "HOME": "/proc/none"},
    ),
    "a backend of no kind": (
        "rffpsr evaluate bag --model m.psr --plot a.png --quiet",
        {"MPLBACKEND": "no"},
    ),
    "a read-only folder": ("rffpsr predict bag --model m.psr --out /proc/a.csv --quiet", {}),
    "a bag into a read-only folder": ("rffpsr csv2bag table.csv --out /sys/a --quiet", {}),
    "a folder that is gone": ("mkdir gone; cd gone; rmdir ../gone; rffpsr info m.psr", {}),
    "a pace that is no number": ("rffpsr train --help", {"COLUMNS": "-3"}),
    "threads that are no number": ("rffpsr info m.psr", {"OPENBLAS_NUM_THREADS": "x"}),
}
"""Words for a shell, and what is in its environment beside the usual."""


def process_cases() -> Iterator[Case]:
    """Return a case for each surrounding."""
    for name, (script, environment) in IN_A_SHELL.items():
        yield Case(name, partial(_in_a_shell, script, environment))
    train = [*USUAL["train"][:-1], *QUICK]
    make = USUAL["csv2bag"]
    for limit in (0, 1, 4096, 16384):
        for name, words in (("a bag", make), ("a model", train), ("a table", USUAL["predict"])):
            yield Case(
                f"{name} in files of at most {limit} bytes",
                partial(_limited, words, resource.RLIMIT_FSIZE, limit),
            )
    for limit in (8, 12, 16, 24):
        yield Case(
            f"at most {limit} open files",
            partial(_limited, USUAL["inspect"], resource.RLIMIT_NOFILE, limit),
        )
    for kind, code in ((signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)):
        for stage in ("reading", "refinement"):
            yield Case(f"{kind.name} while {stage}", partial(_signalled, kind, code, stage))


def _in_a_shell(words: str, environment: Mapping[str, str]) -> None:
    with bench() as folder:
        (folder / "\u00fc.psr").write_bytes((folder / "m.psr").read_bytes())
        same = f"{sys.executable} -m rffpsr_ros.cli.main"
        shell = ["bash", "-o", "pipefail", "-c", words.replace("rffpsr", same)]
        _watched(shell, environment, folder, silent="2>" in words or "MPLCONFIGDIR" in environment)


def _limited(words: Sequence[str], what: int, limit: int) -> None:
    with bench() as folder:
        _watched([*_COMMAND, *words], {}, folder, partial(resource.setrlimit, what, (limit, limit)))


def _watched(
    words: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    before_start: Callable[[], object] | None = None,
    silent: bool = False,
) -> None:
    before = held(folder)
    done = subprocess.run(
        words,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": _CHECKOUT, **environment},
        timeout=_SECONDS,
        preexec_fn=before_start,
        check=False,
    )
    said = Said(done.returncode, done.stdout, done.stderr)
    try:
        judge(said, silent=silent)
    except InputError:
        check_left(before, held(folder))
        raise


def _signalled(number: signal.Signals, code: int, stage: str) -> None:
    words = ["train", "bag", "--config", "c.yaml", "--out", "new.psr", "--no-check"]
    words += ["--set", "learning.iterations=1000000", "--set", "learning.folds=1"]
    with bench() as folder:
        before = held(folder)
        process = subprocess.Popen(
            [*_COMMAND, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": _CHECKOUT},
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
        )
        assert process.stderr is not None
        lines = [b"-"]
        while lines[-1] and stage.encode() not in lines[-1]:
            lines.append(process.stderr.readline())
        process.send_signal(number)
        output, rest = process.communicate(timeout=_SECONDS)
        own = b"".join(line for line in rest.splitlines(True) if not _is_progress(line))
        with suppress(InputError):
            judge(Said(process.returncode, output, own), (code,), silent=number != signal.SIGINT)
        check_left(before, held(folder))


def _is_progress(line: bytes) -> bool:
    return line.startswith((b"reading", b"learning", b"stage", b"refinement"))
