"""A rung's program: its command line, and what its exit codes and its output mean.

The codes are the contract of `kernels/README.md`: 0 done, 3 a shape it cannot run, 4 a
wrong result, 6 out of device memory; anything else is a failure, told with its last lines.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from profiler.catalog.ladders.ladder import Kernel, Ladder, Mode, fill_command, size_text
from profiler.errors import (
    DeviceMemoryFull,
    GpuNotFound,
    LadderInvalid,
    OutputInvalid,
    ProfError,
    ProgramFailed,
    ProgramTimedOut,
    ResultWrong,
    ShapeRefused,
)
from profiler.measure.tools.process import Finished, command_details, run

EXIT_SHAPE, EXIT_WRONG, EXIT_MEMORY = 3, 4, 6
_KEYS: dict[Mode, str] = {"profile": "command", "time": "time", "check": "check"}
NO_MEMORY = re.compile(r"out of (device )?memory", re.IGNORECASE)
_NO_DEVICE = re.compile(r"no CUDA.{0,20} device|CUDA driver version is insufficient", re.IGNORECASE)
# nvidia-smi counts GPUs by their place on the bus; without this, CUDA counts the fastest first.
ENVIRONMENT = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


@dataclass(frozen=True)
class RungJob:
    """One kernel on one workload, and how often."""

    ladder: Ladder
    kernel: Kernel
    values: dict[str, int]
    binary: Path | None = None
    seed: int = 0
    launches: int = 1
    repeats: int = 20
    warmup: int = 5
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.kernel} at {size_text(self.values)}" if self.values else str(self.kernel)

    @property
    def work(self) -> float:
        """Operations, or bytes where the ladder counts those: to tell the larger of two workloads."""
        counted = self.kernel.flops or self.kernel.bytes
        return counted.evaluate(self.values) if counted is not None else 0.0


def fresh_seed() -> int:
    return secrets.randbits(32)


def program_command(job: RungJob, mode: Mode, *, relative_to: Path | None = None) -> list[str]:
    """The words to run, from the ladder's folder; with `relative_to`, as they may be published."""
    kernel = job.kernel
    if mode not in kernel.commands:
        raise LadderInvalid(
            f"{job.ladder.path}: {kernel} has no '{_KEYS[mode]}' command, so it cannot do that",
            remedy=f"Add `{_KEYS[mode]} = [...]` to the ladder file; `kernels/README.md` says what it must print.",
        )
    folder = job.ladder.folder.resolve()
    paths = {"binary": job.binary, "source": kernel.source and kernel.source.resolve(), "folder": folder}
    values = {
        "kernel": kernel.number,
        "launches": job.launches,
        "skip": kernel.skip,
        "repeats": job.repeats,
        "warmup": job.warmup,
        "seed": job.seed,
        **job.values,
        **{name: _from(path, relative_to) for name, path in paths.items()},
    }
    return fill_command(kernel.commands[mode], values)


def run_program(job: RungJob, mode: Mode, timeout_s: float, accept: tuple[int, ...] = (0,)) -> Finished:
    """Run it to the end; an exit code that is not in `accept` is raised as what it means."""
    command, folder = program_command(job, mode), job.ladder.folder.resolve()
    try:
        finished = run(
            command,
            timeout_s=timeout_s,
            folder=folder,
            environment={**ENVIRONMENT, **job.environment},
            leash=True,
        )
    except ProgramTimedOut as error:
        remedy = "Give it longer with --timeout SECONDS, or a smaller workload."
        message = f"{job.label} did not end within {timeout_s:g} s and was ended"
        raise ProgramTimedOut(message, details=error.details, remedy=remedy) from None
    if finished.exit_code not in accept:
        details = command_details(finished.command, finished.stdout, finished.stderr)
        raise program_failure(job.label, finished.exit_code, finished.how, details)
    return finished


def json_lines(job: RungJob, finished: Finished) -> Iterator[dict[str, Any]]:
    """The JSON objects among what it printed, one a line; other lines are its own affair."""
    for line in finished.stdout.splitlines():
        if not line.lstrip().startswith("{"):
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise output_invalid(
                job, finished, f"a line that is not JSON: {error}: {line.strip()[:120]}"
            ) from None
        if isinstance(value, dict):
            yield value


def output_invalid(job: RungJob, finished: Finished, reason: str) -> OutputInvalid:
    details = command_details(finished.command, finished.stdout, finished.stderr)
    return OutputInvalid(f"{job.label} printed {reason}", details=details)


def program_failure(label: str, exit_code: int | None, how: str, details: list[str]) -> ProfError:
    """What an exit code means, None where none was agreed to; `details` are the command and its last lines."""
    said = "\n".join(details[1:])
    if exit_code == EXIT_MEMORY or NO_MEMORY.search(said):
        return DeviceMemoryFull(f"{label}: out of device memory", details=details)
    if exit_code == EXIT_SHAPE:
        return ShapeRefused(f"{label}: the program refuses this shape", details=details)
    if exit_code == EXIT_WRONG:
        return ResultWrong(f"{label}: the program says that its result is wrong", details=details)
    if _NO_DEVICE.search(said):
        return GpuNotFound(f"{label}: the program sees no GPU", details=details)
    return ProgramFailed(f"{label} failed ({how})", details=details)


def _from(path: Path | None, folder: Path | None) -> str:
    if path is None:
        return ""
    return os.path.relpath(path, folder) if folder is not None else str(path)
