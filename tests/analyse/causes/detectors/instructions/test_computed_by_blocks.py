"""What every block computes again within its own work, in a loop or outside of loops, and where only loads and addresses are the same."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.detectors.instructions.redundant_instructions import (
    detect_computed_by_all,
    detect_computed_by_blocks,
)

# Blocks along x hold points of their own in R20 and R21, and compare them with the same table: the squares of a row, less a product.
BEFORE = {"index": "S2R R1, SR_CTAID.X", "point": "IMAD R20, R1, 0x4, RZ", "own": "", "more": ""}
TURN = {
    "load": "LDG.E R8, [R4]",
    "other": "LDG.E R9, [R4+0x4]",
    "square": "FMUL R10, R8, R8",
    "sum": "FFMA R10, R9, R9, R10",
    "extra": "",
    "product": "FFMA R12, R8, R20, RZ",
    "use": "FFMA R14, R10, R12, R14",
    "next": "IADD3 R4, R4, 0x8, RZ",
    "end": "@P0 BRA {start}",
}
IN_SHARED = {"load": "LDS R8, [R30]", "other": "LDS R9, [R30+0x4]"}


def found(grid=(8, 4, 1), figures=None, sites_before=("NOP",), **changed):
    lines = executing(100.0, *sites_before)
    for part, times in ((BEFORE, 100.0), (TURN, 6400.0)):
        start = hex(16 * len(lines))
        for one in (changed.get(name, line) for name, line in part.items()):
            lines += [(line.format(start=start), times) for line in one.split("; ") if line]
    evidence = evidence_of(*lines, "EXIT", grid=grid, block=128, figures=figures, busy={"dram": 0.5})
    return list(detect_computed_by_blocks(evidence))


def names(candidates):
    return [site.instruction.name for one in candidates for site in one.weights]


def test_squares_of_a_table_are_the_same_in_every_block():
    (one,) = found()
    assert one.sentence.startswith("In a loop, the 8 blocks along x compute the same values: 25 %")
    assert sorted(names([one])) == ["FFMA", "FMUL"]
    assert one.effect.resources["fma"] == pytest.approx(2 / 4 * 7 / 8, abs=0.002)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("", ["all 8 x 4 blocks"] * 2),
        ("IMAD R4, R2, 0x100, R4", ["the 8 blocks along x"]),
    ],  # each row of blocks has a table
)
def test_what_is_the_same_along_both_axes_is_said_of_all_blocks(more, said):
    """Each block has points of its own, by both parts of its index."""
    own = {"index": "S2R R1, SR_CTAID.X; S2R R2, SR_CTAID.Y", "point": "IMAD R20, R1, 0x4, R2"}
    assert [
        one.sentence[len("In a loop, ") :].partition(" compute")[0] for one in found(**own, more=more)
    ] == said


@pytest.mark.parametrize(
    ("row", "alike"),
    [("S2R R4, SR_TID.X", False), ("S2R R4, SR_CTAID.Y", True), ("MOV R4, c[0x0][0x210]", True)],
)
def test_what_all_threads_of_a_block_compute_alike_they_can_share_out(row, alike):
    one = found(more=row)[0]
    assert (
        one.advice.startswith("All threads of a block compute them alike: let each compute a part") == alike
    )
    assert one.advice.endswith("or let a block take more of what needs them.")
    assert "alike" not in one.in_triton  # where nobody stores in shared memory


@pytest.mark.parametrize(("grid", "said"), [((8, 4, 1), "the 8 blocks along x"), ((8, 1, 1), "all 8 blocks")])
def test_an_axis_is_named_where_the_grid_has_another_one(grid, said):
    assert found(grid=grid)[0].sentence.startswith(f"In a loop, {said} compute the same values")


def test_a_load_stays_for_each_result():
    """The two values of a row make room for one, which the second load would be; the first one is needed for the product."""
    (one,) = found()
    assert one.effect.resources["lsu"] == 0.0
    (one,) = found(product="FFMA R12, R22, R20, RZ")
    assert one.effect.resources["lsu"] == pytest.approx(1 / 2 * 7 / 8)


def test_where_nothing_is_loaded_the_last_instruction_becomes_the_load():
    (one,) = found(load="NOP", other="NOP")
    assert one.effect.resources["fma"] == pytest.approx(1 / 4 * 7 / 8, abs=0.002)


@pytest.mark.parametrize(
    "changed",
    [
        {**IN_SHARED, "more": "STS [R31], R3; STS [R31+0x4], R3"},  # the table lies in shared memory
        {**IN_SHARED, "more": "LDGSTS.E.64 [R31], [R4]; LDGSTS.E.64 [R31+0x4], [R6]"},
        # Beside what blocks hold of their own: 128 threads store 512 bytes of it.
        {
            "own": "STS [R31], R20",
            "more": "STS [R31+0x200], R3; STS [R31+0x204], R3",
            "load": "LDS R8, [R30+0x200]",
            "other": "LDS R9, [R30+0x204]",
        },
    ],
)
def test_the_table_may_lie_in_shared_memory(changed):
    assert sorted(set(names(found(**changed)))) == ["FFMA", "FMUL"]


@pytest.mark.parametrize(
    "changed",
    [
        {**IN_SHARED, "more": "STS [R31], R20; STS [R31+0x4], R20"},  # each block has a table of its own
        {**IN_SHARED, "own": "STS [R32], R20", "more": "STS [R31], R3; STS [R31+0x4], R3"},  # or may have
        {
            "own": "STS [R31], R20",
            "more": "STS [R31+0x1fc], R3; STS [R31+0x200], R3",  # within the 512 bytes
            "load": "LDS R8, [R30+0x1fc]",
            "other": "LDS R9, [R30+0x1fc]",
        },
        {  # Which array the load is of, no store says.
            "own": "STS [R31], R20",
            "more": "STS [R31+0x200], R3",
            "load": "LDS R8, [R30+0x300]",
            "other": "LDS R9, [R30+0x304]",
        },
        {**IN_SHARED, "more": "UTMALDG.2D [UR8], [UR4]", "index": "S2UR UR8, SR_CTAID.X"},
        {"load": "LDG.E.STRONG.GPU R8, [R4]", "other": "LDG.E.STRONG.GPU R9, [R4]"},  # others may change it
        {"grid": (1, 4, 1)},
        {"index": "S2R R1, SR_CTAID.Y", "grid": (8, 1, 1)},  # the whole loop is the same along x
        {"point": "IMAD R4, R1, 0x4, RZ"},  # each block has its own rows
        {"square": "FMUL R10, R8, R20"},
        {"square": "HADD2.F32 R10, -RZ, R8.H0_H0", "sum": "NOP"},  # a conversion, which keeps the table short
        {"square": "IADD3 R10, R8, R9, RZ", "sum": "NOP"},  # an address, it may be
        {"square": "I2F.U32.RP R10, UR4", "sum": "MUFU.RCP R10, R10"},  # divides integers
    ],
)
def test_loads_and_addresses_alone_are_no_repetition(changed):
    assert found(**changed) == []


def test_what_a_branch_of_the_block_passes_by_is_its_own_work():
    branch = "ISETP.GT.AND P2, PT, R20, R3, PT; @P2 BRA {end}"
    assert found(other="LDG.E R9, [R4+0x4]; " + branch.format(end="0xd0")) == []


# Two numbers of four bits in each word, of which blocks along x make sums with factors of their own.
PACKED = {
    "other": "NOP",
    "square": "LOP3.LUT R9, R8, 0xf, RZ, 0xc0, !PT; SHF.R.U32.HI R10, RZ, 0x4, R8",
    "sum": "I2FP.F32.U32 R9, R9; I2FP.F32.U32 R10, R10",
    "product": "FFMA R12, R9, R20, RZ",
}


@pytest.mark.parametrize(("waves", "goes"), [(4.0, 1 / 2), (100.0, 7 / 8), (2.0, 0.0)])
def test_numbers_are_unpacked_once_for_several_blocks(waves, goes):
    """Unpacked, they are twice as long to load; so a block may unpack them for others, as long as the GPU stays filled twice."""
    before, within = found(figures={"waves": waves}, **PACKED)
    assert "ompute them once into a table, in a kernel before" in before.advice
    assert within.advice.startswith("Let a block take more of what needs them")
    assert sorted(set(names([within]))) == ["I2FP", "LDG", "LOP3", "SHF"]
    assert within.effect.resources["alu"] == pytest.approx(goes * 4 / 5, abs=0.01)


@pytest.mark.parametrize(
    ("changed", "ways"),
    [
        ({"square": "LOP3.LUT R10, R8, 0xf, RZ, 0xc0, !PT", "sum": "I2FP.F32.U32 R10, R10"}, 1),  # as long
        ({"square": "NOP", "sum": "I2FP.F32.U32 R9, R8; I2FP.F32.U32 R10, R8"}, 0),  # nothing is packed
        ({"square": "MOV R9, R3; MOV R10, R3"}, 0),  # no loaded data
        ({"load": "IMAD R8, R20, 0x3, RZ"}, 0),  # each block's own
    ],
)
def test_only_what_is_unpacked_alike_is_unpacked_for_several(changed, ways):
    assert len(found(figures={"waves": 100.0}, **(PACKED | changed))) == ways


# A temperature of each thread, of which all blocks along y make the same logarithm, for a rate of their own.
RATE = {
    "index": "S2R R1, SR_CTAID.Y",
    "thread": "S2R R4, SR_TID.X",
    "load": "LDG.E R8, [R4]",
    "logarithm": "MUFU.LG2 R9, R8",
    "in_base": "FMUL R10, R9, 0.69314718246459960938",
    "rate": "FFMA R12, R10, R1, R4",
    "store": "STG.E [R6], R12",
}


def rates(**changed):
    return evidence_of(*(changed.get(name, line) for name, line in RATE.items()), "EXIT", grid=(8, 100, 1))


def along_y(**changed):
    candidates = detect_computed_by_blocks(rates(**changed))
    return [one for one in candidates if "blocks along y" in one.sentence]


def test_a_logarithm_of_what_all_blocks_along_y_load_is_computed_once():
    """The load of the temperature becomes one of the result."""
    (one,) = along_y()
    assert one.sentence.startswith("The 100 blocks along y compute the same values: 25 %")
    assert names([one]) == ["MUFU", "FMUL"]
    assert one.effect.resources["issue"] == pytest.approx(2 / 8 * 0.99)


@pytest.mark.parametrize(("temperature", "by_all"), [("S2R R4, SR_TID.X", False), ("MOV R4, R2", True)])
def test_a_logarithm_that_all_threads_make_is_one_for_the_host_alone(temperature, by_all):
    """Its temperature stands at one place, or at a place of each thread."""
    assert bool(list(detect_computed_by_all(rates(thread=temperature)))) == by_all
    assert bool(along_y(thread=temperature)) != by_all


@pytest.mark.parametrize(
    "changed",
    [
        {"index": "S2R R1, SR_CTAID.X"},  # then all of the work is the same along y
        {"load": "IMAD R8, R1, 0x4, RZ"},  # a value of the block's own
        {"logarithm": "NOP", "in_base": "IADD3 R10, R8, 0x10, RZ"},  # an address, it may be
    ],
)
def test_what_is_a_block_s_own_is_no_repetition(changed):
    assert along_y(**changed) == []


CALL = "CALL.REL.NOINC 0xb0"  # a function behind the kernel, which gives in R9 what it makes of R8
FUNCTION = ("MUFU.LG2 R20, R8", "MUFU.EX2 R9, R20", "RET.REL.NODEC R30, 0x0")


@pytest.mark.parametrize(
    ("again", "argument", "goes"),
    [
        ("NOP", "NOP", 1.0),
        (CALL, "NOP", 1.0),
        (CALL, "MOV R8, R1", 0.5),  # once of a value that all blocks along y have, and once of the block's own
    ],
)  # fmt: skip
def test_a_function_goes_with_the_calls_that_all_blocks_make_alike(again, argument, goes):
    """No line shows the arguments of a function such as `pow`: they are followed to where it is called."""
    lines = RATE | {"logarithm": CALL, "store": f"STG.E [R6], R12; {argument}; {again}; STG.E [R6], R9"}
    kernel = [line for text in lines.values() for line in text.split("; ")]
    times = 200.0 if again == CALL else 100.0
    evidence = evidence_of(
        *kernel, "EXIT", *executing(times, *FUNCTION), grid=(8, 100, 1), line=7, busy={"xu": 0.5}
    )
    one = next(one for one in detect_computed_by_blocks(evidence) if "blocks along y" in one.sentence)
    assert one.effect.resources["xu"] == pytest.approx(goes * 0.99)
