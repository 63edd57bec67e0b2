"""What robots are to follow, and what they are: worlds, courses, and what is recorded of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel, Signature
from rffpsr_ros.nodes.shared.package_files import package_folder
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.simulation.excitation import mixed_policy, uniform_hold
from rffpsr_ros.simulation.sdf_world import SdfWorld
from rffpsr_ros.simulation.swimmer import Swimmer, seek_goal
from rffpsr_ros.simulation.system import Policy, System, dataset, open_loop

ARRAY = "std_msgs/msg/Float64MultiArray"
HOLD = 0.2
"""Seconds for which a torque of the recordings is held, as config/arm.yaml has it."""


class World(NamedTuple):
    """A robot: how many joints it has, and how fast and wide each is to move."""

    name: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    slow: tuple[tuple[float, float], ...]
    """Amplitude (rad) and frequency (Hz) of each joint."""
    fast: tuple[tuple[float, float], ...]
    widest: tuple[float, ...]
    """The largest step's place (rad) of each joint."""
    rest: tuple[float, ...]
    """The state in which it begins, at rest."""
    speeds_seen: bool = True
    """Whether the joints' speeds are observed after their angles."""
    sense: float = 1.0
    """-1 where a positive torque makes its joint's angle less."""
    feedback: Policy | None = None
    """What acts at every second tick of the recordings of a robot that drifts away under chance."""
    period: float = 0.05
    swims: bool = False
    """Whether it is the paper's swimmer; the others are worlds that the package describes."""

    @property
    def joints(self) -> int:
        """Return how many there are."""
        return len(self.low)

    def system(self) -> System:
        """Return the simulated robot."""
        if self.swims:
            return Swimmer(self.period)
        return SdfWorld(package_folder("worlds") / f"{self.name}.sdf", self.period)


WORLDS: Mapping[str, World] = {
    world.name: world
    for world in (
        World("pendulum", (-1.5,), (1.5,), ((0.4, 0.3),), ((0.5, 1.0),), (0.4,), (0.0, 0.0)),
        World(
            "arm",
            (-4.0, -1.5),
            (4.0, 1.5),
            ((0.4, 0.3), (0.5, 0.4)),
            ((0.3, 1.0), (0.3, 1.4)),
            (0.4, 0.6),
            (0.0,) * 4,
        ),
        World(
            "swimmer",
            (-2.0, -2.0),
            (2.0, 2.0),
            ((0.5, 0.15), (0.5, 0.2)),
            ((0.25, 0.4), (0.25, 0.5)),
            (0.5, 0.5),
            (10.0, *(0.0,) * 9),
            speeds_seen=False,
            sense=-1.0,
            feedback=seek_goal,
            period=0.03,
            swims=True,
        ),
    )
}


Draw = Callable[[np.random.Generator, int], Array]


def sines(parts: tuple[tuple[float, float], ...], period: float) -> Draw:
    """Return what draws sines of random phase: rows (n, joints)."""

    def draw(generator: np.random.Generator, ticks: int) -> Array:
        phases = generator.uniform(0, 2 * np.pi, len(parts))
        times = period * np.arange(ticks)[:, None]
        amplitudes, frequencies = np.array(parts).T
        rise = np.minimum(times / 1.0, 1.0)  # from rest
        return np.asarray(
            rise * amplitudes * np.sin(2 * np.pi * frequencies * times + phases), dtype=np.float64
        )

    return draw


def steps(widest: tuple[float, ...], period: float) -> Draw:
    """Return what draws places that are held for a second and a half."""

    def draw(generator: np.random.Generator, ticks: int) -> Array:
        each = round(1.5 / period)
        places = generator.uniform(-1, 1, (ticks // each + 1, len(widest))) * np.array(widest)
        return np.repeat(places, each, axis=0)[:ticks]

    return draw


def courses(world: World) -> dict[str, Draw]:
    """Return what draws a course, by its name."""
    return {
        "slow sines": sines(world.slow, world.period),
        "fast sines": sines(world.fast, world.period),
        "steps": steps(world.widest, world.period),
    }


def channels(system: System) -> ChannelConfiguration:
    """Return channels on arrays of all that is seen, and of all that is commanded."""

    def channel(topic: str, count: int, **more: float) -> dict[str, Any]:
        fields = [f"data[{place}]" for place in range(count)]
        return {"topic": topic, "type": ARRAY, "fields": fields, **more}

    seen, told = len(system.observation_names), len(system.action_names)
    return ChannelConfiguration.from_mapping(
        {
            "rate": 1.0 / system.period,
            "observation": {"inputs": ["seen"], "seen": channel("/seen", seen)},
            "action": {"inputs": ["told"], "told": channel("/told", told, initial=0.0)},
        }
    )


def recordings(world: World, system: System, episodes: int, seed: int) -> list[Trajectory]:
    """Return runs of 10 s under random torques, or with feedback in turn, as the excitation has."""
    low, high = np.array(world.low), np.array(world.high)

    def policy(generator: np.random.Generator) -> Policy:
        torques = uniform_hold(generator, low, high, world.period, HOLD)
        if world.feedback is None:
            return open_loop(torques)
        return mixed_policy(generator, torques, world.feedback, 0.5, low, high)

    runs = dataset(system, policy, episodes, round(10 / world.period), seed)
    configuration = channels(system)
    seen = [f"seen.{field}" for field in configuration.observations[0].fields]
    told = [f"told.{field}" for field in configuration.actions[0].fields]
    return [Trajectory(one.observations, one.actions, one.period, seen, told) for one in runs]


def on_topics(model: PredictiveModel[Any], system: System) -> PredictiveModel[Any]:
    """Return a model learned from arrays with the channels that the arrays stand for."""
    return on_channels(model, channels(system))


def on_channels(
    model: PredictiveModel[Any], configuration: ChannelConfiguration
) -> PredictiveModel[Any]:
    """Return a model with the channels of a configuration, its columns being in their order."""
    observed, told = (
        tuple(f"{channel.name}.{field}" for channel in side for field in channel.fields)
        for side in (configuration.observations, configuration.actions)
    )
    signature: Signature = replace(
        model.signature,
        observation_names=observed,
        action_names=told,
        channels=configuration.to_mapping(),
    )
    return model.replaced(signature=signature)
