"""Which of the runs of a kernel is meant, where a size is asked for.

What was typed, the store and the settings in; a run, or an error of `size_advice.py`, out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from profiler.commands.ladders import ladder_name, open_ladder
from profiler.commands.options import Settings
from profiler.commands.size_advice import Asked, no_such_size, tell_damaged

if TYPE_CHECKING:
    from profiler.catalog.ladders.ladder import Workload
    from profiler.errors import RunDamaged
    from profiler.store.runs.manifest import Manifest
    from profiler.store.runs.run_store import Run, RunStore


def find_sized(reference: str, store: RunStore, settings: Settings, size: str | int | None) -> Run:
    """Of the runs that a number or a name means, the newest, or the newest of this size; a run id means itself.

    A damaged run may be of any size: those passed over before the one that fits are told.
    """
    from profiler.errors import RunDamaged

    if size is None:
        return store.find(reference, ladder_name(settings))
    asked = Asked(reference, size, store, settings)
    runs: list[Run] = []
    damaged: list[RunDamaged] = []
    wanted: dict[str, int] = {}
    for run in store.find_all(reference, ladder_name(settings)):
        if isinstance(run, RunDamaged):
            damaged.append(run)
            continue
        wanted = wanted or _workload(run.manifest, size, settings)
        if run.manifest.workload == wanted:
            tell_damaged(damaged, asked)
            return run
        runs.append(run)
    if not runs:  # damaged, all of them; or a run id
        return store.find(reference, ladder_name(settings))
    sizing = _sizing(runs[0].manifest, settings)
    by_id = not all(_has_a_size(run.manifest, sizing) for run in runs)
    raise no_such_size(asked, wanted, runs[0].manifest, len(damaged), by_id=by_id)


def _workload(manifest: Manifest, size: str | int, settings: Settings) -> dict[str, int]:
    """As the ladder of the run reads the size."""
    from profiler.errors import WorkloadInvalid

    if not manifest.ladder or not manifest.workload:
        raise WorkloadInvalid(
            f"--size {size}: '{manifest.name}' is of no ladder, which would say what a size is",
            remedy=f"Ask for a run by its id, which `prof list {manifest.name}` gives.",
        )
    return _sizing(manifest, settings).values(size)


def _sizing(manifest: Manifest, settings: Settings) -> Workload:
    """What --size sets of a run's parameters: what its ladder says; where that is not found, each of them."""
    from profiler.catalog.ladders.ladder import Workload
    from profiler.errors import LadderNotFound

    with suppress(LadderNotFound):
        ladder = open_ladder(settings, manifest.ladder)
        if ladder.name == manifest.ladder:  # a ladder given by its file may be another
            return ladder.workload
    own = manifest.workload or {}
    return Workload(own, tuple(own))


def _has_a_size(manifest: Manifest, sizing: Workload) -> bool:
    """Whether a --size means this run: what it does not set is as the ladder has it."""
    own = manifest.workload or {}
    return own == {**sizing.parameters, **{name: own[name] for name in sizing.size if name in own}}


def is_choice(reference: str, run: Run, settings: Settings) -> bool:
    """Whether it was chosen among the runs of a number or a name; one given by its id or its file was not."""
    from profiler.store.runs.names import names_of

    return run.stored and run.manifest.name in names_of(reference, ladder_name(settings))


@contextmanager
def suggesting_a_size(sides: Sequence[tuple[str, Run]], settings: Settings) -> Iterator[None]:
    """Of a refusal for their sizes alone: whoever named a number may have meant another of its runs."""
    from profiler.errors import NotComparable

    try:
        yield
    except NotComparable as error:
        manifests = [run.manifest for _, run in sides]
        one, other = (manifest.workload or {} for manifest in manifests)
        sizes_alone = len(error.details) == 1 and one != other and set(one) == set(other)
        sized = all(_has_a_size(manifest, _sizing(manifest, settings)) for manifest in manifests)
        if sizes_alone and sized and any(is_choice(*side, settings) for side in sides):
            error.remedy = (
                "Choose runs of one size with --size, or compare anyway with --force (the warnings stay)."
            )
        raise
