"""Failures of ladders, and of building, checking, timing and profiling their kernels."""

from __future__ import annotations

from profiler.errors.base import ProfError


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
