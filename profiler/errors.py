"""Every failure `prof` can report: its class, its exit code and its remedy.

    ProfError
    ├── ReportError            a .ncu-rep file cannot be used
    │   ├── ReportNotFound         nothing there
    │   ├── ReportUnreadable       there, but cannot be opened or read
    │   ├── NotAReport             not an Nsight Compute report at all
    │   ├── ReportDamaged          a report once, but bytes are missing or changed
    │   ├── ReportEmpty            whole, but nothing was profiled
    │   └── ReaderFailed           NVIDIA's reader crashed or hung on it
    ├── StoreError             the runs folder cannot be used
    │   ├── RunNotFound
    │   ├── RunDamaged             a stored run differs from what its manifest recorded
    │   ├── DiskFull
    │   └── StoreNotWritable
    ├── ComparisonError        two things cannot be compared
    │   ├── NotComparable          different GPU, workload, clocks, ...
    │   ├── KernelAmbiguous        several kernels, and no way to choose
    │   └── KernelNotFound
    ├── MetricNotFound
    ├── QueryFailed
    ├── IngestIncomplete       some reports were ingested, some were not
    └── InternalError          a bug in prof

Exit codes 0, 1 and 2 are taken: success, a regression found by `prof check`, and the
command line parser. Each class below has its own, checked by a test.
"""

from __future__ import annotations

from typing import ClassVar


class ProfError(Exception):
    """What happened, in one line; `remedy` says what to do about it."""

    exit_code: ClassVar[int] = 3
    remedy: str = ""

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        if remedy is not None:
            self.remedy = remedy

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries; the default would lose the keyword argument.
        return (_rebuild, (type(self), str(self), self.remedy))


def _rebuild(cls: type[ProfError], message: str, remedy: str) -> ProfError:
    return cls(message, remedy=remedy)


class ReportError(ProfError):
    exit_code = 10


class ReportNotFound(ReportError):
    exit_code = 11
    remedy = "Check the path; `prof list` shows the runs that are already stored."


class ReportUnreadable(ReportError):
    exit_code = 12
    remedy = "Check the file's permissions, or copy it to a local disk first."


class NotAReport(ReportError):
    exit_code = 13
    remedy = "Give a .ncu-rep file written by `ncu -o NAME ...`."


class ReportDamaged(ReportError):
    exit_code = 14
    remedy = "Copy the report again from where it was recorded, or record it again."


class ReportEmpty(ReportError):
    exit_code = 15
    remedy = "Nothing was profiled: check ncu's kernel filter (-k) and its launch count (-c)."


class ReaderFailed(ReportError):
    exit_code = 16
    remedy = "The report is probably damaged. Open it in the Nsight Compute UI to make sure."


class StoreError(ProfError):
    exit_code = 20


class RunNotFound(StoreError):
    exit_code = 21
    remedy = "`prof list` shows what is stored; `prof ingest REPORT` adds a report."


class RunDamaged(StoreError):
    exit_code = 22
    remedy = "Restore the run from a backup or version control, or delete its folder and ingest again."


class DiskFull(StoreError):
    exit_code = 23
    remedy = "Free some space, or choose another folder with --runs, and run the same command again."


class StoreNotWritable(StoreError):
    exit_code = 24
    remedy = "Check the folder's permissions, or choose another folder with --runs."


class ComparisonError(ProfError):
    exit_code = 30


class NotComparable(ComparisonError):
    exit_code = 31
    remedy = "Record both sides the same way, or compare anyway with --force (the warnings stay)."


class KernelAmbiguous(ComparisonError):
    exit_code = 32
    remedy = "Choose with --kernel-name REGEX, or compare every common kernel with --all."


class KernelNotFound(ComparisonError):
    exit_code = 33
    remedy = "The regular expression is searched in the demangled kernel name; `prof show` lists the names."


class MetricNotFound(ProfError):
    exit_code = 40
    remedy = "`prof metrics` prints the catalogue."


class QueryFailed(ProfError):
    exit_code = 41
    remedy = (
        "The tables are launches, metrics, instances, instructions, rules, timings and runs; "
        "`prof query --tables` describes their columns."
    )


class IngestIncomplete(ProfError):
    exit_code = 42
    remedy = "What was ingested stays. Mend or remove the files above and run the same command again."


class InternalError(ProfError):
    exit_code = 70
    remedy = "This is a bug in prof: please report it with the output of the same command and --verbose."
