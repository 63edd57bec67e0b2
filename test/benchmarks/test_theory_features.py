"""Stage one of RFF-PSR converges as the theory says, and the bound's terms are the supplement's."""

import math

import numpy as np
import pytest

from benchmarks.theory import DELTA
from benchmarks.theory_features import bound_terms, measure, recordings, relative_error


def test_the_error_of_stage_one_falls_with_the_root_of_the_number_of_windows() -> None:
    found = measure([3, 10, 30], runs=1, reference=300)
    assert found["reference"] == 100 * found["windows"][0]
    for kind in ("joint", "conditional"):
        assert found["slopes"][kind]["1e-6"] == pytest.approx(-0.55, abs=0.2)
        assert found["errors"][kind]["1e-6"][-1] < 0.3
    # A fixed ridge is a bias that more data do not lessen.
    assert found["slopes"]["conditional"]["1e-2"] > -0.15
    assert [one["bound"] for one in found["bounds"]] == [None] * 3
    assert found["needed"] > 100_000
    bounds = [found["later"][n] for n in sorted(found["later"], key=int)]
    assert bounds == sorted(bounds, reverse=True)


def test_the_bounds_terms_are_those_of_the_supplement() -> None:
    smallest, largest, c_o, c_h, c_a, d_o, d_ha, n, ridge = (
        0.1,
        0.5,
        0.9,
        1.1,
        1.2,
        3,
        8,
        10**6,
        1e-4,
    )
    found = bound_terms(smallest, largest, (c_o, c_h, c_a), (d_o, d_ha), n, ridge)
    log = math.log(2 * d_ha / DELTA)
    assert found.delta_3 == pytest.approx(c_h**2 * c_a**2 * log / (smallest * n))
    assert found.delta_2 == pytest.approx(
        2 * c_o * c_h * c_a * math.sqrt(math.log((d_o + d_ha) / DELTA) / n), rel=1e-2
    )
    assert found.delta_1 == pytest.approx(2 * c_h * c_a * math.sqrt(log / n), rel=1e-2)
    left = smallest * (1 - found.delta_3) + ridge
    first = math.sqrt(largest / smallest) * (math.sqrt(smallest) * found.delta_1 + ridge) / left
    assert found.bound == pytest.approx(c_h * (first + found.delta_2 / left))
    few = bound_terms(smallest, largest, (c_o, c_h, c_a), (d_o, d_ha), 10, ridge)
    assert math.isinf(few.bound)


def test_errors_are_relative_to_what_is_true() -> None:
    true = np.ones((2, 3, 4))
    assert relative_error(1.1 * true, true) == pytest.approx(0.1)
    assert len(recordings(3, 0)) == 3
