"""What the compiler made of each rung, read from its machine code for three architectures.

A rung's claim is about instructions: if a compiler makes something else of it, the
ladder's text is wrong however fast it runs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kernels.conftest import MachineCode

FMA_PER_K_STEP = 64  # a thread's 8 x 8 elements
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
TENSOR = ("HMMA", "HGMMA", "UTCHMMA")

each_architecture = pytest.mark.parametrize("arch", ARCHITECTURES)


def test_every_rung_compiles_for_every_architecture(machine_code: MachineCode) -> None:
    for kernel in machine_code.ladder.kernels:
        targets = {machine_code.target(kernel.number, arch) for arch in ARCHITECTURES}
        assert set(machine_code.compiled[kernel.number].code) == targets, kernel
        for arch in ARCHITECTURES:
            assert kernel.number == 0 or machine_code.functions(kernel.number, arch), kernel


def test_no_rung_spills(machine_code: MachineCode, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{'registers':<22}" + "".join(f"{arch:>10}" for arch in ARCHITECTURES) + "   spilled bytes"]
    spilling = []
    for kernel in machine_code.ladder.kernels[1:]:
        own = [
            one
            for one in machine_code.compiled[kernel.number].resources
            if re.search(kernel.regex, one.function)
        ]
        registers = {
            arch: max(one.registers for one in own if one.target == machine_code.target(kernel.number, arch))
            for arch in ARCHITECTURES
        }
        spilled = sum(one.spill_store_bytes + one.spill_load_bytes for one in own)
        lines.append(
            f"{kernel.file_name:<22}" + "".join(f"{n:>10}" for n in registers.values()) + f"{spilled:>16}"
        )
        spilling += [one for one in own if one.spills or one.stack_bytes]
        code = [
            one
            for arch in ARCHITECTURES
            for body in machine_code.functions(kernel.number, arch).values()
            for one in body
        ]
        assert not {"LDL", "STL"} & {one.name for one in code}, f"{kernel} uses local memory"
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert not spilling


@each_architecture
def test_rung_2_differs_from_rung_1_in_addresses_alone(machine_code: MachineCode, arch: str) -> None:
    naive, coalesced = (machine_code.hot_loop(number, arch) for number in (1, 2))

    def work(loop):
        return {name: count for name, count in loop.items() if name.startswith(("FFMA", "LDG", "STG"))}

    assert work(naive) == work(coalesced)


@each_architecture
def test_rung_4_reads_one_element_of_b_for_eight_fmas(machine_code: MachineCode, arch: str) -> None:
    found = machine_code.hot_loop(4, arch)
    assert found["LDS"] * 8 == found["FFMA"]


@each_architecture
def test_rung_5_reads_a_by_eight_scalar_loads_a_k_step(machine_code: MachineCode, arch: str) -> None:
    found = machine_code.hot_loop(5, arch)
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
def test_rung_6_and_up_read_128_bits_at_a_time(machine_code: MachineCode, arch: str, number: int) -> None:
    found = machine_code.hot_loop(number, arch)
    shared = {name for name in found if name.startswith("LDS")}
    globals_read = {name for name in found if name.startswith("LDG")}
    assert shared == {"LDS.128"}
    assert globals_read
    assert all(name.startswith("LDG.E.128") for name in globals_read)


@each_architecture
def test_rung_6_needs_a_quarter_of_rung_5s_shared_loads(machine_code: MachineCode, arch: str) -> None:
    scalar, wide = (machine_code.hot_loop(number, arch) for number in (5, 6))
    k_steps = wide["FFMA"] / FMA_PER_K_STEP
    assert wide["LDS.128"] == 4 * k_steps
    assert 8 * wide["LDS.128"] / wide["FFMA"] <= 4 * scalar["LDS"] / scalar["FFMA"]


@each_architecture
def test_rung_9_copies_asynchronously(machine_code: MachineCode, arch: str) -> None:
    names = {opcode.split(".")[0] for opcode in machine_code.hot_loop(9, arch)}
    assert names & {"LDGSTS", "UTMALDG", "UBLKCP"}
    assert not names & {"LDG", "STS"}, "a tile still travels through registers"


@each_architecture
def test_rung_10_multiplies_on_the_tensor_cores(machine_code: MachineCode, arch: str) -> None:
    functions = machine_code.functions(10, arch)
    names = machine_code.tensor_loops(10, arch)
    assert names & set(TENSOR)
    assert "FFMA" not in names
    if machine_code.target(10, arch) == "sm_90a":
        everything = {one.name for body in functions.values() for one in body}
        assert "HGMMA" in names
        assert "UTMALDG" in everything


def test_the_rungs_of_fp32_use_no_tensor_instructions(machine_code: MachineCode) -> None:
    for number in range(1, 10):
        for arch in ARCHITECTURES:
            assert not {one.name for one in machine_code.function(number, arch)} & set(TENSOR)
