"""What binds a kernel, from its own counters."""
