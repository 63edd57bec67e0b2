"""The command ``rffpsr``."""

import argparse
from collections.abc import Sequence

from rffpsr_ros import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="rffpsr",
        description="Learn how a robot responds to commands, and predict its future.",
    )
    parser.add_argument("--version", action="version", version=f"rffpsr {__version__}")
    parser.parse_args(arguments)
    parser.print_help()
    return 0
