"""The points of a sweep: chooses which are measured, how each is compiled, and which the compiler's figures exclude.

Starts no process. Reads only the sources, to hash them.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from profiler.catalog.ladders.expressions import Constraint
from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.catalog.ladders.sweep import COMPILED, SweepPoint, SweepSpace
from profiler.errors import LadderInvalid, ProfError
from profiler.measuring.rungs.build import Built, build_flags
from profiler.measuring.rungs.resources import compiled_facts, misfit_text
from profiler.measuring.tune.defaults import without_defaults
from profiler.store.disk import sha256_of
from profiler.store.runs.run_id import facts_sha256
from profiler.store.sweeps import SweptPoint

BUILD_FOLDER = "tune"
_LONGEST_NAME = 120


@dataclass(frozen=True)
class Choice:
    """The points to compile, in the order of measurement, and how many combinations each constraint excludes."""

    points: list[SweepPoint]
    combinations: int
    excluded: dict[str, int]


@dataclass(frozen=True)
class BuiltPoint:
    """A point and its binary; `point` is its place in the order of measurement."""

    point: int
    settings: SweepPoint
    built: Built


def sweep_of(kernel: Kernel, ladder: Ladder) -> SweepSpace:
    """Returns the kernel's sweep; raises LadderInvalid if it declares none."""
    if kernel.sweep is None:
        swept = [str(one.number) for one in ladder.kernels if one.sweep is not None]
        raise LadderInvalid(
            f"{ladder.path}: {kernel} declares no sweep"
            + (f"; those that do: {', '.join(swept)}" if swept else ""),
            remedy="Add [kernel.tune] to it; `kernels/README.md` describes the table, with an example.",
        )
    return kernel.sweep


def choose_points(
    sweep: SweepSpace, workload: Mapping[str, int], current: SweepPoint | None, limit: int | None, seed: int
) -> Choice:
    """Returns the points to measure, shuffled so that a drift favours no region of the sweep.

    `current`, the values in the source, is always among them if the constraints allow it.
    """
    points, excluded = [], Counter[str]()
    grid = list(sweep.grid())
    if current is not None and current not in grid:
        grid.append(current)
    for settings in grid:
        broken = sweep.broken({**workload, **settings})
        if broken is None:
            points.append(settings)
        else:
            excluded[broken.text] += 1
    random.Random(seed).shuffle(points)
    if limit is not None and len(points) > limit:
        if current in points:
            points.remove(current)
            points.insert(0, current)
        points = points[:limit]
    return Choice(points, len(grid), dict(excluded))


def variant(kernel: Kernel, settings: SweepPoint) -> Kernel:
    """Returns the kernel with every parameter given, under a name of its own, and so with a binary of its own."""
    macros = tuple(f"-D{name}={value}" for name, value in settings.items())
    suffix = "-".join(str(value) for value in settings.values())
    if len(suffix) > _LONGEST_NAME:
        suffix = hashlib.sha256(suffix.encode()).hexdigest()[:32]
    return replace(kernel, name=f"{kernel.name}-{suffix}", flags=(*kernel.flags, *macros))


def judge_built(sweep: SweepSpace, workload: Mapping[str, int], candidate: BuiltPoint) -> SweptPoint:
    """Returns the state of a point before it runs: `correct`, unless it did not compile or a constraint excludes it."""
    point = SweptPoint(candidate.point, candidate.settings, "correct")
    if candidate.built.error is not None:
        return msgspec.structs.replace(
            point, status="uncompiled", reason=_compiler_says(candidate.built.error)
        )
    facts = compiled_facts(candidate.built)
    unknown = _undecided(sweep) if not facts else None
    if unknown is not None and (misfit := misfit_text(candidate.built)):
        return msgspec.structs.replace(point, status="excluded", reason=f"{unknown.text}, but {misfit}")
    point = msgspec.structs.replace(point, **facts)
    broken = sweep.broken({**workload, **candidate.settings, **facts})
    if broken is None:
        return point
    found = ", ".join(f"{name} is {facts[name]}" for name in broken.names if name in facts)
    return msgspec.structs.replace(point, status="excluded", reason=f"{broken.text}, but {found}")


def _undecided(sweep: SweepSpace) -> Constraint | None:
    """Returns a constraint that depends on the compiler's figures, if there is one."""
    unknown = set(COMPILED)
    for name, expression in sweep.derived.items():
        if not unknown.isdisjoint(expression.names):
            unknown.add(name)
    return next((one for one in sweep.constraints if not unknown.isdisjoint(one.names)), None)


def source_hashes(
    ladder: Ladder, kernel: Kernel, sweep: SweepSpace, files: Iterable[str | Path]
) -> dict[str, str]:
    """Returns the files' hashes, by paths relative to the ladder's folder.

    The hash of the kernel's source leaves the defaults out: every point is given its values.
    """
    hashes = {}
    for file in files:
        path = Path(file)
        own = kernel.source is not None and path.exists() and path.samefile(kernel.source)
        hashes[os.path.relpath(path, ladder.folder)] = (
            hashlib.sha256(without_defaults(path.read_text(), sweep.parameters).encode()).hexdigest()
            if own
            else sha256_of(path)
        )
    return hashes


def code_hash(candidate: BuiltPoint, sources: Mapping[str, str]) -> str:
    """Returns the hash of everything that decides what a point's program does."""
    record = candidate.built.record
    assert record is not None
    flags = build_flags(candidate.built.kernel, record.arch)
    return facts_sha256([record.nvcc_version, flags, record.without, sorted(sources.items())])


def failure_of(error: ProfError, label: str) -> str:
    """Returns one line: what happened, and the last line that the program printed."""
    happened = error.reason or error.message.removeprefix(label).strip(" :")
    said = error.details[-1].strip() if len(error.details) > 1 else ""
    return f"{happened}: {said}" if said else happened


def _compiler_says(error: ProfError) -> str:
    """Returns the compiler's first error, without its place: all points have the same source."""
    found = re.search(r"\b(?:error|fatal)\s*:\s*(.+)", "\n".join(error.details[1:]))
    return found[1].strip() if found else error.message
