"""Machine code: loops, registers, operands, and two loops side by side."""
