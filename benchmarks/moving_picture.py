"""The moving picture of the README: an arm, and where it is forecast to be half a second later.

    python -m benchmarks.moving_picture                 learn the arm first (some minutes)
    python -m benchmarks.moving_picture --model FILE    with one that `learned` gave and was saved

The arm of worlds/arm.sdf with a payload moves under random torques, on a run that was not learned
from, simulated by Drake. At each tick the model is updated by what is seen, and forecasts ten
ticks, given the torques that follow. Nothing of the picture is drawn by hand.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.loaded_arm import PERIOD, loaded_arm, runs
from rffpsr_ros import RFFPSR, load_model
from rffpsr_ros.evaluation.plots import COLOURS, empty_figure
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

OUT = Path(__file__).resolve().parent.parent / "docs" / "images" / "arm_live.gif"
HORIZON = 10
WARM, TICKS = 40, 160
"""Ticks before the picture begins, and in it."""
SHOWN = 60
"""Ticks of the past in the plots."""
UPPER, LOWER = 0.5, 0.4
"""Metres: upper arm and forearm."""
TRAINED_ON, SEED = 25, 4711
COLOURS_KEPT = 64
FORECAST = COLOURS[1]


class Moment(NamedTuple):
    """What is known at a tick: the forecast (H, d_o) made at it."""

    tick: int
    forecast: Array


def learned() -> PredictiveModel[Any]:
    """Return a model of the arm, by default settings, of runs of 10 s."""
    return RFFPSR().fit(runs(loaded_arm(), TRAINED_ON, 200, seed=0))


def moments(model: PredictiveModel[Any], run: Trajectory) -> Iterator[Moment]:
    """Yield the forecasts along a run."""
    state = model.initial_state()
    for tick in range(WARM + TICKS):
        state = model.update(state, run.actions[tick], run.observations[tick])
        if tick >= WARM:
            plan = run.actions[tick + 1 : tick + 1 + HORIZON]
            yield Moment(tick, model.predict(state, plan))


def joints(angles: Array) -> tuple[Array, Array]:
    """Return places (3,) across and up of shoulder, elbow and hand; metres."""
    shoulder, elbow = angles[:2]
    across = np.cumsum([0.0, -UPPER * np.sin(shoulder), -LOWER * np.sin(shoulder + elbow)])
    up = np.cumsum([0.0, -UPPER * np.cos(shoulder), -LOWER * np.cos(shoulder + elbow)])
    return across, up


def frames(run: Trajectory, said: list[Moment]) -> Iterator[Any]:
    """Yield the frames as pictures."""
    from PIL import Image

    figure = empty_figure(8.0, 3.2)
    arm, *plots = figure.subplots(1, 3, width_ratios=[1, 1.15, 1.15])
    earlier = {moment.tick + HORIZON: moment.forecast[-1] for moment in said}
    for moment in said:
        now = moment.tick
        arm.clear()
        arm.set(xlim=(-0.65, 0.65), ylim=(-1.0, 0.2), xticks=[], yticks=[], aspect="equal")
        arm.plot(*joints(moment.forecast[-1]), "o-", color=FORECAST, lw=5, alpha=0.45)
        arm.plot(*joints(run.observations[now]), "o-", color="black", lw=5)
        arm.set_title("now, and forecast\nhalf a second ahead", fontsize=9)
        for column, (axes, name) in enumerate(zip(plots, ("shoulder", "elbow"), strict=True)):
            axes.clear()
            past = np.arange(max(0, now - SHOWN), now + 1)
            axes.plot((past - now) * PERIOD, run.observations[past, column], "k-", lw=1.6)
            told = [tick for tick in past.tolist() if tick in earlier]
            values = [earlier[tick][column] for tick in told]
            seconds = [(tick - now) * PERIOD for tick in told]
            axes.plot(seconds, values, "--", color=FORECAST, lw=1.2)
            ahead = np.arange(1, HORIZON + 1) * PERIOD
            axes.plot(ahead, moment.forecast[:, column], "-", color=FORECAST, lw=2.2)
            axes.axvline(0, color="0.7", lw=0.8)
            axes.set(xlim=(-SHOWN * PERIOD, HORIZON * PERIOD), ylim=(-1.3, 1.3))
            axes.set_title(f"{name} (rad)", fontsize=9)
            axes.tick_params(labelsize=7)
            axes.set_xlabel("s", fontsize=8)
        buffer = BytesIO()
        figure.savefig(buffer, format="png", dpi=80)
        yield Image.open(buffer).convert("RGB")


def write(path: Path, model: PredictiveModel[Any]) -> None:
    """Write the picture: one frame a tick, at the speed of the arm, over and over."""
    (run,) = runs(loaded_arm(), 1, WARM + TICKS + HORIZON + 1, SEED)
    said = list(moments(model, run))
    drawn = list(frames(run, said))
    palette = drawn[0].quantize(COLOURS_KEPT)
    first, *rest = [one.quantize(palette=palette, dither=0) for one in drawn]
    duration = round(1000 * PERIOD)
    first.save(path, save_all=True, append_images=rest, duration=duration, loop=0, optimize=True)
    truth = np.stack([run.observations[one.tick + HORIZON] for one in said])
    before = np.stack([run.observations[one.tick] for one in said])
    error = np.mean((truth - [one.forecast[-1] for one in said]) ** 2, axis=0)
    still = np.mean((truth - before) ** 2, axis=0)
    print(f"{path}: {len(drawn)} frames, {path.stat().st_size / 1000:.0f} kB")
    print(f"half a second ahead, over the error of the last observation: {error / still}")


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.moving_picture")
    parser.add_argument("--model", type=Path, help="a model of the arm, instead of learning one")
    parser.add_argument("--out", type=Path, default=OUT, help="the picture to write")
    options = parser.parse_args()
    write(options.out, load_model(options.model) if options.model else learned())


if __name__ == "__main__":
    main()
