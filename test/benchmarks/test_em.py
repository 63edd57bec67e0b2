"""Expectation maximisation climbs the likelihood, to the truth's from the truth."""

import numpy as np

from benchmarks.em import Tables, expectation_maximisation, random_tables
from benchmarks.known_systems import IOHMM


def test_every_iteration_is_likelier_and_rows_stay_distributions() -> None:
    known = IOHMM.random(0, states=3, actions=2, observations=3)
    run = known.simulate(300, 1)
    tables, likelihood = expectation_maximisation(run, random_tables(0, 4, 3, 2, 3), 15)
    assert likelihood.shape == (15, 4)
    assert (np.diff(likelihood, axis=0) > -1e-9).all()
    assert (likelihood[-1] > likelihood[0] + 0.05).all()
    for part in tables:
        np.testing.assert_allclose(part.sum(axis=-1), 1.0)


def test_likelihoods_are_those_of_the_exact_filter() -> None:
    known = IOHMM.random(2, states=3, actions=2, observations=3)
    run = known.simulate(200, 1)
    one = Tables(*(np.asarray(part)[None] for part in known))
    _, likelihood = expectation_maximisation(run, one, 1)
    seen = run.observations[:, 0].astype(int)
    chances = known.predictions(run)[np.arange(len(run)), seen]
    np.testing.assert_allclose(likelihood[0, 0], np.log(chances).mean(), rtol=1e-10)


def test_from_the_truth_it_stays_near_it() -> None:
    known = IOHMM.random(3, states=2, actions=2, observations=3)
    run = known.simulate(3000, 1)
    one = Tables(*(np.asarray(part)[None] for part in known))
    tables, _ = expectation_maximisation(run, one, 5)
    apart = np.abs(tables.model(0).predictions(run) - known.predictions(run)).sum(axis=1).mean()
    assert apart < 0.05
