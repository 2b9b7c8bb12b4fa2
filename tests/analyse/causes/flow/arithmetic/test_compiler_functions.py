"""Functions of the compiler, which a kernel calls where hardware has no instruction."""

from dataclasses import replace

import pytest
from made_evidence import change_instruction, evidence_of

from profiler.analyse.causes.flow.arithmetic.compiler_functions import find_calls, find_compiler_functions

CALLS = (("CALL.REL.NOINC 0x30", 300), ("CALL.REL.NOINC 0x30", 100), ("EXIT", 100))
FUNCTION = (("MUFU.RCP64H R5, R3", 400), ("RET.REL.NODEC R20, 0x0", 400))


def test_a_function_is_shared_out_among_its_calls():
    evidence = evidence_of(*CALLS, *FUNCTION, file=None)
    (function,) = find_compiler_functions(evidence)
    assert (function.start, [site.position for site in function.sites]) == (0x30, [3, 4])
    shares = {evidence.sites[0]: 0.75, evidence.sites[1]: 0.25}
    assert find_calls(evidence) == dict.fromkeys(evidence.sites[3:], shares)


@pytest.mark.parametrize(
    "code",
    [
        (*CALLS[:2], ("LDG.E R3, [R2.64]", 100), ("MUFU.RCP64H R5, R3", 100), ("EXIT", 100)),  # before the end
        (*CALLS, ("LDG.E R3, [R2.64]", 400), *FUNCTION),
    ],
)  # fmt: skip
def test_what_stands_in_the_kernel_or_accesses_memory_is_the_kernels_own(code):
    assert not find_compiler_functions(evidence_of(*code, file=None))


def test_a_function_with_lines_of_its_own_is_the_users():
    """The compiler gives those of its functions the line of the kernel's end."""
    assert not find_compiler_functions(evidence_of(*CALLS, *FUNCTION))
    assert find_compiler_functions(evidence_of(*CALLS, *FUNCTION, line=7))


@pytest.mark.parametrize(("line", "found"), [(4, True), (3, False)])
def test_the_end_of_the_kernel_is_its_last_line_even_if_all_threads_leave_before(line, found):
    calls = [(call.replace("0x30", "0x40"), executed) for call, executed in CALLS]
    evidence = evidence_of(*calls, ("EXIT", 0), *FUNCTION)
    ran = tuple(site for site in evidence.sites if site.executed)
    for site in ran[-len(FUNCTION) :]:
        change_instruction(site, line=line)
    assert bool(find_compiler_functions(replace(evidence, sites=ran))) == found
