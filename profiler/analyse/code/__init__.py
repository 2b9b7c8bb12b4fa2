"""Reads machine code: loops, registers, operands, and two loops side by side.

The stored instructions of a kernel come in; its hot loop in figures goes out, and for two kernels what changed in it.
Nothing here knows a kernel: all is read from what was executed.
"""
