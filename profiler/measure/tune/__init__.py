"""Sweeps: which values of its parameters make a kernel fastest, by measuring."""
