"""Try hostile and odd inputs: nothing may end a process, print a traceback or lose data.

    python -m benchmarks.audit                       every group, its usual number of cases
    python -m benchmarks.audit bags yaml --seed 3    some groups, another seed
    python -m benchmarks.audit models --cases 100    the first so many of each
    python -m benchmarks.audit --minutes 60          seed after seed for so long, each group in turn
    python -m benchmarks.audit --record              writes benchmarks/results/audit.json

Prints a line for each group and one for each broken promise; exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.audit.case import Outcome
from benchmarks.audit.groups import GROUPS
from benchmarks.audit.runner import Group, outcomes

RECORD = Path(__file__).parents[1] / "results" / "audit.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audit."""
    asked = _parser().parse_args(arguments)
    chosen = [GROUPS[name] for name in asked.groups or GROUPS]
    record: dict[str, dict[str, int]] = {}
    broken = 0
    for group, seed in _rounds(chosen, asked.seed, asked.minutes):
        counts, bad = _try(group, seed, asked.cases or group.size)
        broken += len(bad)
        total = Counter(record.get(group.name, {}))
        total.update(counts)
        record[group.name] = dict(sorted(total.items()))
    if asked.record:
        RECORD.write_text(json.dumps({"seed": asked.seed, "groups": record}, indent=1) + "\n")
    print(f"{broken} broken promises" if broken else "every promise was kept")
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.audit",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("groups", nargs="*", metavar="GROUP", choices=[[], *GROUPS])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, help="how many of each group")
    parser.add_argument("--minutes", type=float, help="go on with further seeds for so long")
    parser.add_argument("--record", action="store_true", help="write the counts to a file")
    return parser


def _rounds(
    groups: Sequence[Group], seed: int, minutes: float | None
) -> Iterator[tuple[Group, int]]:
    until = time.monotonic() + 60 * (minutes or 0)
    for later in itertools.count(seed):
        for group in groups:
            if later > seed and time.monotonic() > until:
                return
            yield group, later


def _try(group: Group, seed: int, count: int) -> tuple[Counter[str], list[Outcome]]:
    counts: Counter[str] = Counter()
    bad = []
    for outcome in outcomes(group, seed, 0, count):
        counts[outcome.verdict] += 1
        if not outcome.good:
            bad.append(outcome)
            print(f"{group.name}: {outcome.case}: {outcome.verdict}: {outcome.sentence}")
    told = ", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items()))
    print(f"{group.name}, seed {seed}: {sum(counts.values())} cases: {told}", flush=True)
    return counts, bad


if __name__ == "__main__":
    sys.exit(main())
