"""Gathers the rungs and steps of a ladder on one GPU with one workload, and the ceilings for its roofline."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import prod

from msgspec.structs import replace

from profiler.analyse.causes.cause import Headline
from profiler.analyse.ladder.climb import (
    Climb,
    LadderSheet,
    delta_rows,
    derive_ladder_sheet,
    furthest_rung,
    headline_of_ladder,
)
from profiler.analyse.ladder.ideas import IdeasFinding, derive_ideas
from profiler.analyse.ladder.ladder import (
    LadderFinding,
    LadderStep,
    LadderView,
    MissingRung,
    derive_ladder,
    derive_steps,
    on_another_gpu,
)
from profiler.analyse.ladder.roofline import Ceiling, Roofline, derive_roofline, highest_ceilings
from profiler.analyse.ladder.rungs import Conditions, Rung, choose_conditions, group_runs
from profiler.ask.answer_cache import answer_once
from profiler.ask.named.gpus import is_meant, no_such_gpu
from profiler.ask.named.ladders import open_ladder, workload_asked_for
from profiler.ask.named.settings import Settings
from profiler.ask.profiles import diagnose_once
from profiler.ask.rungs import find_runs, find_unclear, gather_rungs
from profiler.catalog.ladders.ladder import Kernel, Ladder, find_ladder, known_ladders
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.errors import ComparisonError, LadderNotFound, RunNotFound
from profiler.store.runs.names import names_of_kernel
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import facts_sha256, rung_name, timed_name
from profiler.store.runs.run_store import RunStore
from profiler.text import first_of, short_gpu

_MOST_WORKLOADS = 5  # as many as the colours of one chart can distinguish
_MOST_NAMED = 3
_CEILINGS = "ceilings"  # the ladder whose rungs measure the most that a GPU can do


def climb_ladder(
    settings: Settings, set_param: Sequence[str] | None = None, view: LadderView | None = None
) -> Climb:
    """Returns the climb of the chosen ladder, with the size and the parameters asked for."""
    ladder = open_ladder(settings)
    wanted = workload_asked_for(ladder, settings.size, set_param)
    return find_climb(
        settings.open_store(), ladder, wanted, view, gpu=settings.gpu, usual_gpu=settings.usual_gpu
    )


def other_ladders(settings: Settings) -> list[str]:
    """Returns the ladders that are here and have runs; none if the user chose a ladder and so knows how."""
    if settings.ladder_given:
        return []
    known = known_ladders(*settings.ladder_places)
    return [name for name in settings.open_store().ladders() if name in known and name != settings.ladder]


def find_climb(
    store: RunStore,
    ladder: Ladder,
    workload: Mapping[str, int] | None = None,
    view: LadderView | None = None,
    gpu: str | None = None,
    usual_gpu: str | None = None,
) -> Climb:
    """Returns the climb with the workload and the view asked for, by default the most common workload and the ladder's view.

    Without a `gpu`, the climb is that of the project's usual GPU, else of the one with the most rungs, and its finding
    also has the rungs `elsewhere`.
    A rung whose kernel is unclear is left out; if no rung is left, its error is raised.
    """
    stored = store.ids()
    groups = group_runs(find_runs(store, ladder, stored))
    meant = _on_gpu(gpu, groups)
    if not meant:
        raise no_such_gpu(str(gpu), f"ladder '{ladder.name}'", (one.gpu for one in groups))
    conditions = choose_conditions(_on_gpu(usual_gpu, meant) | meant, workload)
    same_work = [one for one in meant if one.workload == conditions.workload and one != conditions]
    climbed = _ClimbedLadder(ladder, groups, conditions, same_work, {run_id.name for run_id in stored})
    manifests = [run.manifest for run in chain.from_iterable(groups.values())]
    asked = (ladder, workload, view, gpu, usual_gpu, facts_sha256([manifests, sorted(climbed.stored)]))
    finding = answer_once(
        LadderFinding, "ladders", asked, manifests, lambda: climbed.derive_finding(view, usual_gpu)
    )
    others = [str(one) for one in groups if one != conditions and one not in same_work]
    return Climb(ladder, conditions, finding, others, lambda: climbed.rungs_and_steps)


def _on_gpu(name: str | None, groups: Mapping[Conditions, list[Run]]) -> dict[Conditions, list[Run]]:
    """Returns the groups of runs on the GPU that the name means, and all without a name."""
    return {one: runs for one, runs in groups.items() if name is None or is_meant(name, one.gpu)}


@dataclass(frozen=True)
class _ClimbedLadder:
    """The runs of a ladder by their conditions, and under which `conditions` it was climbed. Tables are read when they are asked for.

    `same_work` are the conditions with the same workload on other GPUs, and `stored` are the names of all runs.
    """

    ladder: Ladder
    groups: Mapping[Conditions, list[Run]]
    conditions: Conditions
    same_work: list[Conditions]
    stored: Collection[str]

    @cached_property
    def rungs_and_steps(self) -> tuple[list[Rung], list[LadderStep]]:
        rungs = gather_rungs(self.ladder, self.groups[self.conditions])
        return rungs, derive_steps(self.ladder, rungs)

    def derive_finding(self, view: LadderView | None, usual_gpu: str | None) -> LadderFinding:
        rungs, steps = self.rungs_and_steps
        unclear = find_unclear(self.ladder, self.groups[self.conditions])
        if not rungs:
            raise next(iter(unclear.values()))
        finding = derive_ladder(self.ladder, self.conditions, rungs, steps, view, diagnose_once)
        elsewhere = [_timed(self.ladder, one, self.groups[one], finding.view) for one in self.same_work]
        return replace(
            finding,
            missing=self._find_missing(unclear),
            headline=_headline(finding, rungs, self._gpu_to_name(usual_gpu)),
            elsewhere=[on_another_gpu(one) for one in elsewhere],
        )

    def _gpu_to_name(self, usual_gpu: str | None) -> str | None:
        """Returns the GPU that a further question has to name to be about this climb; None if it is the only or the usual one."""
        own = self.conditions.gpu
        is_usual = usual_gpu is not None and is_meant(usual_gpu, own)
        return None if is_usual or len({one.gpu for one in self.groups}) == 1 else short_gpu(own)

    def _find_missing(self, unclear: Mapping[int, ComparisonError]) -> list[MissingRung]:
        """Returns the rungs that are missing from the climb, each with the reason."""
        there = {rung.kernel.number for rung in self.rungs_and_steps[0]}
        return [
            MissingRung(
                kernel.number,
                kernel.name,
                unclear[kernel.number].message if kernel.number in unclear else self._why_absent(kernel),
            )
            for kernel in self.ladder.kernels
            if kernel.number not in there
        ]

    def _why_absent(self, kernel: Kernel) -> str:
        """Returns what is stored of a rung instead, whatever the conditions and the preset, or why nothing may be."""
        names = (rung_name(self.ladder.name, kernel.number), timed_name(self.ladder.name, kernel.number))
        elsewhere = [
            str(one) for one, runs in self.groups.items() if any(run.manifest.name in names for run in runs)
        ]
        if elsewhere:
            return f"stored only with other conditions: {first_of(elsewhere, _MOST_NAMED, '; ')}"
        if others := names_of_kernel(kernel.number, self.ladder.name, self.stored):
            return f"no run with the default preset; there is {', '.join(others)}"
        needed = f"; it is built only where there is {' and '.join(kernel.needs)}" if kernel.needs else ""
        return f"no run is stored{needed}"


def _headline(finding: LadderFinding, rungs: Sequence[Rung], gpu: str | None) -> Headline | None:
    """Returns how far the ladder was climbed, with the causes of the rung that came furthest."""
    furthest = furthest_rung(finding.kernels)
    if furthest is None:
        return None
    profile = next(rung.profile for rung in rungs if rung.kernel.number == furthest.kernel)
    causes = diagnose_once(profile).causes if profile.launches else []
    return headline_of_ladder(finding.ladder, finding.kernels, furthest, causes, gpu)


def find_sheet(climb: Climb) -> LadderSheet:
    """Returns the ladder with the stall reasons of every rung and the changes of every step."""
    return derive_ladder_sheet(climb)


def find_ideas(climb: Climb) -> IdeasFinding:
    """Returns the measured gain of each idea of the ladder, beside the claimed one."""
    return derive_ideas(climb)


def find_deltas(climb: Climb) -> list[dict[str, object]]:
    """Returns every metric's change in every step."""
    return delta_rows(climb.finding, climb.steps)


def find_overview(climb: Climb, settings: Settings) -> tuple[LadderSheet, Roofline, list[LadderFinding]]:
    """Returns the content of a ladder's chart: its sheet, its roofline, and its times at other workloads."""
    store = settings.open_store()
    return derive_ladder_sheet(climb), find_roofline(climb, store, settings), find_workloads(store, climb)


def find_roofline(climb: Climb, store: RunStore, settings: Settings) -> Roofline:
    """Returns the climb's roofline, with the ceilings that the store holds for the ladder of ceilings found here."""
    try:
        ceilings = read_ladder(find_ladder(_CEILINGS, *settings.ladder_places))
    except LadderNotFound:
        ceilings = None
    return roofline_under(climb, store, ceilings)


def roofline_under(climb: Climb, store: RunStore, ladder: Ladder | None) -> Roofline:
    """Returns the climb's roofline, with the ceilings that this ladder reached on the same GPU; without a ladder, none."""
    if ladder is None:
        return derive_roofline(climb, ())
    ceilings = find_ceilings(store, ladder, climb.conditions.gpu)
    return derive_roofline(climb, ceilings, [kernel.name for kernel in ladder.kernels])


def find_ceilings(store: RunStore, ladder: Ladder, gpu: str) -> list[Ceiling]:
    """Returns the highest value that each rung of the ladder of ceilings reached on this GPU."""
    try:
        groups = group_runs(find_runs(store, ladder))
    except RunNotFound:
        return []
    alike = [(one, gather_rungs(ladder, runs)) for one, runs in groups.items() if one.gpu == gpu]
    return highest_ceilings(alike)


def find_workloads(store: RunStore, climb: Climb) -> list[LadderFinding]:
    """Returns the climb's workload and the others that most rungs were timed with on this GPU, smallest first, without steps."""
    own = climb.conditions
    groups = group_runs(find_runs(store, climb.ladder))
    others = [one for one in groups if one != own and one.gpu == own.gpu and one.workload is not None]
    shown = others[: _MOST_WORKLOADS - 1]
    found = [_timed(climb.ladder, one, groups[one], climb.finding.view) for one in shown]
    return sorted([climb.finding, *found], key=_size)


def _timed(ladder: Ladder, conditions: Conditions, runs: Sequence[Run], view: LadderView) -> LadderFinding:
    """Returns the rungs under other conditions by their times alone, without steps and causes."""
    rungs = gather_rungs(ladder, runs, times_suffice=True)
    return derive_ladder(ladder, conditions, rungs, (), view, diagnose=None)


def _size(finding: LadderFinding) -> tuple[int, tuple[int, ...]]:
    """Returns a key by which workloads sort: the product of their sizes, then the sizes."""
    sizes = tuple((finding.workload or {}).values())
    return prod(sizes), sizes
