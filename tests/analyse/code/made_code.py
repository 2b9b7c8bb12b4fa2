"""Machine code that a test makes up, instruction by instruction."""

from profiler.analyse.code.code import Code, Instruction
from profiler.store.tables.instruction_text import opcode_of


def function(*lines):
    """Makes a function of `(executed, text)`, 16 bytes each; None is a count that the report lacks."""
    return tuple(Instruction(16 * at, opcode_of(text), text, count) for at, (count, text) in enumerate(lines))


def code_of(*functions):
    return Code(tuple(functions), launches=1, like=1)
