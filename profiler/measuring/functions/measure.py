"""Takes a function to a run: verifies it, times it and profiles it in fresh processes, commits.

The fresh processes run `child.py`. The first of them also surveys what a call launches. The rest is what `collect/` does for every program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from profiler.catalog.ladders.ladder import Kernel, Ladder, Workload
from profiler.catalog.presets import find_preset
from profiler.errors import ProgramFailed, ProgramTimedOut, ToolNotFound
from profiler.measuring.collect.device import Order
from profiler.measuring.collect.gpu_turn import gpu_turn
from profiler.measuring.collect.target import Target
from profiler.measuring.functions.ahead import CHILD, Ahead
from profiler.measuring.functions.call import Call, send_call, send_settled
from profiler.measuring.functions.child import SAYS_WHY
from profiler.measuring.functions.collecting import Collecting, without_profile
from profiler.measuring.functions.function_device import FunctionDevice
from profiler.measuring.functions.main_source import SENT_MAIN
from profiler.measuring.functions.plan import FunctionPlan
from profiler.measuring.functions.survey import Chosen, LaunchedKernel, choose, survey_function
from profiler.measuring.rungs import program
from profiler.measuring.tools.gpus import find_gpu
from profiler.measuring.tools.ncu import NO_NCU, Ncu, NcuOptions, Selection, find_ncu
from profiler.measuring.tools.neutral import neutral_folder
from profiler.store.reports.sandbox import Sandbox
from profiler.store.runs.run_id import path_name
from profiler.store.runs.run_store import RunStore


@dataclass(frozen=True)
class MeasuredFunction:
    """The id of the committed run, and every kernel of one call."""

    run_id: str
    kernels: tuple[LaunchedKernel, ...]


class _Function(Kernel):
    """A function in the place of a rung: messages call it by its name."""

    def __str__(self) -> str:
        return f"'{self.name}'"


def measure_function(
    call: Call,
    plan: FunctionPlan,
    store: RunStore,
    namespace: Mapping[str, Any],
    say: Callable[[str], None],
    ahead: Ahead | None,
) -> MeasuredFunction:
    """Measures the function and commits its run. `namespace` holds the names of the module that asks for it.

    `say` receives what is done now, and `ahead` has processes that wait for several measurements.
    """
    _require_no_child(plan)
    gpu = find_gpu()
    cautions = [] if call.reference is not None else ["the result was not verified: there is no reference"]
    with (
        neutral_folder() as scratch,
        gpu_turn(gpu, say),
        Sandbox(workers=1) as sandbox,
        _processes(ahead) as started,
    ):
        folder = scratch / "call"
        folder.mkdir()
        if (lacking := send_call(call, namespace, folder)) is not None:
            cautions.append(f"measured in this process alone, without counters, because {lacking}")
            plan = replace(plan, profile=False, processes=1, repeats=plan.repeats * plan.processes)
        device = FunctionDevice(
            gpu, _ncu(plan, cautions), _environment(), ahead=started, call=call if lacking else None
        )
        job = _job(plan, folder)
        orders = _Orders(plan, job, _program(call.function, plan.name), device, scratch)
        if not lacking:
            orders.plan_on_a_guess()
        with _explained(job.label):
            say("calls it until it is compiled and tuned, times and verifies it")
            found = survey_function(device, job, plan, orders.plan_surveyed)
            cautions += found.cautions
            send_settled(found.calls, folder)
            order = orders.of(choose(job.label, found.kernels, plan.kernel_name))
            target = order.target if device.ncu.version else without_profile(order.target)
            one = Collecting(plan, call, device, order.recording, found, cautions, store, sandbox, say)
            run_id = one.collect(target)
    return MeasuredFunction(run_id, found.kernels)


def _require_no_child(plan: FunctionPlan) -> None:
    """Raises ProgramFailed in a process that was started to be measured: a statement that it had to load measures too."""
    if SENT_MAIN in sys.modules:
        raise ProgramFailed(
            f"{plan.name}: the function needs a name whose statement also calls `measure`",
            remedy="Bind what the function needs in a statement of its own.",
        )


@dataclass(frozen=True)
class _Orders:
    """Writes what each fresh process is to profile. The device gets the orders early, so that it can start the processes before their turn."""

    plan: FunctionPlan
    job: program.RungJob
    words: tuple[str, ...]
    device: FunctionDevice
    scratch: Path

    def of(self, chosen: Chosen) -> Order:
        """Returns the order for the launches of the kernel that was chosen, in the window that `child.py` opens."""
        launches = None if chosen.launches is None else self.plan.launches * chosen.launches
        target = Target(
            name=path_name(self.plan.name),
            selection=Selection(chosen.regex, 0, launches, of_window=True),
            required_launches=launches,
            job=replace(self.job, launches=self.plan.launches),
            program=self.words,
        )
        recording = NcuOptions(find_preset(self.plan.preset), extra=chosen.words)
        return Order(target, recording, self.plan.timeout_s)

    def plan_on_a_guess(self) -> None:
        """Most functions launch one kernel: nobody needs to know its name to profile all that the window has."""
        guess = self.of(Chosen(self.plan.kernel_name, (), None)) if self.device.ncu.version else None
        self.device.plan_ahead(self.plan.processes, guess, self.scratch)

    def plan_surveyed(self, kernels: Sequence[LaunchedKernel], modules: Sequence[str]) -> None:
        """Corrects the guess if it was one of several kernels."""
        self.device.ahead.learn(modules)
        if self.plan.kernel_name is None and len(kernels) > 1 and self.device.ncu.version:
            order = self.of(choose(self.job.label, kernels, None))
            self.device.plan_ahead(self.plan.processes, order, self.scratch, is_surveyed=True)


def processes_ahead(measurements: int = 0) -> Ahead:
    """Returns the processes of that many measurements, which import ahead of their turn."""
    ahead = Ahead(_environment())
    ahead.expect(measurements)
    return ahead


@contextmanager
def _processes(ahead: Ahead | None) -> Iterator[Ahead]:
    """Yields the processes of several measurements, or of this one."""
    if ahead is None:
        with processes_ahead() as own:
            yield own
        return
    try:
        yield ahead
    finally:
        ahead.forget_profiles()


def _job(plan: FunctionPlan, folder: Path) -> program.RungJob:
    child = (*(word.replace("{", "{{").replace("}", "}}") for word in CHILD), ".")
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
    """Returns ncu, or NO_NCU if nothing is to be profiled, or can be."""
    if plan.profile:
        try:
            return find_ncu()
        except ToolNotFound as error:
            cautions.append(f"times alone, without counters: {error.message.splitlines()[0]}")
    return NO_NCU


def _program(function: object, name: str) -> tuple[str, ...]:
    """Returns a command line that a run can record for the function: its file, which is hashed, and its name. Nothing executes it."""
    inner = getattr(function, "fn", getattr(function, "__wrapped__", function))
    file = getattr(sys.modules.get(getattr(inner, "__module__", "")), "__file__", None)
    words = [os.path.relpath(file)] if file and not os.path.relpath(file).startswith("..") else []
    return ("python3", *words, name)


def _environment() -> dict[str, str]:
    root = str(Path(__file__).parents[3])
    path = os.pathsep.join(dict.fromkeys([*(entry or str(Path.cwd()) for entry in sys.path), root]))
    return {**program.ENVIRONMENT, "PYTHONPATH": path}


@contextmanager
def _explained(label: str) -> Iterator[None]:
    """Puts the reason that a fresh process of the function with this `label` gives into the message of its failure."""
    try:
        yield
    except ProgramTimedOut as error:
        remedy = "Give it longer with timeout_s=..., or smaller arguments."
        raise ProgramTimedOut(error.message, details=error.details[1:], remedy=remedy) from None
    except ProgramFailed as error:
        if not error.reason:
            raise
        said = [line.strip() for line in error.details if line.strip().startswith(SAYS_WHY)]
        why = said[-1].removeprefix(SAYS_WHY) if said else f"its process died: {error.reason}"
        details = [one for one in error.details[1:] if one.strip() not in said and '{"survey"' not in one]
        remedy = "Call the function by hand with the same arguments: it must launch its kernels and return."
        raise ProgramFailed(
            f"{label} cannot be measured: {why}", details=details, remedy=remedy, reason=why
        ) from None
