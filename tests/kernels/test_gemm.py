"""The GEMM ladder in machine code: claims about each rung, on three architectures.

A rung's claim is about instructions: if a compiler makes something else of it, the
ladder's text is wrong however fast it runs.
"""

import re
from collections import Counter

import pytest

from tests.kernels.conftest import hot_loop as find_hot_loop

FMA_PER_K_STEP = 64  # a thread's 8 x 8 elements
TENSOR = {"HMMA", "HGMMA", "UTCHMMA"}

each_architecture = pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])


@pytest.fixture
def rung(machine_code):
    """A rung without its variant for ragged shapes."""
    return lambda number, arch: machine_code("gemm", number, arch).only("^(?!.*ILb0E)")


@pytest.fixture
def hot_loop(rung):
    return lambda number, arch: rung(number, arch).hot_loop({"FFMA"})


@each_architecture
def test_rung_2_differs_from_rung_1_in_addresses_alone(hot_loop, arch):
    naive, coalesced = (hot_loop(number, arch) for number in (1, 2))

    def work(loop):
        return {name: count for name, count in loop.items() if name.startswith(("FFMA", "LDG", "STG"))}

    assert work(naive) == work(coalesced)


@each_architecture
def test_rung_4_reads_one_element_of_b_for_eight_fmas(hot_loop, arch):
    found = hot_loop(4, arch)
    assert found["LDS"] * 8 == found["FFMA"]


@each_architecture
def test_rung_5_reads_a_by_eight_scalar_loads_a_k_step(hot_loop, arch):
    found = hot_loop(5, arch)
    k_steps, rest = divmod(found["FFMA"], FMA_PER_K_STEP)
    assert k_steps
    assert not rest
    # B's eight lie side by side: the compiler may join them, as it may not join A's.
    wide = found["LDS.64"] * 2 + found["LDS.128"] * 4
    assert found["LDS"] >= 8 * k_steps
    assert found["LDS"] + wide == 16 * k_steps
    globals_read = {name for name in found if name.startswith("LDG")}
    assert not any(".128" in name or ".64" in name for name in globals_read)


@pytest.mark.parametrize("number", [6, 7, 8])
@each_architecture
def test_rung_6_and_up_read_128_bits_at_a_time(hot_loop, arch, number):
    found = hot_loop(number, arch)
    shared = {name for name in found if name.startswith("LDS")}
    globals_read = {name for name in found if name.startswith("LDG")}
    assert shared == {"LDS.128"}
    assert globals_read
    assert all(name.startswith("LDG.E.128") for name in globals_read)


@each_architecture
def test_rung_6_needs_a_quarter_of_rung_5s_shared_loads(hot_loop, arch):
    scalar, wide = (hot_loop(number, arch) for number in (5, 6))
    k_steps = wide["FFMA"] / FMA_PER_K_STEP
    assert wide["LDS.128"] == 4 * k_steps
    assert 8 * wide["LDS.128"] / wide["FFMA"] <= 4 * scalar["LDS"] / scalar["FFMA"]


@each_architecture
def test_rung_9_copies_asynchronously(hot_loop, arch):
    names = {opcode.split(".")[0] for opcode in hot_loop(9, arch)}
    assert names & {"LDGSTS", "UTMALDG", "UBLKCP"}
    assert not names & {"LDG", "STS"}, "a tile still travels through registers"


@each_architecture
def test_rung_10_multiplies_on_the_tensor_cores(rung, arch):
    code = rung(10, arch)
    names = {opcode.split(".")[0] for opcode in code.hot_loop(TENSOR)}
    assert names & TENSOR
    assert "FFMA" not in names
    if code.target == "sm_90a":
        assert "HGMMA" in names
        assert "UTMALDG" in code.names


@pytest.mark.parametrize("number", range(1, 10))
@each_architecture
def test_the_rungs_of_fp32_use_no_tensor_instructions(rung, arch, number):
    assert not rung(number, arch).names & TENSOR


hopper = pytest.mark.parametrize("arch", ["sm_90"])  # rungs 11 and up are written for sm_90a


@hopper
def test_rung_11_sends_c_away_by_the_copy_engine_alone(rung, arch):
    assert {"STG", "UTMASTG"} & rung(10, arch).names == {"STG"}
    assert {"STG", "UTMASTG"} & rung(11, arch).names == {"UTMASTG"}


@hopper
def test_rung_12_hands_one_operand_over_in_registers(rung, arch):
    found = rung(12, arch).hot_loop(TENSOR)
    products = {name: count for name, count in found.items() if name.startswith("HGMMA")}
    assert set(products) == {
        f"HGMMA.64x{rows}x8.F32.TF32" for rows in (256, 224, 192, 128)
    }  # a kernel for each height
    assert found["LDS"] == 4 * sum(products.values())


@hopper
def test_rung_13_makes_three_products_of_one_and_carries_the_sum_on(rung, arch):
    found = rung(13, arch).hot_loop(TENSOR)
    products = sum(count for name, count in found.items() if name.startswith("HGMMA"))
    k_steps = found["LDS"] // 4  # each fetches the operand in registers
    assert products == 3 * k_steps
    splits = k_steps * 4
    assert found["FADD"] == 64 + splits


@hopper
def test_rung_16_sends_boxes_of_c_away_while_products_are_under_way(rung, arch):
    def sent_meanwhile(number):
        opcodes = [one.opcode for one in rung(number, arch).function]
        first = next(at for at, opcode in enumerate(opcodes) if opcode.startswith("HGMMA"))
        waits = opcodes.index("WARPGROUP.DEPBAR.LE", first)
        return sum(opcode.startswith("UTMASTG") for opcode in opcodes[first:waits])

    assert (sent_meanwhile(15), sent_meanwhile(16)) == (0, 4)


@hopper
def test_rung_17_multiplies_32_numbers_of_e4m3_at_once(rung, arch):
    products = {name for name in rung(17, arch).hot_loop({"QGMMA"}) if name.startswith("QGMMA")}
    assert products == {"QGMMA.64x256x32.F32.E4M3.E4M3"}


@hopper
def test_rung_18_reads_four_k_of_a_row_at_once_and_copies_nothing_itself(rung, arch):
    found = rung(18, arch).hot_loop({"FFMA"})
    assert found["FFMA"] == 1024  # 8 x 16 elements, 8 k
    assert {name: count for name, count in found.items() if name.startswith("LDS")} == {"LDS.128": 48}
    assert not {"LDGSTS", "LDG", "STS"} & {name.split(".")[0] for name in found}
    assert "UTMALDG" in rung(18, arch).names


@hopper
def test_rung_19_multiplies_in_tiles_of_two_widths(rung, arch):
    code = rung(19, arch)
    assert {name for name in code.opcodes if name.startswith("HGMMA")} == {
        "HGMMA.64x128x16.F32.BF16",
        "HGMMA.64x256x16.F32.BF16",
    }


def count_bank_conflicts(loop):
    """Counts the FMAs that read two registers of one bank, of those that the one before did not leave in the same place."""
    conflicts, kept = 0, set()
    for one in loop:
        places = list(enumerate(re.findall(r"\bR\d+(?:\.reuse)?", one.operands)))
        if one.name == "FFMA":
            names = {(place, name.removesuffix(".reuse")) for place, name in places[1:]}
            read = {name for _, name in names - kept}
            conflicts += len({int(name[1:]) % 2 for name in read}) < len(read)
        kept = {(place, name.removesuffix(".reuse")) for place, name in places if name.endswith(".reuse")}
    return conflicts


@hopper
def test_rung_20_has_little_more_than_half_of_rung_14s_conflicts_of_register_banks(rung, arch):
    whole_tiles_of_64_x_128 = r"Li64ELi128E.*FitE?0E"
    before, after = (
        find_hot_loop(rung(number, arch).only(whole_tiles_of_64_x_128).function, {"FFMA"})
        for number in (14, 20)
    )
    work = [
        Counter(one.opcode for one in loop if one.opcode in {"FFMA", "LDS.128"}) for loop in (before, after)
    ]
    assert work == [{"FFMA": 1024, "LDS.128": 64}] * 2
    assert count_bank_conflicts(after) <= 0.6 * count_bank_conflicts(before)


@hopper
def test_rung_20_lays_the_sums_of_each_tile_down_once(rung, arch):
    tiles = {"Li16ELi256E": 4 * 8, "Li64ELi128E": 8 * 8, "Li128ELi128E": 8 * 16}  # and a thread's elements
    for tile, elements in tiles.items():
        code = rung(20, arch).only(tile)
        kernels = len(code.functions)
        assert kernels == 3  # for whole tiles, wide ones and any
        assert code.opcodes["STS.128"] == kernels * (elements // 4 + 1)  # one more by those who add up


@hopper
def test_rung_21_multiplies_in_tiles_of_four_widths_and_counts_its_sharers(rung, arch):
    code = rung(21, arch)
    assert {name for name in code.opcodes if name.startswith("HGMMA")} == {
        "HGMMA.64x128x16.F32.BF16",
        "HGMMA.64x192x16.F32.BF16",  # alone, and with 128 columns more
        "HGMMA.64x256x16.F32.BF16",
    }
    assert any(name.startswith("ATOMG") for name in code.opcodes)


@hopper
def test_rung_22_multiplies_narrow_tiles_by_narrow_products(rung, arch):
    assert "HGMMA.64x240x16.F32.BF16" in rung(22, arch).opcodes
    assert "HGMMA.64x240x16.F32.BF16" not in rung(21, arch).opcodes


@hopper
def test_rung_23_multiplies_low_tiles_by_low_products(rung, arch):
    assert "HGMMA.64x240x8.F32.TF32" in rung(23, arch).opcodes
    assert "HGMMA.64x240x8.F32.TF32" not in rung(12, arch).opcodes


@hopper
@pytest.mark.parametrize("number", [12, 23])
def test_a_tile_of_seven_bands_waits_for_the_last_one_of_the_tile_before(rung, number, arch):
    """Bands take turns at two places, so the seventh and the next tile's first go through the same one."""

    def waits_for_all_stores(rows):
        code = rung(number, arch).only(f"ILi{rows}E")
        return sum(one.name == "DEPBAR" and one.operands.startswith("SB0, 0x0") for one in code.function)

    assert waits_for_all_stores(192) == 1  # before the block ends
    assert waits_for_all_stores(224) == 2
