"""Code of a library counts on the author's line whose values it works on, wherever the compiler put its instructions."""

import pytest

from profiler.analyse.code.libraries import Written, find_authors
from profiler.store.tables.instruction_text import CalledAt, calls_in, inlined_text

HEADER = "/usr/local/cuda-12.4/include/cuComplex.h"
PRODUCT = "DMUL R4, R6, UR4"  # of a header, behind the author's code


def author_of_last(*texts, headers=1):
    """The line that stands for the last instruction: each has its own, from 0, and the last few are of a header."""
    own = len(texts) - headers
    code = [
        Written(text, "mine.cu" if line < own else HEADER, None, line + 1) for line, text in enumerate(texts)
    ]
    return code.index(find_authors(code)[-1])


def test_the_authors_own_code_stands_for_itself():
    assert author_of_last("LDG.E.64 R6, [R2.64]", "DMUL R4, R6, R6", headers=0) == 1


@pytest.mark.parametrize(("source", "stands_at"), [("", 0), ("  ", 0), ("}", 1), (None, 1)])
def test_a_line_that_is_known_to_be_blank_is_nobodys(source, stands_at):
    """The CuTe DSL gives the functions of `cute.math` the line behind the kernel."""
    code = [
        Written("LDG.E R6, [R2.64]", "mine.py", "value = x[i]", 1),
        Written("FMUL R4, R6, R6", "mine.py", source, 2),
    ]
    assert code.index(find_authors(code)[1]) == stands_at


@pytest.mark.parametrize(
    "hoisted",
    [
        "ULDC.64 UR4, c[0x3][0x40]",  # a constant
        "UMOV UR4, 0x1",
        "R2UR UR4, R9",
        "S2UR UR4, SR_CTAID.Y",
        "IMAD.MOV.U32 R7, RZ, RZ, R9",
        "@P0 MOV R7, R9",
    ],
)
def test_a_constant_and_a_move_say_nothing_as_the_compiler_puts_them_anywhere(hoisted):
    assert author_of_last("LDG.E.64 R6, [R2.64]", "FADD R1, R1, R1", hoisted, PRODUCT) == 0


def test_a_move_hands_on_what_was_loaded_or_computed():
    assert author_of_last("LDG.E R9, [R2.64]", "FADD R1, R1, R1", "MOV R6, R9", PRODUCT) == 0


def test_a_chain_of_the_librarys_own_code_leads_back_to_the_authors_value():
    texts = ("LDG.E.64 R10, [R2.64]", "FADD R1, R1, R1", "ULDC.64 UR4, c[0x3][0x40]", "DADD R6, R10, R10", PRODUCT)  # fmt: skip
    assert author_of_last(*texts, headers=2) == 0


def test_of_several_values_the_last_one_is_what_the_statement_adds_to_the_sum():
    texts = ("LDG.E.64 R8, [R2.64]", "LDG.E.64 R6, [R2.64+0x8]", "FADD R1, R1, R1", "DFMA R8, R6, UR4, R8")
    assert author_of_last(*texts) == 1


def test_a_store_of_a_header_stands_where_its_address_is_made_and_an_exchange_through_shared_memory_where_its_value_is():
    made = ("IMAD.WIDE R2, R9, 0x4, R4", "FADD R5, R7, R7", "ULDC.64 UR8, c[0x0][0x208]")
    assert author_of_last(*made, "STG.E desc[UR8][R2.64], R5") == 0
    assert author_of_last(*made, "STS [R2], R5") == 1
    assert author_of_last(*made, "STG.E desc[UR8][R20.64], R5") == 1  # to a parameter


@pytest.mark.parametrize(("behind", "stands_at"), [("0x40", 1), ("0x50", 2)])
def test_a_call_stands_at_the_line_that_says_where_it_returns_to(behind, stands_at):
    """The argument of `pow` in a header is made at the last line before it."""
    texts = ("LDG.E R9, [R2.64]", f"MOV R54, {behind}", "FADD R0, R9, R9", "CALL.REL.NOINC 0x2880")
    code = [
        Written(text, HEADER if place == 3 else "mine.cu", None, place + 1, offset=16 * place)
        for place, text in enumerate(texts)
    ]
    assert find_authors(code)[-1] == code[stands_at]


def test_where_no_value_leads_back_the_authors_code_before_it_that_ran_does():
    assert author_of_last("FADD R1, R1, R1", "ULDC.64 UR4, c[0x3][0x40]", PRODUCT) == 1
    ran, not_run = (Written("FADD R1, R1, R1", "mine.cu", None, line, 2 - line) for line in (1, 2))
    assert find_authors([ran, not_run, Written("BAR.SYNC 0x0", HEADER, None, 9)]) == [ran, not_run, ran]


def test_a_library_without_an_author_keeps_its_own_line():
    assert author_of_last("BAR.SYNC 0x0") == 0
    unknown = [Written("FADD R1, R1, R1", None, None, None), Written(PRODUCT, HEADER, None, 9)]
    assert find_authors(unknown) == unknown


def test_the_call_that_the_code_of_a_library_replaced_is_its_line_even_if_nothing_else_stands_there():
    inner, own = (
        CalledAt("/usr/local/cuda-12.4/include/sm_30_intrinsics.hpp", 420),
        CalledAt("mine.cu", 7, "sum += reduced(x);"),
    )
    outer = CalledAt("mine.cu", 30, "step(x);")
    shuffle = Written(
        "SHFL.BFLY PT, R4, R5, 0x1, 0x1f", HEADER, None, 116, inlined_at=inlined_text([inner, own, outer])
    )
    code = [Written("FADD R5, R5, R5", "mine.cu", "x += x;", 6), shuffle]
    _, found = find_authors(code)
    assert (found.file, found.line, found.source) == own
    assert calls_in(found.inlined_at) == (outer,)


def test_calls_among_libraries_alone_say_nothing_of_the_author():
    of_cub = CalledAt("/usr/local/cuda-13.0/include/cub/block/block_reduce.cuh", 354)
    code = [
        Written("LDG.E R5, [R2.64]", "mine.cu", None, 6),
        Written("FADD R4, R5, R5", HEADER, None, 9, inlined_at=inlined_text([of_cub])),
    ]
    assert find_authors(code) == [code[0], code[0]]


@pytest.mark.parametrize(("header", "stands_at"), [("device_atomic_functions.hpp", 0), ("cuComplex.h", 1)])
def test_an_atomic_of_a_header_stands_where_one_is_called_and_not_at_the_code_before_it(header, stands_at):
    code = [
        Written("VOTEU.ANY UR6, UPT, PT", "mine.cu", "auto place = atomicAdd(count, 1);", 40),
        Written("LDC.64 R2, c[0x0][0x210]", "mine.cu", "to[place] = row;", 41),
        Written("ATOMG.E.ADD.STRONG.GPU PT, R13, desc[UR4][R12.64], R15", f"/usr/local/cuda/include/{header}", None, 107),
    ]  # fmt: skip
    assert find_authors(code)[-1] == code[stands_at]


INDEX = "  int const i = blockIdx.x * blockDim.x + threadIdx.x;  // of the element"


@pytest.mark.parametrize(
    ("line", "text", "stands_at"),
    [
        (INDEX, "STG.E.U8 [R4.64], R3", 2),  # of the loop that the compiler makes of a memcpy, which is on line 2
        (INDEX, "STL.U8 [R1+0x4], RZ", 2),
        (INDEX, "IADD3 R6, R6, 0x1, RZ", 1),  # an index is computed there, as far as this shows
        ("  int const i = blockIdx.x * size[0] + threadIdx.x;", "STG.E.U8 [R4.64], R3", 1),
        ("  float x = a[threadIdx.x];", "LDG.E R4, [R2.64]", 1),
        ("  int i = next(threadIdx.x);", "LDG.E R4, [R2.64]", 1),
        ("  total += threadIdx.x;", "ATOMG.E.ADD R4, [R2.64], R5", 1),  # a reference may be to memory
    ],
)  # fmt: skip
def test_a_line_that_computes_an_index_alone_is_not_where_memory_is_accessed(line, text, stands_at):
    code = [
        Written("S2R R0, SR_TID.X", "mine.cu", line, 1),
        Written("LDG.E R4, [R8.64]", "mine.cu", "memcpy(to + begin[i], from, bytes);", 2),
        Written("IADD3 R4, R4, R9, RZ", "mine.cu", line, 1),
        Written(text, "mine.cu", line, 1),
    ]
    assert find_authors(code)[-1].line == stands_at
