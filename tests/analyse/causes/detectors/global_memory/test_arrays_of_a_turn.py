"""Arrays in global memory that a block needs for one turn of a loop."""

import pytest
import track_record
from made_evidence import evidence_of, executing

from profiler.analyse.causes.detectors.global_memory.redundant_stores import detect_scratch
from profiler.analyse.causes.find import look_at
from profiler.analyse.recording.profile import profile_kernel


@pytest.fixture(scope="module")
def found_in():
    runs = track_record.open_kernels({"steps_by_scratch", "steps_at_once"})
    return {
        name: list(detect_scratch(look_at(profile_kernel(run, track_record.kernel_of(run)))))
        for name, run in runs.items()
    }


def test_all_products_of_a_matrix_and_a_state_go_through_global_memory_and_back(found_in):
    """Each of the 256 x 256 products of a turn is a float, and device memory moves little else."""
    (candidate,) = found_in["steps_by_scratch"]
    assert "a block stores 256 KiB in global memory" in candidate.sentence
    assert candidate.evidence["scratch_pct"] == pytest.approx(
        100 * 2 / 3, abs=1
    )  # the matrix is loaded besides
    assert candidate.effect.resources["dram"] > 0.9
    assert "keep the values in shared memory" not in candidate.advice  # which holds 227 KiB


def test_products_that_are_added_up_at_once_need_no_array(found_in):
    assert not found_in["steps_at_once"]


@pytest.mark.parametrize(("warps", "stored"), [(1, "128 bytes"), (7, "896 bytes"), (8, "1 KiB")])
def test_a_small_array_is_said_in_bytes(warps, stored):
    array = ("LDC.64 R10, c[0x0][0x210]", "S2R R0, SR_TID.X", "IMAD.WIDE R2, R0, 0x4, R10", "IMAD.WIDE R4, R0, 0x8, R10")  # fmt: skip
    turn = ("STG.E [R2.64], R6", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDG.E R7, [R4.64]", "@P0 BRA 0x40")
    lines = [*executing(4.0 * warps, *array), *executing(400.0 * warps, *turn), "EXIT"]
    (candidate,) = detect_scratch(evidence_of(*lines, grid=4, block=32 * warps))
    assert f"a block stores {stored} in global memory" in candidate.sentence
