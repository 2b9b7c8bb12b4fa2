"""Advice comes in the words of the language that a kernel is written in; which causes are named does not depend on it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from profiler.analyse.causes.diagnose import diagnose
from profiler.analyse.causes.wording import IN_TRITON
from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.causes import BY_NAME

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "data" / "causes"))
import track_record

OF_CUDA = ("__", "#pragma", "float4", "threadIdx", "cp.async")


@pytest.fixture(scope="module")
def runs():
    names = {
        "softmax_apart",
        "norm_one_warp",
        "matmul_one_stage",
        "options_literals",
        "add_transposed",
        "tile_square",
    }
    return track_record.open_kernels(names)


def advice(runs, name):
    run = runs[name]
    return {one.cause: one.try_ for one in diagnose(profile_kernel(run, track_record.kernel_of(run))).causes}


@pytest.mark.parametrize("name", ["softmax_apart", "norm_one_warp", "matmul_one_stage"])
def test_a_kernel_of_triton_is_advised_in_words_of_triton(runs, name):
    found = advice(runs, name)
    assert found
    assert {cause: text for cause, text in found.items() if cause in IN_TRITON} == {
        cause: IN_TRITON[cause] for cause in found if cause in IN_TRITON
    }
    assert not any(word in text for text in found.values() for word in OF_CUDA)


@pytest.mark.parametrize("name", ["options_literals", "add_transposed", "tile_square"])
def test_kernels_of_numba_cupy_and_cuda_are_not(runs, name):
    found = advice(runs, name)
    assert found
    assert not set(found.values()) & set(IN_TRITON.values())


def test_no_remedy_in_words_of_cuda_is_left_without_one_in_words_of_triton():
    left = [one.name for one in BY_NAME.values() if any(word in one.remedy for word in OF_CUDA)]
    assert "spelled-out-instructions" in left
    assert set(left) <= {*IN_TRITON, "redundant-shared-accesses"}, "its advice is without the word"


def test_each_text_is_of_a_cause():
    assert set(IN_TRITON) <= set(BY_NAME)
    assert not any(word in text for text in IN_TRITON.values() for word in OF_CUDA)
