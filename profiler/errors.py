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
    │   ├── StoreNotWritable
    │   ├── RunNotProfiled         it holds timings alone, and a profile was asked for
    │   ├── StoredUnderAnotherName the report is there, but not under the name asked for
    │   └── CompactBusy            another prof compacts the same folder
    ├── ComparisonError        two things cannot be compared
    │   ├── NotComparable          different GPU, workload, clocks, ...
    │   ├── KernelAmbiguous        several kernels, and no way to choose
    │   ├── KernelNotFound
    │   └── CheckUndecided         `prof check` cannot tell noise from a regression
    ├── LadderError            a ladder file cannot be used
    │   ├── LadderNotFound
    │   ├── LadderInvalid          its file and line, and what is wrong there
    │   ├── RungNotFound           no kernel of that number
    │   ├── WorkloadInvalid        a size that is no size, a parameter it does not have
    │   └── ExpressionError        arithmetic that is none, or that has no finite result
    ├── MeasureError           something could not be built, checked or timed
    │   ├── ToolNotFound           nvcc, nvidia-smi
    │   ├── GpuNotFound
    │   ├── BuildFailed
    │   ├── LibraryMissing         a rung needs cuBLAS, and there is none
    │   ├── ProgramFailed          a rung's program failed; its last lines are the details
    │   ├── ProgramTimedOut
    │   ├── OutputInvalid          it succeeded but printed something else than it should
    │   ├── DeviceMemoryFull
    │   ├── ShapeRefused           a size that this rung cannot run
    │   ├── ResultWrong            `prof verify` found a rung that computes something else
    │   ├── NoPointWorks           `prof tune` found none that is correct
    │   ├── DefaultsNotFound       the source does not say what `prof tune --apply` would change
    │   ├── NcuTooOld
    │   ├── CountersRefused        the driver lets only the administrator read counters
    │   ├── CountersBusy           another tool holds them
    │   ├── NothingProfiled        no launch of the program fits the filter
    │   ├── LaunchesMissing        fewer than asked for
    │   ├── ReportNotWritten
    │   ├── NcuFailed              anything else that ncu calls an error
    │   ├── CollectBusy            another prof collects the very same
    │   └── CollectIncomplete      some kernels were collected, some were not
    ├── MetricNotFound
    ├── MetricsMissing         asked for, and ncu recorded nothing for it
    ├── PresetNotFound
    ├── ThresholdsInvalid      prof.toml, or prof's part of pyproject.toml, cannot be used
    ├── OutputNotWritable      a file that was asked for cannot be written
    ├── RemoteNotInstalled     a URL needs a file system of fsspec that is not there
    ├── RemoteDenied           no credentials for a URL, or they do not suffice
    ├── RemoteFailed           a URL cannot be used for another reason: nobody answers, for one
    ├── McpNotInstalled        `prof mcp` needs the SDK of an extra
    ├── NotebookUnavailable    `prof notebook` finds no such notebook, or no Jupyter to open it
    ├── NotReady               `prof doctor` found something that should work here and does not
    ├── ClusterError           the workers cannot be used
    │   ├── ClusterNotInstalled    Dask is an extra
    │   ├── ClusterUnreachable     no scheduler answers there, or not to us
    │   ├── SchedulerLost          it answered, and does no more
    │   ├── MemberLost             one worker died, left, or does not answer
    │   ├── SlurmFailed            it refuses the jobs, starts none, or all of them ended
    │   ├── WorkerUnlike           a worker with another prof than this one
    │   ├── NoWorkerLeft           none is there that has a GPU to measure on
    │   ├── WorkerLacks            a folder or a file that a worker needs is not there
    │   └── KernelGivenUp          each worker that measured it was lost
    ├── QueryFailed
    ├── IngestIncomplete       some reports were ingested, some were not
    └── InternalError          a bug in prof

Exit codes 0, 1 and 2 are taken: success, a regression found by `prof check`, and the
command line parser. Each class below has its own, checked by a test.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar


class ProfError(Exception):
    """What happened, in one line; `details` are further lines; `remedy` says what to do about it.

    Lines are kept apart rather than joined, so that a name with a newline in it cannot
    pass for a line of ours.
    """

    exit_code: ClassVar[int] = 3
    remedy: str = ""

    def __init__(self, message: str, *, details: Iterable[str] = (), remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)
        if remedy is not None:
            self.remedy = remedy

    def __str__(self) -> str:
        return "\n".join([self.message, *self.details])

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries; the default would lose the keyword arguments.
        return (_rebuild, (type(self), self.message, self.details, self.remedy))


def _rebuild(cls: type[ProfError], message: str, details: tuple[str, ...], remedy: str) -> ProfError:
    return cls(message, details=details, remedy=remedy)


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


class ThresholdsInvalid(ProfError):
    exit_code = 81
    remedy = "`docs/ci.md` describes the file, with an example; `prof metrics` prints the names."


class OutputNotWritable(ProfError):
    exit_code = 82
    remedy = "Check the folder's permissions and its free space, or give another file."


class NotReady(ProfError):
    exit_code = 85
    remedy = "Do what the line of each says, and run the same command again."


class RemoteNotInstalled(ProfError):
    exit_code = 95
    remedy = "`pip install 'ncu-prof[s3]'` for S3; gs:// needs gcsfs beside it, az:// adlfs."


class RemoteDenied(ProfError):
    exit_code = 96
    remedy = (
        "Give credentials the usual way (for S3: AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), "
        "and check what they allow."
    )


class RemoteFailed(ProfError):
    exit_code = 97
    remedy = (
        "Check the URL, the network and the endpoint (for S3: AWS_ENDPOINT_URL, AWS_REGION), then try again."
    )


class McpNotInstalled(ProfError):
    exit_code = 86
    remedy = "`pip install 'ncu-prof[mcp]'`, in the environment that holds prof."


class NotebookUnavailable(ProfError):
    exit_code = 88
    remedy = (
        "`prof notebook` lists those there are; `prof notebook -o mine.ipynb` writes one over your own runs."
    )


class ClusterError(ProfError):
    exit_code = 103


class ClusterNotInstalled(ClusterError):
    exit_code = 104
    remedy = (
        "`pip install 'ncu-prof[cluster]'`, in the environment that holds prof, here and on every worker."
    )


class ClusterUnreachable(ClusterError):
    exit_code = 105
    remedy = "Check that `dask scheduler` runs, its address, and its certificates where it has some (--tls-ca, --tls-cert, --tls-key)."


class SchedulerLost(ClusterError):
    exit_code = 106
    remedy = "What was committed stays. Start the scheduler and its workers again, then run the same command: it goes on from there."


class MemberLost(ClusterError):
    exit_code = 107
    remedy = "See the log of that worker, and how much memory it had."


class SlurmFailed(ClusterError):
    exit_code = 102
    remedy = "Correct what --slurm gives to sbatch; `sinfo` shows the partitions, `squeue --me` your jobs."


class WorkerUnlike(ClusterError):
    exit_code = 98
    remedy = "Install the same prof here and on every worker, and start the workers again."


class NoWorkerLeft(ClusterError):
    exit_code = 99
    remedy = (
        "Start workers with `prof worker ADDRESS`, then run the same command again: it goes on from there."
    )


class WorkerLacks(ClusterError):
    exit_code = 100
    remedy = "Put it at the same path on every worker, or name what a rung reads in its `sources`: that travels by itself."


class KernelGivenUp(ClusterError):
    exit_code = 101
    remedy = (
        "See the logs of these workers: the kernel, or what it takes of their memory, may be what ends them."
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


class LadderError(ProfError):
    exit_code = 43


class LadderNotFound(LadderError):
    exit_code = 44
    remedy = "Go to the folder that holds `kernels/`, or give the file: --ladder path/to/ladder.toml."


class LadderInvalid(LadderError):
    exit_code = 45
    remedy = "`kernels/README.md` describes the file, with a complete example."


class RungNotFound(LadderError):
    exit_code = 46
    remedy = "`prof list` shows the kernels of the ladder."


class WorkloadInvalid(LadderError):
    exit_code = 47
    remedy = "Sizes are whole numbers from 1: `--size 4096`, or one by one `--set-param m=4096`."


class ExpressionError(LadderError):
    exit_code = 48
    remedy = "Arithmetic may use numbers, the workload's parameters, + - * / // % ** and parentheses."


class MeasureError(ProfError):
    exit_code = 50


class ToolNotFound(MeasureError):
    exit_code = 51
    remedy = "Install the CUDA toolkit and put it on the PATH, or set CUDA_HOME."


class GpuNotFound(MeasureError):
    exit_code = 52
    remedy = "Run this on a machine with an NVIDIA GPU and its driver; `nvidia-smi` must list it."


class BuildFailed(MeasureError):
    exit_code = 53
    remedy = "Mend what the compiler says above; the command can be run as it stands."


class LibraryMissing(MeasureError):
    exit_code = 54
    remedy = (
        "Install it beside the compiler (`pip install nvidia-cublas`, or the CUDA toolkit), then build again."
    )


class ProgramFailed(MeasureError):
    exit_code = 55
    remedy = "Run the command above by hand; `kernels/README.md` says what a program must do."


class ProgramTimedOut(MeasureError):
    exit_code = 56
    remedy = "Run the command above by hand: it should end by itself."


class OutputInvalid(MeasureError):
    exit_code = 57
    remedy = "`kernels/README.md` says what a program must print."


class DeviceMemoryFull(MeasureError):
    exit_code = 58
    remedy = "Give a smaller --size, or free the GPU: `nvidia-smi` shows who uses it."


class ShapeRefused(MeasureError):
    exit_code = 59
    remedy = "Choose a size that this kernel can run, or leave it out with --kernel."


class ResultWrong(MeasureError):
    exit_code = 60
    remedy = "Do not believe its timings. A seed repeats one case: `prof verify --kernel N --seed SEED`."


class NoPointWorks(MeasureError):
    exit_code = 89
    remedy = "See the reasons above; `prof verify --kernel N` tells whether the kernel works as it stands."


class DefaultsNotFound(MeasureError):
    exit_code = 90
    remedy = "Write `#define NAME VALUE` in the kernel's source, once for each parameter of [kernel.tune]."


class PresetNotFound(ProfError):
    exit_code = 61
    remedy = "`prof presets` lists them."


class NcuTooOld(MeasureError):
    exit_code = 62
    remedy = "Install a newer Nsight Compute; it works beside an older CUDA toolkit."


class CountersRefused(MeasureError):
    exit_code = 63
    remedy = (
        "Run as root, or let everybody read counters: write `options nvidia NVreg_RestrictProfilingToAdminUsers=0` to "
        "/etc/modprobe.d/nvidia.conf and restart; in a container, add --cap-add=SYS_ADMIN. `prof doctor` checks it."
    )


class CountersBusy(MeasureError):
    exit_code = 64
    remedy = (
        "Stop the other profiler; DCGM lets go with `dcgmi profile --pause`. `prof doctor` looks for them."
    )


class NothingProfiled(MeasureError):
    exit_code = 65
    remedy = "Choose among the kernels above with --kernel-regex, and check --launch-skip."


class LaunchesMissing(MeasureError):
    exit_code = 66
    remedy = "Ask for fewer with --launches, skip fewer with --launch-skip, or let the program launch more."


class ReportNotWritten(MeasureError):
    exit_code = 67
    remedy = "Check the space and the permissions of the temporary folder (TMPDIR)."


class NcuFailed(MeasureError):
    exit_code = 68
    remedy = "Run the command by hand (--dry-run prints it whole); `prof doctor` checks the machine."


class CollectBusy(MeasureError):
    exit_code = 69
    remedy = "Wait until it has finished: its run will then be there."


class CollectIncomplete(MeasureError):
    exit_code = 71
    remedy = "What was collected stays. Mend the failures above and run the same command again: it goes on from there."


class InternalError(ProfError):
    exit_code = 70
    remedy = "This is a bug in prof: please report it with the output of the same command and --verbose."
