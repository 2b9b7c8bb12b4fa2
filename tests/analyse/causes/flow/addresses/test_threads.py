"""How far apart the threads of a block access shared memory, as their machine code computes it."""

import pytest
from hypothesis import given, strategies as st
from made_evidence import evidence_of, executing

from profiler.analyse.causes.flow.addresses.threads import offsets_of_threads

ARRAY = ("UMOV UR4, 0x400", "S2R R5, SR_TID.X")
WORD = st.integers(0, 2**31 - 1)


def offsets(*made, address="R9", block=64):
    evidence = evidence_of(*ARRAY, *made, f"LDS R8, [{address}]", "EXIT", block=block)
    return offsets_of_threads(evidence, evidence.of("shared load")[-1])


@pytest.mark.parametrize(
    ("made", "offset_of"),
    [
        ("LEA R9, R5, UR4, 0x2", lambda x: 4 * x),
        ("IMAD R9, R5, 0x44, R1", lambda x: 68 * x),  # whatever R1 is, if it is the same for all
        ("IMAD.SHL.U32 R9, R5, 0x8, RZ", lambda x: 8 * x),
        ("SHF.R.U32.HI R9, RZ, 0x4, R5", lambda x: x // 16),
        ("LOP3.LUT R9, R5, 0xf, RZ, 0xc0, !PT", lambda x: x % 16),
        ("LOP3.LUT R9, R5, 0x3, RZ, 0x3c, !PT", lambda x: (x ^ 3) - 3),  # a swizzle, from the first thread on
        ("IADD3 R9, -R5, 0x100, RZ", lambda x: -x),
        ("S2R R9, SR_LANEID", lambda x: x % 32),
        ("MOV R9, UR4", lambda x: 0),
        ("HFMA2.MMA R9, -RZ, RZ, 0, 6.198883056640625e-05", lambda x: 0),  # 0x410, moved by another pipe
        ("LDC R9, c[0x0][0x210]", lambda x: 0),
        ("LDC R9, c[0x0][RZ]", lambda x: 0),  # the first constant, such as the size of a block
        ("S2R R9, SR_CTAID.X", lambda x: 0),
    ],
)
def test_an_address_follows_from_the_index_of_the_thread(made, offset_of):
    assert offsets("LDC R1, c[0x0][0x28]", made) == tuple(offset_of(x) for x in range(64))


def test_a_block_has_rows():
    made = ("S2R R6, SR_TID.Y", "IMAD R9, R6, 0x40, R5")
    assert offsets(*made, block=(16, 2, 1)) == (*range(16), *range(64, 80))


@pytest.mark.parametrize(
    "made",
    [
        ("LDG.E R9, [R2.64]",),
        ("LDS R9, [R5]",),
        ("IMAD R9, R5, c[0x0][0x210], RZ",),  # rows of a length that is not known
        ("LOP3.LUT R9, R5, c[0x0][0x210], RZ, 0xc0, !PT",),
        ("S2R R9, SR_CLOCKLO",),
        ("MOV R9, RZ", "@P0 MOV R9, R5"),  # some threads have one, some the other
        ("MOV R9, 0x100", "@P0 BRA 0x60", "MOV R9, 0x200", "NOP"),
        ("MOV R9, c[0x0][0x210]", "@P0 BRA 0x60", "MOV R9, c[0x0][0x218]", "NOP"),  # two arrays
        ("SEL R9, 0x100, 0x200, P0",),
        ("HFMA2.BF16_V2 R9, -RZ, RZ, 1e+38, 0",),
        ("HFMA2 R9, -RZ, RZ, +QNAN, 0",),
        ("ATOMS.ADD R9, [UR4], R1",),
    ],
)
def test_nothing_is_said_where_threads_may_differ_in_other_ways(made):
    assert offsets("LDC R1, c[0x0][0x28]", *made) is None


@pytest.mark.parametrize(
    ("between", "is_known"),
    [("NOP", True), ("ISETP.GE.AND P1, PT, R5, 0x8, PT", False), ("@!P1 MOV R9, R1", False)],
)
def test_what_is_read_under_a_predicate_was_written_under_it(between, is_known):
    made = ("LDC R1, c[0x0][0x28]", "ISETP.GE.AND P1, PT, R5, 0x10, PT", "@P1 LEA R9, R5, UR4, 0x2", between)
    evidence = evidence_of(*ARRAY, *made, "@P1 LDS R8, [R9]", "EXIT", block=64)
    found = offsets_of_threads(evidence, *evidence.of("shared load"))
    assert found == (tuple(4 * x for x in range(64)) if is_known else None)


def turns(*body):
    again = f"@P0 BRA 0x{16 * (len(ARRAY) + 1):x}"
    lines = executing(100.0, *ARRAY, "LEA R9, R5, UR4, 0x2") + executing(1000.0, *body, again)
    evidence = evidence_of(*lines, ("EXIT", 100.0), block=64)
    return offsets_of_threads(evidence, *evidence.of("shared load"))


def test_a_loop_may_take_all_threads_further_alike():
    assert turns("LDS R8, [R9]", "IADD3 R9, R9, 0x100, RZ") == tuple(4 * x for x in range(64))
    assert turns("LDS R8, [R9]", "IADD3 R9, R9, R5, RZ") is None
    assert turns("LDS R8, [R9]", "@P1 IADD3 R9, R9, 0x100, RZ") is None


LOADS_OF_A_MOVED_SUM = ("MOV R1, R2", "LDS R8, [R1]", "IADD3 R2, R1, 0x4, RZ", "LDS R9, [R2]")


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_said_does_not_depend_on_what_was_asked_before(order):
    evidence = looping(("LDC R1, c[0x0][0x210]", "IMAD R2, R5, 0x4, R1"), LOADS_OF_A_MOVED_SUM)
    for load in evidence.of("shared load")[::order]:
        assert offsets_of_threads(evidence, load) == tuple(4 * x for x in range(4))


def test_code_may_be_long():
    chain = [
        line for _ in range(300) for line in ("IMAD R9, R9, 0x3, RZ", "LOP3.LUT R9, R9, 0xff, RZ, 0xc0, !PT")
    ]
    assert offsets("MOV R9, R5", *chain, block=2) == (0, 3**300 % 256)


REGISTERS = ("R1", "R2", "R3")
STEP = st.builds(
    "{} {}, {}, {}, {}".format,
    st.sampled_from(["IADD3", "IMAD"]),
    st.sampled_from(REGISTERS),
    st.sampled_from((*REGISTERS, "R5")),
    st.sampled_from((*REGISTERS, "R5", "0x4")),
    st.sampled_from((*REGISTERS, "RZ")),
) | st.builds("MOV {}, {}".format, st.sampled_from(REGISTERS), st.sampled_from(REGISTERS))


def looping(before, body):
    """Returns the evidence of a kernel of four threads that makes four turns of a loop."""
    start = 1 + len(before)
    counting = ("IADD3 R7, R7, 0x1, RZ", "ISETP.LT.AND P0, PT, R7, 0x4, PT", f"@P0 BRA 0x{16 * start:x}")
    lines = executing(100.0, "S2R R5, SR_TID.X", *before) + executing(400.0, *body, *counting)
    return evidence_of(*lines, ("EXIT", 100.0), block=4)


def accessed(before, body, thread):
    """Returns the addresses of the thread's accesses in four turns."""
    held = {"R5": thread, "RZ": 0, "c[0x0][0x210]": 7919, "R1": 0, "R2": 0, "R3": 0}

    def run(line):
        opcode, *operands = line.replace(",", "").split()
        taken = [held[one] if one in held else int(one, 16) for one in operands[1:] if "[R" not in one]
        if opcode == "LDS":
            return [held[operands[1].strip("[]")]]
        held[operands[0]] = (
            sum(taken)
            if opcode == "IADD3"
            else taken[0] * taken[1] + taken[2]
            if opcode == "IMAD"
            else taken[0]
        )
        return []

    for line in before:
        run(line)
    return [address for _ in range(4) for line in body for address in run(line)]


@given(st.permutations(("MOV R1, R5", "IMAD R2, R5, 0x4, RZ", "LDC R3, c[0x0][0x210]")), st.lists(STEP, min_size=1, max_size=5), st.sampled_from(REGISTERS))  # fmt: skip
def test_threads_access_what_is_said_in_each_turn_of_a_loop(before, steps, register):
    body = (*steps, f"LDS R8, [{register}]")
    evidence = looping(before, body)
    if found := offsets_of_threads(evidence, *evidence.of("shared load")):
        for turn in zip(*(accessed(before, body, thread) for thread in range(4)), strict=True):
            assert found == tuple(address - turn[0] for address in turn)


@given(WORD, WORD, WORD, st.integers(0, 255))
def test_lop3_takes_each_bit_from_its_table(one, other, third, table):
    """The first of two threads holds zero in the first register, and the second one holds a number."""
    made = (f"IMAD R6, R5, 0x{one:x}, RZ", f"MOV R7, 0x{other:x}", f"MOV R8, 0x{third:x}")
    found = offsets(*made, f"LOP3.LUT R9, R6, R7, R8, 0x{table:x}, !PT", block=2)

    def result(first):
        rows = ((first >> bit & 1) << 2 | (other >> bit & 1) << 1 | third >> bit & 1 for bit in range(31))
        return sum((table >> row & 1) << bit for bit, row in enumerate(rows))

    assert (found[1] - result(one) + result(0)) % 2**31 == 0
