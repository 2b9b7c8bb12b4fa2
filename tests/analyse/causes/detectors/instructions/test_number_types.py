"""Double precision and conversions: which of them a type of the source costs."""

import pytest
from made_evidence import LOOP, change_instruction, evidence_of, names

from profiler.analyse.causes.detectors.instructions import number_types


def test_a_value_that_is_converted_and_back_is_rounded_which_still_takes_instructions():
    (there_and_back,) = number_types.detect_conversions(
        evidence_of("F2I.NTZ R4, R5", "I2FP.F32.S32 R6, R4", "EXIT")
    )
    assert there_and_back.effect.resources["issue"] == 0
    assert there_and_back.effect.resources["xu"] == 1
    (one_way,) = number_types.detect_conversions(evidence_of("F2I.NTZ R4, R5", "STG.E [R8.64], R4", "EXIT"))
    assert one_way.effect.resources["issue"] > 0


def issue_of_fp64(*lines, **more):
    """Returns the part of the issue slots that single precision would save."""
    (candidate,) = number_types.detect_fp64(evidence_of(*lines, **more))
    return candidate.effect.resources["issue"]


@pytest.mark.parametrize(
    ("made", "issue", "added"),
    [
        ("LDS R4, [R2]", 1 / 3, {}),
        ("IADD3 R4, R4, 0x1, RZ", 0.0, {"fma": -0.2 / 3 / 0.1}),
        ("IMAD R4, R4, R5, R6", -1 / 3, {"alu": -2 * 2 * 0.2 / 3 / 0.1}),
    ],
)
def test_without_a_conversion_a_loaded_value_costs_none_and_a_computed_one_instructions(made, issue, added):
    """A sum takes one addition of floats, and any other integer two instructions, each two cycles of its pipe."""
    (candidate,) = number_types.detect_conversions(
        evidence_of(made, "I2F.U16 R7, R4", "FADD R8, R8, R7", busy={"issue": 0.2, "alu": 0.1, "fma": 0.1})
    )
    assert candidate.effect.resources["issue"] == pytest.approx(issue)
    assert {
        name: part for name, part in candidate.effect.resources.items() if part < 0 and name != "issue"
    } == pytest.approx(added)


def test_bytes_that_are_taken_out_of_a_loaded_word_were_loaded():
    lines = ("LDG.E R4, [R2.64]", "SHF.R.U32.HI R5, RZ, 0x10, R4", "I2F.U8 R7, R5", "FADD R8, R8, R7")
    (candidate,) = number_types.detect_conversions(evidence_of(*lines))
    assert candidate.effect.resources["issue"] == pytest.approx(1 / 4)


@pytest.mark.parametrize(("moves", "said"), [(1, ""), (2, "; without doubles, 50 % of all instructions")])
def test_where_others_are_most_of_what_goes_with_doubles_the_answer_says_how_many_go(moves, said):
    """A constant of 64 bits takes two moves, which an operand in single precision has no need of."""
    lines = ("MOV R4, 0x55555555", "MOV R5, 0x3fd55555")[:moves]
    (candidate,) = number_types.detect_fp64(evidence_of(*lines, "DADD R8, R6, R4", "EXIT"))
    assert (said or "of the time.") in candidate.sentence


ON_ONE_LINE = (
    "FMUL R6, R0, 0.63661974668502807617",
    "FFMA R9, R4, R5, -0.0013887860113754868507",
    "FMUL R7, R6, R6",
)


REDUCED = ("I2F.F64.S64 R6, R8", "DMUL R6, R6, UR4", "F2F.F32.F64 R6, R6")


def test_a_large_angle_of_single_precision_is_reduced_with_a_double_that_no_source_has():
    assert list(number_types.detect_fp64(evidence_of(*ON_ONE_LINE, *REDUCED, line=9))) == []
    assert list(
        number_types.detect_fp64(evidence_of(*ON_ONE_LINE[1:], *REDUCED, line=9))
    )  # no sine: a sum of integers
    (mixed,) = number_types.detect_fp64(evidence_of(*ON_ONE_LINE, *REDUCED, "DADD R10, R10, R12", line=9))
    assert [site.opcode for site in mixed.weights] == ["DADD"]


def test_the_polynomial_of_a_sine_in_single_precision_is_none_of_double_precision():
    """A sum of doubles takes the place of one of floats; the sine beside it stays as it is."""
    sine = (*ON_ONE_LINE, *["FFMA R7, R6, R7, R8"] * 7)
    (candidate,) = number_types.detect_fp64(evidence_of(*sine, "DADD R10, R10, R12", line=9))
    assert candidate.effect.resources["issue"] == 0


def test_single_precision_needs_as_many_multiply_adds_but_no_conversions_moves_of_constants_or_refinements():
    assert issue_of_fp64("DFMA R4, R6, R8, R4", "EXIT") == 0
    assert issue_of_fp64("F2F.F64.F32 R4, R6", "EXIT") == 0.5
    assert issue_of_fp64("MOV R9, 0x3fd80000", "DMUL R4, R6, R8", "EXIT") == pytest.approx(1 / 3)
    assert issue_of_fp64("MOV R9, 0x3fd80000", "FMUL R4, R6, R9", "DADD R2, R2, R10") == 0
    signs = ["MUFU.RSQ64H R9, R7", "ISETP.GE.U32.AND P0, PT, R8, 0x7fe00000, PT"]
    refined = [*signs, *["DFMA R8, R8, R10, R8"] * 10]
    assert issue_of_fp64(*refined, file=None) == pytest.approx(8 / 12)  # four instructions stay


@pytest.mark.parametrize(
    ("registers", "pairs", "by_registers", "waves", "warps"),
    [
        (40, 8, 6, 9.0, 8 / 6),  # as many as other limits allow
        (41, 8, 5, 9.0, 6 / 5),  # 33 registers are allocated as 40
        (40, 8, 6, 1.2, 1.2),  # the grid has no more blocks
        (32, 8, 8, 9.0, 1.0),  # registers limit nothing
    ],
)
def test_values_of_one_register_leave_places_for_more_warps(registers, pairs, by_registers, waves, warps):
    evidence = evidence_of(
        *[f"DADD R{2 * pair}, R{2 * pair}, 1" for pair in range(pairs)],
        figures={
            "registers": registers,
            "blocks_by_registers": by_registers,
            "launch__occupancy_limit_warps": 8,
            "occupancy_limit_pct": 100 * by_registers / 8,
            "waves": waves,
        },
    )
    (candidate,) = number_types.detect_fp64(evidence)
    assert candidate.effect.warps == pytest.approx(warps)
    assert ("A double takes two registers: without doubles, an SM would hold" in candidate.sentence) == (
        warps > 1
    )


def test_conversions_count_unless_they_belong_to_a_division_of_integers():
    assert names(number_types.detect_conversions, evidence_of("I2F.S8 R4, R5")) == ["type-conversions"]
    assert names(number_types.detect_conversions, evidence_of("I2F.U32.RP R4, R5")) == []


BACK = "@P0 BRA 0x0"


@pytest.mark.parametrize(
    ("lines", "advised"),
    [
        (("LDG.E.U8 R6, [R2.64]", "I2F.S8 R4, R6", "FFMA R5, R4, R7, R5", BACK), "Store the data in the type"),
        (("LDG.E R6, [R2.64]", "SHF.R.U32.HI R6, RZ, 0x8, R6", "I2F.S8 R4, R6", BACK), "Store the data in the type"),
        (("LDG.E R6, [R2.64]", "FFMA R6, R6, R8, R9", "F2I.FLOOR.NTZ R4, R6", BACK), "throughout the loop"),
        (("IADD3 R6, R6, 0x1, RZ", "I2F.S8 R4, R6", "FFMA R5, R4, R7, R5", BACK), "throughout the loop"),
        (("I2F.S8 R4, R6", "FFMA R5, R4, R7, R5", "EXIT"), "where it is stored"),
        (("F2I.NTZ R4, R6", "I2FP.F32.S32 R4, R4", "FFMA R5, R4, R7, R5", BACK), "add and subtract 12582912.0f"),
    ],
)  # fmt: skip
def test_what_a_loop_converts_is_stored_or_counted_as_what_it_computes_with_unless_rounded(lines, advised):
    (candidate,) = number_types.detect_conversions(evidence_of(*lines))
    assert advised in candidate.advice


@pytest.mark.parametrize(("factor", "named"), [("0.63661974668502807617", False), ("7", True)])
def test_conversions_inside_of_a_sine_are_none_of_the_code(factor, named):
    lines = (f"FMUL R4, R6, {factor}", "F2I.NTZ R4, R4", "I2FP.F32.S32 R5, R4", "EXIT")
    assert bool(list(number_types.detect_conversions(evidence_of(*lines)))) == named


@pytest.mark.parametrize(("term", "found"), [("-4.9348020553588867188", []), ("-4.5", ["type-conversions"])])
def test_what_sinpi_rounds_is_no_conversion_of_the_source(term, found):
    rounding = ("FADD R5, R15, R15", "FRND R0, R5", "F2I.NTZ R6, R5", "FRND.TRUNC R22, R15")
    evidence = evidence_of(*rounding, f"FFMA R20, R19, R20, {term}", line=9)
    assert names(number_types.detect_conversions, evidence) == found


@pytest.mark.parametrize(
    ("term", "found"), [("1.9251366722983220825e-08", []), ("1.5", ["type-conversions"])]
)
def test_what_a_power_converts_is_no_conversion_of_the_source(term, found):
    """It makes a float of the exponent of its base, and an exponent of the whole part of a float."""
    power = ("I2FP.F32.S32 R13, R11", f"FFMA R10, R13, {term}, R12", "FRND R14, R10", "F2I.NTZ R17, R10")
    assert names(number_types.detect_conversions, evidence_of(*power, line=9)) == found


@pytest.mark.parametrize(
    ("line", "found"), [("FRND.FLOOR R5, R28", []), ("F2I.FLOOR R5, R28", ["type-conversions"])]
)
def test_what_is_rounded_stays_a_float_unless_it_becomes_an_integer(line, found):
    assert names(number_types.detect_conversions, evidence_of(line)) == found


def test_double_precision_is_named_with_how_busy_it_keeps_its_units():
    (candidate,) = number_types.detect_fp64(evidence_of("DADD R4, R4, R6", "EXIT", busy={"fp64": 0.8}))
    assert candidate.evidence["fp64_busy_pct"] == pytest.approx(80)
    assert names(number_types.detect_fp64, evidence_of("FADD R4, R4, R6")) == []


@pytest.mark.parametrize(
    ("product", "narrowed", "found"),
    [
        ("HMMA.16816.F32 R12, R8, R10, R12", "F2FP.F16.F32.PACK_AB R8, R4, R5", []),
        ("HMMA.16816.F32 R12, R8, R10, R12", "I2F.S8 R8, R4", ["type-conversions"]),
        ("FFMA R12, R8, R10, R12", "F2FP.F16.F32.PACK_AB R8, R4, R5", ["type-conversions"]),
    ],
)
def test_results_that_tensor_cores_multiply_next_have_to_be_narrow(product, narrowed, found):
    assert names(number_types.detect_conversions, evidence_of("NOP", narrowed, product, LOOP)) == found


@pytest.mark.parametrize(
    ("conversion", "mixed"),
    [
        ("F2F.F64.F32 R2, R6", True),
        ("F2I.F64.TRUNC R6, R2", False),  # as a sine of doubles, which converts to an integer and back
        ("I2F.F64 R2, R6", False),
        ("DADD R2, R2, R6", False),
    ],
)
def test_literals_or_types_make_floats_double_where_floats_are_converted(conversion, mixed):
    (candidate,) = number_types.detect_fp64(evidence_of(conversion, "DMUL R4, R2, R8", "EXIT"))
    assert ("converted from float" in candidate.sentence) == mixed
    assert candidate.advice.startswith("If single precision is enough, find" if mixed else "Compute in float")
    assert ("literals (write 0.5f)" in candidate.advice) == mixed
    assert ("a template argument or a typedef" in candidate.advice) == mixed


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("y = 0.5 * x;", "0.5"),
        ("y = 0.5f * x + 1.;", "1."),
        ("y = x * 1e-3;", "1e-3"),
        ("y = x * M_PI / 180;", "M_PI"),
        ("y = pow(x, 3);", "pow"),
        ("y = 0.5f * x + 1e-3f * a1.e2 - M_TILE * powf(x, 2);  // not 0.5 * x", None),
        ("y = a * T(x);", None),
        (None, None),
    ],
)
def test_what_is_written_as_a_double_on_a_line_that_converts_floats_is_named(text, named):
    conversion = "F2F.F64.F32 R2, R6"
    lines = (conversion, "DMUL R4, R2, R8", "DADD R4, R4, R8", "EXIT")
    for file, text_of, is_named in (
        ("made.cu", (0, 1), named is not None),
        ("made.cu", (2,), False),  # on another line, which converts nothing
        ("/usr/include/c++/13/cmath", (0, 1), False),
    ):
        evidence = evidence_of(*lines, facts={place: {"text": text} for place in text_of}, file=file)
        change_instruction(evidence.sites[1], line=1)
        (candidate,) = number_types.detect_fp64(evidence)
        assert (
            f"find what is double here, such as `{named}` at made.cu:1: literals" in candidate.advice
        ) == is_named
        assert ("find what is double here: literals" in candidate.advice) != is_named


NARROWED = ("F2F.F32.F64 R6, R4", "STG.E [R12.64], R6")


@pytest.mark.parametrize(
    ("loaded", "results", "on_the_way"),
    [
        ("I2F.F64 R2, R9", NARROWED, True),  # as a power with an integer exponent, of which a float is stored
        ("I2F.F64 R2, R9", ("STG.E.64 [R12.64], R4",), False),
        ("I2F.F64 R2, R9", (*NARROWED, "STG.E.64 [R14.64], R4"), False),
        ("LDG.E.64 R2, [R10.64]", NARROWED, False),  # data that is double
        ("LDG.E R9, [R10.64]", NARROWED, True),
    ],
)
def test_doubles_that_are_neither_loaded_nor_stored_come_from_somewhere_in_between(loaded, results, on_the_way):  # fmt: skip
    (candidate,) = number_types.detect_fp64(evidence_of(loaded, "DMUL R4, R2, R8", *results, "EXIT"))
    assert ("The results are converted to float." in candidate.sentence) == on_the_way
    assert ("computes `pow(x, n)` in double: write `x * x`, or `powf`" in candidate.advice) == on_the_way


@pytest.mark.parametrize(
    ("made", "said"), [("F2F.F32.F64 R6, R10", False), ("LDG.E R6, [R2.64]", True), ("MOV R6, R7", True)]
)
def test_a_float_that_is_made_of_a_double_on_the_way_is_no_data_of_floats(made, said):
    """As inside erf of doubles, which takes an exponential of floats."""
    lines = (made, "MUFU.EX2 R6, R6", "F2F.F64.F32 R4, R6", "DMUL R4, R4, R8", "EXIT")
    (candidate,) = number_types.detect_fp64(evidence_of(*lines))
    assert ("Values are converted from float" in candidate.sentence) == said


@pytest.mark.parametrize(
    ("converted", "is_converted"),
    [("NOP", False), ("F2F.F64.F32 R4, R6", True), ("F2F.F32.F64 R6, R4", True), ("F2I.F64.TRUNC R6, R4", False)],
)  # fmt: skip
def test_converted_floats_are_told_apart_from_integers(converted, is_converted):
    """Where values become doubles or floats on the way, single precision may be enough for functions as well."""
    kernel = ((converted, 1), ("DMUL R4, R4, R8", 100), ("CALL.REL.NOINC 0x40", 100), ("EXIT", 100))
    evidence = evidence_of(*kernel, ("DFMA R4, R4, R8, R10", 300), ("RET.REL.NODEC R20, 0x0", 300), file=None)
    (candidate,) = number_types.detect_fp64(evidence)
    assert (candidate.evidence["float_conversions_pct"] > 0) == is_converted


@pytest.mark.parametrize(
    ("integers", "floats", "rounded", "said"),
    [
        (
            100,
            1,
            False,
            "Integers are converted to doubles for it; floats hold all of them exactly only up to 2^24.",
        ),
        (100, 101, False, "Values are converted from float for it."),
        (100, 1, True, None),  # a double that becomes an integer on the way, as where it is rounded
        (1, 0, False, None),  # of 201 instructions: a size or a count
    ],
)
def test_what_most_doubles_are_made_of_is_said(integers, floats, rounded, said):
    made = "F2I.F64.TRUNC R6, R12" if rounded else "LDG.E R6, [R2.64]"
    kernel = (
        (made, integers),
        ("I2F.F64 R4, R6", integers),
        ("LDG.E R7, [R2.64]", 1),
        ("F2F.F64.F32 R8, R7", floats),
    )
    doubles = ("DMUL R4, R4, R8", 100), ("DADD R4, R4, R8", 100), ("STG.E.64 [R2.64], R4", 100), ("EXIT", 100)
    (candidate,) = number_types.detect_fp64(evidence_of(*kernel, *doubles))
    assert (said or "double precision") in candidate.sentence
    assert ("Integers" in candidate.sentence) == (said is not None and "Integers" in said)


@pytest.mark.parametrize(("special", "said"), [(0.91, True), (0.1, False)])
def test_the_unit_that_converts_is_named_where_it_is_busier_than_that_of_doubles(special, said):
    lines = ("LDG.E R6, [R2.64]", "F2F.F64.F32 R4, R6", "DMUL R4, R4, R8", "EXIT")
    (candidate,) = number_types.detect_fp64(evidence_of(*lines, busy={"xu": special, "fp64": 0.15}))
    assert ("which keeps the special-function units busy for 91 %." in candidate.sentence) == said
    assert "Values are converted from float for it" in candidate.sentence


LOADED = ("LDG.E.64 R4, [R2.64]", "LDG.E.64 R6, [R2.64+0x8]")
WIDENED = ("F2F.F64.F32 R4, R20", "F2F.F64.F32 R6, R21")


@pytest.mark.parametrize(
    ("lines", "warns", "of_loaded"),
    [
        ((*LOADED, "DADD R8, R4, -R6"), True, True),  # sums up to two places
        ((*LOADED, "DADD R8, R4, R6"), False, False),
        ((*LOADED, "DADD R8, R4, -1"), False, False),
        ((*WIDENED, "DADD R8, R4, -R6"), False, False),  # of two floats
        ((*LOADED, "DMUL R10, R4, R12", "DFMA R8, -R6, R6, R10"), True, False),  # a/n - b*b
        ((*LOADED, "DFMA R8, R6, R6, -R4"), True, True),
        ((*LOADED, "DMUL R8, R4, R12", "DFMA R10, -R8, R6, R4"), False, False),  # what is left of a division
    ],
)
def test_floats_are_not_enough_where_nearly_equal_values_are_subtracted(lines, warns, of_loaded):
    (candidate,) = number_types.detect_fp64(evidence_of(*lines, "STG.E.64 [R2.64], R8", "EXIT"))
    for advice in (candidate.advice, candidate.in_triton):
        assert ("enough (it is not where nearly equal values are subtracted" in advice) == warns
    assert ("differences_of_loaded_doubles" in candidate.evidence) == of_loaded
