"""Which of the runs of a kernel is meant, where a size is asked for; what is said where there is none of it.

What was typed, the store and the settings in; a run, or an error that names the sizes there are, out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from profiler.catalog import DEFAULT_LADDER
from profiler.commands.ladders import ladder_name, open_ladder, rung_of, workloads
from profiler.commands.options import Settings

if TYPE_CHECKING:
    from profiler.errors import RunNotProfiled, WorkloadInvalid
    from profiler.store.manifest import Manifest
    from profiler.store.runs import Run, RunStore

_UNKNOWN_SIZE = "size not recorded"


def find_sized(reference: str, store: RunStore, settings: Settings, size: str | int | None) -> Run:
    """Of the runs that a number or a name means, the newest, or the newest of this size; a run id means itself."""
    from profiler.catalog.ladder import size_text
    from profiler.errors import RunNotFound

    own_ladder = ladder_name(settings)
    newest = store.find(reference, own_ladder)
    if size is None or not is_choice(reference, newest, settings):
        return newest
    manifest = newest.manifest
    wanted = _workload(manifest, size, settings)
    for run in store.find_all(reference, own_ladder):
        if run.manifest.workload == wanted:
            return run
    what = f"kernel {reference}" if reference.isdecimal() else f"'{reference}'"
    sizes = _sizes_of(manifest, store, wanted_first=size_text(wanted))
    raise RunNotFound(
        f"no run of {what} of size {size_text(wanted)}; there are:",
        details=[f"  {one}" for one in sizes],
        remedy=f"Choose one of them, or record this one: `{_collecting(manifest, size)}`.",
    )


def _workload(manifest: Manifest, size: str | int, settings: Settings) -> dict[str, int]:
    """As the ladder reads the size; where that is not found, one for each parameter that its run has."""
    from profiler.catalog.ladder import Workload
    from profiler.errors import LadderNotFound, WorkloadInvalid

    if not manifest.ladder or not manifest.workload:
        raise WorkloadInvalid(
            f"--size {size}: '{manifest.name}' is of no ladder, which would say what a size is",
            remedy=f"Ask for a run by its id, which `prof list {manifest.name}` gives.",
        )
    try:
        (wanted,) = workloads(open_ladder(settings, manifest.ladder), [size], None)
    except LadderNotFound:
        wanted = Workload(manifest.workload, tuple(manifest.workload)).values(size)
    return wanted


def is_choice(reference: str, run: Run, settings: Settings) -> bool:
    """Whether it was chosen among the runs of a number or a name; one given by its id or its file was not."""
    from profiler.store.names import names_of

    return run.stored and run.manifest.name in names_of(reference, ladder_name(settings))


@contextmanager
def suggesting_a_size(sides: Sequence[tuple[str, Run]], settings: Settings) -> Iterator[None]:
    """Of a refusal for their sizes alone: whoever named a number may have meant another of its runs."""
    from profiler.errors import NotComparable

    try:
        yield
    except NotComparable as error:
        one, other = (run.manifest.workload or {} for _, run in sides)
        sizes_alone = len(error.details) == 1 and one != other and set(one) == set(other)
        if sizes_alone and any(is_choice(reference, run, settings) for reference, run in sides):
            error.remedy = (
                "Choose runs of one size with --size, or compare anyway with --force (the warnings stay)."
            )
        raise


def no_choice(size: str | int, references: Sequence[str]) -> WorkloadInvalid:
    """Where every recording was named itself."""
    from profiler.errors import WorkloadInvalid

    return WorkloadInvalid(
        f"--size {size}: {' and '.join(references)} {'is' if len(references) == 1 else 'are'} of one size each",
        remedy="It chooses among the runs of a kernel number or of a name.",
    )


def not_profiled(
    reference: str, run: Run, store: RunStore, settings: Settings, size: str | int | None
) -> RunNotProfiled:
    """With the sizes that are profiled, and how to get this one."""
    from profiler.errors import RunNotProfiled

    manifest = run.manifest
    message = f"{reference}: run {manifest.run_id} holds timings alone, no profile"
    rung = rung_of(manifest, settings)
    if rung is None:
        return RunNotProfiled(message)
    if not rung.is_profiled:
        return RunNotProfiled(
            message,
            remedy="It launches no kernel of its own, so there is nothing to profile; `prof show` and `prof compare` have its times.",
        )
    return RunNotProfiled(
        f"{message}; of {rung} there are:",
        details=[f"  {one}" for one in _sizes_of(manifest, store)],
        remedy=f"Profile it on a machine with a GPU: `{_collecting(manifest, size)}`.",
    )


def _sizes_of(manifest: Manifest, store: RunStore, wanted_first: str = "") -> list[str]:
    """What is stored of this kernel at each size, profiles before timings; `wanted_first` before the others."""
    from profiler.catalog.ladder import size_text

    known = manifest.ladder is not None and manifest.kernel is not None
    runs = store.find_all(str(manifest.kernel), str(manifest.ladder)) if known else ()
    names: dict[str, dict[str, None]] = {}
    for run in (*runs, *store.find_all(manifest.name, "")):
        size = size_text(run.manifest.workload or {}) or _UNKNOWN_SIZE
        told = run.manifest.name if run.manifest.is_profiled else f"{run.manifest.name} (timings alone)"
        names.setdefault(size, {})[told] = None
    ordered = sorted(names, key=lambda size: size != wanted_first)
    return [f"{size}: {', '.join(names[size])}" for size in ordered]


def _collecting(manifest: Manifest, size: str | int | None) -> str:
    ladder = "" if manifest.ladder == DEFAULT_LADDER else f" --ladder {manifest.ladder}"
    return f"prof collect{ladder} --kernel {manifest.kernel}" + ("" if size is None else f" --size {size}")
