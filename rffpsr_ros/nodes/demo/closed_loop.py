"""The end of the demonstration: the learned model moves the robot along a course."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.nodes.demo.observer import Observer
from rffpsr_ros.nodes.demo.processes import NodeProcesses
from rffpsr_ros.nodes.shared.message_classes import make, message_class
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.forecast_messages import PLAN_TYPE, prediction_message

NODE = "/rffpsr_controller"
AMPLITUDE, FREQUENCY = 0.15, 0.6
"""rad and Hz of the course."""
SETTLING, TICKS = 40, 160
"""Ticks before the course, and of it."""
FOLLOWED_FROM = 20
"""Ticks of the course after which errors count."""
PARAMETERS = {
    "use_sim_time": True,
    "horizon": 10,
    "resume_after": 1.0,
    "stale_ticks": 20.0,  # on a busy machine simulated time runs ahead of what is seen of it
    "error_limit": 30.0,  # what is learned in a minute is surprised at times
}


class ControlledRun(NamedTuple):
    """What was asked for and seen (n, d_o), and commanded (n, d_a), tick by tick."""

    asked: Array
    seen: Array
    commands: Array
    period: float

    @property
    def error(self) -> float:
        """Root mean square of what was seen beside what was asked for."""
        return float(np.sqrt(np.nanmean((self.seen - self.asked)[FOLLOWED_FROM:] ** 2)))


def demonstration_course(period: float) -> Array:
    """Return a sine (n, 1)."""
    times = period * np.arange(TICKS)[:, None]
    return np.asarray(AMPLITUDE * np.sin(2 * np.pi * FREQUENCY * times))


def controlled_run(
    nodes: NodeProcesses,
    observer: Observer,
    model: Path,
    course: Array,
    parameters: Mapping[str, Any] = PARAMETERS,
) -> ControlledRun:
    """Start the controller, enable it, and let the robot stand still, then follow a course.

    Parameters
    ----------
    nodes, observer
        The simulator runs already.
    model
        A model file.
    course
        (n, d_o), NaN where anything will do; there, it stands still at anything, too.
    parameters
        The controller's.
    """
    nodes.start("controller_node", {**parameters, "model_path": model})
    kind = message_class(PLAN_TYPE)
    reference = observer.node.create_publisher(kind, f"{NODE}/reference", 10)
    plans: list[Any] = []
    observer.node.create_subscription(kind, f"{NODE}/planned_actions", plans.append, 10)
    observer.until(reference.get_subscription_count, "the controller to listen")
    _ask(reference, np.tile(0.0 * course[:1], (10 * SETTLING, 1)))
    observer.call(f"{NODE}/enable")
    observer.watch(SETTLING)
    plans.clear()
    observer.until(lambda: plans, "a plan")  # the controller has closed the tick under way here
    _ask(reference, course)
    first = len(observer.ticks) + 1  # the tick after the one under way
    observer.watch(len(course) + 2)
    observer.call(f"{NODE}/disable")
    ticks = observer.ticks[first : first + len(course)]
    seen = np.array([one.observation for one in ticks])
    commands = np.array([one.action for one in ticks])
    return ControlledRun(course[: len(ticks)], seen, commands, observer.configuration.period)


def _ask(publisher: Any, rows: Array) -> None:
    publisher.publish(prediction_message(make, rows))


def plot_controlled_run(run: ControlledRun, path: Path) -> None:
    """Draw what was asked for and seen of the first observation, and the commands below."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    times = run.period * np.arange(len(run.asked))
    figure, (above, below) = pyplot.subplots(2, 1, sharex=True, figsize=(8, 4.5))
    above.plot(times, run.asked[:, 0], "k", lw=3, alpha=0.3, label="asked for")
    above.plot(times, run.seen[:, 0], label="seen")
    above.set_ylabel("rad")
    above.legend(loc="upper right")
    above.set_title("The closed loop: the learned model moves the robot")
    below.step(times, run.commands, where="post", color="tab:orange")
    below.set_ylabel("command")
    below.set_xlabel("s")
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
