"""States of cuRAND that skip ahead to the sequence of each thread, and loops that only draw numbers."""

from dataclasses import replace

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.global_memory.random_sequences import detect_skipping_ahead
from profiler.analyse.causes.detectors.global_memory.redundant_loads import detect_redundant_loads

HEADER = "/usr/local/cuda/targets/x86_64-linux/include/curand_kernel.h"
LINES = (
    ("IMAD.WIDE R10, R1, 0x4, R8", 100.0),
    ("LDG.E R24, [R10.64]", 6400.0),
    ("LOP3.LUT R4, R24, R4, RZ, 0x3c, !PT", 6400.0),
    ("IADD3 R10, P1, R10, 0x280, RZ", 6400.0),
    ("@P0 BRA 0x10", 6400.0),
    ("FADD R5, R5, R4", 3200.0),
    ("EXIT", 100.0),
)


def found(*of_header, detect=detect_skipping_ahead, header=HEADER):
    evidence = evidence_of(
        *LINES,
        facts={
            1: {"waits": {"lg_throttle": 90}, "sectors": 6400.0, "ideal_sectors": 6400.0},
            5: {"waits": {"wait": 10}},
        },
        figures={"dram_bytes_read": 32.0, "l1_hit_pct": 99.0},
    )
    for place in of_header:
        site = evidence.sites[place]
        site.instruction = replace(site.instruction, file=header)
    return list(detect(evidence))


@pytest.mark.parametrize("header", [HEADER, "C:\\CUDA\\include\\curand_kernel.h"])
def test_a_state_that_skips_ahead_by_matrices_is_better_of_another_generator(header):
    (one,) = found(1, 2, 3, 4, header=header)
    assert one.name == "redundant-global-loads"
    assert "Philox" in one.advice
    assert one.evidence["skipping_ahead_pct"] == pytest.approx(100 * 25600 / 29000)
    assert one.effect.waits["lg_throttle"] == 1.0  # all of it goes
    assert "wait" not in one.effect.waits or one.effect.waits["wait"] == 0.0
    assert found(1, 2, 3, 4, header=header, detect=detect_redundant_loads) == []


@pytest.mark.parametrize("of_header", [(), (1, 2), (1, 2, 3)])
def test_a_loop_of_the_user_that_draws_numbers_skips_nothing(of_header):
    """Its counter and its branch, or what it makes of the numbers, are lines of another file."""
    assert found(*of_header) == []
    (one,) = found(*of_header, detect=detect_redundant_loads)
    assert "let a block load a tile once" in one.advice
    assert found(1, 2, 3, 4, header="/home/me/my_kernel.h") == []
