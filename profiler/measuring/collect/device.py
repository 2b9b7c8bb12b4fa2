"""A GPU with the ncu of its host, and what it can do: verify a kernel, time it, record a report.

`LocalDevice` is the GPU of this machine; `fleet/on_cluster.py` has the GPUs of a cluster's workers. A device keeps nothing:
`collection.py` keeps what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from profiler.errors import ProgramTimedOut
from profiler.measuring.collect.gpu_turn import lock_folder
from profiler.measuring.collect.target import REPORT_FILE, Target, prepare, typed_command
from profiler.measuring.rungs.program import ENVIRONMENT, RungJob
from profiler.measuring.rungs.timing import time_kernel
from profiler.measuring.rungs.verify import check_kernel
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tools.ncu import Ncu, NcuOptions
from profiler.measuring.tools.process import Finished, command_details, end_all, run
from profiler.measuring.tools.transcript import Transcript, recording_error
from profiler.store.process_timings import ProcessTimings
from profiler.store.reports.identity import identify_report


@dataclass(frozen=True)
class Order:
    """One recording: the target and ncu's options. `cwd` is set if the program runs in another folder than its own."""

    target: Target
    recording: NcuOptions
    timeout_s: float
    cwd: Path | None = None


@dataclass(frozen=True)
class Recorded:
    """A report, the number of launches in it, and the passes that ncu needed for each launch."""

    report: Path
    launches: int
    passes: int | None


class Device(Protocol):
    """Does one thing at a time. Several threads may each use a device of their own."""

    @property
    def gpu(self) -> Gpu: ...

    @property
    def ncu(self) -> Ncu: ...

    def verify(self, job: RungJob, timeout_s: float) -> float | None:
        """Returns the relative error if the program reports one; raises if the result is wrong."""

    def time(self, job: RungJob, timeout_s: float) -> ProcessTimings: ...

    def record(self, order: Order, scratch: Path, at: Callable[[Transcript], None]) -> Recorded:
        """Records a report into the empty folder `scratch`; `at` receives the progress again and again."""

    def stop(self) -> None:
        """Ends what the device is doing; the call in the other thread then fails."""


@dataclass(frozen=True)
class LocalDevice:
    """A GPU of this machine. `environment` is added to that of every program, so that it uses this GPU alone."""

    gpu: Gpu
    ncu: Ncu
    environment: Mapping[str, str] = field(default_factory=dict)

    def verify(self, job: RungJob, timeout_s: float) -> float | None:
        checked = check_kernel(self._on_this_gpu(job), timeout_s)
        if checked.error is not None:
            raise checked.error
        return checked.relative_error

    def time(self, job: RungJob, timeout_s: float) -> ProcessTimings:
        return time_kernel(self._on_this_gpu(job), timeout_s, self.run_command)

    def record(self, order: Order, scratch: Path, at: Callable[[Transcript], None]) -> Recorded:
        target, report = order.target, scratch / REPORT_FILE
        words, folder = prepare(target, self.ncu, order.recording, scratch, order.cwd)
        # Errors show this command: the scratch folder no longer exists when somebody tries it by hand.
        typed = tuple(typed_command(target, self.ncu, order.recording, target.report_name()))
        transcript = Transcript()

        def hear(piece: str) -> None:
            transcript.feed(piece)
            at(transcript)

        try:
            finished = self.run_command(
                words,
                timeout_s=order.timeout_s,
                folder=folder,
                environment={**ENVIRONMENT, **self.environment},
                leash=True,
                hear=hear,
            )
        except ProgramTimedOut as error:
            message = f"{target.label}: profiling did not end within {order.timeout_s:g} s and was killed"
            remedy = "Give it longer with --timeout SECONDS, fewer --launches, or a cheaper --preset."
            details = [*command_details(typed), *error.details[1:]]
            raise ProgramTimedOut(message, details=details, remedy=remedy) from None
        launches = None
        if report.exists() and not finished.exit_code:
            launches = identify_report(report, scratch).envelope.results
        said = replace(finished, command=typed)
        failure = recording_error(
            target.label, said, launches, target.required_launches, is_rung=target.job is not None
        )
        if failure is not None:
            raise failure
        assert launches is not None  # or that would be the failure
        return Recorded(report, launches, transcript.passes)

    def run_command(self, command: Sequence[str], **options: Any) -> Finished:
        """Runs a program of a target to its end; the options are those of `tools/process.py`."""
        return run(command, **options)

    def stop(self) -> None:
        end_all()

    def _on_this_gpu(self, job: RungJob) -> RungJob:
        return replace(job, environment={**job.environment, **self.environment})


def device_for_gpu(gpu: Gpu, ncu: Ncu) -> LocalDevice:
    """Returns the device for one of several GPUs.

    One ncu runs at a time for each lock file in TMPDIR. So each GPU gets a TMPDIR of its own, which is the same for
    every prof process of this host.
    """
    return LocalDevice(gpu, ncu, {"CUDA_VISIBLE_DEVICES": gpu.uuid, "TMPDIR": str(lock_folder(gpu))})
