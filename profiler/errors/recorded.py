"""Failures of reports, of the runs that they become, and of what is asked of those."""

from __future__ import annotations

from profiler.errors.base import ProfError


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
    remedy = (
        "The structure of the file adds up, so the report need not be damaged. Open it in the Nsight Compute UI, "
        "or try another version of the Python package ncu-report."
    )


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


class RunNotProfiled(StoreError):
    exit_code = 25
    remedy = "Profile the same kernel with `ncu`, and `prof ingest` the report."


class StoredUnderAnotherName(StoreError):
    exit_code = 26
    remedy = "Delete the folder of that run and ingest the report again under the name it should have."


class CompactBusy(StoreError):
    exit_code = 91
    remedy = "Wait until it has finished: there is nothing left to do then."


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


class CheckUndecided(ComparisonError):
    exit_code = 80
    remedy = "Record more launches, in several processes, on both sides; or let it pass with --allow-unclear."


class MetricNotFound(ProfError):
    exit_code = 40
    remedy = "`prof metrics` prints the catalogue."


class MetricsMissing(ProfError):
    exit_code = 49
    remedy = (
        "ncu accepts any name in silence. Correct it, or leave it out: `prof metrics` prints the catalogue, "
        "`ncu --query-metrics` what this GPU has."
    )


class QueryFailed(ProfError):
    exit_code = 41
    remedy = (
        "The tables are launches, metrics, instances, instructions, rules, timings and runs; "
        "`prof query --tables` describes their columns."
    )


class IngestIncomplete(ProfError):
    exit_code = 42
    remedy = "What was ingested stays. Mend or remove the files above and run the same command again."
