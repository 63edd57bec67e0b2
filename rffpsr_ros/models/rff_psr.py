"""The fitted RFF-PSR: a belief that follows what happens, and forecasts from it."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.learning.arrays import Array, khatri_rao
from rffpsr_ros.learning.filtering import filter_step
from rffpsr_ros.learning.predictor import predict_observation
from rffpsr_ros.models.guards import SURPRISE_MEMORY, Events
from rffpsr_ros.models.predictive_model import PredictiveModel, Signature, TrainingRecord
from rffpsr_ros.models.rff_psr_parts import Parts, WindowHead, in_order, pack, unpack


class RFFPSRState(NamedTuple):
    """The belief, and the recent past in standard units; a leading batch axis is allowed."""

    belief: Array  # q (p,)
    observations: Array  # (past, d_o), newest last; stand-ins where missing
    actions: Array  # (past, d_a)
    age: Array  # (), ticks since the episode's start
    calm: Array  # (), ticks since the belief was last rebuilt
    surprise: Array  # (), running mean of squared innovations; 1 is as in training
    events: Array  # (6,) counts, see `RFFPSRModel.events`


class RFFPSRModel(PredictiveModel[RFFPSRState]):
    """A predictive state representation with random Fourier features, learned by `RFFPSR`.

    Forecasts are rolled out: each predicted observation is taken for seen, so a forecast at
    horizon h depends on the first h actions only. With a window head (the paper's settings) the
    first k forecasts come from it in one shot and depend on all k actions.
    """

    kind: ClassVar[str] = "rff_psr"

    def __init__(self, signature: Signature, record: TrainingRecord, parts: Parts) -> None:
        """Take the fitted parts."""
        self.signature = signature
        self.record = record
        self.parts: Parts = in_order(parts)
        self._past = max(parts.frame.past, parts.history.past)

    @property
    def history_length(self) -> int:
        """Ticks of history from which the belief is regressed."""
        return self.parts.history.past

    def initial_state(self) -> RFFPSRState:
        """Return the state at an episode's start: the learned initial belief, the usual past."""
        start = self.parts.frame.start
        return RFFPSRState(
            self.parts.weights.initial.copy(),
            np.tile(start.observation, (self._past, 1)),
            np.tile(start.action, (self._past, 1)),
            np.zeros((), np.int64),
            np.zeros((), np.int64),
            np.ones(()),
            np.array(Events.none()),
        )

    def state_from_history(self, observations: Array, actions: Array) -> RFFPSRState:
        """Return the state after a history (T, d_o), (T, d_a) that began in mid-recording.

        The belief after the first ``past`` ticks comes from a regression on them; the filter takes
        the rest. A shorter history is filtered from the initial state.
        """
        past = self.parts.history.past
        state = self.initial_state()
        for t, (action, observation) in enumerate(zip(actions, observations, strict=True)):
            state = self.update(state, action, observation)
            if t + 1 == past:
                belief = self._belief_from_past(_batched(state))[0]
                state = state._replace(belief=belief, surprise=np.ones(()))
        return state

    def update(self, state: RFFPSRState, action: Array, observation: Array) -> RFFPSRState:
        """Return the state after an action (d_a,) acted and an observation (d_o,) was seen."""
        if state.belief.ndim == 1:
            one = self._update(_batched(state), action[None], observation[None])
            return RFFPSRState(*(part[0] for part in one))
        return self._update(state, action, observation)

    def predict(self, state: RFFPSRState, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), given the next H actions."""
        single = state.belief.ndim == 1 and actions.ndim == 2
        plans = self.parts.action_scaling.apply(actions if actions.ndim == 3 else actions[None])
        states = state if state.belief.ndim == 2 else _batched(state, len(plans))
        if self.parts.head is not None:
            forecast = self._predict_windows(self.parts.head, states, plans)
        else:
            forecast = self._roll_out(states, plans)[0]
        forecast = self.parts.observation_scaling.invert(forecast)
        return np.asarray(forecast[0] if single else forecast)

    def events(self, state: RFFPSRState) -> Events:
        """Return what happened to a state since its episode's start, counted by kind."""
        return Events(*np.moveaxis(state.events, -1, 0))

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what a model file holds."""
        return pack(self.parts)

    @classmethod
    def from_arrays(
        cls,
        signature: Signature,
        record: TrainingRecord,
        header: dict[str, Any],
        arrays: dict[str, Array],
    ) -> RFFPSRModel:
        """Rebuild a model from what `to_arrays` returned."""
        return cls(signature, record, unpack(header, arrays))

    def _update(self, state: RFFPSRState, action: Array, observation: Array) -> RFFPSRState:
        """Take one tick for a batch of states, in the data's units."""
        parts = self.parts
        acted = parts.action_scaling.apply(action)
        seen = parts.observation_scaling.apply(observation)
        limited_action = self._limit_action(acted)
        joined = khatri_rao(state.belief, parts.frame.action(limited_action))
        expected = self._expected_observation(joined, state, acted)
        belief, taken = self._condition(joined, seen, expected)
        innovation = parts.guards.innovation(seen, expected)
        surprise = np.where(
            np.isfinite(innovation),
            SURPRISE_MEMORY * state.surprise + (1 - SURPRISE_MEMORY) * innovation,
            state.surprise,
        )
        missing = np.isnan(seen)
        outside = ~missing & (self._limit_observation(seen) != seen)
        counts = state.events.copy()
        counts[:, 0] += missing.any(1)
        counts[:, 1] += outside.any(1)
        counts[:, 2] += (limited_action != acted).any(1)
        following = RFFPSRState(
            belief,
            self._append(state.observations, taken, state.age),
            self._append(state.actions, acted, state.age),
            state.age + 1,
            state.calm + 1,
            surprise,
            counts,
        )
        return self._guard(following)

    @staticmethod
    def _append(past: Array, newest: Array, age: Array) -> Array:
        """Return the past with one more tick; the first tick stands for all before it."""
        shifted = np.concatenate([past[:, 1:], newest[:, None]], axis=1)
        return np.where((age == 0)[:, None, None], newest[:, None], shifted)

    def _condition(self, joined: Array, seen: Array, expected: Array) -> tuple[Array, Array]:
        """Return the next beliefs, and the observations with stand-ins for missing ones."""
        missing = np.isnan(seen)
        taken = np.where(missing, expected, seen)
        features = self.parts.frame.observation(self._limit_observation(taken))
        if self.parts.stand_in == "features" and missing.any():
            unseen = missing.all(1, keepdims=True)
            features = np.where(unseen, joined @ self.parts.expected, features)
        conditioning = self.parts.frame.conditioning
        return filter_step(self.parts.weights, conditioning, joined, features)[0], taken

    def _guard(self, state: RFFPSRState) -> RFFPSRState:
        """Rebuild the beliefs that are out of order from their recent past."""
        verdict = self.parts.guards.verdict(state.belief, state.surprise)
        # A rebuilt belief gets time to prove itself before surprise counts again.
        verdict = verdict._replace(surprised=verdict.surprised & (state.calm >= self._past))
        rebuild = verdict.any
        if not rebuild.any():
            return state
        fresh = np.where(
            (state.age >= self.parts.history.past)[:, None],
            self._belief_from_past(state),
            self.parts.weights.initial,
        )
        counts = state.events.copy()
        counts[:, 3:] += np.stack(verdict, axis=1)
        return state._replace(
            belief=np.where(rebuild[:, None], fresh, state.belief),
            calm=np.where(rebuild, 0, state.calm),
            surprise=np.where(rebuild, 1.0, state.surprise),
            events=counts,
        )

    def _belief_from_past(self, state: RFFPSRState) -> Array:
        past = self.parts.history.past
        observations = self._limit_observation(state.observations[:, -past:])
        actions = self._limit_action(state.actions[:, -past:])
        return self.parts.history(observations, actions)

    def _expected_observation(self, joined: Array, state: RFFPSRState, acted: Array) -> Array:
        past = self.parts.frame.past
        skip = self._past - past
        actions = np.concatenate([state.actions[:, skip:], acted[:, None]], axis=1)
        windows = (state.observations[:, skip:], actions)
        return predict_observation(self.parts.weights, self.parts.frame, joined, *windows).value

    def _roll_out(self, states: RFFPSRState, plans: Array) -> tuple[Array, RFFPSRState]:
        """Return rolled-out forecasts (B, H, d_o) and the states after them."""
        frame, forecasts = self.parts.frame, []
        belief, observations, actions = states.belief, states.observations, states.actions
        for h in range(plans.shape[1]):
            acted = plans[:, h]
            joined = khatri_rao(belief, frame.action(self._limit_action(acted)))
            current = states._replace(observations=observations, actions=actions)
            expected = self._expected_observation(joined, current, acted)
            belief, _ = self._condition(joined, np.full_like(expected, np.nan), expected)
            observations = np.concatenate([observations[:, 1:], expected[:, None]], axis=1)
            actions = np.concatenate([actions[:, 1:], acted[:, None]], axis=1)
            forecasts.append(expected)
        after = states._replace(belief=belief, observations=observations, actions=actions)
        return np.stack(forecasts, axis=1), after

    def _predict_windows(self, head: WindowHead, states: RFFPSRState, plans: Array) -> Array:
        """Return forecasts window by window; a plan that ends inside one is held to its end."""
        blocks = []
        for start in range(0, plans.shape[1], head.future):
            block = plans[:, start : start + head.future]
            held = np.repeat(block[:, -1:], head.future - block.shape[1], axis=1)
            whole = np.concatenate([block, held], axis=1)
            limited = self._limit_action(whole).reshape(len(whole), -1)
            joined = khatri_rao(states.belief, head.future_action(limited))
            forecast = (joined @ head.weights).reshape(len(whole), head.future, -1)
            blocks.append(forecast[:, : block.shape[1]])
            if start + head.future < plans.shape[1]:
                states = self._roll_out(states, block)[1]
        return np.concatenate(blocks, axis=1)

    def _limit_observation(self, observation: Array) -> Array:
        limits = self.parts.frame.limits
        return observation if limits is None else np.clip(observation, *limits[:2])

    def _limit_action(self, action: Array) -> Array:
        limits = self.parts.frame.limits
        return action if limits is None else np.clip(action, *limits[2:])


def _batched(state: RFFPSRState, size: int = 1) -> RFFPSRState:
    return RFFPSRState(*(np.repeat(part[None], size, axis=0) for part in state))
