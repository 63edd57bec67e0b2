"""The fitted RFF-PSR: a belief that follows what happens, and forecasts from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.rff_psr.derivatives import ForecastDerivatives
from rffpsr_ros.models.rff_psr.filter_monitor import NIS_MEMORY, Events
from rffpsr_ros.models.rff_psr.packing import RFFPSRPacking
from rffpsr_ros.models.rff_psr.parts import RFFPSRParts, WindowHead
from rffpsr_ros.models.rff_psr.state import RFFPSRState
from rffpsr_ros.models.tick_window import mended, silent_after
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.psr.runtime.packed_parts import ToBeCompiled, compilable, packed
from rffpsr_ros.psr.runtime.prepared_step import PreparedStep

if TYPE_CHECKING:
    from rffpsr_ros.psr.runtime.compiled_step import CompiledStep

_EARLIER, _LATER, _NEWEST = np.s_[..., :-1, :], np.s_[..., 1:, :], np.s_[..., -1, :]
_UNUSUAL = np.array([[i >> 2 & 1, i & 1, i >> 1 & 1, 0, 0, 0] for i in range(8)])
"""What is added to a state's events, by what compiled code says was unusual."""


class RFFPSRModel(PredictiveModel[RFFPSRState]):
    """A predictive state representation with random Fourier features, learned by `RFFPSR`.

    Forecasts are rolled out: each predicted observation is taken for seen, so a forecast at
    horizon h depends on the first h actions only. With a window head (the paper's settings) the
    first k forecasts come from it in one shot and depend on all k actions.
    """

    kind: ClassVar[str] = "rff_psr"

    parts_class = RFFPSRParts
    parts: RFFPSRParts

    def _prepare(self) -> None:
        parts = self.parts
        self._expected = parts.expected if parts.stand_in == "features" else None
        self._step = PreparedStep(parts.parameters, parts.structure, self._expected)
        self._derivatives = ForecastDerivatives(parts)
        self._past = max(self._step.past, parts.history.past)
        acted, observed = self._step.layout.acted, self._step.layout.observed
        self._at_action, self._at_observation = np.s_[..., :acted], np.s_[..., acted:]
        scalings = zip(parts.action_scaling, parts.observation_scaling, strict=True)
        monitor = parts.monitor
        self._compiled: CompiledStep | None = None
        self._innovation_weights = np.ones(observed) / observed / monitor.innovation_scale**2
        self._normal = monitor.shortest**2, monitor.longest**2, monitor.nis
        self._tick_scaling = Scaling(*(np.concatenate(pair) for pair in scalings))

    @property
    def history_length(self) -> int:
        """Ticks of history from which the belief is regressed."""
        return self.parts.history.past

    def initial_state(self) -> RFFPSRState:
        """Return the state at an episode's start: the learned initial belief, the usual past."""
        start = np.concatenate(self.parts.structure.start[::-1])
        return RFFPSRState(
            self.parts.parameters.initial.copy(),
            np.tile(start, (self._past, 1)),
            np.zeros((), np.int64),
            np.zeros((), np.int64),
            np.ones(()),
            np.zeros(self._step.layout.observed, np.int64),
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
                state = state._replace(belief=belief, nis=np.ones(()))
        return state

    def advance(self, state: RFFPSRState, action: Array, observation: Array) -> RFFPSRState:
        """Return the state after an action (d_a,) acted and an observation (d_o,) was seen."""
        if self._compiled is not None and state.belief.ndim == 1 and state.age > 0:
            after = self._usual(self._compiled, state, action, observation)
            if after is not None:
                return after
        past = self._with_tick(state.past, action, observation)
        belief, error, unusual = self._step.advance(state.belief, past)
        events, silent = state.events, state.silent
        if unusual is not None or silent.any():
            earlier = past[_EARLIER][self._at_observation]
            earlier[:] = mended(earlier, error, silent)
            silent = silent_after(silent, np.isnan(error))
        if unusual is None:
            innovation = (error * error).dot(self._innovation_weights)
        else:
            innovation = self.parts.monitor.innovation(error)
            events = events.copy()
            events[..., :3] += np.stack(unusual, axis=-1)
        nis = _running_mean(state.nis, innovation)
        if unusual is not None:
            nis = np.where(np.isfinite(innovation), nis, state.nis)
        after = RFFPSRState(belief, past, state.age + 1, state.calm + 1, nis, silent, events)
        if belief.ndim == 2:
            return self._watch(after)
        low, high, most = self._normal
        if state.age > 0 and low <= belief.dot(belief) <= high and nis <= most:
            return after
        return RFFPSRState(*(part[0] for part in self._watch(_batched(after))))

    def _usual(
        self, compiled: CompiledStep, state: RFFPSRState, action: Array, observation: Array
    ) -> RFFPSRState | None:
        """Return the state after a tick by compiled code; None if that does not take it."""
        done = compiled.tick(state.belief, state.past, action, observation)
        if done is None:
            return None
        belief, past, squared, kinds = done
        nis, events, silent = state.nis, state.events, state.silent
        if squared == squared:  # else nothing was seen
            nis = _running_mean(float(nis), squared)
        if nis > self.parts.monitor.nis:
            return None
        if kinds:
            events = events + _UNUSUAL[kinds]
        if kinds & 4 or any(silent.tolist()):
            missing = np.isnan(observation)
            # Once more without what ends a gap: its forecast stands in then.
            without = np.where(silent > 0, np.nan, observation)
            again = compiled.tick(state.belief, state.past, action, without)
            if again is None:
                return None
            errors = (past[_NEWEST] - again[1][_NEWEST])[self._at_observation]
            earlier = past[_EARLIER][self._at_observation]
            earlier[:] = mended(earlier, errors, silent)
            silent = silent_after(silent, missing)
        age, calm = int(state.age) + 1, int(state.calm) + 1
        return RFFPSRState(belief, past, age, calm, nis, silent, events)

    def forecast(self, state: RFFPSRState, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), given the next H actions."""
        if self.parts.head is None and self._compiled is not None:
            return self._compiled.roll_out(state.belief, state.past, actions)
        plans = self.parts.action_scaling.apply(actions)
        single = state.belief.ndim == 1
        if single and (plans.ndim == 3 or self.parts.head is not None):
            state = _batched(state, len(plans) if plans.ndim == 3 else 1)
        if self.parts.head is None:
            forecast = self._step.roll_out(state.belief, state.past, plans)[0]
        elif plans.ndim == 3:
            forecast = self._predict_windows(self.parts.head, state, plans)
        else:
            forecast = self._predict_windows(self.parts.head, state, plans[None])[0]
        return self.parts.observation_scaling.invert(forecast)

    def jacobian(self, state: RFFPSRState, actions: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a), or (B, H, d_o, H, d_a), of the forecast.

        With a window head a forecast depends on all actions of its window, later ones too.
        """
        if self.parts.head is None:
            return self.jacobian_along(state, actions, self.forecast(state, actions))
        plans = actions.reshape(-1, *actions.shape[-2:])
        found = self._derivatives.of_windows(self._step, state.belief, state.past, plans)
        return found if actions.ndim == 3 else found[0]

    def jacobian_along(self, state: RFFPSRState, actions: Array, forecast: Array) -> Array:
        """Return what `jacobian` does, given the model's forecast of these actions."""
        if self.parts.head is not None:
            return self.jacobian(state, actions)
        plans = actions.reshape(-1, *actions.shape[-2:])
        forecasts = forecast.reshape(-1, *forecast.shape[-2:])
        found = self._derivatives.jacobian(state.belief, state.past, plans, forecasts)
        return found if actions.ndim == 3 else found[0]

    def predict_with_gradient(
        self, state: RFFPSRState, actions: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return the forecast, and the gradient (H, d_a) of its sum with weights (H, d_o)."""
        if self.parts.head is not None:
            return super().predict_with_gradient(state, actions, weights)
        forecast = self.forecast(state, actions)
        plans = actions.reshape(-1, *actions.shape[-2:])
        forecasts = forecast.reshape(-1, *forecast.shape[-2:])
        weights = np.broadcast_to(weights, forecasts.shape)
        gradient = self._derivatives.gradient(state.belief, state.past, plans, forecasts, weights)
        return forecast, gradient.reshape(actions.shape)

    def events(self, state: RFFPSRState) -> Events:
        """Return what happened to a state since its episode's start, counted by kind."""
        return Events(*np.moveaxis(state.events, -1, 0))

    def inference_model(self, compiled: bool = True) -> RFFPSRModel:
        """Return the model with features in single precision, and with compiled steps.

        Where numba is missing the steps are those of numpy. Derivatives are compiled when they are
        first asked for.
        """
        step = self._step.in_precision(np.float32)
        derivatives = ForecastDerivatives(self.parts, live=compiled)
        compiled_step = self._compile() if compiled else self._compiled
        return self._varied(_step=step, _derivatives=derivatives, _compiled=compiled_step)

    @property
    def compiled(self) -> bool:
        """Whether usual ticks and forecasts run in compiled code."""
        return self._compiled is not None

    @property
    def compiled_form(self) -> str | None:
        """Return which compiled code this model runs by; None: it has features of another kind."""
        fits = compilable(self.parts.parameters, self.parts.structure)
        return "single" if fits else None

    def packing(self) -> RFFPSRPacking | None:
        """Return how an ensemble's compiled call takes this model, if there is such code."""
        parts = self.parts
        if parts.head is not None or self.compiled_form is None:
            return None
        past = self._past, len(self._tick_scaling.mean)
        belief, rank = len(parts.parameters.initial), parts.structure.observation.size
        observed = self._step.layout.observed
        return RFFPSRPacking(packed(*self._to_be_compiled()), belief, rank, past, observed)

    def _compile(self) -> CompiledStep | None:
        """Return the compiled step, if this model has one and numba is there."""
        try:
            from rffpsr_ros.psr.runtime.compiled_step import CompiledStep
        except ImportError:
            return None
        if self.compiled_form is None:
            return None
        try:
            return CompiledStep(*self._to_be_compiled())
        except OSError:  # no room to keep what was compiled
            return None

    def _to_be_compiled(self) -> ToBeCompiled:
        scaling, parts = self._tick_scaling, self.parts
        given = scaling.mean, scaling.deviation, self._innovation_weights, self._normal
        return ToBeCompiled(parts.parameters, parts.structure, *given, self._expected)

    def _with_tick(self, past: Array, action: Array, observation: Array) -> Array:
        """Return the past with one more tick, standardised."""
        extended = np.empty_like(past)
        extended[_EARLIER] = past[_LATER]
        newest = extended[_NEWEST]
        newest[self._at_action] = action
        newest[self._at_observation] = observation
        newest -= self._tick_scaling.mean
        newest /= self._tick_scaling.deviation
        return extended

    def _watch(self, state: RFFPSRState) -> RFFPSRState:
        """Return N states after a tick, with beliefs that are out of order rebuilt from the past.

        A recording's first tick stands for all before it.
        """
        first = (state.age == 1)[:, None, None]
        state = state._replace(past=np.where(first, state.past[:, -1:], state.past))
        verdict = self.parts.monitor.verdict(state.belief, state.nis)
        # A rebuilt belief gets time to prove itself before nis counts again.
        verdict = verdict._replace(
            large_innovation=verdict.large_innovation & (state.calm >= self._past)
        )
        rebuild = verdict.any
        if not rebuild.any():
            return state
        fresh = np.where(
            (state.age >= self.parts.history.past)[:, None],
            self._belief_from_past(state),
            self.parts.parameters.initial,
        )
        counts = state.events.copy()
        counts[:, 3:] += np.stack(verdict, axis=1)
        return state._replace(
            belief=np.where(rebuild[:, None], fresh, state.belief),
            calm=np.where(rebuild, 0, state.calm),
            nis=np.where(rebuild, 1.0, state.nis),
            events=counts,
        )

    def _belief_from_past(self, state: RFFPSRState) -> Array:
        past = state.past[:, -self.parts.history.past :]
        observations, actions = past[self._at_observation], past[self._at_action]
        belief = self.parts.history(
            self._limit_observation(observations), self._limit_action(actions)
        )
        return belief

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
                belief, past = self._step.roll_out(states.belief, states.past, block, True)[1:]
                states = states._replace(belief=belief, past=past)
        return np.concatenate(blocks, axis=1)

    def _limit_observation(self, observation: Array) -> Array:
        limits = self.parts.structure.limits
        return observation if limits is None else np.clip(observation, *limits[:2])

    def _limit_action(self, action: Array) -> Array:
        limits = self.parts.structure.limits
        return action if limits is None else np.clip(action, *limits[2:])


def _batched(state: RFFPSRState, size: int = 1) -> RFFPSRState:
    return RFFPSRState(*(np.repeat(np.asarray(part)[None], size, axis=0) for part in state))


def _running_mean(nis: Any, innovation: Any) -> Any:
    return NIS_MEMORY * nis + (1 - NIS_MEMORY) * innovation
