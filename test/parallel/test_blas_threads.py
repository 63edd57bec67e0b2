"""Holding BLAS to one thread, and letting it go again."""

import subprocess
import sys
from collections.abc import Iterator
from threading import Thread

import pytest
import scipy.linalg  # noqa: F401 - whose library is among those to be held
from threadpoolctl import threadpool_info, threadpool_limits

from rffpsr_ros.parallel.blas_threads import one_blas_thread


def threads() -> set[int]:
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.fixture
def two_threads() -> Iterator[None]:
    with threadpool_limits(2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this numpy's BLAS has no threads to hold")
        yield


@pytest.mark.usefixtures("two_threads")
def test_threads_are_held_to_one_and_given_back() -> None:
    with one_blas_thread():
        assert threads() == {1}
    assert threads() == {2}


@pytest.mark.usefixtures("two_threads")
def test_threads_are_given_back_after_an_error() -> None:
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert threads() == {2}


@pytest.mark.usefixtures("two_threads")
def test_a_block_within_a_block_ends_without_letting_go() -> None:
    def inner() -> None:
        with one_blas_thread():
            assert threads() == {1}

    with one_blas_thread():
        inner()
        assert threads() == {1}
        other = Thread(target=inner)
        other.start()
        other.join()
        assert threads() == {1}
    assert threads() == {2}


def test_a_worker_that_has_imported_nothing_else_keeps_one_thread() -> None:
    program = (
        "from threadpoolctl import threadpool_info\n"
        "from rffpsr_ros.parallel.blas_threads import keep_one_blas_thread\n"
        "keep_one_blas_thread()\n"
        "import scipy.optimize\n"
        "counts = {one['num_threads'] for one in threadpool_info() if one['user_api'] == 'blas'}\n"
        "assert counts <= {1}, counts\n"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        env={"OPENBLAS_NUM_THREADS": "2", "PYTHONPATH": ":".join(sys.path)},
        check=True,
    )
