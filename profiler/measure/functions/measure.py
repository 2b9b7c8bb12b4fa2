"""Takes a function to a run: verifies it, times it and profiles it in fresh processes, commits.

The fresh processes run `child.py`. The first of them also surveys what a call launches. The rest is what `collect/` does for every program.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import msgspec

from profiler.catalog.ladders.ladder import Kernel, Ladder, Workload
from profiler.catalog.presets import find_preset
from profiler.errors import CountersRefused, ProgramFailed, ProgramTimedOut, ResultWrong, ToolNotFound
from profiler.measure.collect.collection import Collection, CollectObserver, CollectPlan
from profiler.measure.collect.target import Target
from profiler.measure.devices.device import LocalDevice, lock_folder
from profiler.measure.functions.activity import LaunchedKernel, choose
from profiler.measure.functions.arrays import described
from profiler.measure.functions.child import CALLS, FILE, SHAPE, Call, kernel_with_shape
from profiler.measure.functions.here import FunctionDevice
from profiler.measure.functions.shipping import SENT_MAIN, pack, write_main
from profiler.measure.rungs import program
from profiler.measure.rungs.timing import Timed, parse_timings
from profiler.measure.tools.ncu import EXIT_WRONG, LAUNCHES, Ncu, NcuOptions, Selection, find_ncu
from profiler.measure.tools.process import neutral_folder
from profiler.measure.tools.toolchain import Gpu, find_gpu, sampled_clocks
from profiler.store.reports.sandbox import Sandbox
from profiler.store.runs.run_id import path_name
from profiler.store.runs.run_store import Run, RunStore
from profiler.store.runs.unfinished import ProcessTimings, UnfinishedCollection
from profiler.text import shortened

_PREFIX = "prof: "
_ARGUMENTS_WIDTH = 500
_STEPS = {"time": "times", "profile": "profiles"}


@dataclass(frozen=True)
class FunctionPlan:
    """How to measure a function; `values` are those of a sweep, and `bytes` and `flops` the work of one call."""

    name: str
    kernel: str | None = None
    tolerance: float | None = None
    verify: bool = True
    profile: bool = True
    bytes: int | None = None
    flops: int | None = None
    values: Mapping[str, int] | None = None
    preset: str = "default"
    processes: int = 3
    repeats: int = 20
    launches: int = LAUNCHES
    timeout_s: float = 600.0

    def __post_init__(self) -> None:
        for option in ("processes", "repeats", "launches", "timeout_s"):
            if getattr(self, option) <= 0:
                raise ValueError(f"{option} is {getattr(self, option)}, and must be more than 0")
        for work in ("bytes", "flops"):
            given: Any = getattr(self, work)
            if not isinstance(given, Real | None):
                raise TypeError(
                    f"{work} is {given!r}, and must be a number; a function of values needs over={{...}}"
                )
            object.__setattr__(self, work, None if given is None else round(given))
        if not isinstance(self.kernel, str | None):
            raise TypeError(
                f"kernel is {self.kernel!r}, and must be a part of the kernel's name, such as 'softmax'"
            )
        find_preset(self.preset)


@dataclass(frozen=True)
class MeasuredFunction:
    """The id of the committed run, every kernel of one call, and what to know before believing the figures."""

    run_id: str
    kernels: tuple[LaunchedKernel, ...]
    cautions: tuple[str, ...]


class _Function(Kernel):
    """A function in the place of a rung: messages call it by its name."""

    def __str__(self) -> str:
        return f"'{self.name}'"


@dataclass(frozen=True)
class _Survey:
    """The findings of the first process, which also timed the function; `left_out` are bytes of arguments that are not put back."""

    calls: int
    kernels: tuple[LaunchedKernel, ...]
    relative_error: float | None
    timed: Timed
    left_out: int


def function_name(function: object) -> str:
    """Returns the name that the runs of a function have by default."""
    function = getattr(function, "func", function)  # of a functools.partial
    name = getattr(function, "__name__", type(function).__name__)
    return path_name(str(name).strip("<>_"))


def measure_function(
    function: Callable[..., object],
    arguments: Sequence[Any],
    reference: Callable[..., object] | None,
    plan: FunctionPlan,
    store: RunStore,
    namespace: Mapping[str, Any],
    say: Callable[[str], None],
) -> MeasuredFunction:
    """Measures the function and commits its run. `namespace` holds the names of the module that asks for it.

    `say` receives what is done now.
    """
    if SENT_MAIN in sys.modules:
        raise ProgramFailed(
            f"{plan.name}: the function needs a name whose statement also calls `measure`",
            remedy="Bind what the function needs in a statement of its own.",
        )
    gpu = find_gpu()
    cautions = [] if reference is not None else ["the result was not verified: there is no reference"]
    with neutral_folder() as scratch, _alone_on(gpu), Sandbox(workers=1) as sandbox:
        folder = scratch / "call"
        folder.mkdir()
        call = Call(function, tuple(arguments), reference, plan.tolerance)
        if (lacking := _send(call, namespace, folder)) is not None:
            cautions.append(f"measured in this process alone, without counters, because {lacking}")
            plan = replace(plan, profile=False, processes=1, repeats=plan.repeats * plan.processes)
        device = FunctionDevice(
            gpu, _ncu(plan, cautions), {"PYTHONPATH": _python_path()}, call if lacking else None
        )
        job = replace(_job(plan, folder), environment=device.environment)
        with _explained():
            say("calls it until it is compiled and tuned, times and verifies it")
            found = _survey(device, job, plan)
            if found.left_out:
                cautions.append(
                    f"{found.left_out / 1e9:.3g} GB of the arguments are not put back, because they are too many or cannot "
                    "be written: a function that changes them meets in each call what the call before has left"
                )
            (folder / CALLS).write_text(str(found.calls))
            chosen = choose(job.label, found.kernels, plan.kernel)
            launches = plan.launches * chosen.launches
            target = Target(
                name=path_name(plan.name),
                selection=Selection(chosen.regex, 0, launches, of_window=True),
                required_launches=launches,
                job=replace(job, launches=plan.launches),
                program=_program(function, plan.name),
            )
            if not device.ncu.version:
                target = _unprofiled(target)
            recording = NcuOptions(find_preset(plan.preset), extra=chosen.words)
            run_id = _collect(device, recording, target, plan, call, store, found, cautions, sandbox, say)
    return MeasuredFunction(run_id, found.kernels, tuple(cautions))


def _send(call: Call, namespace: Mapping[str, Any], folder: Path) -> str | None:
    """Writes the call for the fresh processes; returns why it cannot be copied to them, or None."""
    main = write_main(folder)
    try:
        packed = pack((call.function, call.arguments, call.reference), namespace, main)
    except Exception as error:  # whatever the classes of the user's objects raise
        parts = {"the function": call.function, "the reference": call.reference}
        parts |= {f"argument {place}": one for place, one in enumerate(call.arguments, 1)}
        what = next((name for name, one in parts.items() if not _is_sendable(one, namespace, main)), "it")
        return f"{what} cannot be copied to a fresh process: {type(error).__name__}: {error}"
    sent = {
        "cwd": str(Path.cwd()),
        "argv": list(sys.argv),
        "main": main,
        "tolerance": call.tolerance,
        "call": packed,
    }
    (folder / FILE).write_bytes(pickle.dumps(sent))
    return None


def _is_sendable(value: object, namespace: Mapping[str, Any], main: Path | None) -> bool:
    with suppress(Exception):
        pack(value, namespace, main)
        return True
    return False


def _job(plan: FunctionPlan, folder: Path) -> program.RungJob:
    child = (
        sys.executable.replace("{", "{{").replace("}", "}}"),
        "-m",
        "profiler.measure.functions.child",
        ".",
    )
    timing = ("--repeats", "{repeats}", "--warmup", "{warmup}")
    kernel = _Function(
        number=0,
        name=plan.name,
        idea="",
        regex=None,
        commands={
            "check": (*child, "--mode", "survey", "--seed", "{seed}", *timing),
            "time": (*child, "--mode", "time", *timing),
            "profile": (*child, "--mode", "profile", "--launches", "{launches}"),
        },
    )
    values = dict(plan.values or {})
    ladder = Ladder("", "", folder / "ladder.toml", Workload(values), (kernel,))
    return program.RungJob(
        ladder, kernel, values, seed=program.fresh_seed(), launches=plan.launches, repeats=plan.repeats
    )


def _ncu(plan: FunctionPlan, cautions: list[str]) -> Ncu:
    """Returns ncu, or one without a version if there is none and nothing can be profiled."""
    if plan.profile:
        try:
            return find_ncu()
        except ToolNotFound as error:
            cautions.append(f"times alone, without counters: {error.message.splitlines()[0]}")
    return Ncu(Path("ncu"), "")


def _survey(device: FunctionDevice, job: program.RungJob, plan: FunctionPlan) -> _Survey:
    """Lets compilation and autotuning end, times the function, and refuses a wrong result."""
    with sampled_clocks({**program.ENVIRONMENT, **job.environment}) as clocks:
        finished = device.run(job, "check", plan.timeout_s, accept=(0, EXIT_WRONG))
    line = next((line for line in program.json_lines(job, finished) if line.get("survey")), None)
    if line is None:
        raise program.output_invalid(job, finished, "no line about its kernels")
    checked = program.parse_check(job, finished)
    if checked.error is not None and plan.verify:
        raise ResultWrong(
            f"{job.label} computes a wrong result: relative error {checked.relative_error:.1e}, at most "
            f"{checked.threshold:.1e} allowed, seed {job.seed}"
            if checked.relative_error is not None and checked.threshold is not None
            else f"{job.label} computes a wrong result, seed {job.seed}",
            remedy="Correct it, allow more with tolerance=..., or measure it all the same with verify=False.",
        )
    kernels = tuple(LaunchedKernel(one["name"], one["launches"], one["ns"]) for one in line["kernels"])
    return _Survey(
        line["calls"], kernels, checked.relative_error, parse_timings(job, finished, clocks), line["left_out"]
    )


def _collect(
    device: LocalDevice,
    recording: NcuOptions,
    target: Target,
    plan: FunctionPlan,
    call: Call,
    store: RunStore,
    found: _Survey,
    cautions: list[str],
    sandbox: Sandbox,
    say: Callable[[str], None],
) -> str:
    settings = CollectPlan(
        device=device,
        recording=recording,
        processes=plan.processes,
        repeats=plan.repeats,
        verify=False,  # the survey has done it
        timeout_s=plan.timeout_s,
        force=True,
    )
    assert target.job is not None
    seed, started = target.job.seed, time.monotonic()
    one = Collection(settings, target, store)
    arguments = shortened(described(call.arguments), _ARGUMENTS_WIDTH)
    one.provenance = msgspec.structs.replace(
        one.provenance, arguments=arguments, bytes=plan.bytes, flops=plan.flops
    )
    one.relative_error = found.relative_error
    observer = CollectObserver(
        lambda step: say(f"{_STEPS[step.what]} it in process {step.process + 1} of {plan.processes}"),
        lambda _, __: None,
        lambda _, __, ___: None,
    )
    try:
        with store.staging() as staging, UnfinishedCollection(store.local, one.key) as one.pending:
            try:
                one.open()
                one.target = replace(target, job=replace(target.job, seed=seed))
                one.pending.keep_timings(0, ProcessTimings(found.timed.facts, found.timed.rows(0)))
                for process in range(plan.processes):
                    one.time(process, observer)
                    one.profile(process, observer)
                    if one.reports and not process:
                        sandbox.warm_up(one.reports[0])  # while the next process imports and compiles
                cautions += unlike_configurations("timed", [facts.kernels for facts in one.facts])
                one.seconds = time.monotonic() - started
                one.submit(sandbox, staging)
                return one.commit(staging)
            except BaseException:
                one.pending.discard()  # nothing of a failed measurement is kept
                raise
    except CountersRefused as error:
        cautions.append(f"times alone: {error.message}. {error.remedy}")
        return _collect(
            device, recording, _unprofiled(target), plan, call, store, found, cautions, sandbox, say
        )


def unlike_configurations(what: str, ran: Sequence[Iterable[str]]) -> Iterator[str]:
    """Yields a caution if processes launched kernels of other configurations, as autotuners may choose them."""
    common = set.intersection(*map(set, ran)) if ran else set()
    differing = dict.fromkeys(" and ".join(sorted(set(one) - common)) for one in ran if set(one) - common)
    if differing:
        yield f"the processes that were {what} ran different configurations of its kernels: {'; '.join(differing)}"


def profiled_configurations(run: Run) -> list[set[str]]:
    """Returns the kernels that each profiled process launched, with their configurations."""
    found: dict[int, set[str]] = {}
    for one in run.table("launches").to_pylist():
        found.setdefault(one["process"], set()).add(
            kernel_with_shape(one["mangled"], [one[name] for name in SHAPE])
        )
    return list(found.values())


def _unprofiled(target: Target) -> Target:
    """Returns the target without its profile: it is timed alone."""
    assert target.job is not None
    return replace(target, job=replace(target.job, kernel=replace(target.job.kernel, is_profiled=False)))


def _program(function: object, name: str) -> tuple[str, ...]:
    """Returns the words that stand for the function: its file, whose hash is recorded, and its name."""
    inner = getattr(function, "fn", getattr(function, "__wrapped__", function))
    file = getattr(sys.modules.get(getattr(inner, "__module__", "")), "__file__", None)
    words = [os.path.relpath(file)] if file and not os.path.relpath(file).startswith("..") else []
    return ("python3", *words, name)


def _python_path() -> str:
    root = str(Path(__file__).parents[3])
    return os.pathsep.join(dict.fromkeys([*(entry or str(Path.cwd()) for entry in sys.path), root]))


@contextmanager
def _alone_on(gpu: Gpu) -> Iterator[None]:
    """Waits until no other process measures a function on this GPU, and keeps others waiting."""
    descriptor = os.open(lock_folder(gpu) / "measuring", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _explained() -> Iterator[None]:
    """Puts the reason that a fresh process gives into the message of its failure."""
    try:
        yield
    except ProgramTimedOut as error:
        remedy = "Give it longer with timeout_s=..., or smaller arguments."
        raise ProgramTimedOut(error.message, details=error.details[1:], remedy=remedy) from None
    except ProgramFailed as error:
        label, _, how = error.message.removesuffix(")").rpartition(" failed (")
        if not label:
            raise
        said = [line.strip() for line in error.details if line.strip().startswith(_PREFIX)]
        why = said[-1].removeprefix(_PREFIX) if said else f"its process died: {how}"
        raise ProgramFailed(
            f"{label} cannot be measured: {why}",
            details=[line for line in error.details[1:] if line.strip() not in said],
            remedy="Call the function by hand with the same arguments: it must launch its kernels and return.",
        ) from None
