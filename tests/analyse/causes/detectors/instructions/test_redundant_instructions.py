"""What a loop computes again, and products that their sum could take in."""

import pytest
from made_evidence import LOOP, evidence_of, executing, names

from profiler.analyse.causes.detectors.instructions import redundant_instructions


def test_an_instruction_whose_inputs_do_not_change_in_a_loop_is_redundant():
    lines = [("MOV R9, RZ", 1), ("MUFU.SIN R4, R5", 100), ("FADD R6, R6, R4", 100), (LOOP, 100)]
    (candidate,) = redundant_instructions.detect_redundant_instructions(evidence_of(*lines))
    assert [site.opcode for site in candidate.weights] == ["MUFU.SIN"]
    lines[2] = ("FADD R5, R5, R4", 100)
    assert names(redundant_instructions.detect_redundant_instructions, evidence_of(*lines)) == []


@pytest.mark.parametrize(("argument", "found"), [("MOV R8, R5", True), ("MOV R8, R6", False)])
def test_a_function_that_is_called_with_what_does_not_change_is_redundant(argument, found):
    """The function stands behind the kernel, and gives in R9 what it makes of R8: no line shows its arguments."""
    turn = (argument, "CALL.REL.NOINC 0x60", "FADD R6, R6, R9", "@P0 BRA 0x10")
    lines = [("MOV R6, RZ", 1), *executing(100, *turn), "EXIT"]
    function = executing(100, "MUFU.LG2 R20, R8", "FMUL R9, R20, R20", "RET.REL.NODEC R30, 0x0")
    evidence = evidence_of(*lines, *function, line=7)
    weights = [one.weights for one in redundant_instructions.detect_redundant_instructions(evidence)]
    assert any(evidence.sites[-2] in some for some in weights) == found


BRANCH = {
    "test": "ISETP.NE.AND P5, PT, R8, RZ, PT",
    "open": "BSSY B2, 0x80",
    "branch": "@P5 BRA 0x70",
    "square": "FMUL R30, R10, R10",
    "cube": "FMUL R30, R30, R10",
    "weight": "FMNMX R11, R30, R12, !PT",
    "meet": "BSYNC B2",
    "add": "FFMA R6, R11, R7, R6",
    "end": "@P0 BRA 0x10",
}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, {"test", "branch", "square", "cube", "weight"}),
        ({"test": "ISETP.NE.AND P5, PT, R6, RZ, PT"}, {"square", "cube", "weight"}),  # turns choose anew
        ({"cube": "FMUL R30, R30, R6"}, {"square"}),  # another value in each turn
        ({"weight": "LDG.E R11, [R12.64]"}, {"square", "cube"}),
        ({"add": "FFMA R10, R30, R7, R10"}, set()),
    ],
)
def test_what_comes_of_the_same_inputs_by_several_steps_is_redundant_with_the_branch_past_it(changed, found):
    """A weight that some turns' threads compute: registers are used for it anew in each turn, and hold the same again."""
    lines = BRANCH | changed
    evidence = evidence_of(("MOV R6, RZ", 1), *executing(100, *lines.values()))
    found_here = {
        site for one in redundant_instructions.detect_redundant_instructions(evidence) for site in one.weights
    }
    assert {name for name, site in zip(lines, evidence.sites[1:], strict=True) if site in found_here} == found


@pytest.mark.parametrize(
    ("load", "found"),
    [
        ("LDC R13, c[0x0][0x240]", True),  # a parameter, which nothing changes
        ("LDC R13, c[0x3][R7]", True),
        ("LDC R13, c[0x3][R6]", False),  # another place of the table in each turn
        ("LDS R13, [R7]", False),  # others may have stored there
        ("SHFL.BFLY PT, R13, R7, 0x1, 0x1f", False),
        ("HGMMA.64x8x16.F32 R12, gdesc[UR4], RZ, !UPT", False),  # of a tile that each turn stores in shared memory
        ("HMMA.16816.F32 R12, R20, R24, RZ", True),  # of registers that nothing changes
    ],
)  # fmt: skip
def test_what_comes_of_constants_is_the_same_in_each_turn(load, found):
    turn = (load, "FADD R14, R5, R13", "MUFU.EX2 R14, R14", "FADD R6, R6, R14", LOOP)
    evidence = evidence_of(("MOV R6, RZ", 1), *executing(100, *turn))
    causes = redundant_instructions.detect_redundant_instructions(evidence)
    spared = {site.opcode for one in causes for site in one.weights}
    assert spared >= {"FADD", "MUFU.EX2"} if found else not spared


@pytest.mark.parametrize(
    ("taking_in", "behind", "found"),
    [
        ("FADD R6, R6, R14", "MOV R8, R6", {"I2FP.F32.S32", "FSETP.GEU.AND", "FADD", "FMUL"}),
        ("FFMA R6, R14, R8, R6", "MOV R8, R6", {"FSETP.GEU.AND", "FADD", "FMUL"}),
        ("FADD R6, R6, R14", "FADD R6, R6, R8", {"FSETP.GEU.AND", "FADD", "FMUL"}),
        ("@P1 FADD R6, R6, R14", "MOV R8, R6", {"FADD", "FMUL"}),
    ],
)
def test_what_serves_nothing_but_arithmetic_that_is_repeated_is_spared_with_it(taking_in, behind, found):
    turn = ("I2FP.F32.S32 R8, R5", "FSETP.GEU.AND P1, PT, R8, R9, PT", "FADD R14, R8, R13", "@!P1 FMUL R14, R14, R14", taking_in, LOOP)  # fmt: skip
    evidence = evidence_of(("MOV R6, RZ", 1), *executing(100, *turn), (behind, 1))
    causes = redundant_instructions.detect_redundant_instructions(evidence)
    spared = {site for one in causes for site in one.weights}
    assert {site.opcode for site in evidence.sites[1:5] if site in spared} == found


@pytest.mark.parametrize(
    ("convert", "back", "found"),
    [
        ("I2F.U32.RP R8, R5", "F2I.FTZ.U32.TRUNC.NTZ R9, R8", []),  # of `n / m`: no statement computes it
        ("I2FP.F32.U32 R8, R5", "FMUL R9, R6, R8", ["redundant-instructions"]),
    ],
)
def test_the_reciprocal_in_a_division_of_integers_is_not_for_the_author_to_take_out(convert, back, found):
    turn = (convert, "MUFU.RCP R8, R8", back, "IADD3 R6, R6, R9, RZ", LOOP)
    evidence = evidence_of(("MOV R6, RZ", 1), *executing(100, *turn), line=7)
    assert names(redundant_instructions.detect_redundant_instructions, evidence) == found


@pytest.mark.parametrize(
    ("product", "use", "found"),
    [
        ("DMUL R4, R6, R8", "DADD R10, R10, R4", True),
        ("HMUL2 R4, R1, R2", "HADD2 R5, R5, R4", True),
        ("FMUL R4, R1, R2", "FADD R5, |R4|, -RZ", False),  # so compilers write an absolute value
        ("FMUL R4, R1, R2", "FMUL R5, R4, R3", False),
        ("@!P0 FMUL R4, R4, 4096", "FADD R5, R4, R3", False),  # the end of `rsqrtf`
        ("HMUL2 R4, R1, R2", "HADD2.F32 R5, -RZ, R4.H0_H0", False),  # and a conversion
        ("FMUL R4, R1, R2", "HADD2 R5, R5, R4", False),
    ],
)
def test_a_product_is_fused_with_an_addition_of_its_own_kind(product, use, found):
    fused = names(redundant_instructions.detect_redundant_instructions, evidence_of(product, use))
    assert fused == ["redundant-instructions"] * found


@pytest.mark.parametrize(
    ("more", "fused"),
    [
        ((), 2),
        (("FADD R6, R4, -R7",), 0),  # the product is needed all the same
        (("FSETP.GT.AND P0, PT, R4, 4, PT",), 0),
        (("MOV R4, R9", "FADD R6, R4, -R7"), 2),  # which is another value
        (("FMUL R4, R8, R8", "STG.E [R10.64], R4"), 2),
    ],
)
def test_a_product_is_fused_with_the_addition_that_alone_uses_it(more, fused):
    lines = ("FMUL R4, R1, R2", "FADD R5, R4, R3", *more)
    found = list(redundant_instructions.detect_redundant_instructions(evidence_of(*lines)))
    assert sum(len(one.weights) for one in found) == fused


@pytest.mark.parametrize(("before", "found"), [("FADD R9, R4, -R5", 0), ("FADD R9, R6, -R5", 2)])
def test_a_product_that_the_next_turn_of_a_loop_uses_again_is_not_fused(before, found):
    """A loop of the Mandelbrot set adds the squares to test their sum, and subtracts them in its next turn."""
    turn = (before, "FMUL R4, R1, R1", "FADD R5, R4, R3", "@P0 BRA 0x10")
    evidence = evidence_of(("MOV R4, RZ", 1), *executing(9, *turn), ("EXIT", 1))
    causes = redundant_instructions.detect_redundant_instructions(evidence)
    assert sum(len(one.weights) for one in causes if "Products" in one.sentence) == found


def test_an_addition_of_two_products_takes_one_of_them_in():
    lines = ("FMUL R4, R1, R1", "FMUL R5, R2, R2", "FADD R6, R4, R5", "STG.E [R8.64], R6")
    (candidate,) = redundant_instructions.detect_redundant_instructions(evidence_of(*lines))
    assert [site.instruction.name for site in candidate.weights] == ["FMUL", "FADD"]


@pytest.mark.parametrize(("turns", "spared"), [(1.0, None), (1.01, 1 - 1 / 1.01), (8.0, 7 / 8)])
def test_what_a_loop_repeats_is_all_but_its_first_turn(turns, spared):
    entered = 100 / turns
    lines = [("MOV R9, RZ", entered), ("MUFU.SIN R4, R5", 100), ("FADD R6, R6, R4", 100), (LOOP, 100)]
    found = list(redundant_instructions.detect_redundant_instructions(evidence_of(*lines)))
    assert [one.effect.resources["xu"] for one in found] == (
        [] if spared is None else [pytest.approx(spared)]
    )


@pytest.mark.parametrize(
    ("first", "line", "sentence", "advice"),
    [
        ("MUFU.SIN R4, R5", None, "A loop computes the same value in every iteration", "Compute it once before the loop."),
        ("MUFU.SIN R4, R5", 7, "A loop computes some values that are the same in every iteration", "Compute these once before the loop."),
        ("MUFU.RCP R4, R5", 7, "A loop computes the reciprocal of a divisor anew in every iteration", "multiply by it instead of dividing."),
    ],
)  # fmt: skip
def test_of_a_line_that_computes_more_values_a_part_is_the_same_in_each_turn(first, line, sentence, advice):
    lines = [("MOV R9, RZ", 1), (first, 100), ("FFMA R6, R6, R4, R6", 100), (LOOP, 100)]
    (candidate,) = redundant_instructions.detect_redundant_instructions(evidence_of(*lines, line=line))
    assert candidate.sentence.startswith(sentence)
    assert candidate.advice.endswith(advice)


NESTED = {
    "row": "IADD3 R2, R2, 0x1, RZ",
    "begin": "MOV R3, RZ",
    "convert": "I2F R4, R3",
    "distance": "FADD R5, R4, -R9",
    "weight": "MUFU.EX2 R6, R5",
    "load": "LDG.E R7, [R10.64]",
    "add": "FFMA R8, R6, R7, R8",
    "column": "IADD3 R3, R3, 0x1, RZ",
    "inner": "@P1 BRA 0x30",
    "outer": "@P0 BRA 0x10",
}
WEIGHTS = {"convert", "distance", "weight"}


@pytest.mark.parametrize(
    ("changed", "columns", "found"),
    [
        ({}, 8, WEIGHTS),  # as of a filter of rows and columns
        ({}, 64, WEIGHTS),
        ({}, 65, set()),  # more than a thread could keep
        ({"convert": "I2F R4, R2"}, 8, set()),  # of the row
        ({"begin": "MOV R3, R2"}, 8, set()),
        ({"begin": "NOP"}, 8, set()),  # goes on counting from row to row
        ({"distance": "FADD R5, R4, -R7"}, 8, {"convert"}),  # of what the turn before has loaded
        ({"add": "FFMA R9, R6, R7, R9"}, 8, {"convert"}),  # of a sum that goes on
    ],
)
def test_what_an_inner_loop_computes_of_its_counter_is_the_same_in_each_turn_around(changed, columns, found):
    lines = NESTED | changed
    of_inner = list(lines)[2:-1]
    counted = ((line, 10 * columns if name in of_inner else 10) for name, line in lines.items())
    evidence = evidence_of(("MOV R2, RZ", 1), *counted)
    here = {
        site
        for one in redundant_instructions.detect_redundant_instructions(evidence)
        if one.sentence.startswith("An inner loop")
        for site in one.weights
    }
    assert {name for name, site in zip(lines, evidence.sites[1:], strict=True) if site in here} == found
