"""Koopman model with random Fourier features, by pykoop: delays, lifting, EDMD with inputs.

pykoop's tick pairs a state with the action that acts on it next, so its state of a tick is the
observation of the tick before. `LIFTINGS` says what is lifted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from benchmarks.peers.feedback import FeedbackModel, Scalings, WindowState, windows
from rffpsr_ros.data.scaling import Run, standardise
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.training_set import training_signature
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory

LIFTINGS = {
    "joint": "features of delayed observations and actions; each prediction is lifted anew",
    "state": "features of delayed observations, linear in actions; each prediction is lifted anew",
    "linear": "the same, rolled out in the lifted space: what a Koopman operator is for",
}


class Lift(NamedTuple):
    """sqrt(2 / D) cos(x @ weights + offsets) and the Koopman matrix."""

    weights: Array
    """(n, D)"""
    offsets: Array
    """(D,)"""
    operator: Array
    """(lifted state, lifted state + lifted input), next from now"""


class KoopmanParts(NamedTuple):
    """What a Koopman model consists of."""

    past: int
    """Observations and actions in a window."""
    scalings: Scalings
    lift: Lift
    lifting: str
    """One of `LIFTINGS`."""


class KoopmanModel(FeedbackModel):
    """A linear model of lifted windows."""

    kind: ClassVar[str] = "koopman"
    parts_class = KoopmanParts
    parts: KoopmanParts

    def _next(self, observations: Array, actions: Array) -> Array:
        lifted = self._lift(observations)
        ahead = self._step(lifted, self._inputs(lifted, actions))
        return ahead[..., : observations.shape[-1]]

    def forecast(self, state: WindowState, actions: Array) -> Array:
        """Return the forecast (H, d_o) or (B, H, d_o)."""
        if self.parts.lifting != "linear":
            return super().forecast(state, actions)
        planned = self.parts.scalings.action.apply(actions)
        batch = np.broadcast_shapes(state.actions.shape[:-2], planned.shape[:-2])
        past = np.broadcast_to(state.actions, (*batch, *state.actions.shape[-2:]))
        acted = np.concatenate([past, np.broadcast_to(planned, (*batch, *planned.shape[-2:]))], -2)
        lifted = self._lift(state.observations)
        width = len(self._low)
        forecast = []
        for step in range(actions.shape[-2]):
            window = acted[..., step : step + self.parts.past + 1, :]
            lifted = self._step(lifted, self._inputs(lifted, window))
            lifted[..., :width] = np.clip(lifted[..., :width], self._low, self._high)
            forecast.append(lifted[..., :width])
        return self.parts.scalings.observation.invert(np.stack(forecast, axis=-2))

    def _lift(self, observations: Array) -> Array:
        flat = _newest_first(observations)
        return (
            flat
            if self.parts.lifting == "joint"
            else np.concatenate([flat, self._features(flat)], axis=-1)
        )

    def _inputs(self, lifted: Array, actions: Array) -> Array:
        flat = _newest_first(actions[..., 1:, :])
        if self.parts.lifting != "joint":
            return flat
        batch = np.broadcast_shapes(lifted.shape[:-1], flat.shape[:-1])
        both = [np.broadcast_to(part, (*batch, part.shape[-1])) for part in (lifted, flat)]
        return np.concatenate([both[1], self._features(np.concatenate(both, -1))], axis=-1)

    def _features(self, values: Array) -> Array:
        scale = np.sqrt(2 / len(self.parts.lift.offsets))
        features: Array = scale * np.cos(values @ self.parts.lift.weights + self.parts.lift.offsets)
        return features

    def _step(self, lifted: Array, inputs: Array) -> Array:
        split = lifted.shape[-1]
        operator = self.parts.lift.operator
        ahead: Array = lifted @ operator[:, :split].T + inputs @ operator[:, split:].T
        return ahead


class Koopman(InMemoryLearner[KoopmanModel]):
    """Learner of `KoopmanModel`.

    Parameters
    ----------
    past
        Observations and actions in a window.
    lifting
        One of `LIFTINGS`.
    width
        Width of the kernel, in units of the median distance between windows.
    features
        Random Fourier features.
    ridge
        Penalty per sample.
    """

    def __init__(
        self,
        past: int = 4,
        lifting: str = "joint",
        width: float = 2.0,
        features: int = 300,
        ridge: float = 1e-6,
        seed: int = 0,
    ) -> None:
        self.past = past
        self.lifting = lifting
        self.width = width
        self.features = features
        self.ridge = ridge
        self.seed = seed

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> KoopmanModel:
        """Return the model of ``train``; ``validation`` is not looked at."""
        signature = training_signature(train, validation)
        scalings = Scalings.of(train)
        runs = standardise(train, scalings.observation, scalings.action)
        pipeline = self._pipeline(runs)
        data = episodes(runs)
        pipeline.fit(data, n_inputs=len(scalings.action.mean), episode_feature=True)
        kernel = _kernel(pipeline)
        lift = Lift(
            np.sqrt(2 * kernel.shape) * kernel.random_weights_,
            kernel.random_offsets_,
            np.asarray(pipeline.regressor_.coef_).T,
        )
        record = TrainingRecord(options=dict(vars(self)))
        return KoopmanModel(
            signature, record, KoopmanParts(self.past, scalings, lift, self.lifting)
        )

    def _pipeline(self, runs: Sequence[Run]) -> Any:
        """Return pykoop's pipeline: delays, then random features, then ridge regression."""
        import pykoop

        seen, acted, _ = windows(runs, self.past)
        lifted = _newest_first(seen)
        joint = self.lifting == "joint"
        if joint:
            lifted = np.concatenate([lifted, _newest_first(acted[:, 1:])], axis=1)
        some = np.random.default_rng(self.seed).permutation(len(lifted))[:1000]
        median = float(np.median(pdist(lifted[some])))
        kernel = pykoop.KernelApproxLiftingFn(
            pykoop.RandomFourierKernelApprox(
                n_components=self.features,
                shape=0.5 / (self.width * median) ** 2,
                random_state=self.seed,
            )
        )
        lift = kernel if joint else pykoop.SplitPipeline([("features", kernel)], None)
        delays = pykoop.DelayLiftingFn(self.past - 1, self.past - 1)
        return pykoop.KoopmanPipeline(
            lifting_functions=[("delays", delays), ("lift", lift)],
            regressor=pykoop.Edmd(alpha=self.ridge * len(lifted)),
        )


def episodes(runs: Sequence[Run]) -> Array:
    """Return pykoop's table: episode, the observation of the tick before, the action."""
    parts = []
    for i, (observations, actions) in enumerate(runs):
        # The last row's action acts on nothing that was seen; pykoop uses its state only.
        acted = np.concatenate([actions[1:], actions[-1:]])
        parts.append(np.column_stack([np.full(len(acted), float(i)), observations, acted]))
    return np.concatenate(parts)


def _kernel(pipeline: Any) -> Any:
    lift = dict(pipeline.lifting_functions_)["lift"]
    if hasattr(lift, "lifting_functions_state_"):
        lift = dict(lift.lifting_functions_state_)["features"]
    return lift.kernel_approx_


def _newest_first(window: Array) -> Array:
    """Return windows (..., n, d) flattened (..., n d), newest tick first, as pykoop does."""
    flat: Array = window[..., ::-1, :].reshape(*window.shape[:-2], -1)
    return flat
