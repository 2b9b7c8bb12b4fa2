"""What can be measured, as data."""

DEFAULT_LADDER = "gemm"
