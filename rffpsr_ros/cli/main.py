"""The command ``rffpsr``: finds the command that is meant, runs it, and turns faults into words.

Exit codes: 0 done (perhaps with warnings), 2 the input is at fault, 130 interrupted.
"""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple, TextIO

from rffpsr_ros import __version__
from rffpsr_ros.cli.console import complain, open_streams, silence, warn
from rffpsr_ros.cli.parser import Parser
from rffpsr_ros.errors import InputError, did_you_mean, plain, shown

_show_foreign_warning = warnings.showwarning

FAULT_OF_INPUT = 2
INTERRUPTED = 130
TERMINATED = 143


class Command(NamedTuple):
    """A command: its module, which has ``add_arguments`` and ``run``, and what it does."""

    module: str
    purpose: str


COMMANDS = {
    "inspect": Command("inspect", "show what is in bags and propose a configuration"),
    "check": Command("check", "tell whether bags can teach a model, before training"),
    "train": Command("train", "learn a model from bags"),
    "evaluate": Command("evaluate", "measure a model's forecasts on bags"),
    "report": Command("report", "show on one page how good a model is"),
    "predict": Command("predict", "forecast along a bag, into a table or a bag"),
    "info": Command("info", "show what a model file holds"),
    "export": Command("export", "write a model in C, ONNX or CasADi"),
    "layout": Command("layout", "write layouts for PlotJuggler, Foxglove and rqt_plot"),
    "csv2bag": Command("csv2bag", "make a bag of a table with a time column"),
    "completion": Command("completion", "print a completion script for a shell"),
}

_LISTING = "commands:\n" + "\n".join(
    f"  {name:<12}{command.purpose}" for name, command in COMMANDS.items()
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    return guarded(lambda: _dispatch(words))


def guarded(job: Callable[[], int | None]) -> int:
    """Run a job whose every fault becomes one sentence, and return the exit code."""
    open_streams()
    with _termination_as_exception(), warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)  # every loss is reported
        warnings.showwarning = _show_warning
        try:
            code = job() or 0
            sys.stdout.flush()  # what is still held back may find the disk full
            return code
        except InputError as fault:
            complain(str(fault))
            return FAULT_OF_INPUT
        except MemoryError as fault:
            complain(f"there is not enough memory ({fault}); lower learning.features or rank")
            return FAULT_OF_INPUT
        except KeyboardInterrupt:
            complain("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            # The reader of our output has gone, as `head` does; nothing more can be said to it.
            silence(sys.stdout)
            return 0
        except OSError as fault:
            # A disk that is full, a name that is too long: what no command foresaw of its files.
            silence(sys.stdout)
            name = "" if fault.filename is None else f": {shown(fault.filename)}"
            complain(f"{fault.strerror or fault}{name}")
            return FAULT_OF_INPUT


def command_parser(name: str) -> Parser:
    """Return the parser of one command."""
    module = _module(name)
    parser = Parser(f"rffpsr {name}", module.__doc__ or COMMANDS[name].purpose)
    module.add_arguments(parser)
    return parser


def _dispatch(words: Sequence[str]) -> int | None:
    if not words or words[0].startswith("-"):
        return _general(words)
    if words[0] == "help":
        words = [*words[1:2], "--help"]
        return _dispatch(words)
    name = words[0]
    if name not in COMMANDS:
        raise InputError(f"unknown command '{plain(name)}'{did_you_mean(name, COMMANDS)}")
    parsed = command_parser(name).parse(words[1:])
    parsed.words = ["rffpsr", *words]
    run: Callable[[argparse.Namespace], int | None] = _module(name).run
    return run(parsed)


def _general(words: Sequence[str]) -> int:
    parser = Parser(
        "rffpsr",
        "Learn how a robot responds to commands from its recordings, and predict its future.",
        f"{_LISTING}\n\n'rffpsr COMMAND --help' explains a command.",
    )
    parser.usage = "rffpsr COMMAND ..."
    parser.add_argument("--version", action="version", version=f"rffpsr {__version__}")
    parser.parse(words)
    parser.print_help()
    return 0


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Say our own warnings in one line: where in the code they arose is of no use to a user."""
    if category.__module__.startswith("rffpsr_ros."):
        warn(str(message))
    else:
        _show_foreign_warning(message, category, filename, lineno, file, line)


def _module(name: str) -> Any:
    return import_module(f"rffpsr_ros.cli.commands.{COMMANDS[name].module}")


@contextmanager
def _termination_as_exception() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that half-written files are removed."""

    def terminate(number: int, frame: object) -> None:
        raise SystemExit(TERMINATED)

    try:
        before = signal.signal(signal.SIGTERM, terminate)
    except ValueError:  # Not in the main thread: signals are someone else's.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
