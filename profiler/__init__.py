"""prof: why does my kernel take as long as it does, and did my change do what I believe it did?

    import profiler as prof

    a = prof.measure(gelu_v1, x, reference=torch.nn.functional.gelu)
    b = prof.measure(gelu_v2, x, reference=torch.nn.functional.gelu)
    prof.compare(a, b)                    # shows itself in a notebook; .text(), .speedup, .to_pandas()

    prof.read("mine.ncu-rep").top()       # every kernel, by its share of the time
    runs = prof.open_runs("runs")         # then prof.compare(runs["gemm-5"], runs["gemm-6"])

Each function gives the answer of the command with its name; `help(prof.measure)` has the options of `measure`. `runs` is a
folder, a URL, or what `open_runs` returned. Importing this package imports nothing else of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, overload

from profiler.python.package import advised, listing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import ModuleType

    from profiler import errors as errors
    from profiler.analyse.ladder.roofline import Roofline
    from profiler.analyse.recording.source_lines import SourceLines
    from profiler.python.answers import (
        Check,
        Comparison,
        Overview,
        Sheet,
        ShownCode,
        ShownComparisons,
        ShownLadder,
        ShownTriage,
    )
    from profiler.python.measuring import Options, Sweep
    from profiler.python.recordings import Measurement, Recording, Runs
    from profiler.python.tuning import Tuning
    from profiler.store.runs.run import Run
    from profiler.store.runs.run_store import RunStore

    Recorded: TypeAlias = Run | Sheet | str | int | Path
    __version__: str

__all__ = [
    "check", "compare", "ladder", "measure", "open_runs", "range", "read", "report", "roofline", "sass", "show", "source_lines",
    "tune",
]  # fmt: skip


@overload
def measure(
    function: Callable[..., Any], *arguments: Any, over: None = None, **options: Unpack[Options]
) -> Measurement: ...
@overload
def measure(
    function: Callable[..., Any],
    *arguments: Any,
    over: Mapping[str, Iterable[int]],
    **options: Unpack[Options],
) -> Sweep: ...
def measure(
    function: Callable[..., Any],
    *arguments: Any,
    kernel_name: str | None = None,
    reference: Callable[..., Any] | None = None,
    bytes: int | Callable[..., int] | None = None,
    flops: int | Callable[..., int] | None = None,
    name: str | None = None,
    over: Mapping[str, Iterable[int]] | None = None,
    runs: RunStore | str | Path = "runs",
    **options: Any,
) -> Measurement | Sweep:
    """Verifies, times and profiles a function that launches CUDA kernels, and stores the result as a run.

        a = measure(softmax_v1, x, reference=torch_softmax, bytes=2 * x.nbytes)
        b = measure(partial(softmax_v2, BLOCK=1024), x, reference=torch_softmax, bytes=2 * x.nbytes)
        a.ns, a.launched, a.cautions, compare(a, b)

    `reference`         a function of the same arguments: its result is compared, and its time taken in turns
    `kernel_name`       a regular expression for the kernels to profile; by default the one that takes most of the time
    `bytes`, `flops`    the work of one call, for GB/s and GFLOP/s
    `name`, `runs`      the name of the run, and the folder that it goes to
    `over`              values to measure at: with `{"n": [1024, 4096]}`, each argument, `bytes` and `flops` may be a
                        function of `n`, and each point is measured

    Further options: `verify`, `tolerance`, `profile`, `preset`, `processes`, `repeats`, `launches` and `timeout_s`.
    """
    from profiler.python.measuring import measure_one, measure_sweep

    asked = {"kernel_name": kernel_name, "bytes": bytes, "flops": flops, "name": name, **options}
    namespace = sys._getframe(1).f_globals
    with advised():
        if over is None:
            return measure_one(function, arguments, reference, runs, namespace, **asked)
        return measure_sweep(function, arguments, reference, over, runs, namespace, **asked)


def tune(
    function: Callable[..., Any],
    *arguments: Any,
    over: Mapping[str, Iterable[Any]],
    **options: Unpack[Options],
) -> Tuning:
    """Finds the fastest values of a function's keywords, such as block sizes and `num_warps`, and ranks all combinations.

        tuned = tune(softmax, x, over={"BLOCK": [512, 1024], "num_warps": [4, 8]}, reference=torch_softmax)
        tuned.settings, tuned.best, tuned.to_pandas()
        measure(partial(softmax, **tuned.settings), x)

    It verifies and times each combination in one fresh process, and then times the best few as `measure` does, to
    find the fastest. One that cannot be measured, or is wrong, is listed with the reason. The options are those of
    `measure`; `bytes` and `flops` may be functions of the values. With `profile=True`, the best few are profiled.
    """
    from profiler.python.tuning import tune_function

    namespace = sys._getframe(1).f_globals
    with advised():
        return tune_function(function, arguments, over, namespace, **options)


def range(name: str) -> AbstractContextManager[None]:
    """Opens an NVTX range, whose launches `prof collect --nvtx NAME` chooses. It does nothing without a profiler."""
    from profiler.measuring.functions.range import named_range

    return named_range(name)


@advised()
def open_runs(location: str | Path = "runs") -> Runs:
    """Returns the runs in a folder or at a URL such as `s3://bucket/runs`: `runs["gemm-6"]`, `len`, `.to_pandas()`."""
    from profiler.python.recordings import open_existing

    return open_existing(location)


@advised()
def read(recording: Recorded) -> Recording:
    """Returns a recording: its `.kernels`, `.top()`, and tables such as `.to_pandas("metrics")`.

    A recording is named as in the commands: the path of a report or of a run's folder, or the name, the number or the
    id of a run in the folder `runs`, or what `show` returned about a kernel of it. A report is read without being stored.
    """
    from profiler.python.named import asked_of, run_of
    from profiler.python.recordings import Recording

    run = run_of(asked_of(recording, None).recording)
    return run if isinstance(run, Recording) else Recording.of(run)


@advised()
def show(
    recording: Recorded | Iterable[Run | str | int | Path],
    *others: Run | str | int | Path,
    kernel_name: str | None = None,
    nvtx: str | None = None,
    launch: int | str | None = None,
) -> Sheet | Overview | ShownTriage:
    """Returns what `prof show` prints: `.headline`, `.causes`, `.metrics`, `.to_pandas()` of one kernel.

    For several kernels, it is their `.index` by their share of the time; `[0]` or `["name"]` is one of them, and
    `kernel_name` chooses them. `.sheets` has a sheet for each kernel. A run of times alone has `.timing` instead. For
    a folder of reports, or several recordings, it is one index of all their kernels, and `.errors` says which reports
    cannot be read. `nvtx` keeps the launches in the NVTX ranges of a name, and `launch` those with a number, or in a
    range such as "4-6", counted from 0.
    """
    from profiler.ask.named.settings import Settings
    from profiler.ask.show import ShownTogether, recordings_meant, show_recordings
    from profiler.python.answers import Overview, ShownTriage
    from profiler.python.named import asked_of, each_of, open_among, reference_of
    from profiler.python.status import status

    if not others:
        recording, kernel_name, nvtx, launch = asked_of(recording, kernel_name, nvtx, launch)
    given = each_of((recording, *others))
    with status("show") as say:
        settings = Settings(nvtx=nvtx, launch=launch, progress=say)
        shown = show_recordings(
            recordings_meant([reference_of(one) for one in given], settings),
            settings,
            kernel_name=kernel_name,
            full=True,
            keeps_index=True,
            opened=open_among(given),
        )
    if isinstance(shown, ShownTogether):
        return ShownTriage.of_several(shown, nvtx, launch)
    overview = Overview.of(shown.recording, nvtx, launch)
    return overview.sheets[0] if len(overview.sheets) == 1 else overview


@advised()
def compare(
    before: Recorded,
    after: Recorded | None = None,
    *,
    kernel_name: str | None = None,
    other_kernel: str | None = None,
    nvtx: str | None = None,
    launch: int | str | None = None,
    other_launch: int | str | None = None,
    force: bool = False,
) -> Comparison | ShownComparisons:
    """Returns the comparison of two kernels: `.speedup`, `.causes`, `.to_pandas()`; of times alone unless both were profiled.

    For recordings that have several kernels in common, it is an `.index` of them, and `[0]` or `["name"]` is one of
    them; `.comparisons` has one for each kernel. `kernel_name` and `other_kernel` choose the kernels of the first and
    the second side. `nvtx` keeps the launches in the NVTX ranges of a name, and `launch` those with a number, or in a
    range such as "4-6"; `other_launch` is for the second side. Given one recording, two kernels or launches of it are
    compared, or the run with the last one before it of the same name, workload, arguments and GPU.
    """
    from profiler.analyse import findings
    from profiler.ask.compare import answer_of, compare_runs
    from profiler.ask.named.settings import Settings
    from profiler.python.answers import Comparison, ShownComparisons
    from profiler.python.named import asked_of, compared_runs, sides_of

    first = asked_of(before, kernel_name, nvtx, launch)
    second = asked_of(after, other_kernel, nvtx, launch if other_launch is None else other_launch)
    if other_kernel is None:
        first, second = sides_of(first, second)
    left, right = compared_runs(first, second)
    one, other = first.kernel_name, second.kernel_name
    found = compare_runs(
        left, right, Settings(), kernel_name=one, other_kernel=other, every=None, force=force
    )
    answer = answer_of(found, every=False)
    return ShownComparisons.of(answer) if isinstance(answer, findings.Comparisons) else Comparison.of(answer)


@advised()
def check(
    candidate: Recorded,
    *,
    baseline: Recorded | RunStore,
    kernel_name: str | None = None,
    max_slower_pct: float | None = None,
) -> Check:
    """Returns whether a recording got slower than its baseline beyond noise: `.passed`, `.outcome`, `.headline`.

        assert check(a, baseline="prof-baseline")

    The baseline is a recording, or a folder of runs that has one with the candidate's name. Limits are those of the nearest
    `prof.toml` or `pyproject.toml`; `max_slower_pct` replaces that of the duration. An unclear result has not passed.
    """
    from profiler.ask.check import check as ask
    from profiler.python.answers import Check
    from profiler.python.named import asked_of, launches_of, reference_of, sides_of

    before, after = sides_of(asked_of(baseline, kernel_name), asked_of(candidate, None))
    found = ask(
        reference_of(before.recording),
        reference_of(after.recording),
        launches_of(before, after),
        kernel_name=before.kernel_name,
        other_kernel=after.kernel_name,
        every=False,
        max_slower_pct=max_slower_pct,
    )
    return Check.of(found)


@advised()
def report(
    recording: Recorded | Iterable[Run | str | int | Path],
    *others: Run | str | int | Path,
    output: str | Path = "report.html",
    title: str | None = None,
    kernel_name: str | None = None,
    nvtx: str | None = None,
    launch: int | str | None = None,
    force: bool = False,
    overwrite: bool = False,
) -> Path:
    """Writes a page to send to somebody, one HTML file with everything in it, and returns its path.

    It shows the recordings, or those of a list or a folder, each compared with the one before. It writes over an older page, and over
    another file only to `overwrite` it.
    """
    from profiler.ask.named.settings import Settings
    from profiler.python.named import asked_of, each_of, reference_of
    from profiler.python.pages import write_page

    if not others:
        recording, kernel_name, nvtx, launch = asked_of(recording, kernel_name, nvtx, launch)
    given = [reference_of(one) for one in each_of((recording, *others))]
    settings, about = Settings(nvtx=nvtx, launch=launch), {"title": title, "kernel_name": kernel_name}
    return write_page(given, output, settings, **about, force=force, overwrite=overwrite)


@advised()
def ladder(
    name: str | Path,
    runs: RunStore | str | Path = "runs",
    *,
    workload: Mapping[str, int] | None = None,
    gpu: str | None = None,
) -> ShownLadder:
    """Returns every rung and every step of a ladder, given its name or its file: `.to_pandas()`, `.steps_to_pandas()`.

    Uses the runs of this `workload` and this `gpu`, a part of its name; by default those that most rungs have.
    """
    from profiler.ask.ladder import find_sheet
    from profiler.python.answers import ShownLadder
    from profiler.python.named import climb_of

    return ShownLadder.of(find_sheet(climb_of(name, runs, workload, gpu)))


@advised()
def roofline(
    name: str | Path,
    runs: RunStore | str | Path = "runs",
    *,
    workload: Mapping[str, int] | None = None,
    gpu: str | None = None,
) -> Roofline:
    """Returns how close a ladder's rungs come to the limits of the GPU, as measured by the ladder `ceilings`."""
    from profiler.ask.ladder import find_roofline
    from profiler.python.named import climb_of, settings_of, store_of

    climb, store = climb_of(name, runs, workload, gpu), store_of(runs)
    return find_roofline(climb, store, settings_of(name, store))


@advised()
def source_lines(
    recording: Recorded,
    *,
    kernel_name: str | None = None,
    nvtx: str | None = None,
    launch: int | str | None = None,
) -> SourceLines | None:
    """Returns the executed instructions and stall samples of each source line of the longest kernel, or None without lines."""
    from profiler.ask.named.settings import Settings
    from profiler.ask.show import find_lines
    from profiler.python.named import asked_of, run_of

    asked = asked_of(recording, kernel_name, nvtx, launch)
    return find_lines(run_of(asked.recording, asked.nvtx, asked.launch), Settings(), asked.kernel_name)


@advised()
def sass(
    before: Recorded,
    after: Recorded | None = None,
    *,
    kernel_name: str | None = None,
    nvtx: str | None = None,
    launch: int | str | None = None,
    full: bool = False,
) -> ShownCode:
    """Returns the machine code of the hot loop of a kernel, or of two side by side; whole functions if `full`.

    It also takes files of machine code: a cubin, an object file, a program, or a folder of Triton's cache.
    """
    from profiler.ask.code import find_machine_code
    from profiler.python.answers import ShownCode
    from profiler.python.named import asked_of, launches_of, reference_of, sides_of

    first, second = sides_of(asked_of(before, kernel_name, nvtx, launch), asked_of(after, None))
    code = find_machine_code(
        reference_of(first.recording),
        None if after is None else reference_of(second.recording),
        launches_of(first, second),
        kernel_name=first.kernel_name,
        other_kernel=second.kernel_name,
        whole=full,
    )
    return ShownCode(code)


def __dir__() -> list[str]:
    """Returns what there is to use, for tab completion: nothing that this file imports for itself."""
    return ["errors", *__all__]


if not TYPE_CHECKING:  # which knows by itself what there is

    def __getattr__(name: str) -> ModuleType | str:
        if name == "__version__":
            from profiler.store.runs.manifest import prof_version

            return prof_version()
        if name != "errors":
            from profiler.python.did_you_mean import instead_of

            raise AttributeError(f"profiler has no {name!r}{instead_of(name, __all__)}")
        from importlib import import_module

        return import_module("profiler.errors")


__doc__ = f"{__doc__}\n{listing(globals()[name] for name in __all__)}\n"
