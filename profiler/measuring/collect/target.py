"""The targets of a collection: a rung of a ladder on one workload, or any program that launches kernels.

In: a target. Out: the command that runs it under ncu, and the key that shows whether it was collected before.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from profiler.catalog.ladders.ladder import Mode, size_text
from profiler.measuring.rungs.build import Built
from profiler.measuring.rungs.job_files import list_job_files, read_job_files, relocate_job, write_job_files
from profiler.measuring.rungs.program import RungJob, program_command
from profiler.measuring.tools.ncu import Ncu, NcuOptions, Selection, ncu_command
from profiler.measuring.tools.neutral import relative_words
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_id import facts_sha256, rung_name, timed_name

REPORT_FILE = "report.ncu-rep"


@dataclass(frozen=True)
class Target:
    """A rung has a `job`; any other program has its words in `program`, as the user typed them.

    A function of Python has both: a job that speaks a rung's protocol, and words that stand for the function.
    """

    name: str  # the name of its runs: gemm-6, or the name that the user gave
    selection: Selection
    required_launches: int | None
    job: RungJob | None = None
    built: Built | None = None
    program: tuple[str, ...] = ()

    @property
    def rung(self) -> RungJob | None:
        """Returns the job if it is that of a ladder's rung."""
        return self.job if not self.program else None

    @property
    def label(self) -> str:
        return self.job.label if self.job is not None else self.name

    @property
    def folder(self) -> Path:
        """Returns the folder that its program starts in, unless the user gives another."""
        return self.job.ladder.folder.resolve() if self.job is not None else Path.cwd()

    @property
    def program_text(self) -> tuple[str, ...]:
        """Returns the program's words as text: bytes that are not valid text become escapes."""
        return tuple(os.fsencode(word).decode(errors="backslashreplace") for word in self.program)

    def report_name(self, number: int = 1) -> str:
        """Returns what its report is called; from the second on they are numbered, so that none replaces another."""
        return f"{self.name}.ncu-rep" if number == 1 else f"{self.name}.{number}.ncu-rep"

    @property
    def is_profiled(self) -> bool:
        return self.job is None or self.job.kernel.is_profiled

    @property
    def is_compiled(self) -> bool:
        """Returns whether prof compiled it, and so knows when it changes."""
        return self.built is not None and self.built.record is not None


def rung_target(job: RungJob, built: Built | None, launches: int, recording: NcuOptions) -> Target:
    """Returns the target for a rung. With ranges, the program's own marks decide what is recorded."""
    kernel = job.kernel
    if not kernel.is_profiled:
        return timed_target(job, built)
    if recording.of_ranges:
        selection, required = Selection(), 1
    else:
        selection, required = Selection(kernel.regex, kernel.skip, launches, kernel.has_window), launches
    name = rung_name(job.ladder.name, kernel.number)
    return Target(name, selection, required, replace(job, launches=launches), built)


def timed_target(job: RungJob, built: Built | None) -> Target:
    """Returns the target for a rung that is timed and not profiled."""
    name = timed_name(job.ladder.name, job.kernel.number)
    binary = built.binary if built is not None else job.binary
    job = replace(job, kernel=replace(job.kernel, is_profiled=False), binary=binary)
    return Target(name, Selection(), None, job, built)


def prepare(
    target: Target, ncu: Ncu, recording: NcuOptions, scratch: Path, cwd: Path | None
) -> tuple[list[str], Path]:
    """Returns the command that records the target to REPORT_FILE in `scratch`, and the folder that it starts in.

    Copies the program to `scratch` if possible and runs it there, so that its report names no private path.
    """
    job = target.job
    moved = _moved(job, scratch) if job is not None and cwd is None else None
    if moved is None:
        return typed_command(target, ncu, recording, str(scratch / REPORT_FILE)), cwd or target.folder
    program = relative_words(program_command(moved, "profile"), scratch)
    return ncu_command(ncu.path, recording, target.selection, REPORT_FILE, program), scratch


def _moved(job: RungJob, scratch: Path) -> RungJob | None:
    """Returns the job with its files copied to `scratch`; None if it may need files that its ladder does not name."""
    if job.binary is not None:
        return replace(job, binary=Path(shutil.copy2(job.binary, scratch)))
    files = list_job_files(job)
    if files is None:
        return None
    write_job_files(files, read_job_files(job, files), scratch)
    return relocate_job(job, files, scratch)


def typed_command(target: Target, ncu: Ncu, recording: NcuOptions, export: str) -> list[str]:
    """Returns the same command as a user would type it in the program's own folder, which writes the report `export`."""
    program = program_command(target.job, "profile") if target.job is not None else list(target.program)
    return ncu_command(ncu.path, recording, target.selection, export, program)


def collection_key(
    target: Target,
    recording: NcuOptions,
    *,
    provenance: Provenance,
    gpu: str,
    ncu: Ncu,
    processes: int,
    timed: tuple[int, int] | None,
) -> str:
    """Returns the hash of everything that decides what a run will hold, without seeds, times and paths."""
    preset, job = recording.preset, target.job
    mode: Mode = "profile" if target.is_profiled else "time"
    facts: dict[str, object] = {
        "name": target.name,
        "workload": size_text(job.values) if job is not None else "",
        "program": job.kernel.commands[mode] if job is not None else target.program_text,
        "sources": provenance.sources,
        "binary": provenance.binary_sha256,
        "gpu": gpu,
        "processes": processes,
        "timed": timed,
    }
    if not target.is_profiled:
        return facts_sha256(facts, order="sorted")
    facts |= {
        "selection": target.selection,
        "preset": (preset.name, preset.sections, preset.metrics, preset.set, preset.import_source),
        "controls": (recording.replay, recording.graphs, recording.clock, recording.cache, recording.extra),
        "ncu": ncu.version,
    }
    if job is not None and recording.of_ranges:
        facts["launches"] = job.launches  # the program decides on them: they are not in the selection
    return facts_sha256(facts, order="sorted")
