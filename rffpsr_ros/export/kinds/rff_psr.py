"""RFF-PSR and HSE-PSR: the filter on features, rolled out; what watches the belief included."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.errors import InputError
from rffpsr_ros.export.graph import (
    Node,
    all_of,
    at_most,
    bilinear,
    clip,
    constant,
    either,
    join,
    less,
    matmul,
    minimum,
    negation,
    product,
    reshape,
    root,
    take,
    total,
    where,
)
from rffpsr_ros.export.kinds.gaps import mended, silent_after
from rffpsr_ros.export.kinds.shared import (
    Vector,
    conditioner,
    features,
    restored,
    shortened,
    standardised,
)
from rffpsr_ros.export.program import Ahead, Description, SeenTick
from rffpsr_ros.models.rff_psr.filter_monitor import NIS_MEMORY
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import unpack
from rffpsr_ros.psr.runtime.tick_layout import arx_of_rows, layout_of


class BeliefGraphs:
    """The graphs of one model; rows of ticks are (action, observation), oldest first.

    The state is the belief, the past ticks and what the monitor counts; a forecast carries the
    belief and the ticks that it looks back at.
    """

    def __init__(self, model: RFFPSRModel) -> None:
        parts = self._parts = model.parts
        parameters, structure = parts.parameters, parts.structure
        self._parameters, self._structure = parameters, structure
        self._layout = layout = layout_of(parameters, structure)
        self._states, self._size = len(parameters.initial), structure.observation.size
        self._past = len(model.initial_state().past)
        self._reach = max(layout.arx_past, layout.narx_past)
        read = np.hstack([parameters.prediction, parameters.extended, parameters.covariance])
        self._read = read.reshape(self._states, -1, read.shape[1])
        self._arx, self._constant = arx_of_rows(parameters, layout)
        self._ticks = Scaling(
            *(
                np.concatenate(pair)
                for pair in zip(parts.action_scaling, parts.observation_scaling, strict=True)
            )
        )
        limits = structure.limits
        nothing = np.full(layout.acted, np.inf), np.full(layout.observed, np.inf)
        self._action_box = (-nothing[0], nothing[0]) if limits is None else limits[2:]
        self._observation_box = (-nothing[1], nothing[1]) if limits is None else limits[:2]
        self.state = Vector(
            {
                "belief": self._states,
                "past": self._past * layout.columns,
                "age": 1,
                "calm": 1,
                "nis": 1,
                "silent": layout.observed,
            }
        )
        initial = model.initial_state()
        self.initial = np.concatenate(
            [initial.belief, initial.past.ravel(), [0.0, 0.0, 1.0], initial.silent]
        )

    def update(self, state: Node, tick: SeenTick) -> Node:
        """Return the state after a tick; what was expected stands in for what is missing."""
        layout, parts = self._layout, self._parts
        belief, past = (self.state.part(state, name) for name in ("belief", "past"))
        newest = standardised(self._ticks, join([tick.action, tick.observation]))
        acted, seen = newest[: layout.acted], newest[layout.acted :]
        row = join([past[(self._past - self._reach) * layout.columns :], acted])
        action = features(self._structure.action, clip(acted, *self._action_box))
        read = bilinear(self._read, belief, action)
        expected = self._expected(read, row)
        observation = where(tick.missing, expected, seen)
        found = features(self._structure.observation, clip(observation, *self._observation_box))
        nothing = all_of(tick.missing)
        if parts.stand_in == "features":
            usual = parts.expected.reshape(self._states, -1, self._size)
            found = where(nothing, bilinear(usual, belief, action), found)
        following = self._conditioned(read, found)
        errors = where(tick.missing, constant(np.zeros(layout.observed)), seen - expected)
        nis = self._running_mean(self.state.number(state, "nis"), errors, tick.missing)
        silent = self.state.part(state, "silent")
        earlier = mended(past[layout.columns :], errors, silent, layout.columns, layout.acted)
        after = join([earlier, acted, observation])
        return self._watched(state, following, after, nis, silent_after(silent, tick))

    def begin(self, state: Node) -> Node:
        """Return the belief, and the ticks that terms look back at."""
        past = self.state.part(state, "past")
        looked_at = past[(self._past - self._reach) * self._layout.columns :]
        return join([self.state.part(state, "belief"), looked_at])

    def step(self, carry: Node, action: Node) -> Ahead:
        """Return a tick's expected observation, which is taken for seen."""
        belief, row = carry[: self._states], carry[self._states :]
        acted = standardised(self._parts.action_scaling, action)
        seen_action = features(self._structure.action, clip(acted, *self._action_box))
        read = bilinear(self._read, belief, seen_action)
        expected = self._expected(read, join([row, acted]))
        seen = features(self._structure.observation, clip(expected, *self._observation_box))
        after = join([row, acted, expected])[self._layout.columns :] if self._reach else None
        following = self._conditioned(read, seen)
        carried = following if after is None else join([following, after])
        return Ahead(carried, restored(self._parts.observation_scaling, expected))

    def _expected(self, read: Node, row: Node) -> Node:
        """Return expected observations (d_o,), standard, from a row that ends with an action."""
        layout, structure = self._layout, self._structure
        expected = read[: layout.observed] + constant(self._constant)
        if len(self._arx):
            expected = expected + product(self._arx.T, row[row.size - len(self._arx) :])
        if structure.narx is not None and len(self._parameters.narx):
            span = layout.narx_past * layout.columns + layout.acted
            window = take(row, row.size - span + layout.window(layout.narx_past))
            low, high = (
                np.concatenate(
                    [np.tile(seen, layout.narx_past), np.tile(own, layout.narx_past + 1)]
                )
                for seen, own in zip(self._observation_box, self._action_box, strict=True)
            )
            weighted = structure.narx.weighted(self._parameters.narx)
            expected = expected + features(weighted, clip(window, low, high))
        bounds = structure.bounds
        return expected if bounds is None else clip(expected, *bounds)

    def _conditioned(self, read: Node, seen: Node) -> Node:
        size, observed = self._size, self._layout.observed
        stop = observed + self._states * size
        covariance = take(read, stop + unpack(np.arange(read.size - stop)[None], size), size, size)
        extended = reshape(read[observed:stop], self._states, size)
        conditioning = self._structure.conditioning
        found = conditioner(covariance, seen, conditioning.regularisation)
        return shortened(matmul(extended, found), conditioning.cap)

    def _running_mean(self, nis: Node, errors: Node, missing: Node) -> Node:
        """Return the running mean of squared innovations, unchanged where nothing was seen."""
        scaled = errors / constant(
            np.broadcast_to(self._parts.monitor.innovation_scale, errors.shape)
        )
        count = total(negation(missing))
        mean = total(scaled * scaled) / where(less(count, 0.5), constant(1.0), count)
        moved = nis * NIS_MEMORY + mean * (1 - NIS_MEMORY)
        return where(less(count, 0.5), nis, moved)

    def _watched(self, state: Node, belief: Node, past: Node, nis: Node, silent: Node) -> Node:
        """Return the state, its belief found anew from the past if it is out of order."""
        monitor, history = self._parts.monitor, self._parts.history
        most = float(max(history.past, self._past)) + 1
        age = minimum(self.state.number(state, "age") + 1.0, most)
        calm = minimum(self.state.number(state, "calm") + 1.0, most)
        columns = self._layout.columns
        tick = np.arange(past.size - columns, past.size)
        past = where(less(age, 1.5), take(past, np.tile(tick, self._past)), past)
        norm = root(total(belief * belief))
        blown = negation(at_most(norm, _finite(monitor.longest)))
        collapsed = less(norm, monitor.shortest)
        lost = less(constant(_finite(monitor.nis)), nis)
        lost = lost * at_most(constant(float(self._past)), calm)
        again = either(either(blown, collapsed), lost)
        whole = at_most(constant(float(history.past)), age)
        fresh = where(whole, self._from_past(past), constant(self._parameters.initial))
        return self.state.after(
            belief=where(again, fresh, belief),
            past=past,
            age=reshape(age, 1),
            calm=reshape(where(again, constant(0.0), calm), 1),
            nis=reshape(where(again, constant(1.0), nis), 1),
            silent=silent,
        )

    def _from_past(self, past: Node) -> Node:
        """Return the belief that a regression on the past finds."""
        history, layout = self._parts.history, self._layout
        first = (self._past - history.past) * layout.columns
        ticks = first + layout.columns * np.arange(history.past)[:, None]
        observations = (ticks + layout.acted + np.arange(layout.observed)).ravel()
        actions = (ticks + np.arange(layout.acted)).ravel()
        seen = clip(take(past, observations), *_tiled(self._observation_box, history.past))
        acted = clip(take(past, actions), *_tiled(self._action_box, history.past))
        window = join([seen, acted])
        inputs = join([features(history.features, window), window, constant([1.0])])
        return product(history.weights, inputs)


def describe_belief(model: RFFPSRModel) -> Description:
    """Return what an RFF-PSR computes.

    Raises
    ------
    InputError
        If it forecasts whole windows at once, as in the paper's settings, or has covariances
        that are not symmetric.
    """
    if model.parts.head is not None:
        raise InputError(
            "this model forecasts whole windows at once (forecast: window), so that its forecasts"
            " depend on later actions; export one that was trained with forecast: rollout"
        )
    size = model.parts.structure.observation.size
    if model.parts.parameters.covariance.shape[1] != size * (size + 1) // 2:
        raise InputError(
            "covariances of this model are not symmetric; only symmetric ones are exported"
        )
    graphs = BeliefGraphs(model)
    return Description(graphs.initial, graphs.update, graphs.begin, graphs.step)


def _tiled(box: tuple[Array, ...], times: int) -> tuple[Array, Array]:
    low, high = (np.tile(bound, times) for bound in box)
    return low, high


def _finite(bound: float) -> float:
    """Return a bound that every language can write."""
    return min(float(bound), float(np.finfo(np.float32).max) / 4)
