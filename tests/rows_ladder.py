"""A small ladder over rows whose published figures are known, and runs of it with made-up times."""

from datetime import UTC, datetime

from profiler.store.process_timings import Timing
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.timed_run import TimedRun, commit_timings

WORKLOAD = {"n": 1_000_000}
_LADDER = """
title = "Rows"
reference = 0
command = ["program"]
bytes = "8 * n"
[workload]
n = 1000000
[[kernel]]
number = 0
name = "memcpy"
idea = "the device's own copy"
regex = "."
[[kernel]]
number = 1
name = "scalar"
idea = "a float a thread"
regex = "."
published = [{ gpu = "NVIDIA A100 80GB", gbytes_per_s = 1400 }]
[[kernel]]
number = 2
name = "wide"
idea = "four floats a thread"
regex = "."
published = [{ gpu = "NVIDIA A100 80GB", gbytes_per_s = 1820 }]
[[kernel]]
number = 3
name = "staged"
idea = "through shared memory"
regex = "."
expects = "same"
"""


def write_rows_ladder(folder):
    """Writes the ladder into `folder`, and returns the path of its `ladder.toml`."""
    folder.mkdir(parents=True)
    path = folder / "ladder.toml"
    path.write_text(_LADDER)
    return path


def commit_times(store, times_ns, *, processes=3):
    """Stores a timed run for each rung, from 0 on, whose repeats take 0, 1 and 2 ns longer than the time given."""
    for number, time_ns in enumerate(times_ns):
        timings = [
            Timing(process, repeat, time_ns + repeat, 2000.0 + repeat)
            for process in range(processes)
            for repeat in range(3)
        ]
        run = TimedRun("rows", number, WORKLOAD, datetime(2026, 1, 1, tzinfo=UTC), "NVIDIA H200", "", Provenance(reference="memcpy"), timings)  # fmt: skip
        commit_timings(store, [run])
