"""Runs a rung's program: makes its command line, and reads the JSON that it prints."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from profiler.catalog.ladders.ladder import COMMAND_KEYS, Kernel, Ladder, Mode, fill_command, size_text
from profiler.errors import LadderInvalid, OutputInvalid, ProgramTimedOut
from profiler.measuring.tools.exit_codes import program_failure
from profiler.measuring.tools.process import Finished, run

# nvidia-smi counts GPUs by their place on the bus; without this, CUDA counts the fastest first.
ENVIRONMENT = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
Runner = Callable[..., Finished]  # with the arguments of `run`


@dataclass(frozen=True)
class RungJob:
    """One kernel on one workload, with its binary and the number of launches and repeats."""

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
        """Operations, or bytes if the ladder counts bytes: the larger of two workloads has more of them."""
        counted = self.kernel.flops or self.kernel.bytes
        return counted.evaluate(self.values) if counted is not None else 0.0


def fresh_seed() -> int:
    """Returns a random seed for the inputs of a program."""
    return secrets.randbits(32)


def program_command(job: RungJob, mode: Mode, *, relative_to: Path | None = None) -> list[str]:
    """Returns the command to run in the ladder's folder; with `relative_to`, without any absolute path."""
    kernel = job.kernel
    if mode not in kernel.commands:
        key = COMMAND_KEYS[mode]
        raise LadderInvalid(
            f"{job.ladder.path}: {kernel} has no '{key}' command, so it cannot do that",
            remedy=f"Add `{key} = [...]` to the ladder file; `kernels/README.md` says what it must print.",
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


def run_program(
    job: RungJob,
    mode: Mode,
    timeout_s: float,
    accept: tuple[int, ...] = (0,),
    runner: Runner = run,
    hear: Callable[[str], None] | None = None,
) -> Finished:
    """Runs the program to its end; raises the error that its exit code stands for, unless `accept` has the code."""
    command, folder = program_command(job, mode), job.ladder.folder.resolve()
    try:
        finished = runner(
            command,
            timeout_s=timeout_s,
            folder=folder,
            environment={**ENVIRONMENT, **job.environment},
            leash=True,
            hear=hear,
        )
    except ProgramTimedOut as error:
        remedy = "Give it longer with --timeout SECONDS, or a smaller workload."
        message = f"{job.label} did not end within {timeout_s:g} s and was killed"
        raise ProgramTimedOut(message, details=error.details, remedy=remedy) from None
    return require_success(job, finished, accept)


def require_success(job: RungJob, finished: Finished, accept: tuple[int, ...]) -> Finished:
    """Returns the program that ended; raises the error that its exit code stands for, unless `accept` has the code."""
    if finished.exit_code not in accept:
        raise program_failure(job.label, finished.exit_code, finished.how, finished.details)
    return finished


def json_lines(job: RungJob, finished: Finished) -> Iterator[dict[str, Any]]:
    """Yields the JSON objects that the program printed, one a line; ignores other lines."""
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


def read_number(value: object) -> float | None:
    """Returns the value if it is a finite number that is not negative, as errors, durations and counts are."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    with suppress(OverflowError):
        number = float(value)
        return number if math.isfinite(number) and number >= 0 else None
    return None


def output_invalid(job: RungJob, finished: Finished, reason: str) -> OutputInvalid:
    return OutputInvalid(f"{job.label} printed {reason}", details=finished.details)


def _from(path: Path | None, folder: Path | None) -> str:
    if path is None:
        return ""
    return os.path.relpath(path, folder) if folder is not None else str(path)
