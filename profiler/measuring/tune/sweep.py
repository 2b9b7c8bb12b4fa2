"""Takes a sweep from its declaration to its stored table: finds the stored one, or builds, measures and commits."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import msgspec

from profiler.catalog.ladders.sweep import SweepPoint
from profiler.errors import LadderInvalid, NoPointWorks
from profiler.measuring.collect.gpu_turn import gpu_turn
from profiler.measuring.rungs.build import Built, build_folder, build_kernels
from profiler.measuring.rungs.program import fresh_seed, program_command
from profiler.measuring.rungs.provenance import rung_provenance
from profiler.measuring.tools.git import read_commit
from profiler.measuring.tools.process import shown
from profiler.measuring.tools.toolchain import Toolchain
from profiler.measuring.tune.points import (
    BUILD_FOLDER,
    BuiltPoint,
    Choice,
    choose_points,
    code_hash,
    judge_built,
    source_hashes,
    variant,
)
from profiler.measuring.tune.stages import SweepStages, TuneObserver, TunePlan
from profiler.store import sweeps
from profiler.store.runs.manifest import Provenance
from profiler.store.runs.run_id import sweep_name
from profiler.store.runs.unfinished import UnfinishedPlan

_MOST_REASONS = 5


@dataclass(frozen=True)
class SweepMeasurement:
    """One sweep of one kernel. `current` holds the source's own values, which are measured too, for comparison."""

    plan: TunePlan
    toolchain: Toolchain
    store: sweeps.SweepStore
    current: SweepPoint | None = None
    jobs: int | None = None

    @property
    def name(self) -> str:
        return sweep_name(self.plan.ladder.name, self.plan.kernel.number)

    def known(self) -> sweeps.StoredSweep | None:
        """Returns the stored table of the same sweep of the same sources, if there is one."""
        for manifest in self.store.find(self.name, self.plan.key()):
            recorded = manifest.sweep.sources
            with suppress(OSError):
                if self._hashes(self.plan.ladder.folder / name for name in recorded) == recorded:
                    return self.store.open(manifest.run_id)
        return None

    def measure(self, observer: TuneObserver) -> sweeps.StoredSweep:
        """Measures, commits and returns the sweep. Goes on with the results of an interrupted call."""
        plan = self.plan
        with self.store.unfinished(plan.key()) as pending:
            fresh = UnfinishedPlan(self.name, fresh_seed() if plan.seed is None else plan.seed)
            seed = pending.plan(fresh).seed
            # Read before anything is stored, so that prof's own files do not make the tree differ from the commit.
            written = (self.store.root.parent, build_folder(plan.ladder, plan.gpu.arch))
            commit, recorded = read_commit(plan.ladder.folder, *written), datetime.now(UTC)
            choice = self._choose(seed, pending)
            observer.chosen(choice)
            built = self.build(choice.points, observer)
            candidates = list(map(BuiltPoint, count(), choice.points, built))
            points = [judge_built(plan.sweep, plan.values, one) for one in candidates]
            usable = [one for one, point in zip(candidates, points, strict=True) if point.status == "correct"]
            sources = self._sources(usable)
            codes = {one.point: code_hash(one, sources) for one in usable}
            tuning = SweepStages(plan, seed, usable, codes, pending, observer, self.current)
            with gpu_turn(plan.gpu, observer.note):
                started = time.monotonic()
                tuning.run()
                seconds = time.monotonic() - started
            results = [tuning.result(point) for point in points]
            _require_one(results, pending)
            provenance = msgspec.structs.replace(
                rung_provenance(plan.ladder, plan.kernel, usable[0].built, plan.gpu, commit),
                seconds=round(seconds, 3),
            )
            measured = self._measured(tuning, provenance, recorded, plan.facts(choice, sources), results)
            run_id = self.store.commit(measured)
            pending.discard()
        return self.store.open(run_id)

    def _choose(self, seed: int, pending: sweeps.UnfinishedSweep) -> Choice:
        plan = self.plan
        choice = choose_points(plan.sweep, plan.values, self.current, plan.limit, seed)
        if not choice.points:
            pending.discard()
            raise LadderInvalid(
                f"{plan.ladder.path}: none of the {choice.combinations} combinations of {plan.kernel} "
                "is within its constraints",
                details=[f"  {count:>6} break {text}" for text, count in choice.excluded.items()],
                remedy="Loosen the constraints of its [kernel.tune], or give more values.",
            )
        return choice

    def build(self, points: Sequence[SweepPoint], observer: TuneObserver | None = None) -> list[Built]:
        """Returns the result of each build, in the order of the points."""
        kernels = [variant(self.plan.kernel, point) for point in points]
        done = {}
        if observer is not None:
            observer.begin("build", len(kernels))
        for built in build_kernels(
            self.plan.ladder, kernels, self.plan.gpu.arch, self.toolchain, self.jobs, within=BUILD_FOLDER
        ):
            done[built.kernel.name] = built
            if observer is not None:
                observer.built(built)
        return [done[kernel.name] for kernel in kernels]

    def _sources(self, candidates: Sequence[BuiltPoint]) -> dict[str, str]:
        files = [path for one in candidates if one.built.record for path in one.built.record.sources]
        return self._hashes(map(Path, dict.fromkeys(files)))

    def _hashes(self, files: Iterable[Path]) -> dict[str, str]:
        return source_hashes(self.plan.ladder, self.plan.kernel, self.plan.sweep, files)

    def _measured(
        self,
        tuning: SweepStages,
        provenance: Provenance,
        recorded: datetime,
        facts: sweeps.SweepFacts,
        points: Sequence[sweeps.SweptPoint],
    ) -> sweeps.MeasuredSweep:
        plan = self.plan
        binary = build_folder(plan.ladder, plan.gpu.arch) / plan.kernel.file_name
        job = replace(plan.job(plan.kernel, tuning.seed), binary=binary, repeats=plan.repeats)
        return sweeps.MeasuredSweep(
            ladder=plan.ladder.name,
            kernel=plan.kernel.number,
            workload=plan.values,
            gpu=plan.gpu.name,
            recorded=recorded,
            key=plan.key(),
            command_line=shown(program_command(job, "time", relative_to=plan.ladder.folder.resolve())),
            provenance=msgspec.structs.replace(
                provenance,
                binary_sha256=None,  # every point has one of its own
                seed=tuning.seed,
                reference=tuning.reference,
            ),
            sweep=facts,
            points=points,
        )


def _require_one(results: Sequence[sweeps.SweptPoint], pending: sweeps.UnfinishedSweep) -> None:
    """Raises NoPointWorks if all points failed. Then nothing is stored, and the next call begins anew."""
    if any(one.status == "correct" for one in results):
        return
    pending.discard()
    reasons = Counter(f"{one.status}: {one.reason}" for one in results)
    raise NoPointWorks(
        f"none of {len(results)} points is correct",
        details=[f"  {count:>6} {reason}" for reason, count in reasons.most_common(_MOST_REASONS)],
    )
