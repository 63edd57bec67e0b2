"""The kinds that know nothing of actions, and the discrete one."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.export.graph import (
    Node,
    at_most,
    constant,
    first_of_least,
    least,
    less,
    matmul,
    maximum,
    pick,
    product,
    reshape,
    root,
    take,
    total,
    where,
)
from rffpsr_ros.export.program import Ahead, Description, SeenTick
from rffpsr_ros.models.baselines.last_observation import LastObservationModel
from rffpsr_ros.models.baselines.mean import MeanModel
from rffpsr_ros.models.io_hmm.discrete_system import FARTHEST, LEAST
from rffpsr_ros.models.io_hmm.model import IOHMMModel
from rffpsr_ros.models.io_hmm.symbols import Codebook


def describe_mean(model: MeanModel) -> Description:
    """Return what forecasts the mean; its state is a number that means nothing."""
    mean = constant(model.parts.mean)
    return Description(
        np.zeros(1),
        lambda state, tick: state,
        lambda state: state,
        lambda carry, _: Ahead(carry, mean),
    )


def describe_last_observation(model: LastObservationModel) -> Description:
    """Return what forecasts the last observation, which is the state."""
    return Description(
        model.parts.mean,
        lambda state, tick: where(tick.missing, state, tick.observation),
        lambda state: state,
        lambda carry, _: Ahead(carry, carry),
    )


def describe_io_hmm(model: IOHMMModel) -> Description:
    """Return what a discrete model computes; the state is the belief."""
    system, symbols, choices = model.parts.system, model.parts.symbols, model.parts.choices
    states, _, count = system.probability.shape
    # By action: (A, S, p), and (A, S p, p), the next belief of every symbol.
    probability = system.probability.transpose(1, 2, 0)
    extended = system.extended.transpose(1, 2, 3, 0).reshape(len(probability), -1, states)

    def chosen(action: Node) -> Node:
        return first_of_least(_apart(choices, action, constant(np.zeros(action.size))))

    def following(belief: Node, choice: Node, seen: Node) -> Node:
        by_symbol = reshape(matmul(pick(extended, choice), belief), count, states)
        found = matmul(seen, by_symbol)
        whole = total(found * constant(system.total))
        possible = less(constant(LEAST), whole)
        found = found / where(possible, whole, constant(1.0))
        near = less(root(total(found * found)), FARTHEST * float(system.size))
        return where(possible * near, found, constant(system.start))

    def update(state: Node, tick: SeenTick) -> Node:
        apart = _apart(symbols, tick.observation, tick.missing)
        return following(state, chosen(tick.action), at_most(apart, least(apart)))

    def step(carry: Node, action: Node) -> Ahead:
        choice = chosen(action)
        raw = maximum(matmul(pick(probability, choice), carry), 0.0)
        whole = total(raw)
        even = constant(np.full(count, 1 / count))
        usual = where(less(constant(LEAST), whole), raw / maximum(whole, LEAST), even)
        anything = constant(np.ones(count))
        return Ahead(following(carry, choice, anything), product(symbols.rows.T, usual))

    return Description(system.start, update, lambda state: state, step, smooth=False)


def _apart(book: Codebook, values: Node, missing: Node) -> Node:
    """Return squared distances (S,) of values (d,) from each row, without what is missing."""
    count, columns = book.rows.shape
    each = np.tile(np.arange(columns), count)
    apart = take(values, each) - constant(book.rows.ravel())
    counted = constant(1.0) - take(missing, each)
    sums = np.kron(np.eye(count), np.ones((1, columns)))
    return product(sums, apart * apart * counted)
