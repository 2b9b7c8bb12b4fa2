"""Functions that the compiler spells out, and the code that belongs to them."""

import pytest
from made_evidence import evidence_of, executing

from profiler.analyse.causes.detectors.instructions import integer_overhead, special_functions


@pytest.mark.parametrize(
    "accesses", ["STS.128 [R2], R4", "LDG.E R4, [R2.64]", "BAR.SYNC.DEFER_BLOCKING 0x0", None]
)
def test_called_code_that_accesses_memory_or_waits_for_others_is_no_slow_path_of_a_function(accesses):
    """A kernel of cuBLAS calls its own last steps, which stand behind its EXIT."""
    lines = ["CALL.REL.NOINC 0x20", "EXIT", "FMUL R0, R0, R3", accesses or "FMUL R0, R0, R4", "RET.REL.NODEC R20, 0x0"]  # fmt: skip
    found = list(special_functions.detect_special_functions(evidence_of(*lines, file=None)))
    assert bool(found) == (accesses is None)


def test_a_function_behind_the_end_that_divides_64_bit_integers_is_no_slow_path_of_a_float_function():
    lines = ["CALL.REL.NOINC 0x40", "CALL.REL.NOINC 0x90", "LDG.E R4, [R2.64]", "EXIT",
             "I2F.U64.RP R8, R4", "MUFU.RCP R8, R8", "F2I.U64.TRUNC R4, R8", "IMAD.WIDE.U32 R6, R4, R6, RZ", "RET.REL.NODEC R20, 0x0",
             "MUFU.RSQ R0, R3", "FMUL R0, R0, R3", "RET.REL.NODEC R20, 0x0"]  # fmt: skip
    (dividing,) = integer_overhead.detect_integer_overhead(evidence_of(*lines, file=None))
    assert [site.position for site in dividing.weights] == [4, 5, 6, 7, 8]
    (special,) = special_functions.detect_special_functions(evidence_of(*lines, file=None))
    assert [site.position for site, weight in special.weights.items() if weight] == [9, 10, 11]


def test_without_lines_a_function_takes_the_arithmetic_near_it_alone():
    far = ["FFMA R20, R21, R22, R20"] * 100
    evaluating = ["FFMA R2, R1, 1.4426950216293334961, -R3", "FFMA R2, R1, 1.925963033500011079e-08, R2", *["FFMA R2, R1, R3, R2"] * 7, "MUFU.EX2 R2, R2"]  # fmt: skip
    (candidate,) = special_functions.detect_special_functions(evidence_of(*far, *evaluating, *far, file=None))
    assert candidate.evidence["special_pct"] < 20
    (candidate,) = special_functions.detect_special_functions(evidence_of(*evaluating, file=None))
    assert candidate.evidence["special_pct"] == 100


def test_conversions_of_doubles_are_no_part_of_the_time_that_functions_keep_their_units_busy():
    evaluating = ["FFMA R2, R1, 1.4426950216293334961, -R3", "FFMA R2, R1, 1.925963033500011079e-08, R2", *["FFMA R2, R1, R3, R2"] * 7, "MUFU.EX2 R2, R2"]  # fmt: skip
    converting = ["F2F.F64.F32 R4, R6", "F2F.F32.F64 R6, R4"] * 2
    evidence = evidence_of(*evaluating, *["MOV R9, R8"] * 20, *converting, file=None, busy={"xu": 0.5})
    (candidate,) = special_functions.detect_special_functions(evidence)
    assert candidate.evidence["special_busy_pct"] == pytest.approx(10)  # one of five
    assert "busy for 10 % of the time" in candidate.sentence


LIMITED = {"registers": 40, "blocks_by_registers": 1, "launch__occupancy_limit_warps": 2, "occupancy_limit_pct": 50, "waves": 10}  # fmt: skip


@pytest.mark.parametrize(
    ("registers", "by_warps", "waiting", "warps"),
    [
        (8, 2, 50, 2),  # 32 registers are left for each of 1,024 threads, so that two blocks fit
        (6, 2, 50, 1),  # 34
        (8, 1, 50, 1),  # another limit holds
        (8, 2, 1, 1),  # where the function takes 1 % of the time, it stays
    ],
)
def test_warps_fit_where_called_functions_had_registers_of_their_own(registers, by_warps, waiting, warps):
    body = [f"DFMA R{register}, R2, R2, R2" for register in range(32, 32 + registers, 2)]
    lines = ["LDG.E.64 R2, [R2.64]", ("CALL.REL.NOINC 0x30", waiting), "EXIT", *executing(waiting, *body)]
    facts = {0: {"waits": {"long_scoreboard": 99}}, 3: {"waits": {"wait": waiting}}}
    figures = LIMITED | {"launch__occupancy_limit_warps": by_warps}
    evidence = evidence_of(*lines, ("RET.REL.NODEC R2, 0x0", waiting), file=None, block=1024, figures=figures, facts=facts)  # fmt: skip
    (found,) = special_functions.detect_special_functions(evidence)
    assert found.effect.warps == warps
    assert ("registers of their own" in found.sentence) == (warps > 1)


@pytest.mark.parametrize(
    ("constant", "found"),
    [
        ("-0.0013887860113754868507", True),  # the cosine of an angle of which the line before takes the sine
        ("-0.0014", False),
        ("0.2", False),
        ("-4.9348020553588867188", True),  # cospif
    ],
)
def test_a_function_that_has_no_other_mark_is_known_by_its_polynomial(constant, found):
    evidence = evidence_of(*["FMUL R4, R4, R4"] * 7, f"FFMA R5, R4, R5, {constant}", line=9)
    found_ones = list(special_functions.detect_special_functions(evidence))
    assert [one.effect.resources["issue"] for one in found_ones] == ([0.5] if found else [])


@pytest.mark.parametrize(("bound", "found"), [("|R7|", True), ("|R7|.reuse", True), ("R7", False)])
def test_a_remainder_of_floats_is_known_by_its_test_of_the_quotient(bound, found):
    """A logarithm multiplies a tiny argument by the same number, and has marks of its own."""
    lines = (f"FMUL R5, {bound}, 8388608", *["FFMA R4, R4, R5, R6"] * 7)
    assert bool(list(special_functions.detect_special_functions(evidence_of(*lines, file=None)))) == found


@pytest.mark.parametrize(("low_part", "spared"), [(False, []), (True, [1 - 9 / 69])])
def test_the_three_multiplications_by_which_a_power_takes_its_logarithm_are_one_function(low_part, spared):
    """Without the low part of log2(e), they are three exponentials in their fast forms."""
    logarithm = ["FFMA R1, R2, 1.4426950216293334961, R1"] * 3
    rest = ["FFMA R1, R2, 1.9251366722983220825e-08, R1"] if low_part else ["FFMA R1, R2, R3, R1"]
    exponential = ["FFMA R1, R2, R1, 0.69314718246459960938", *["FFMA R3, R1, R3, R3"] * 63]
    exponential.append("FFMA R1, R2, R4, 0.0013391353422775864601" if low_part else exponential[-1])
    found = special_functions.detect_special_functions(evidence_of(*logarithm, *rest, *exponential, line=7))
    assert [one.effect.resources["issue"] for one in found] == pytest.approx(spared)


TESTED_ROOT = (
    "MUFU.RSQ R2, R21",
    "IADD3 R0, R21, {}, RZ",
    "ISETP.GT.U32.AND P0, PT, R0, 0x727fffff, PT",
    "@!P0 BRA 0x310",
    "FMUL.FTZ R0, R21, R2",
    "FMUL.FTZ R2, R2, 0.5",
    "FFMA R17, -R0, R0, R21",
    "FFMA R0, R17, R2, R0",
    "BSSY B1, 0x360",
    "BSYNC B1",
)


@pytest.mark.parametrize(("added", "is_root"), [("-0xd000000", True), ("-0xc000000", False)])
@pytest.mark.parametrize("more", [0, 30])
def test_a_precise_root_is_known_by_its_test_and_takes_ten_instructions_of_its_line(added, is_root, more):
    """An approximate root takes four at most, so that six of ten go, however much else the line does."""
    evidence = evidence_of(
        *(line.format(added) for line in TESTED_ROOT), *["FFMA R3, R4, R3, R3"] * more, line=7
    )
    found = [one.effect.resources["issue"] for one in special_functions.detect_special_functions(evidence)]
    assert found == ([pytest.approx(6 / (10 + more))] if is_root else [])


@pytest.mark.parametrize(
    ("arithmetic", "of_doubles"), [("DFMA R4, R4, R6, R8", True), ("FFMA R4, R4, R6, R8", False)]
)
def test_called_functions_of_doubles_have_no_fast_forms(arithmetic, of_doubles):
    """As `pow` has none; only products save its instructions."""
    lines = ["CALL.REL.NOINC 0x30", "LDG.E R4, [R2.64]", "EXIT", *[arithmetic] * 20, "RET.REL.NODEC R20, 0x0"]
    (found,) = special_functions.detect_special_functions(evidence_of(*lines, file=None))
    assert ("write powers with a small whole exponent as products" in found.advice) == of_doubles
    assert ("`__expf`" in found.advice) != of_doubles
    assert ("most of them of doubles" in found.sentence) == of_doubles
    assert (
        "functions, by polynomials." in found.sentence
    ) != of_doubles  # without the special-function units


@pytest.mark.parametrize(
    ("file", "says_so"),
    [("/opt/python/site-packages/triton/language/random.py", True), ("/home/me/language/random.py", False)],
)
def test_who_calls_a_library_can_call_it_less_often_and_has_not_written_its_functions(file, says_so):
    cosine = [*["FMUL R4, R4, R4"] * 7, "FFMA R5, R4, R5, -0.0013887860113754868507"]
    (candidate,) = special_functions.detect_special_functions(evidence_of(*cosine, file=file, line=184))
    assert candidate.in_triton.startswith("The functions are in code of a library") == says_so
    assert (
        "`__expf`" in candidate.advice
    )  # in CUDA C++, where an option of the compiler changes that code too


# As compiled for sm_90: R13 holds the argument, and R0 the root.
ROOT = (
    "BSSY B0, 0xa0", "MUFU.RSQ R10, R13", "IADD3 R0, R13, -0xd000000, RZ", "ISETP.GT.U32.AND P1, PT, R0, 0x727fffff, PT", "@!P1 BRA 0x50",
    "FMUL.FTZ R0, R13, R10", "FMUL.FTZ R10, R10, 0.5", "FFMA R11, -R0, R0, R13", "FFMA R0, R11, R10, R0", "BSYNC B0",
)  # fmt: skip
RECIPROCAL = (
    "BSSY B0, 0x130", "IADD3 R9, R0, 0x1800000, RZ", "LOP3.LUT R9, R9, 0x7f800000, RZ, 0xc0, !PT",
    "ISETP.GT.U32.AND P0, PT, R9, 0x1ffffff, PT", "@P0 BRA 0xe0", "MUFU.RCP R9, R0", "FFMA R12, R9, R0, -1", "FADD.FTZ R12, -R12, -RZ",
    "FFMA R12, R9, R12, R9", "BSYNC B0",
)  # fmt: skip


@pytest.mark.parametrize(
    ("argument", "fast"),
    [
        ("R0", 4),  # of the root: one function
        ("R20", 4 + 5),  # of another sum, the reciprocal has a fast form of its own
    ],
)
def test_the_reciprocal_of_a_root_is_one_function_of_four_instructions(argument, fast):
    reciprocal = [line.replace("R0", argument) for line in RECIPROCAL]
    lines = executing(32.0, *ROOT, *reciprocal, "STG.E desc[UR4][R2.64], R0")
    lines = [("FFMA R20, R21, R22, R23", 0.0), *lines]
    (candidate,) = special_functions.detect_special_functions(evidence_of(*lines, "EXIT", line=9))
    assert sum(candidate.weights.values()) == pytest.approx((20 - fast) * 32)
