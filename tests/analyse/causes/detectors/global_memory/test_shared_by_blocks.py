"""Data that several blocks load, and that L2 or device memory delivers to each of them."""

import pytest
from made_evidence import LOAD, TOGETHER, evidence_of

from profiler.analyse.causes.detectors.global_memory.redundant_loads import detect_redundant_loads
from profiler.catalog.metrics import SIZE_OF_L2


@pytest.mark.parametrize(
    ("axis", "l2", "dram", "hits", "spared"),
    [
        ("Y", 0.9, 0.1, 49.0, 7 / 8),  # 64 blocks along x load the same row
        ("X", 0.9, 0.1, 49.0, 3 / 4),  # 4 blocks along y
        ("Y", 0.89, 0.1, 49.0, None),  # L2 could deliver more
        ("Y", 0.9, 0.95, 49.0, None),  # it passes on what device memory delivers
        ("Y", 0.9, 0.1, 50.0, None),  # L1 delivers half of it
        (None, 0.9, 0.1, 49.0, None),  # data says what each block loads
    ],
)
def test_blocks_that_load_the_same_are_named_where_l2_is_full(axis, l2, dram, hits, spared):
    place = f"S2R R2, SR_CTAID.{axis}" if axis else "LDG.E R2, [R8]"
    facts = {1: TOGETHER}
    evidence = evidence_of(
        place, LOAD.replace("R2.64", "R2"), "EXIT", facts=facts, busy={"l2": l2, "dram": dram}, grid=(64, 4, 1),
        figures={"dram_bytes_read": 1600.0, "l1_hit_pct": hits},
    )  # fmt: skip
    found = [
        one.effect.resources["l2"]
        for one in detect_redundant_loads(evidence)
        if "L2, which delivers" in one.sentence
    ]
    assert found == ([] if spared is None else [pytest.approx(spared)])


@pytest.mark.parametrize(
    ("axis", "delivered", "in_l2", "again"),
    [
        ("X", 12_800.0, 3_199.0, 3 / 4),  # to each of the four blocks along y
        ("X", 6_400.0, 3_199.0, 1 / 2),  # to every second one
        ("X", 3_200.0, 3_199.0, None),  # once: L2 delivers the rest
        ("X", 12_800.0, 3_200.0, None),  # L2 holds what is delivered, which must be something else
        ("Z", 6_400.0, 49.0, 3 / 4),  # 256 blocks load the same, but a change does for eight at most
        (None, 12_800.0, 49.0, None),
    ],
)
def test_data_that_device_memory_delivers_to_each_block_is_loaded_again(axis, delivered, in_l2, again):
    """A hundred warps load four bytes a thread."""
    place = f"S2R R2, SR_CTAID.{axis}" if axis else "LDG.E R2, [R8]"
    evidence = evidence_of(
        place, LOAD.replace("R2.64", "R2"), "EXIT", facts={1: TOGETHER}, grid=(64, 4, 1),
        figures={"dram_bytes_read": delivered, "dram_bytes_written": 0.0, SIZE_OF_L2: in_l2},
    )  # fmt: skip
    found = [
        one.effect.resources["dram"]
        for one in detect_redundant_loads(evidence)
        if "device memory delivers at least" in one.sentence
    ]
    assert found == ([] if again is None else [pytest.approx(again)])


STENCIL = (
    "S2R R0, SR_TID.X",
    "LDC R9, c[0x0][0x230]",
    "IMAD.WIDE R2, R0, 0x4, c[0x0][0x210]",
    "LDG.E R4, [R2.64]",
    "IMAD.WIDE R6, R9, 0x4, R2",
    "LDG.E R5, [R6.64]",
    "IMAD.WIDE R6, R9, 0x4, R6",
    "LDG.E R7, [R6.64]",
)


@pytest.mark.parametrize(
    ("delivered", "l2", "hits", "part"),
    [
        (12_800.0, 0.9, 0.0, 2 / 3),  # each of three elements for three threads
        (15_360.0, 0.9, 0.0, 3 / 5),
        (19_200.0, 0.9, 0.0, None),  # twice at most
        (9_600.0, 0.9, 0.0, None),  # four times, of which three loads are no reason
        (12_800.0, 0.89, 0.0, None),  # L2 could deliver more
        (12_800.0, 0.9, 50.0, None),  # L1 delivers half of it
    ],
)
def test_neighbours_of_a_point_are_loaded_again_by_others_where_l2_is_full(delivered, l2, hits, part):
    facts = dict.fromkeys((3, 5, 7), TOGETHER)
    evidence = evidence_of(
        *STENCIL, "EXIT", facts=facts, busy={"l2": l2, "dram": 0.1},
        figures={"dram_bytes_read": delivered, "l1_hit_pct": hits},
    )  # fmt: skip
    found = [
        one.effect.resources["l2"]
        for one in detect_redundant_loads(evidence)
        if "as far apart for all of them" in one.sentence
    ]
    assert found == ([] if part is None else [pytest.approx(part)])


@pytest.mark.parametrize(
    ("axis", "grid", "said", "in_triton"),
    [
        ("X", (64, 4, 1), "Exchange y of the grid with x", "Exchange axis 1 of the grid with axis 0"),
        ("X", (64, 1, 4), "Exchange z of the grid with x", "Exchange axis 2 of the grid with axis 0"),
        ("Y", (64, 4, 1), "Let a block take the work of several", "Let each program"),  # they run one after the other already
        ("X", (65_536, 4, 1), "Let a block take the work of several", "Let each program"),  # no other axis has so many
    ],
)  # fmt: skip
def test_blocks_that_load_the_same_are_to_run_together_where_the_grid_keeps_them_apart(axis, grid, said, in_triton):  # fmt: skip
    evidence = evidence_of(
        f"S2R R2, SR_CTAID.{axis}", LOAD.replace("R2.64", "R2"), "EXIT", facts={1: TOGETHER}, grid=grid,
        figures={"dram_bytes_read": 12_800.0, "dram_bytes_written": 0.0, SIZE_OF_L2: 1.0},
    )  # fmt: skip
    (found,) = (one for one in detect_redundant_loads(evidence) if "delivers at least" in one.sentence)
    assert found.advice.startswith(said)
    assert found.in_triton.startswith(in_triton)
