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
    ├── OutOfReach             `prof mcp` was asked for a file or a URL that it was not started for
    ├── NotebookUnavailable    `prof notebook` finds no such notebook, or no Jupyter to open it
    ├── NotReady               `prof doctor` found something that should work here and does not
    ├── ClusterError           the workers cannot be used
    │   ├── ClusterNotInstalled    Dask is an extra
    │   ├── ClusterUnreachable     no scheduler answers there, or not to us
    │   ├── SchedulerLost          it answered, and does no more
    │   ├── WorkerLost             one worker died, left, or does not answer
    │   ├── SlurmFailed            it refuses the jobs, starts none, or all of them ended
    │   ├── WorkerUnlike           a worker with another prof than this one
    │   ├── NoWorkerLeft           none is there that has a GPU to measure on
    │   ├── WorkerLacks            a folder or a file that a worker needs is not there
    │   └── KernelGivenUp          each worker that measured it was lost
    ├── QueryFailed
    ├── IngestIncomplete       some reports were ingested, some were not
    └── InternalError          a bug in prof

Exit codes 0, 1 and 2 are taken: success, a regression found by `prof check`, and the
command line parser. Each class has its own, checked by a test.
"""

from profiler.errors.asked import (
    InternalError as InternalError,
    McpNotInstalled as McpNotInstalled,
    NotebookUnavailable as NotebookUnavailable,
    NotReady as NotReady,
    OutOfReach as OutOfReach,
    OutputNotWritable as OutputNotWritable,
    ThresholdsInvalid as ThresholdsInvalid,
)
from profiler.errors.base import (
    ProfError as ProfError,
)
from profiler.errors.elsewhere import (
    ClusterError as ClusterError,
    ClusterNotInstalled as ClusterNotInstalled,
    ClusterUnreachable as ClusterUnreachable,
    KernelGivenUp as KernelGivenUp,
    NoWorkerLeft as NoWorkerLeft,
    RemoteDenied as RemoteDenied,
    RemoteFailed as RemoteFailed,
    RemoteNotInstalled as RemoteNotInstalled,
    SchedulerLost as SchedulerLost,
    SlurmFailed as SlurmFailed,
    WorkerLacks as WorkerLacks,
    WorkerLost as WorkerLost,
    WorkerUnlike as WorkerUnlike,
)
from profiler.errors.measured import (
    BuildFailed as BuildFailed,
    CollectBusy as CollectBusy,
    CollectIncomplete as CollectIncomplete,
    CountersBusy as CountersBusy,
    CountersRefused as CountersRefused,
    DefaultsNotFound as DefaultsNotFound,
    DeviceMemoryFull as DeviceMemoryFull,
    ExpressionError as ExpressionError,
    GpuNotFound as GpuNotFound,
    LadderError as LadderError,
    LadderInvalid as LadderInvalid,
    LadderNotFound as LadderNotFound,
    LaunchesMissing as LaunchesMissing,
    LibraryMissing as LibraryMissing,
    MeasureError as MeasureError,
    NcuFailed as NcuFailed,
    NcuTooOld as NcuTooOld,
    NoPointWorks as NoPointWorks,
    NothingProfiled as NothingProfiled,
    OutputInvalid as OutputInvalid,
    PresetNotFound as PresetNotFound,
    ProgramFailed as ProgramFailed,
    ProgramTimedOut as ProgramTimedOut,
    ReportNotWritten as ReportNotWritten,
    ResultWrong as ResultWrong,
    RungNotFound as RungNotFound,
    ShapeRefused as ShapeRefused,
    ToolNotFound as ToolNotFound,
    WorkloadInvalid as WorkloadInvalid,
)
from profiler.errors.recorded import (
    CheckUndecided as CheckUndecided,
    CompactBusy as CompactBusy,
    ComparisonError as ComparisonError,
    DiskFull as DiskFull,
    IngestIncomplete as IngestIncomplete,
    KernelAmbiguous as KernelAmbiguous,
    KernelNotFound as KernelNotFound,
    MetricNotFound as MetricNotFound,
    MetricsMissing as MetricsMissing,
    NotAReport as NotAReport,
    NotComparable as NotComparable,
    QueryFailed as QueryFailed,
    ReaderFailed as ReaderFailed,
    ReportDamaged as ReportDamaged,
    ReportEmpty as ReportEmpty,
    ReportError as ReportError,
    ReportNotFound as ReportNotFound,
    ReportUnreadable as ReportUnreadable,
    RunDamaged as RunDamaged,
    RunNotFound as RunNotFound,
    RunNotProfiled as RunNotProfiled,
    StoredUnderAnotherName as StoredUnderAnotherName,
    StoreError as StoreError,
    StoreNotWritable as StoreNotWritable,
)
