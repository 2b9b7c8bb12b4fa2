"""Every failure that `prof` can report: its class, its exit code and its remedy.

    ProfError
    ├── ReportError            a .ncu-rep file cannot be used
    │   ├── ReportNotFound         no file is there
    │   ├── ReportUnreadable       the file cannot be opened or read
    │   ├── NotAReport             the file is not an Nsight Compute report
    │   ├── ReportDamaged          bytes of the report are missing or changed
    │   ├── ReportTooLarge         the report needs more room than a report may take
    │   ├── ReportEmpty            the report is whole, but nothing was profiled
    │   └── ReaderFailed           NVIDIA's reader crashed or hung on the report
    ├── StoreError             the runs folder cannot be used
    │   ├── RunNotFound
    │   ├── RunUnusable            a stored run cannot be used
    │   │   ├── RunDamaged             it differs from what its manifest records
    │   │   └── RunUnreadable          the system does not read it: no permission, or a disk that fails
    │   ├── DiskFull
    │   ├── StoreNotWritable
    │   ├── RunNotProfiled         the run holds timings alone, and a profile was asked for
    │   ├── StoredUnderAnotherName the report is stored, but not under the name asked for
    │   ├── IdTaken                another report is stored whose SHA-256 has the same start
    │   ├── StoreDamaged           `prof fsck` found something wrong
    │   ├── StoreLocked            another process holds the lock of the runs for too long
    │   └── CompactBusy            another prof compacts the same folder
    ├── ComparisonError        two things cannot be compared
    │   ├── NotComparable          different GPU, workload, clocks, ...
    │   ├── KernelAmbiguous        several kernels match, and nothing chooses between them
    │   ├── KernelNotFound
    │   └── CheckUndecided         `prof check` cannot separate a regression from noise
    ├── LadderError            a ladder file cannot be used
    │   ├── LadderNotFound
    │   ├── LadderInvalid          the message gives file and line
    │   ├── RungNotFound           no kernel has that number
    │   ├── WorkloadInvalid        a bad size, or a parameter that the workload lacks
    │   └── ExpressionError        bad arithmetic, or arithmetic without a finite result
    ├── MeasureError           something could not be built, checked or timed
    │   ├── ToolNotFound           nvcc, nvidia-smi
    │   ├── GpuNotFound
    │   ├── BuildFailed
    │   ├── LibraryMissing         a rung needs cuBLAS, which is not installed
    │   ├── ProgramFailed          the details are the last lines that the program printed
    │   ├── ProgramTimedOut
    │   ├── OutputInvalid          the program succeeded but printed something unexpected
    │   ├── DeviceMemoryFull
    │   ├── ShapeRefused           this rung cannot run the size
    │   ├── ResultWrong            `prof verify` found a rung with a wrong result
    │   ├── NoPointWorks           `prof tune` found no correct point
    │   ├── DefaultsNotFound       the source lacks a #define that `prof tune --apply` changes
    │   ├── NcuTooOld
    │   ├── CountersRefused        the driver lets only the administrator read counters
    │   ├── CountersBusy           another tool holds the counters
    │   ├── ProfiledAlready        another profiler listens to the process that prof measures
    │   ├── NothingProfiled        no launch of the program matches the filter
    │   ├── LaunchesMissing        the program made fewer launches than asked for
    │   ├── ReportNotWritten
    │   ├── NcuFailed              ncu failed in any other way
    │   ├── CollectBusy            another prof is collecting the same
    │   └── CollectIncomplete      some kernels were collected, some were not
    ├── MetricNotFound
    ├── MetricsMissing         ncu recorded nothing for a metric that was asked for
    ├── PresetNotFound
    ├── CauseNotFound
    ├── ThresholdsInvalid      the limits in prof.toml or pyproject.toml cannot be used
    ├── OutputNotWritable      an output file cannot be written
    ├── PathUnusable           the system refuses a path: too long, a loop of links, no permission
    ├── ResourcesShort         this process may not use enough memory, files or threads
    ├── ReaderNotStarted       NVIDIA's library for reports is not installed, or does not load
    ├── RemoteNotInstalled     a URL needs a package of fsspec that is not installed
    ├── RemoteDenied           credentials for a URL are missing or do not suffice
    ├── RemoteFailed           a URL cannot be used for another reason
    ├── McpNotInstalled        `prof mcp` needs the SDK of an extra
    ├── OutOfReach             `prof mcp` was asked for a file or a URL outside its folders
    ├── NotebookUnavailable    no such notebook, or no Jupyter to open it
    ├── NotReady               `prof doctor` found something that should work here and does not
    ├── ClusterError           the workers cannot be used
    │   ├── ClusterNotInstalled    Dask is an extra
    │   ├── ClusterUnreachable     no scheduler answers, or it refuses the connection
    │   ├── SchedulerLost          the scheduler stopped answering
    │   ├── WorkerLost             one worker died, left, or does not answer
    │   ├── SlurmFailed            Slurm refuses the jobs, starts none, or all of them ended
    │   ├── WorkerUnlike           a worker runs another prof than this one
    │   ├── NoWorkerLeft           no worker has a GPU to measure on
    │   ├── WorkerLacks            a worker lacks a folder or a file that it needs
    │   └── KernelGivenUp          each worker that measured the kernel was lost
    ├── QueryFailed
    ├── IngestIncomplete       some reports were ingested, some were not
    └── InternalError          a bug in prof

Exit codes 0, 1 and 2 are taken: success, a regression found by `prof check`, and the command line parser.
Each class has a code of its own. A group has no remedy, so code that raises one gives it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar, Self

from profiler.text import Spoken


class ProfError(Exception):
    """A failure: `message` says in one line what happened, `details` are further lines, `remedy` says what to do.

    The lines stay apart, so that a name with a newline in it cannot pass for a line of ours. `near` is the end of the
    message that says what lies near a path which leads nowhere. `reason` is what happened in the fewest words, for a
    text that says itself to what it happened.
    """

    exit_code: ClassVar[int] = 3
    remedy: str = ""

    def __init_subclass__(cls, *, exit_code: int) -> None:
        cls.exit_code = exit_code

    def __init__(
        self,
        message: str,
        *,
        details: Iterable[str] = (),
        remedy: str | None = None,
        near: str = "",
        reason: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details)
        self.near = near
        self.reason = reason
        if remedy is not None:
            self.remedy = remedy

    def changed(self, message: str | None = None, details: Iterable[str] | None = None) -> Self:
        """Returns the same failure with another message or other details."""
        lines = self.details if details is None else details
        text = self.message if message is None else message
        return type(self)(text, details=lines, remedy=self.remedy, near=self.near, reason=self.reason)

    def __str__(self) -> str:
        return "\n".join([self.message, *self.details])

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries; the default would lose the keyword arguments.
        again = partial(
            type(self), details=self.details, remedy=self.remedy, near=self.near, reason=self.reason
        )
        return again, (self.message,)


# fmt: off
# One line apart, so that the whole list can be read in one sitting.
class ReportError(ProfError, exit_code=10): ...

class ReportNotFound(ReportError, exit_code=11):
    remedy = "Check the path."

class ReportUnreadable(ReportError, exit_code=12):
    remedy = "Check the file's permissions, or copy it to a local disk first."

class NotAReport(ReportError, exit_code=13):
    remedy = "Give a .ncu-rep file written by `ncu -o NAME ...`."

class ReportDamaged(ReportError, exit_code=14):
    remedy = "Copy the report again from where it was recorded, or record it again."

class ReportEmpty(ReportError, exit_code=15):
    remedy = "Nothing was profiled: check ncu's kernel filter (`ncu -k`) and its launch count (`ncu -c`)."

class ReportTooLarge(ReportError, exit_code=17):
    remedy = "Record fewer launches in one report, or free some disk space."

class ReaderFailed(ReportError, exit_code=16):
    remedy = "The structure of the file adds up, so the report need not be damaged. Open it in the Nsight Compute UI, or try another version of the Python package ncu-report."

class StoreError(ProfError, exit_code=20): ...

class RunNotFound(StoreError, exit_code=21):
    name = ""  # the one that no run has, unless it is a number
    remedy = "`prof list` shows what is stored; " + Spoken("`prof ingest REPORT` adds a report.", "`prof.read` takes the path of a report as well.")

class RunUnusable(StoreError, exit_code=109): ...

class RunDamaged(RunUnusable, exit_code=22):
    remedy = "Restore the run from a backup or version control; or `prof fsck --repair` sets it aside, and its report can be ingested again."

class RunUnreadable(RunUnusable, exit_code=110):
    remedy = "Check the permissions and the disk, and run the same command again: nothing says that the run is damaged."

class DiskFull(StoreError, exit_code=23):
    remedy = "Free some space, or choose another folder with `--runs`, and run the same command again."

class StoreNotWritable(StoreError, exit_code=24):
    remedy = "Check the folder's permissions, or choose another folder with `--runs`."

class RunNotProfiled(StoreError, exit_code=25):
    remedy = "Profile the same kernel with `ncu`, and `prof ingest` the report."

class StoredUnderAnotherName(StoreError, exit_code=26):
    remedy = "Use the run by the name that it has, or ingest the report under another name into another folder with `--runs`."

class IdTaken(StoreError, exit_code=29):
    remedy = "One folder cannot hold both: store this one in another folder with `--runs`."

class StoreDamaged(StoreError, exit_code=28):
    remedy = "`prof fsck --repair` sets damaged runs aside, and deletes none. Then ingest their reports again, or restore the runs from a backup."

class StoreLocked(StoreError, exit_code=27):
    remedy = "See what that process does, and run the same command again when it has ended."

class CompactBusy(StoreError, exit_code=91):
    remedy = "Wait until the other one has finished; nothing is left to do then."

class ComparisonError(ProfError, exit_code=30): ...

class NotComparable(ComparisonError, exit_code=31):
    remedy = "Record both sides the same way, or compare anyway with `--force` (the warnings stay)."

class KernelAmbiguous(ComparisonError, exit_code=32):
    remedy = "Choose one on each side with `-k PATTERN`; `prof show` lists them."

class KernelNotFound(ComparisonError, exit_code=33):
    remedy = "Give `-k` a part of a kernel's name, or a regular expression that matches one; `prof show` lists the names."

class CheckUndecided(ComparisonError, exit_code=80):
    remedy = "Record more launches, in several processes, on both sides; or accept it with --allow-unclear."

class LadderError(ProfError, exit_code=43): ...

class LadderNotFound(LadderError, exit_code=44):
    remedy = "Ladders come with the repository of prof, not with its package. Go to a folder that holds `kernels/`, or give the file: " + Spoken("--ladder path/to/ladder.toml.", "prof.ladder('path/to/ladder.toml').")

class LadderInvalid(LadderError, exit_code=45):
    remedy = "`kernels/README.md` describes the file, with a complete example."

class RungNotFound(LadderError, exit_code=46):
    remedy = Spoken("`prof list --kernels` shows the kernels of the ladder, and `--ladder NAME` those of another.", "`prof.ladder(NAME)` lists the kernels of a ladder.")

class WorkloadInvalid(LadderError, exit_code=47):
    remedy = Spoken("Sizes are whole numbers from 1: `--size 4096`, or one parameter each: `--set-param m=4096`.", "Sizes are whole numbers from 1, such as workload={'m': 4096}.")

class ExpressionError(LadderError, exit_code=48):
    remedy = "Arithmetic may use numbers, the workload's parameters, + - * / // % ** and parentheses."

class MeasureError(ProfError, exit_code=50): ...

class ToolNotFound(MeasureError, exit_code=51):
    remedy = "Install the CUDA toolkit and put it on the PATH, or set CUDA_HOME."

class GpuNotFound(MeasureError, exit_code=52):
    remedy = "Run this on a machine with an NVIDIA GPU and its driver; `nvidia-smi` must list it."

class BuildFailed(MeasureError, exit_code=53):
    remedy = "Correct what the compiler reports above; you can run its command by hand."

class LibraryMissing(MeasureError, exit_code=54):
    remedy = "Install it beside the compiler (`pip install nvidia-cublas`, or the CUDA toolkit)."

class ProgramFailed(MeasureError, exit_code=55):
    remedy = "Run the command above by hand; `kernels/README.md` says what a program must do."

class ProgramTimedOut(MeasureError, exit_code=56):
    remedy = "Run the command above by hand: it should end by itself."

class OutputInvalid(MeasureError, exit_code=57):
    remedy = "`kernels/README.md` says what a program must print."

class DeviceMemoryFull(MeasureError, exit_code=58):
    remedy = Spoken("Give a smaller --size", "Give smaller arguments") + ", or free the GPU: `nvidia-smi` shows who uses it."

class ShapeRefused(MeasureError, exit_code=59):
    remedy = "Choose a size that this kernel can run, or leave it out with --kernel."

class ResultWrong(MeasureError, exit_code=60):
    remedy = "Do not trust this kernel's timings. The seed repeats the case: `prof verify --kernel N --seed SEED`."

class NoPointWorks(MeasureError, exit_code=89):
    remedy = "See the reasons above; `prof verify --kernel N` checks the kernel as it stands."

class DefaultsNotFound(MeasureError, exit_code=90):
    remedy = "Write `#define NAME VALUE` in the kernel's source, once for each parameter of [kernel.tune]."

class NcuTooOld(MeasureError, exit_code=62):
    remedy = "Install a newer Nsight Compute; it works beside an older CUDA toolkit."

class CountersRefused(MeasureError, exit_code=63):
    remedy = "Run as root, or let everybody read counters: write `options nvidia NVreg_RestrictProfilingToAdminUsers=0` to /etc/modprobe.d/nvidia.conf and restart; in a container, add --cap-add=SYS_ADMIN. `prof doctor` checks it. Times need no counters: `prof collect --times-only` takes them, and `prof time` those of a ladder's kernels."

class CountersBusy(MeasureError, exit_code=64):
    remedy = "Stop the other profiler; `dcgmi profile --pause` makes DCGM release the counters. `prof doctor` looks for such tools."

class ProfiledAlready(MeasureError, exit_code=72):
    remedy = "Start it without ncu or another profiler around it: prof starts ncu itself where it measures."

class NothingProfiled(MeasureError, exit_code=65):
    remedy = "Choose among the kernels above with " + Spoken("--kernel-name, and check --launch-skip.", "kernel_name=PATTERN.")

class LaunchesMissing(MeasureError, exit_code=66):
    remedy = "Ask for fewer with `--launches`, " + Spoken("skip fewer with --launch-skip, or let the program launch more.", "or let the function launch more.")

class ReportNotWritten(MeasureError, exit_code=67):
    remedy = "Check the space and the permissions of the temporary folder (TMPDIR)."

class NcuFailed(MeasureError, exit_code=68):
    remedy = Spoken("Run the command by hand (--dry-run prints it whole); ", "See what ncu says above; ") + "`prof doctor` checks the machine."

class CollectBusy(MeasureError, exit_code=69):
    remedy = "Wait until the other one has finished; its run will be there then."

class CollectIncomplete(MeasureError, exit_code=71):
    remedy = "What was collected stays. Correct the failures above and run the same command again: it continues from there."

class MetricNotFound(ProfError, exit_code=40):
    remedy = "`prof metrics` prints the catalogue."

class MetricsMissing(ProfError, exit_code=49):
    remedy = "ncu ignores unknown names without an error. Correct the name or leave it out: `prof metrics` prints the catalogue, `ncu --query-metrics` the names that this GPU has."

class PresetNotFound(ProfError, exit_code=61):
    remedy = "`prof presets` lists the presets."

class CauseNotFound(ProfError, exit_code=108):
    remedy = "`prof causes` lists the causes."

class ThresholdsInvalid(ProfError, exit_code=81):
    remedy = "`docs/ci.md` describes the file, with an example; `prof metrics` prints the names."

class OutputNotWritable(ProfError, exit_code=82):
    remedy = "Check the folder's permissions and its free space, or give another file."

class PathUnusable(ProfError, exit_code=93):
    remedy = "Check the path, its permissions and the disk that it is on."

class ResourcesShort(ProfError, exit_code=92):
    remedy = "Free some memory, or raise the limits of this process (`ulimit -a` lists them), and run the same command again."

class ReaderNotStarted(ProfError, exit_code=111):
    remedy = "Install it again: `pip install --force-reinstall ncu-report`."

class RemoteNotInstalled(ProfError, exit_code=95):
    remedy = "Run `pip install 'ncu-prof[s3]'` for S3; gs:// needs gcsfs as well, az:// adlfs."

class RemoteDenied(ProfError, exit_code=96):
    remedy = "Give credentials the usual way (for S3: AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), and check what they allow."

class RemoteFailed(ProfError, exit_code=97):
    remedy = "Check the URL, the network and the endpoint (for S3: AWS_ENDPOINT_URL, AWS_REGION)."

class McpNotInstalled(ProfError, exit_code=86):
    remedy = "Run `pip install 'ncu-prof[mcp]'` in prof's environment."

class OutOfReach(ProfError, exit_code=87):
    remedy = "Start the server with `prof mcp --reports FOLDER`, where FOLDER holds it; the option may be repeated."

class NotebookUnavailable(ProfError, exit_code=88):
    remedy = "`prof notebook` lists the notebooks; `prof notebook -o mine.ipynb` writes one about your runs."

class NotReady(ProfError, exit_code=85):
    remedy = "Follow the advice under each failed line, and run the same command again."

class ClusterError(ProfError, exit_code=103): ...

class ClusterNotInstalled(ClusterError, exit_code=104):
    remedy = "Run `pip install 'ncu-prof[cluster]'` in prof's environment, here and on every worker."

class ClusterUnreachable(ClusterError, exit_code=105):
    remedy = "Check that `dask scheduler` runs, its address and, where it uses TLS, its certificates (--tls-ca, --tls-cert, --tls-key)."

class SchedulerLost(ClusterError, exit_code=106):
    remedy = "What was committed stays. Start the scheduler and its workers again, then run the same command: it continues from there."

class WorkerLost(ClusterError, exit_code=107):
    remedy = "See the log of that worker, and how much memory it had."

class SlurmFailed(ClusterError, exit_code=102):
    remedy = "Correct what --slurm gives to sbatch; `sinfo` shows the partitions, `squeue --me` your jobs."

class WorkerUnlike(ClusterError, exit_code=98):
    remedy = "Install the same prof here and on every worker, and start the workers again."

class NoWorkerLeft(ClusterError, exit_code=99):
    remedy = "Start workers with `prof worker ADDRESS`, then run the same command again: it continues."

class WorkerLacks(ClusterError, exit_code=100):
    remedy = "Put it at the same path on every worker, or list a rung's files in its `sources`: prof copies those to the workers."

class KernelGivenUp(ClusterError, exit_code=101):
    remedy = "See the logs of these workers: the kernel, or the memory that it takes, may be what ends them."

class QueryFailed(ProfError, exit_code=41):
    remedy = "The tables are launches, metrics, instances, instructions, rules, timings and runs; `prof query --tables` describes their columns."

class IngestIncomplete(ProfError, exit_code=42):
    remedy = "What was ingested stays. Correct or remove the files above and run the same command again."

class InternalError(ProfError, exit_code=70):
    remedy = "This is a bug in prof: please report it with " + Spoken("the output of the same command and --verbose.", "its traceback.")

# fmt: on
