"""Arrays are read as they were written, and memory is taken only for numbers that are there."""

import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as arrays_of

from rffpsr_ros.numerics.npy_member import array_of_npy, npy_bytes


@given(
    arrays_of.arrays(
        arrays_of.floating_dtypes(endianness="<", sizes=(32, 64)) | arrays_of.integer_dtypes(),
        arrays_of.array_shapes(min_dims=0, min_side=0),
    )
)
def test_what_is_written_is_read(array: np.ndarray) -> None:
    array = np.ascontiguousarray(array).reshape(array.shape)
    read = array_of_npy(npy_bytes(array))
    assert (read.dtype, read.shape) == (array.dtype, array.shape)
    assert read.tobytes() == array.tobytes()
    assert not read.flags.writeable


def said(shape: str, descr: str = "'<f8'", order: str = "False") -> bytes:
    """Return an array of 8 bytes whose header says something else."""
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)


def test_the_header_of_one_number_is_read() -> None:
    assert array_of_npy(said("(1,)")) == 0


@pytest.mark.parametrize(
    "content",
    [
        said("(10000000000,)"),
        said("(3, 2**60)"),
        said("(-1,)"),
        said("(True,)"),
        said("(0,)"),
        said("1"),
        said("(1L,)"),
        said("(1,)", "'|O'"),
        said("(1,)", "'<U2'"),
        said("(1,)", "[('a', '<f8')]"),
        said("(1,)", "('<f4', (2,))"),
        said("(1,)", "'<f99'"),
        said("(1,)", "{'a': 1}"),
        said("(1,)", "'<f8'", "True"),
        said("(1,)" + " " * 20000),
        said("(" * 3000 + ")" * 3000),
        said("(1,1,1,1,1,1,1,1,1,1)"),
        b"\x93NUMPY\x02\x00" + bytes(20),
        said("(1,)} \xaf")[:-8] + bytes(8),
        b"\x93NUM",
        b"",
    ],
    ids=lambda content: str(len(content)),
)
def test_what_is_no_array_of_numbers_is_refused_before_memory_is_taken(content: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"\w"):
            array_of_npy(content)
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()


def test_a_pickled_object_is_refused() -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="plain numbers"):
        array_of_npy(buffer.getvalue())
