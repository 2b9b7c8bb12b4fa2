"""The ceilings in machine code: nothing in their loops but what they are to measure, and all of it there."""

import pytest

LOADS = 4  # of a thread, before it adds anything up


@pytest.mark.parametrize(
    ("number", "opcode"), [(1, "LDG.E.EF.128"), (2, "LDG.E.128.STRONG.GPU")], ids=["dram", "l2"]
)
def test_all_loads_are_under_way_before_the_first_is_used(machine_code, number, opcode):
    code = machine_code("ceilings", number)
    body = [one.opcode for one in code.function]
    first = body.index(opcode)
    assert body[first : first + LOADS] == [opcode] * LOADS


def test_shared_memory_is_read_128_bits_at_a_time_and_added_up(machine_code):
    loop = machine_code("ceilings", 3).hot_loop({"LDS"})
    assert loop["LDS.128"] == 32
    assert sum(loop.values()) < 32 * 4, "fewer instructions than the four cycles that a load takes"


def test_fp32_does_next_to_nothing_else(machine_code):
    loop = machine_code("ceilings", 4).hot_loop({"FFMA"})
    assert loop["FFMA"] == 16 * 16
    assert sum(loop.values()) <= 16 * 16 + 5


@pytest.mark.parametrize(
    ("number", "opcode"),
    [(5, "HGMMA.64x256x8.F32.TF32"), (6, "HGMMA.64x256x16.F32.BF16")],
    ids=["tf32", "bf16"],
)
def test_matrix_instructions_follow_each_other_and_wait_for_nothing(machine_code, number, opcode):
    """A compiler that cannot keep their sums in place makes each wait for the one before (`gsb0, 0x0`)."""
    loop = machine_code("ceilings", number).hot_loop({"HGMMA"})
    assert loop[opcode] == 4 * loop["WARPGROUP.DEPBAR.LE"]
    assert not {"LDS", "LDG", "MOV", "STS"} & {name.split(".")[0] for name in loop}
