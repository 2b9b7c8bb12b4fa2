"""Two kernels: what changed, how surely, and why one is faster."""
