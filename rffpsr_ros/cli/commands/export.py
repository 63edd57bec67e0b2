"""Write a model in another language: C, ONNX or CasADi.

  rffpsr export robot.model --format c --out robot_c           one header, one source file
  rffpsr export robot.model --format onnx --out robot_onnx     for onnxruntime
  rffpsr export robot.model --format casadi --out robot_ca     for Opti, do-mpc, acados

Each has the initial state, the update by a tick, and forecasts; C and CasADi have the derivatives
of forecasts by the actions as well.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from rffpsr_ros.cli.console import say
from rffpsr_ros.cli.outputs import whole_folder
from rffpsr_ros.cli.parser import Parser, whole_number
from rffpsr_ros.export.files import FORMATS, HORIZON, exported, written
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.recipe.more.behind import free_names


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument(
        "--format", choices=list(FORMATS), required=True, help="the language to write"
    )
    parser.add_argument("--out", metavar="DIR", required=True, help="a new folder to write to")
    parser.add_argument(
        "--name", help="what files and functions are called (the model file's name)"
    )
    parser.add_argument(
        "--horizon",
        type=whole_number(1),
        default=HORIZON,
        help=f"ticks of CasADi's forecasts ({HORIZON}); other formats take any",
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the files."""
    name = arguments.name or _named_after(Path(arguments.model))
    with whole_folder(arguments.out) as folder:
        model = load_model(arguments.model)
        files = exported(model, arguments.format, name, arguments.horizon)
        written(files, folder)
    say(f"{arguments.out}: {', '.join(files)}")
    if free := free_names(model):
        say(
            "what was written moves no origin: beyond the range recorded, give it"
            f" {', '.join(free)} relative to a place of your own, and add that to forecasts"
        )


def _named_after(path: Path) -> str:
    """Return a name that functions can have."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", path.name.partition(".")[0]).strip("_").lower()
    return name if re.match(r"[a-z]", name) else f"model_{name}".rstrip("_")
