"""Samples the GPU's clock and power while a program runs. It reads them through `nvidia-smi` and never sets them.

Out: samples with the time at which each was read; none where `nvidia-smi` is missing or does not report these figures.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Thread

from profiler.errors import ProfError
from profiler.measuring.tools.process import run
from profiler.store.process_timings import ClockSample
from profiler.store.runs.manifest import CLOCK_EVERY_S

_LONGEST_S = 24 * 3600.0
_WAIT_S = 5.0


class _Enough(Exception):
    """Ends the reading of `nvidia-smi`, which by itself would go on for ever."""


@contextmanager
def sampled_clocks(environment: Mapping[str, str]) -> Iterator[list[ClockSample]]:
    """Yields a list that fills with samples of the GPU that a program with this environment would use first."""
    samples: list[ClockSample] = []
    tool = shutil.which("nvidia-smi")
    if tool is None:
        yield samples
        return
    visible = {**os.environ, **environment}.get("CUDA_VISIBLE_DEVICES", "0")
    command = [
        tool, "--query-gpu=clocks.sm,power.draw.instant", "--format=csv,noheader,nounits",
        f"--id={visible.split(',')[0].strip() or '0'}", f"--loop-ms={CLOCK_EVERY_S * 1000:.0f}",
    ]  # fmt: skip
    enough = Event()
    begun = ""  # a piece of output may end within a line

    def hear(piece: str) -> None:
        nonlocal begun
        *lines, begun = (begun + piece).split("\n")
        samples.extend(_parsed(lines, time.time()))
        if enough.is_set():
            raise _Enough

    def read() -> None:
        with suppress(_Enough, ProfError):
            run(command, timeout_s=_LONGEST_S, hear=hear, leash=True)

    thread = Thread(target=read, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        enough.set()
        thread.join(_WAIT_S)


def _parsed(lines: Iterable[str], read_at: float) -> Iterator[ClockSample]:
    for line in lines:
        with suppress(ValueError):
            mhz, watts = map(float, line.split(","))
            yield ClockSample(read_at, mhz, watts)
