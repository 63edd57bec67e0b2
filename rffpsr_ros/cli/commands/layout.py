"""Write layouts for the programs that draw topics: measured and predicted curves of your robot.

  rffpsr layout robot.model --out layouts      of a trained model
  rffpsr layout robot.yaml --out layouts       of a configuration, before there is a model

plotjuggler.xml is opened by PlotJuggler's "Layout: load", foxglove.json by "Import from file" of
Foxglove or Lichtblick; rqt_plot.txt holds lines to run. The filter must run with `lead` for curves
further ahead than a tick.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rffpsr_ros.cli.console import say
from rffpsr_ros.cli.layouts.curves import Observed, observed
from rffpsr_ros.cli.layouts.foxglove import foxglove
from rffpsr_ros.cli.layouts.plotjuggler import plotjuggler
from rffpsr_ros.cli.layouts.rqt_plot import rqt_plot
from rffpsr_ros.cli.outputs import whole_folder
from rffpsr_ros.cli.parser import Parser, whole_number
from rffpsr_ros.forecasting.model_channels import channels_of
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.signals.channel_file import load_channels

HORIZON = 10
"""The filter's default."""


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("robot", metavar="MODEL|CONFIG", help="a model file, or a .yaml")
    parser.add_argument("--out", metavar="DIR", required=True, help="a new folder to write to")
    parser.add_argument(
        "--horizon",
        type=whole_number(1),
        default=HORIZON,
        help=f"that the filter runs with ({HORIZON})",
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the files."""
    files = layouts(_observations(Path(arguments.robot)), arguments.horizon)
    with whole_folder(arguments.out) as folder:
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    say(f"{arguments.out}: {', '.join(files)}")


def layouts(observations: list[Observed], horizon: int = HORIZON) -> dict[str, str]:
    """Return the files' texts by their names."""
    return {
        "plotjuggler.xml": plotjuggler(observations, horizon),
        "foxglove.json": foxglove(observations),
        "rqt_plot.txt": rqt_plot(observations),
    }


def _observations(path: Path) -> list[Observed]:
    if path.suffix in (".yaml", ".yml"):
        return observed(load_channels(path))
    model = load_model(path)
    told = model.signature
    return observed(channels_of(model), told.observation_names, told.observation_units)
