"""Measuring a kernel: the tools, building, checking and timing. Only this room needs CUDA."""
