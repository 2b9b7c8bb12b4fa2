"""Arguments are compared with what they held, in the memory that was promised, and put back."""

import tracemalloc

import numpy as np
import pytest

from profiler.measuring.functions.arrays import KeptArguments
from profiler.measuring.functions.verify import verify

LARGE = 1 << 24


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.float32, np.complex64, np.uint8])
def test_the_last_value_of_a_large_argument_is_put_back_too(kind):
    array = np.ones(LARGE + 1, kind)
    kept = KeptArguments([array])
    array[-1] = 7
    kept.find_written()
    assert (kept.are_written, array[-1]) == (True, 1)
    array[-1] = 7
    kept.put_back()
    assert array[-1] == 1


@pytest.mark.parametrize("kind", [np.float32, np.complex64])
def test_an_argument_that_holds_nan_is_not_taken_for_a_written_one(kind):
    kept = KeptArguments([np.full(3, np.nan, kind)])
    kept.find_written()
    assert not kept.are_written


def test_comparing_takes_no_multiple_of_the_argument_s_memory():
    array = np.ones(LARGE, np.float32)
    kept = KeptArguments([array])
    tracemalloc.start()
    kept.find_written()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < array.nbytes / 2


def test_an_argument_that_was_given_another_shape_counts_as_not_put_back():
    array = np.ones(4, np.float32)
    kept = KeptArguments([[array]])
    array.resize(8, refcheck=False)
    kept.find_written()
    assert (kept.are_written, kept.left_out) == (False, array.nbytes)


def test_types_that_numpy_lacks_count_as_what_they_take_on_the_host(monkeypatch):
    """8 GB of bytes would be 32 GB of float32."""

    class Float8:
        itemsize = 1

        def __str__(self):
            return "float8_e4m3fn"

    class Narrow:
        shape, nbytes, dtype = (8,), 8, Float8()

    monkeypatch.setattr("profiler.measuring.functions.arrays.MOST_KEPT_BYTES", 31)
    assert KeptArguments([Narrow()]).left_out == 32


class OnGpu:
    """An array as CuPy has them: `get` copies it to the host."""

    def __init__(self, values):
        self.__cuda_array_interface__ = {"version": 3}
        self.values, self.shape, self.dtype, self.nbytes = values, values.shape, values.dtype, values.nbytes

    def get(self):
        return self.values.copy()


def test_an_array_of_the_gpu_is_copied_to_the_host_once():
    array = OnGpu(np.ones(LARGE, np.float32))
    tracemalloc.start()
    kept = KeptArguments([array])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    array.values[:] = 7
    kept.find_written()
    assert most < 1.5 * array.nbytes
    assert kept.left_out == array.nbytes  # its change is seen; this stand-in cannot be copied or written


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_whole_numbers_that_no_float_tells_apart_are_not_the_same(kind):
    def large(x):
        return np.full(3, 2**60, kind)

    def larger(x):
        return np.full(3, 2**60 + 1, kind)

    arguments = [np.ones(3, np.float32)]
    assert verify(large, large, arguments, seed=1, tolerance=None).ok
    assert not verify(larger, large, arguments, seed=1, tolerance=None).ok
    assert verify(larger, large, arguments, seed=1, tolerance=1e-6).ok
