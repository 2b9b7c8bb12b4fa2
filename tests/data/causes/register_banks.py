#!/usr/bin/env python3
"""Runs one loop of multiply-adds with other registers: register_banks.py [NAME]

A register file has two banks, the even and the odd registers, and each delivers one register a cycle. The compiler assigns
registers so that the operands of an instruction seldom share a bank, and source code cannot ask for others. So this program
compiles register_banks.cu, and writes other registers into the multiply-adds of its loop. All kernels compute the same numbers,
which is verified. Without a name it prints each kernel's time in us (the best of five); with one it launches that once, for ncu.
"""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cupy
import numpy

SOURCE = Path(__file__).resolve().with_suffix(".cu")
BLOCKS, THREADS, VALUES, ROUNDS = 528, 128, 96, 1000
EVEN, ODD = 0, 1
# By kernel: the banks of the accumulators, of the first and of the second factors, and how many multiply-adds in turn share their
# first factor, which the reuse cache then keeps for all but the first of them.
KERNELS = {
    "multiply_one_bank": (EVEN, EVEN, EVEN, 8),
    "multiply_two_banks": (EVEN, EVEN, ODD, 8),
    "multiply_three_alike": (EVEN, EVEN, EVEN, 1),
    "multiply_three_apart": (EVEN, EVEN, ODD, 1),
}
ACCUMULATORS, FACTORS = 16, 8
_FFMA, _LDG, _STG = 0x223, 0x981, 0x986  # the lowest 12 bits of an instruction of sm_90, which has 16 bytes
_BESIDE_REGISTERS = 0xFFFFFF00_0000FFFF  # of the lower half: all but the result and two operands
_NEXT_CYCLE = 1 << 41 | 1 << 45 | 7 << 46 | 7 << 49  # the next instruction may follow at once
_WAIT_FOR_LOADS = 63 << 52


def compile_source() -> bytes:
    subprocess.run(
        ["nvcc", "-cubin", "-lineinfo", "-arch=sm_90", "-o", "register_banks.cubin", SOURCE], check=True
    )
    return Path("register_banks.cubin").read_bytes()


def instructions_of(cubin: bytes) -> Iterator[tuple[int, int, int]]:
    """Yields the place of each instruction of the kernel in the file, and its two halves."""
    (headers,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, headers + number * size) for number in range(count)]
    for name, _, _, _, start, length, *_ in sections:
        at = sections[names][4] + name
        if cubin[at : cubin.index(0, at)] == b".text.multiply_add":
            for place in range(start, start + length, 16):
                yield place, *struct.unpack_from("<QQ", cubin, place)


def registers_of_values(cubin: bytes) -> dict[int, int]:
    """Returns the register that holds each of the values, from where it is loaded to where it is stored."""
    loaded, stored = {}, {}
    for _, low, _ in instructions_of(cubin):
        value = (low >> 40) // (4 * THREADS)
        if low & 0xFFF == _LDG:
            loaded[value] = low >> 16 & 0xFF
        elif low & 0xFFF == _STG:
            stored[value] = low >> 32 & 0xFF
    assert loaded == stored
    assert len(loaded) == VALUES
    return loaded


def roles(cubin: bytes, kernel: str) -> list[list[int]]:
    """Returns the registers of the accumulators, of the first and of the second factors."""
    accumulators, first, second, _ = KERNELS[kernel]
    registers = sorted(registers_of_values(cubin).values())
    banks = [[one for one in registers if one % 2 == bank] for bank in (EVEN, ODD)]
    begin = (0, ACCUMULATORS, ACCUMULATORS + FACTORS, ACCUMULATORS + 2 * FACTORS)
    return [
        banks[bank][begin[role] : begin[role + 1]] for role, bank in enumerate((accumulators, first, second))
    ]


def with_registers(cubin: bytes, kernel: str) -> bytes:
    """Returns the program with multiply-adds that use the registers of this kernel."""
    accumulators, firsts, seconds = roles(cubin, kernel)
    shared = KERNELS[kernel][3]
    changed = bytearray(cubin)
    products = [one for one in instructions_of(cubin) if one[1] & 0xFFF == _FFMA]
    for number, (place, low, _) in enumerate(products):
        result = accumulators[number % ACCUMULATORS]
        first, second = firsts[number // shared % FACTORS], seconds[number % FACTORS]
        kept = number % shared < shared - 1
        struct.pack_into(
            "<QQ", changed, place,
            low & _BESIDE_REGISTERS | result << 16 | first << 24 | second << 32,
            result | _NEXT_CYCLE | kept << 58 | (0 if number else _WAIT_FOR_LOADS),
        )  # fmt: skip
    return bytes(changed)


class Kernel:
    def __init__(self, cubin: bytes, name: str) -> None:
        file = Path(f"{name}.cubin")
        file.write_bytes(with_registers(cubin, name))
        self._launch = cupy.RawModule(path=str(file)).get_function("multiply_add")
        values = {register: value for value, register in registers_of_values(cubin).items()}
        self._places = [[values[register] for register in role] for role in roles(cubin, name)]
        given = numpy.zeros((VALUES, THREADS), numpy.float32)
        for role, places in enumerate(self._places):
            for number, place in enumerate(places):
                given[place] = numpy.linspace(0.1, 0.9, THREADS) / (1 + role + number)
        self._given = cupy.asarray(given)
        self._result = cupy.zeros((BLOCKS, VALUES, THREADS), cupy.float32)

    def run(self) -> float:
        """Returns the microseconds of one launch."""
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        self._launch((BLOCKS,), (THREADS,), (self._result, self._given, numpy.int32(ROUNDS)))
        end.record()
        end.synchronize()
        return 1000 * cupy.cuda.get_elapsed_time(begin, end)

    def sums(self) -> numpy.ndarray:
        return cupy.asnumpy(self._result[:, self._places[0]])


def main() -> None:
    cubin = compile_source()
    if sys.argv[1:]:
        kernel = Kernel(cubin, sys.argv[1])
        kernel.run()
        cupy.cuda.runtime.profilerStart()
        kernel.run()
        cupy.cuda.runtime.profilerStop()
        return
    kernels = {name: Kernel(cubin, name) for name in KERNELS}
    times = {name: min(kernel.run() for _ in range(5)) for name, kernel in kernels.items()}
    sums = {name: kernel.sums() for name, kernel in kernels.items()}
    for one, other in (
        ("multiply_one_bank", "multiply_two_banks"),
        ("multiply_three_alike", "multiply_three_apart"),
    ):
        assert numpy.isfinite(sums[one]).all(), one
        assert len(numpy.unique(sums[one])) > 1000, one
        assert (sums[one] == sums[other]).all(), other
    for name, time in times.items():
        print(f"{name},{time:.2f}")


main()
