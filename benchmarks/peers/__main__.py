"""Measure the peers, in their own environment, into benchmarks/results.

python -m benchmarks.peers                            what changed, of all peers and data sets
python -m benchmarks.peers --methods Koopman --data synth jackal --runs 5
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.compare import KNOWN_TASKS
from benchmarks.measurement import measured
from benchmarks.peers.methods import peers
from benchmarks.records import RESULTS
from benchmarks.tasks import TASKS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [method.name for method in peers(False)]
    parser.add_argument("--methods", nargs="+", choices=names, default=names)
    parser.add_argument("--data", nargs="+", choices=[*KNOWN_TASKS], default=[*TASKS])
    parser.add_argument("--runs", type=int, default=3, help="seeds or draws (default: 3)")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where results are kept")
    options = parser.parse_args(arguments)
    for task in (KNOWN_TASKS[name] for name in options.data):
        chosen = [p for p in peers(task.simulation_after is not None) if p.name in options.methods]
        for _ in measured(chosen, [task], options.runs, options.folder):
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
