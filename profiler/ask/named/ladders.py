"""Finds the ladder that a question is about, the rung that a run measured, and the workloads asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from profiler.ask.named.settings import Settings
from profiler.catalog.ladders.expressions import parse_expression
from profiler.catalog.ladders.ladder import CHOOSE_LADDER, Kernel, Ladder, find_ladder, is_path, known_ladders
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.errors import LadderInvalid, LadderNotFound, RungNotFound, WorkloadInvalid
from profiler.store.runs.run import Run
from profiler.store.runs.run_store import RunStore
from profiler.text import Spoken


def open_ladder(settings: Settings, name: str | None = None, *, beside: Sequence[Path] = ()) -> Ladder:
    """Returns the ladder of the settings, or the one called `name`, unless the settings give a ladder's file.

    Looks in the folders of the settings, then in the folders `beside`.
    """
    if name and is_path(name):  # the name comes from a run, which must not make prof open a path
        raise LadderNotFound(f"'{name}' is not the name of a ladder")
    reference = name if name and not is_path(settings.ladder) else settings.ladder
    return read_ladder(find_ladder(reference, *settings.ladder_places, *beside))


def readable_ladder(
    settings: Settings, name: str | None = None, *, beside: Sequence[Path] = ()
) -> Ladder | None:
    """Returns the same ladder for a question that can be answered without one: None if it is not found or not valid.

    Notes that a ladder is not valid; refuses it if the user named its very file.
    """
    try:
        return open_ladder(settings, name, beside=beside)
    except LadderNotFound:
        return None
    except LadderInvalid as error:
        if is_path(settings.ladder):
            raise
        settings.note(f"the ladder is not valid, so the answer leaves it out: {error.message}")
        return None


def ladder_name(settings: Settings) -> str:
    """Returns the ladder's name, under which its runs are stored; reads the file of a ladder given by its file."""
    return open_ladder(settings).name if is_path(settings.ladder) else settings.ladder


def ladder_meant(name: str, settings: Settings) -> str:
    """Returns how to name a ladder whose name was given for a run; "" for the name of no ladder, and for an agent."""
    if settings.reach is not None or name not in known_ladders(*settings.ladder_places):
        return ""
    return f"'{name}' is a ladder: `prof ladder {name}` shows it, and " + Spoken(
        f"with `--ladder {name}` a number means one of its rungs.",
        f"'{name}-1' means the first of its rungs.",
    )


def require_ladder(settings: Settings, stored: Callable[[], RunStore]) -> None:
    """Refuses a ladder given with --ladder that has neither a file nor runs, even if the question does not need it."""
    if not settings.ladder_given:
        return
    try:
        find_ladder(settings.ladder, *settings.ladder_places)
    except LadderNotFound as error:
        if is_path(settings.ladder):
            raise
        if stored().knows_ladder(settings.ladder):
            return
        known = known_ladders(*settings.ladder_places)
        if others := [name for name in stored().ladders() if name not in known]:
            error.details = (f"  stored runs are {'also ' if known else ''}of {', '.join(others)}",)
            error.remedy = CHOOSE_LADDER
        raise


def rung_of(run: Run, settings: Settings) -> Kernel | None:
    """Returns the rung that a run measured, or None if no ladder found here or beside the run has it with its parameters."""
    manifest = run.manifest
    if manifest.ladder is None or manifest.kernel is None:
        return None
    here = run.stored and isinstance(run.path, Path) and settings.reach is None
    beside = [Path(run.path).absolute().parent] if here else []
    ladder = readable_ladder(settings, manifest.ladder, beside=beside)
    if ladder is None or ladder.name != manifest.ladder:
        return None
    if set(ladder.workload.parameters) != set(manifest.workload or ()):
        return None
    with suppress(RungNotFound):
        return ladder.kernel(manifest.kernel)
    return None


def work_of(run: Run, settings: Settings) -> Kernel | None:
    """Returns the rung that a run measured, or a kernel with the work that the user of a function stated, or None."""
    rung, facts = rung_of(run, settings), run.manifest.facts
    if rung is not None or not (facts.bytes or facts.flops):
        return rung
    stated = (parse_expression(str(work)) if work else None for work in (facts.flops, facts.bytes))
    flops, moved = stated
    return Kernel(0, run.manifest.name, "", None, {}, flops=flops, bytes=moved)


def workloads(
    ladder: Ladder, sizes: Sequence[str | int] | None, given: Sequence[str] | None
) -> list[dict[str, int]]:
    """Returns one workload for each size, with every `NAME=VALUE` given applied to it, without duplicates."""
    parameters = _parameters(given or ())
    chosen: Sequence[str | int | None] = sizes or [None]
    shapes = [ladder.workload.values(size, parameters) for size in chosen]
    return [values for place, values in enumerate(shapes) if values not in shapes[:place]]


def workload_asked_for(
    ladder: Ladder, size: str | int | None, given: Sequence[str] | None
) -> dict[str, int] | None:
    """Returns the workload asked for, or None if neither a size nor a parameter was given."""
    if size is None and not given:
        return None
    (wanted,) = workloads(ladder, None if size is None else [size], given)
    return wanted


def _parameters(given: Sequence[str]) -> Mapping[str, int]:
    parameters = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            parameters[name.strip()] = int(value)
        except ValueError:
            raise WorkloadInvalid(
                f"--set-param {text}: give a name and a whole number, such as m=4096"
            ) from None
    return parameters
