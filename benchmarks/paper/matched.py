"""HSE-PSR and RFF-PSR at the same bandwidth, rank and head, over ranks.

    python -m benchmarks.paper.matched                 some minutes
    python -m benchmarks.paper.matched --ranks 10 20

The paper's fourth observation supposes that RFF-PSR does better than HSE-PSR, which it
approximates, because a low rank acts as inductive bias. Here only the kernel's form differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import compare
from benchmarks.paper.variants import MATCHED_RANKS, matched
from benchmarks.records import RESULTS
from benchmarks.tasks import TASKS

DATA = ("synth", "fresh")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=list(MATCHED_RANKS))
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--runs", type=int, help="draws or seeds (default: 3, of draws 5)")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where results are kept")
    options = parser.parse_args(arguments)
    methods = [method for rank in options.ranks for method in matched(rank)]
    compare.run(methods, [TASKS[name] for name in options.data], options.runs, options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
