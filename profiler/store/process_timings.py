"""The report of a process that has timed a kernel without the profiler: each repeat, and the facts that hold for all of them."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from profiler.store.tables.decoding import decodable


class Timing(msgspec.Struct, frozen=True):
    """One repeat without the profiler."""

    process: int
    repeat: int
    kernel_ns: float
    reference_ns: float | None
    best_ns: float | None = None


class ClockSample(msgspec.Struct, frozen=True):
    """The clock of the GPU's SMs and its power, as the driver reported them at one moment."""

    unix_s: float
    sm_mhz: float
    power_w: float


class ProcessFacts(msgspec.Struct, frozen=True):
    """The facts of one process that timed a kernel, apart from its times."""

    reference: str | None = None  # the name that the program gives it
    runtime: str | None = None
    library: str | None = None  # the one behind the reference, with its version
    # The one that `best_ns` belongs to; empty if it is the default call.
    algorithm: dict[str, int] | None = None
    clocks: list[ClockSample] = []
    relative_error: float | None = None  # of the output of the last timed launch
    worst_element: float | None = None
    kernels: list[str] = []  # of a function: those that its calls launched, each with its configuration


@decodable
class ProcessTimings(msgspec.Struct, frozen=True):
    """The repeats that one process timed, and the facts that it reported."""

    facts: ProcessFacts
    timings: list[Timing]

    def of_process(self, process: int) -> ProcessTimings:
        """Returns these as the timings of the process with this number."""
        return replace(self, timings=[replace(one, process=process) for one in self.timings])
