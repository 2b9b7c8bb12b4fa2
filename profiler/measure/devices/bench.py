"""A GPU somewhere with an ncu, and what can be asked of it: to check a result, to time, to record.

`LocalBench` is the GPU here, `bench_cluster.py` has those of a cluster. Who asks keeps what comes back
(`collection.py`); a bench keeps nothing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from profiler.errors import ProgramTimedOut
from profiler.measure.collect.target import Target, prepare, typed_command
from profiler.measure.rungs.program import ENVIRONMENT, Job
from profiler.measure.rungs.timing import Timed, time_kernel
from profiler.measure.rungs.verify import check_kernel
from profiler.measure.tools.ncu import Ncu, Recording
from profiler.measure.tools.process import command_details, end_all, run
from profiler.measure.tools.toolchain import Gpu
from profiler.measure.tools.transcript import Transcript, judge
from profiler.store.reports.identity import identify_report


@dataclass(frozen=True)
class Order:
    """What is recorded, and how; `cwd` where its program does not run in its own folder."""

    target: Target
    recording: Recording
    timeout_s: float
    cwd: Path | None = None


@dataclass(frozen=True)
class Recorded:
    """A report, how many launches it holds, and the passes that each of them took."""

    report: Path
    launches: int | None
    passes: int | None


class Bench(Protocol):
    """Several threads may each have one; one bench does one thing at a time."""

    @property
    def gpu(self) -> Gpu: ...

    @property
    def ncu(self) -> Ncu: ...

    def verify(self, job: Job, timeout_s: float) -> float | None:
        """The relative error, where the program tells one; whatever is wrong is raised."""

    def time(self, job: Job, timeout_s: float) -> Timed: ...

    def record(self, order: Order, scratch: Path, at: Callable[[Transcript], None]) -> Recorded:
        """Into the empty folder `scratch`; `at` hears again and again how far it is."""

    def stop(self) -> None:
        """Whatever it is doing ends, from another thread; what it was asked for then fails."""


@dataclass(frozen=True)
class LocalBench:
    """`environment` is added to that of every program, so that it finds this GPU and no other."""

    gpu: Gpu
    ncu: Ncu
    environment: Mapping[str, str] = field(default_factory=dict)

    def verify(self, job: Job, timeout_s: float) -> float | None:
        checked = check_kernel(self._here(job), timeout_s)
        if checked.error is not None:
            raise checked.error
        return checked.relative_error

    def time(self, job: Job, timeout_s: float) -> Timed:
        return time_kernel(self._here(job), timeout_s)

    def record(self, order: Order, scratch: Path, at: Callable[[Transcript], None]) -> Recorded:
        target = order.target
        prepared = prepare(target, self.ncu, order.recording, scratch, order.cwd)
        # What an error shows: the scratch folder will be gone when somebody tries it by hand.
        typed = tuple(typed_command(target, self.ncu, order.recording))
        transcript = Transcript()

        def hear(piece: str) -> None:
            transcript.feed(piece)
            at(transcript)

        try:
            finished = run(
                prepared.words,
                timeout_s=order.timeout_s,
                folder=prepared.folder,
                environment={**ENVIRONMENT, **self.environment},
                leash=True,
                hear=hear,
            )
        except ProgramTimedOut as error:
            message = f"{target.label}: profiling did not end within {order.timeout_s:g} s and was ended"
            remedy = "Give it longer with --timeout SECONDS, fewer --launches, or a cheaper --preset."
            details = [*command_details(typed), *error.details[1:]]
            raise ProgramTimedOut(message, details=details, remedy=remedy) from None
        launches = None
        if prepared.report.exists() and not finished.exit_code:
            launches = identify_report(prepared.report, scratch).envelope.results
        said = replace(finished, command=typed)
        failure = judge(
            target.label, said, launches, target.required_launches, is_rung=target.job is not None
        )
        if failure is not None:
            raise failure
        return Recorded(prepared.report, launches, transcript.passes)

    def stop(self) -> None:
        end_all()

    def _here(self, job: Job) -> Job:
        return replace(job, environment={**job.environment, **self.environment})


def bound_bench(gpu: Gpu, ncu: Ncu) -> LocalBench:
    """For one of several GPUs.

    ncu lets one of its kind run at a time per lock file, and finds that in TMPDIR: each GPU gets a folder
    of its own, the same for every prof of the host.
    """
    return LocalBench(gpu, ncu, {"CUDA_VISIBLE_DEVICES": gpu.uuid, "TMPDIR": str(lock_folder(gpu))})


def lock_folder(gpu: Gpu) -> Path:
    folder = Path(tempfile.gettempdir()) / f"prof-{gpu.uuid.lower()[:12]}"
    with suppress(FileExistsError):
        folder.mkdir()
        with suppress(OSError):
            os.chmod(folder, 0o1777)  # whoever measures on this GPU waits for the same lock
    return folder
