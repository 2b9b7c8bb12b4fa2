"""What decides about the accesses of a thread: parts of a pixel, results that warps pass on, and indices that were loaded."""

import pytest
from made_evidence import APART, TOGETHER, evidence_of, executing

from profiler.analyse.causes.detectors.global_memory import layout, narrow_accesses
from profiler.analyse.causes.evidence.addresses import base_of

BYTES = ("LDG.E.U8 R4, [R2.64]", "LDG.E.U8 R5, [R2.64+0x1]", "LDG.E.U8 R6, [R2.64+0x2]")


@pytest.mark.parametrize(
    ("loads", "sectors", "named"),
    [
        (BYTES, 3, True),  # 96 bytes of a warp's pixels
        (BYTES, 4, True),  # that start inside a sector
        (BYTES, 12, False),  # other lanes' pixels lie apart
        (BYTES[:1], 3, False),  # of each pixel, two bytes are not used
        ((BYTES[0], BYTES[2]), 3, False),
        ((BYTES[0], "LDG.E.U8 R5, [R8.64+0x1]", "LDG.E.U8 R6, [R10.64+0x2]"), 3, False),  # of other arrays
    ],
)
def test_the_bytes_of_pixels_that_are_loaded_one_by_one_could_be_loaded_at_once(loads, sectors, named):
    facts = {place: {"sectors": 100.0 * sectors, "ideal_sectors": 100.0} for place in range(len(loads))}
    found = list(narrow_accesses.detect_narrow(evidence_of(*loads, "EXIT", facts=facts)))
    assert bool(found) == named
    for candidate in found:
        assert candidate.effect.resources["lsu"] == pytest.approx(15 / 16)


@pytest.mark.parametrize(
    ("stored", "acting", "launched"),
    [
        ("STS [R8], R5", 1.0, 15 / 16),  # the sum of a warp
        ("STS [R8], R5", 0.125, 15 / 16),  # of a block of eight warps
        ("STS [R8], R5", 32.0, 0.0),  # a value of each thread
        ("STS [R8], R5", None, 0.0),
        ("ATOMS.ADD R5, [R8], R5", 32.0, 0.0),
    ],
)
def test_where_warps_pass_on_one_result_each_wider_loads_need_fewer_warps(stored, acting, launched):
    lines = ("LDG.E.U8 R4, [R2.64]", "SHFL.BFLY PT, R5, R4, 0x1, 0x1f", stored, "BAR.SYNC 0x0", "LDS R6, [R9]")  # fmt: skip
    facts = {0: {"sectors": 100.0, "ideal_sectors": 100.0}, 2: {"acting": acting, "lanes": 32.0}}
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(*lines, facts=facts))
    assert candidate.effect.resources.get("launch", 0.0) == pytest.approx(launched)


@pytest.mark.parametrize(
    ("addresses", "mended"),
    [
        (("IMAD.WIDE R8, R4, 0x4, R10",), 1),  # x[index[i]]
        (("LEA R8, P0, R4, R10, 0x2", "LEA.HI.X R9, R4, R11, RZ, 0x2, P0"), 1),
        (("IMAD.WIDE R8, R4, 0x400, R10",), 2),  # a row that was looked up
        (("IMAD.WIDE R8, R6, 0x4, R10",), 2),  # an index that was computed
    ],
)
def test_lanes_whose_elements_data_scatters_are_not_brought_together(addresses, mended):
    lines = ("LDG.E R4, [R2.64]", *addresses, "LDG.E R5, [R8.64]", "EXIT")
    apart = APART
    facts = {0: apart, len(lines) - 2: apart}
    (candidate,) = layout.detect_uncoalesced(evidence_of(*lines, facts=facts))
    assert len(candidate.weights) == mended
    assert candidate.effect.resources["l2"] == pytest.approx(7 / 16 * mended)


@pytest.mark.parametrize(
    ("passed_on", "found"),
    [
        ((), True),
        (("STS [R20], R4", "BAR.SYNC 0x0", "LDS R4, [R21]"), True),  # by another thread of the block
        (("STS [R20], R5", "BAR.SYNC 0x0", "LDS R4, [R21]"), False),  # which may have computed it
    ],
)
@pytest.mark.parametrize(("executed", "is_alone"), [(0.0, True), (2.0, True), (10.0, False)])
def test_scattered_elements_are_named_where_no_other_lanes_lie_apart(passed_on, found, executed, is_alone):
    """They waste 2,800 sectors, and another access none, a fiftieth of that, or a tenth."""
    lines = ("LDG.E R4, [R2.64]", *passed_on, "IMAD.WIDE R8, R4, 0x4, R10", "LDG.E R5, [R8.64]")
    other = {"sectors": 32 * executed, "ideal_sectors": 4 * executed}
    facts = {0: TOGETHER, len(lines) - 1: APART, len(lines): other}
    evidence = evidence_of(*lines, ("LDG.E R6, [R12.64]", executed), facts=facts)
    (candidate,) = layout.detect_uncoalesced(evidence)
    assert ("Data says where each lane goes" in candidate.advice) == (found and is_alone)
    if found:
        assert {site.position for site in candidate.weights} == {len(lines) - (1 if is_alone else 0)}
        assert ("sort or group the work by that index" in candidate.in_triton) == is_alone


@pytest.mark.parametrize("offset", ["", "+0x1"])
@pytest.mark.parametrize(
    "access", ["LDG.E.U8 R5, desc[UR4][R2.64{}]", "STG.E.U8 desc[UR4][R2.64{}], R5", "STS.U8 [R2{}], R5"]
)
def test_the_base_of_an_address_is_what_stands_before_its_offset(access, offset):
    (site,) = evidence_of(access.format(offset)).sites
    (other,) = evidence_of(access.format("+0x2")).sites
    assert base_of(site) == base_of(other)


SUMMED = ("IADD3 R8, R8, R9, RZ", "IMAD.WIDE R2, R8, 0x4, R10", "LDG.E R4, [R2.64]", "FADD R5, R5, R4")


def test_in_a_loop_wider_accesses_need_fewer_instructions():
    """A turn takes the place of four, whose values are added up as before. No sector less arrives from L2."""
    loop = (*SUMMED, "ISETP.NE.AND P0, PT, R7, RZ, PT", "@P0 BRA 0x10")
    facts = {3: {"sectors": 4_000.0, "ideal_sectors": 4_000.0}}
    evidence = evidence_of(("NOP", 1.0), *executing(1_000.0, *loop), facts=facts)
    (candidate,) = narrow_accesses.detect_narrow(evidence)
    assert candidate.effect.resources["issue"] == pytest.approx(0.75 / 6, abs=1e-3)
    assert "l2" not in candidate.effect.resources


# A row that a block of four warps normalises, and the end of it: which threads store depends on their index in the block.
ROW = {
    "thread": "S2R R0, SR_TID.X",
    "block": "S2R R1, SR_CTAID.X",
    "place": "IMAD R2, R1, 0x80, R0",
    "end": "ISETP.GE.AND P0, PT, R0, UR4, PT",
    "load": "@!P0 LDG.E.U16 R4, [R2.64]",
    "shuffle": "SHFL.BFLY PT, R5, R4, 0x1, 0x1f",
    "add": "FADD R5, R4, R5",
    "keep": "@P1 STS [R8], R5",
    "meet": "BAR.SYNC 0x0",
    "fetch": "LDS R6, [R9]",
    "divide": "FMUL R7, R4, R6",
    "store": "@!P0 STG.E.U16 [R2.64], R7",
}
ALONE = {"shuffle": "", "add": "", "keep": "", "meet": "", "fetch": "", "divide": "MOV R7, R4"}
SUM_ALONE = {"divide": "", "store": "@P1 STG.E.U16 [R10.64], R6"}


@pytest.mark.parametrize(
    ("changed", "acting", "launched", "requests"),
    [
        ({}, 32.0, 0.0, 0.75),  # from four warps to one
        (ALONE, 16.0, 0.0, 0.75),  # nothing is shared, but the row is shorter than the block
        (ALONE, 32.0, 0.875, 0.875),  # all threads store: a block may as well take more
        ({**ALONE, "end": "ISETP.GE.AND P0, PT, R2, UR4, PT"}, 16.0, 0.875, 0.875),  # the end of the array
        (SUM_ALONE, 1.0, 0.875, 0.875),  # one sum of a block, of however many elements
    ],
)
def test_wider_accesses_to_a_row_need_fewer_warps_and_as_many_blocks(changed, acting, launched, requests):
    lines = {**ROW, **changed}
    places = {name: place for place, name in enumerate([name for name, line in lines.items() if line])}
    loading = max(16.0, acting)
    facts = {
        places["load"]: {
            "sectors": 100.0 * loading / 16,
            "ideal_sectors": 200.0,
            "acting": loading,
            "lanes": 32.0,
        }
    }
    facts |= {places["keep"]: {"acting": 1.0, "lanes": 32.0}} if "keep" in places else {}
    if "store" in places:
        facts[places["store"]] = {
            "sectors": 100.0 * max(1.0, acting / 16),
            "ideal_sectors": 200.0,
            "acting": acting,
            "lanes": 32.0,
        }
    made = evidence_of(*(line for line in lines.values() if line), "EXIT", facts=facts, block=128)
    (candidate,) = narrow_accesses.detect_narrow(made)
    assert candidate.effect.resources.get("launch", 0.0) == pytest.approx(launched)
    assert candidate.effect.resources["lsu"] <= requests


def test_a_row_of_one_warp_is_no_faster_for_wider_accesses():
    lines = [
        line for line in ROW.values() if line not in (ROW["keep"], ROW["meet"], ROW["fetch"], ROW["divide"])
    ]
    lines[-1] = "@!P0 STG.E.U16 [R2.64], R5"
    whole = {"sectors": 200.0, "ideal_sectors": 200.0, "acting": 32.0, "lanes": 32.0}
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(*lines, facts={4: whole, 7: whole}, block=32))
    assert set(candidate.effect.resources.values()) == {0.0}


@pytest.mark.parametrize(("between", "spared"), [("ERRBAR", 0.0), ("MOV R10, R11", 0.75)])
def test_an_update_of_each_element_keeps_the_fence_that_orders_it(between, spared):
    lines = (
        "LDG.E R4, [R2.64]",
        "IADD3 R9, R9, 0x1, RZ",
        "MEMBAR.ALL.GPU",
        between,
        "REDG.E.ADD.F32.STRONG.GPU [R6.64], R4",
        "EXIT",
    )
    facts = {
        0: {"sectors": 400.0, "ideal_sectors": 400.0, "waits": {"long_scoreboard": 50}},
        3: {"waits": {"membar": 50}},
    }
    (candidate,) = narrow_accesses.detect_narrow(evidence_of(*lines, facts=facts))
    assert candidate.effect.waits.get("membar", 0.0) == pytest.approx(spared)
