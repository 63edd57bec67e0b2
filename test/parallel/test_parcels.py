"""Arrays arrive in another process as they lie in memory here."""

import pickle

import numpy as np
import pytest

from rffpsr_ros.parallel.parcels import packed

MATRIX = np.arange(60.0).reshape(6, 10)


@pytest.mark.parametrize(
    "array",
    [
        MATRIX,
        MATRIX.T,
        MATRIX[:, 2:8],
        MATRIX.T[2:8],
        MATRIX[::2],
        MATRIX[1:1],
        np.arange(24.0).reshape(2, 3, 4).transpose(0, 2, 1)[:, 1:],
        np.broadcast_to(np.arange(3.0), (4, 3)),
        MATRIX > 3,
    ],
)
def test_an_array_keeps_its_layout(array: np.ndarray) -> None:
    arrived = pickle.loads(packed(("beside", array)))[1]
    assert arrived.dtype == array.dtype
    assert arrived.strides == array.strides
    assert np.array_equal(arrived, array)


@pytest.mark.parametrize("array", [MATRIX[:, :1], MATRIX[:, ::-1], MATRIX.T[1:2]])
def test_of_a_thin_or_reversed_slice_only_the_values_travel(array: np.ndarray) -> None:
    parcel = packed(array)
    assert len(parcel) < 300 + 2 * array.nbytes
    assert np.array_equal(pickle.loads(parcel), array)


def test_what_is_no_array_travels_too() -> None:
    value = {"a": [1, None], "objects": np.array([None, "x"], dtype=object)[::2]}
    arrived = pickle.loads(packed(value))
    assert arrived["a"] == value["a"]
    assert arrived["objects"].tolist() == [None]


def test_products_of_slices_have_the_same_bits_elsewhere() -> None:
    draw = np.random.default_rng(0)
    weights = draw.standard_normal((8, 440)).T[40:]
    tensor = draw.standard_normal((8, 5, 400))
    here = np.einsum("aij,jb->aib", tensor, weights, optimize=True)
    arrived = pickle.loads(packed(weights))
    assert np.einsum("aij,jb->aib", tensor, arrived, optimize=True).tobytes() == here.tobytes()
