"""Integer arithmetic beyond what addresses take, and the divisions that it may be."""

import pytest
from made_evidence import LOAD, LOOP, evidence_of, names

from profiler.analyse.causes.detectors.instructions import integer_overhead, number_types, special_functions
from profiler.analyse.causes.flow.arithmetic.divisions import find_dividing


@pytest.mark.parametrize(("integers", "found"), [(2, []), (3, ["integer-overhead"])])
def test_two_integer_instructions_for_each_access_are_what_an_address_takes(integers, found):
    lines = ["IADD3 R2, R2, R8, RZ"] * integers
    assert names(integer_overhead.detect_integer_overhead, evidence_of(*lines, "LDG.E R4, [R2]")) == found


@pytest.mark.parametrize(("instructions", "unrolls"), [(768, True), (769, False)])
def test_code_that_overflows_the_instruction_cache_is_not_to_be_unrolled(instructions, unrolls):
    """12 KiB of 16 bytes each."""
    loop = ("IADD3 R2, R2, R8, RZ", "IADD3 R2, R2, R8, RZ", "IADD3 R2, R2, R8, RZ", "LDG.E R4, [R2]", LOOP)
    rest = [("FADD R20, R21, R22", 1.0)] * (instructions - 1 - len(loop))
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(("NOP", 1.0), *loop, *rest))
    assert candidate.advice.startswith("Compute addresses once and count them up")
    assert ("unroll so that offsets become constants" in candidate.advice) == unrolls


CLAMPED = ("ISETP.GE.AND P1, PT, R2, R9, PT", "IADD3 R6, R2, 0x1, RZ", "@!P1 IADD3 R6, R2, -0x1, RZ")
MIRRORED = (
    "ISETP.GE.AND P1, PT, R2, R9, PT",
    "IADD3 R6, R2, 0x1, RZ",
    "@P1 BRA 0x40",
    "@!P1 IADD3 R6, -R2, 0x8, RZ",
)
FOUND = (
    "IMAD.WIDE R10, R6, 0x4, R12",
    "IADD3 R14, R10, R20, RZ",
    "IADD3 R14, R14, R21, RZ",
    "LDG.E R4, [R14]",
)


@pytest.mark.parametrize(
    ("lines", "is_chosen"),
    [
        ((*CLAMPED, *FOUND), True),
        ((*MIRRORED, *FOUND), True),
        (("VIMNMX R6, R2, R9, PT", *CLAMPED[:1], *FOUND), False),  # the least is taken without a test
        ((*CLAMPED[:2], *FOUND), False),  # the test guards something else
        (("IADD3 R6, R2, R9, RZ", *["IADD3 R6, R6, R8, RZ"] * 9, *CLAMPED, *FOUND), True),
        (
            (*CLAMPED, *FOUND, *["IADD3 R16, R16, R8, RZ"] * 9, "LDG.E R5, [R16]"),
            False,
        ),  # most is for another address
    ],
)
def test_bounds_that_choose_most_addresses_are_to_be_tested_once(lines, is_chosen):
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(*lines, "EXIT"))
    assert candidate.advice.startswith("Test once for a thread or a warp") == is_chosen
    assert ("most of which a test chooses" in candidate.sentence) == is_chosen
    if is_chosen:
        assert {site.opcode for site in candidate.weights} == {"ISETP.GE.AND", "IADD3"}
        assert all("R6" in site.instruction.text or "ISETP" in site.opcode for site in candidate.weights)


@pytest.mark.parametrize("language", ["CUDA C++", "Numba", "Triton"])
def test_tests_that_the_language_writes_have_advice_of_their_own(monkeypatch, language):
    evidence = evidence_of(*CLAMPED, *FOUND, "EXIT")
    monkeypatch.setitem(vars(evidence.profile), "language", language)
    (candidate,) = integer_overhead.detect_integer_overhead(evidence)
    assert ("unsigned" in candidate.advice) == (language == "Numba")
    assert ("a path without tests" in candidate.advice) == (language == "CUDA C++")


@pytest.mark.parametrize(("times", "is_chosen"), [(1.0, True), (100.0, False)])
def test_the_tests_of_a_division_choose_no_address(times, is_chosen):
    """It corrects its quotient by one. Where each warp divides, nobody knows whose tests choose."""
    dividing = [(line, times) for line in DIVISION]
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(*dividing, *CLAMPED, *FOUND, "EXIT"))
    assert ("a path without tests" in candidate.advice) == is_chosen


@pytest.mark.parametrize(
    ("test", "language", "narrows"),
    [
        ("ISETP.GE.U32.AND.EX P1, PT, R9, R11, PT, P1", "CUDA C++", True),
        ("ISETP.GE.AND P1, PT, R9, R11, PT", "CUDA C++", False),
        ("ISETP.GE.AND P1, PT, R9, R11, PT", "Julia", False),
        ("ISETP.GE.AND P1, PT, R9, R11, PT", "Numba", True),  # which tests signed ones for being negative
    ],
)
def test_indices_of_32_bits_are_advised_where_some_have_64(monkeypatch, test, language, narrows):
    lines = (*["IADD3 R2, R2, R8, RZ"] * 3, test, "LDG.E R4, [R2]")
    for kernel in ((*lines, LOOP), lines):
        evidence = evidence_of(*kernel)
        monkeypatch.setitem(vars(evidence.profile), "language", language)
        (candidate,) = integer_overhead.detect_integer_overhead(evidence)
        assert ("32" in candidate.advice) == narrows


DIVISION = ["I2F.U32.RP R0, R9", "MUFU.RCP R0, R0", "F2I.FTZ.U32.TRUNC.NTZ R5, R0", "IMAD.HI.U32 R5, R5, R2, RZ"]  # fmt: skip


def test_without_lines_a_division_is_what_follows_its_first_conversion():
    far = ["FADD R20, R21, R22"] * 30
    (candidate,) = integer_overhead.detect_integer_overhead(
        evidence_of(*DIVISION, *far, "LOP3.LUT R6, R6, R7, RZ", "LDG.E R4, [R30]", file=None)
    )
    assert [site.opcode for site in candidate.weights] == [line.split()[0] for line in DIVISION]
    near = ["LOP3.LUT R5, R5, R2, RZ, 0xc0, !PT"] * 16  # from the first conversion on, 20 instructions
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(*DIVISION, *near, *far, file=None))
    assert len(candidate.weights) == 20


@pytest.mark.parametrize(("line", "part"), [("IMAD.MOV R7, RZ, RZ, -R5", True), ("FADD R7, R20, R21", False)])
def test_the_moves_of_a_division_are_a_part_of_it_and_arithmetic_on_floats_is_none(line, part):
    """The quotient is moved with another sign, for the product that is taken from the number."""
    evidence = evidence_of(*DIVISION, line, "LDG.E R4, [R30]", line=1)
    assert (evidence.sites[4] in find_dividing(evidence)) == part


@pytest.mark.parametrize(("executed", "part"), [(100.0, True), (101.0, False)])
def test_an_instruction_that_runs_more_often_than_the_division_on_its_line_is_no_part_of_it(executed, part):
    """`for (int s = n / 2; s; s >>= 1)` divides once, and tests in every turn."""
    evidence = evidence_of(*DIVISION, ("SHF.R.U32.HI R6, RZ, 0x1, R6", executed), "LDG.E R4, [R30]", line=1)
    assert ("SHF" in [site.instruction.name for site in find_dividing(evidence)]) == part


@pytest.mark.parametrize(
    ("addresses", "said"),
    [
        (10, "divide integers, compute addresses or test bounds."),
        (600, "compute addresses, test bounds or divide integers."),  # 22 instructions of 605, from the conversions on
        (800, "compute addresses and test bounds."),
    ],
)  # fmt: skip
def test_quotients_are_blamed_for_most_of_the_saving_and_named_where_they_are_worth_a_change(addresses, said):
    lines = [*DIVISION, *["IADD3 R30, R30, R8, RZ"] * addresses, "LDG.E R4, [R30]"]
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(*lines, file=None))
    assert said in candidate.sentence
    assert ("dividing" in candidate.advice) == said.startswith("divide")
    assert ("divide by constants" in candidate.advice) == ("divide" in said)


@pytest.mark.parametrize(
    ("either", "is_wide"),
    [
        ("ULOP3.LUT UR4, UR7, UR5, URZ, 0xfc, !UPT", True),
        ("LOP3.LUT R4, R7, R5, RZ, 0xfc, !PT", True),
        ("LOP3.LUT R4, R7, R5, RZ, 0xc0, !PT", False),  # bits that both have
    ],
)
def test_a_division_that_tests_the_upper_words_is_of_64_bits(either, is_wide):
    """The branch goes to the division of the lower words, past the call of what divides 64 bits, which never ran."""
    tested = either.split(", ")[0].split()[-1]
    test = (either, f"ISETP.NE.U32.AND P0, PT, RZ, {tested}, PT", "@!P0 BRA 0x40")
    lines = (*test, ("CALL.REL.NOINC 0x100", 0.0), *DIVISION)
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(*lines, "LDG.E R6, [R30]", line=1))
    assert ("divide integers of 64 bits," in candidate.sentence) == is_wide
    assert candidate.advice.startswith("Divide in 32 bits where the numbers fit.") == is_wide


@pytest.mark.parametrize(
    ("conversion", "divides"), [("I2F.U16 R3, UR6", True), ("I2FP.F32.U32 R3, R6", False)]
)
def test_integers_of_16_bits_are_divided_by_a_function_behind_the_end(conversion, divides):
    """What converts a float to an integer is the same as in a function of floats, and what converts the divisor is not."""
    lines = ("CALL.REL.NOINC 0x30", "STG.E.U8 [R2.64], R7", "EXIT", conversion, "FMUL R5, R3, R4", "MUFU.RCP R5, R5",
             "FMUL.RZ R4, R2, R5", "F2I.U32.TRUNC.NTZ R4, R4", "RET.REL.NODEC R2 0x0")  # fmt: skip
    evidence = evidence_of(*lines, file=None)
    dividing = list(integer_overhead.detect_integer_overhead(evidence))
    assert [site.position for one in dividing for site in one.weights] == (
        [3, 4, 5, 6, 7, 8] if divides else []
    )
    assert bool(list(special_functions.detect_special_functions(evidence))) != divides
    assert bool(list(number_types.detect_conversions(evidence))) != divides


TESTED_DIVISION = (
    "I2F.RP R4, R8",
    "MUFU.RCP R4, R4",
    "F2I.FTZ.U32.TRUNC.NTZ R5, R4",
    "IMAD.HI.U32 R5, R5, R6, R4",
    "ISETP.GE.U32.AND P1, PT, R5, R8, PT",
)
BY_THE_GRID, IN_TURNS = "Let the grid and the block give the indices", "count up from turn to turn"
ONE_TURN = ("MOV R9, RZ", 100.0)
BEFORE = ("MOV R9, RZ", 50.0)  # two turns follow


@pytest.mark.parametrize(
    ("before", "end", "advised"),
    [
        (BEFORE, ("@P0 BRA 0x10", "EXIT"), IN_TURNS),
        (ONE_TURN, ("@P0 BRA 0x10", "EXIT"), BY_THE_GRID),  # a grid-stride loop whose grid covers all elements
        (ONE_TURN, ("EXIT",), BY_THE_GRID),
    ],
)  # fmt: skip
def test_divisions_are_spared_from_turn_to_turn_or_by_a_grid_of_more_dimensions(before, end, advised):
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(before, *TESTED_DIVISION, LOAD, *end))
    assert advised in candidate.advice
    assert "divide integers" in candidate.sentence
    assert "keeps no source line" not in candidate.sentence


@pytest.mark.parametrize(
    ("text", "compares"),
    [
        ("int right = (x + 1) % width;", True),
        ("int left = (x - 1 + width) % width;", True),
        ("int column = x % width;", False),
        ("int row = (x + 1) / width;", False),
        (None, False),
    ],
)
def test_the_index_of_a_neighbour_needs_a_comparison_and_no_remainder(text, compares):
    lines = (BEFORE, *TESTED_DIVISION, LOAD, "@P0 BRA 0x10", "EXIT")
    evidence = evidence_of(*lines, each={"text": text})
    (candidate,) = integer_overhead.detect_integer_overhead(evidence)
    assert candidate.advice.startswith("Compare instead of taking a remainder") == compares


@pytest.mark.parametrize(("before", "advised"), [(BEFORE, IN_TURNS), (ONE_TURN, BY_THE_GRID)])
def test_a_function_that_divides_is_in_the_loop_that_calls_it(before, advised):
    """An integer of 64 bits is divided by a function behind the end."""
    lines = ("CALL.REL.NOINC 0x50", LOAD, "@P0 BRA 0x10", "EXIT", *TESTED_DIVISION, "RET.REL.NODEC R2 0x0")
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(before, *lines, line=1))
    assert advised in candidate.advice


@pytest.mark.parametrize(
    ("before", "end", "advised"),
    [
        (BEFORE, ("@P0 BRA 0x10", "EXIT"), "count them up"),
        (ONE_TURN, ("@P0 BRA 0x10", "EXIT"), "Let each thread take several elements"),
        (ONE_TURN, ("EXIT",), "Let each thread take several elements"),
    ],
)
def test_addresses_are_counted_up_in_a_loop_alone(before, end, advised):
    lines = [f"IMAD R{one + 1}, R{one}, R10, R10" for one in range(12, 20)]
    (candidate,) = integer_overhead.detect_integer_overhead(
        evidence_of(before, *lines, "LDG.E R4, [R20]", *end)
    )
    assert advised in candidate.advice
    assert "divide" not in candidate.sentence


@pytest.mark.parametrize(("load", "said"), [((LOAD,), True), ((), False)])
def test_no_instructions_are_counted_for_each_access_where_there_is_none(load, said):
    """A kernel whose only store is behind a test that never holds accesses no memory."""
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of(*TESTED_DIVISION, *load, "EXIT"))
    assert ("for each access" in candidate.sentence) == said


@pytest.mark.parametrize(
    ("branch", "is_of_bounds"), [("@P0 BRA 0x10", False), ("@P0 BRA 0x80", False), ("@P0 BRA 0x40", True)]
)
def test_a_test_that_ends_the_turns_of_a_loop_is_none_of_bounds(branch, is_of_bounds):
    """It leads back, or out of the loop of 0x10 to 0x50; `loop-overhead` counts it. One that passes by a part of the turn is of bounds."""
    lines = ("NOP", "ISETP.GE.AND P0, PT, R6, R9, PT", branch, "FADD R7, R7, R8", "FADD R5, R5, R8")
    found = integer_overhead.find_spare_addresses(evidence_of(*lines, "@P1 BRA 0x10", "EXIT"))
    assert [site.instruction.name for site in found] == ["ISETP"] * is_of_bounds


LOADED = "LDG.E R4, [R10.64]"


@pytest.mark.parametrize(
    ("lines", "is_of_bounds"),
    [
        (("IADD3 R6, R6, 0x1, RZ", "ISETP.GE.AND P0, PT, R6, R9, PT"), True),
        ((LOADED, "ISETP.NE.AND P0, PT, R4, RZ, PT"), False),  # is anything left of a word?
        ((LOADED, "SHF.R.U32.HI R4, RZ, 0x1, R4", "ISETP.NE.AND P0, PT, R4, RZ, PT"), False),
        # Whether the slow form of a root is needed.
        (("FADD R4, R9, R9", "IADD3 R6, R4, -0xd000000, RZ", "ISETP.GT.U32.AND P0, PT, R6, 0x727fffff, PT"), False),
        # A logarithm in double precision tests the exponent of its argument; an index that was computed as a float has bounds.
        (("DADD R4, R8, R10", "VIADD R6, R5, 0xffffffff", "ISETP.GE.U32.AND P0, PT, R6, 0x7fefffff, PT"), False),
        (("FADD R4, R9, R9", "F2I.TRUNC.NTZ R6, R4", "ISETP.GE.AND P0, PT, R6, R8, PT"), True),
        # Where data says how long a row is, the loop still counts.
        ((LOADED, "IMAD R6, R2, 0x4, R3", "ISETP.GE.AND P0, PT, R6, R4, PT"), True),
        ((LOADED, "IADD3 R4, R4, 0x1, RZ", "ISETP.GE.AND P0, PT, R4, R9, PT"), True),
    ],
)  # fmt: skip
def test_a_comparison_of_what_was_loaded_is_no_test_of_bounds(lines, is_of_bounds):
    evidence = evidence_of(*lines, "@P0 BRA 0x100", "EXIT")
    tests = [site for site in evidence.sites if site.instruction.name == "ISETP"]
    found = integer_overhead.find_spare_addresses(evidence)
    assert [site for site in found if site.instruction.name == "ISETP"] == (tests if is_of_bounds else [])


@pytest.mark.parametrize(
    ("step", "is_address"),
    [("SHF.L.W.U32.HI R6, R6, 0x7, R6", False), ("SHF.L.W.U32.HI R6, R6, 0x7, R8", True)],
)
def test_what_mixes_bits_is_no_address_although_its_digits_look_up_a_table(step, is_address):
    rounds = [step, "IADD3 R6, R6, 0x1, RZ"] * 4
    evidence = evidence_of("MOV R6, R3", *rounds, "SHF.R.U32.HI R9, RZ, 0x1c, R6", "LDG.E R4, [R9]")
    found = list(integer_overhead.find_spare_addresses(evidence))
    assert found == evidence.of("integer")[0 if is_address else 7 :]


@pytest.mark.parametrize(("places", "said"), [(("RZ", "0x4", "0x8"), True), (("RZ", "0x1", "0x2"), False)])
def test_an_index_that_is_known_when_compiling_needs_no_search_for_its_register(places, said):
    lines = [
        one
        for number, place in enumerate(places)
        for one in (f"ISETP.EQ.AND P{number}, PT, R9, {place}, PT", f"@P{number} MOV R1{number}, R20")
    ]
    (candidate,) = integer_overhead.detect_integer_overhead(evidence_of("LDG.E R20, [R2.64]", *lines))
    assert ("unrolls them" in candidate.advice) == said
    assert (candidate.effect.resources["issue"] == pytest.approx(6 / 7)) == said


@pytest.mark.parametrize(
    ("index", "is_in_table"),
    [
        ("LDC R9, c[0x3][R8+0x90]", True),
        ("ULDC.64 UR9, c[0x3][UR8]", True),
        ("LDC R9, c[0x0][0x210]", False),  # a parameter
        ("LDG.E R9, [R2.64]", False),
        ("IADD3 R9, R9, 0x4, RZ", False),
    ],
)
def test_indices_in_a_table_become_known_where_the_table_is_a_constant(index, is_in_table):
    """The elements themselves may be looked up in constant memory."""
    register = index.split()[1].strip(",")
    chosen = [
        one
        for number, place in enumerate(("RZ", "0x4", "0x8"))
        for one in (f"ISETP.EQ.AND P{number}, PT, {register}, {place}, PT", f"@P{number} MOV R1{number}, R20")
    ]
    evidence = evidence_of("LDC R20, c[0x3][R7]", index, *chosen, LOAD)
    (candidate,) = integer_overhead.detect_integer_overhead(evidence)
    assert ("write its numbers into the code" in candidate.advice) == is_in_table


def test_the_smallest_of_two_keys_is_a_result_and_finds_no_data():
    lines = ["VIMNMX R4, R5, R6, PT", "VIMNMX R5, R5, R6, !PT"] * 20
    assert list(integer_overhead.detect_integer_overhead(evidence_of(LOAD, *lines))) == []
