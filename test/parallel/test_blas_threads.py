"""Holding OpenBLAS to one thread, and letting it go again."""

import numpy as np
import pytest

from rffpsr_ros.parallel.blas_threads import _thread_controls, one_blas_thread


def test_threads_are_held_to_one_and_given_back() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))
    controls = list(_thread_controls())
    if not controls:
        pytest.skip("this numpy does not use OpenBLAS")
    before = [get() for get, _ in controls]
    for _, set_threads in controls:
        set_threads(2)
    with one_blas_thread():
        assert [get() for get, _ in controls] == [1] * len(controls)
    assert [get() for get, _ in controls] == [2] * len(controls)
    for (_, set_threads), count in zip(controls, before, strict=True):
        set_threads(count)
