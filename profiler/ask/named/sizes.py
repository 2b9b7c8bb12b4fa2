"""Finds the run of the size and on the GPU asked for, among those with the same number or name.

If there is none, the error lists the stored sizes and the command that records the size asked for.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

from profiler.ask.named.gpus import is_on, no_such_gpu
from profiler.ask.named.ladders import ladder_name, readable_ladder, rung_of
from profiler.ask.named.settings import Settings
from profiler.catalog import DEFAULT_LADDER
from profiler.catalog.ladders.ladder import Workload, is_path, size_text
from profiler.catalog.presets import PRESETS
from profiler.errors import NotComparable, RunNotFound, RunNotProfiled, RunUnusable, WorkloadInvalid
from profiler.store.runs.manifest import Manifest
from profiler.store.runs.names import is_number, names_of
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import DEFAULT_PRESET, preset_name, rung_name, timed_name
from profiler.store.runs.run_store import RunStore
from profiler.text import Spoken, counted

_UNKNOWN_SIZE = "size not recorded"
_MOST_NAMED = 3
_OTHER_PRESETS = {preset.name for preset in PRESETS} - {DEFAULT_PRESET}


def find_run(reference: str, store: RunStore, settings: Settings) -> Run:
    """Returns the newest run of a number or a name, on the GPU and of the size asked for; a run id means that run.

    If no GPU was asked for, the newest run on the project's usual GPU comes first. A damaged run may be of any GPU and
    size, so damaged runs that were skipped are reported.
    """
    size = settings.size
    if size is None and settings.gpu is None and settings.usual_gpu is None:
        return store.find(reference, ladder_name(settings))
    seen: list[Run | RunUnusable] = []
    fitting = _find_fitting(store.find_all(reference, ladder_name(settings)), settings, seen)
    chosen = _newest(fitting, settings.usual_gpu)
    damaged = [one for one in seen if isinstance(one, RunUnusable)]
    if chosen is not None:
        _note_damaged(damaged, reference, settings)
        return chosen
    runs = [one for one in seen if isinstance(one, Run)]
    if not runs:  # all are damaged, or the reference is a run id: this finds it or raises the error
        return store.find(reference, ladder_name(settings))
    there = [run for run in runs if is_on(run.manifest, settings.gpu)]
    if size is None or not there:
        gpus = [gpu for run in runs for gpu in run.manifest.gpus]
        raise no_such_gpu(str(settings.gpu), _quoted(reference), gpus)
    wanted = _wanted(runs[0].manifest, size, settings)
    raise _no_such_size(reference, wanted, there, len(damaged), store, settings)


def _find_fitting(
    runs: Iterable[Run | RunUnusable], settings: Settings, seen: list[Run | RunUnusable]
) -> Iterator[Run]:
    """Yields the runs on the GPU and of the size asked for; `seen` gets every run that was looked at."""
    wanted: dict[str, int] = {}
    for run in runs:
        seen.append(run)
        if isinstance(run, RunUnusable):
            continue
        if settings.size is not None:
            wanted = wanted or _wanted(run.manifest, settings.size, settings)
        if is_on(run.manifest, settings.gpu) and (settings.size is None or run.manifest.workload == wanted):
            yield run


def _newest(runs: Iterable[Run], usual_gpu: str | None) -> Run | None:
    """Returns the first run on the usual GPU, or else the first of all."""
    newest: Run | None = None
    for run in runs:
        if is_on(run.manifest, usual_gpu):
            return run
        newest = newest or run
    return newest


def _quoted(reference: str) -> str:
    return f"kernel {reference}" if reference.isdecimal() else f"'{reference}'"


def is_choice(reference: str, run: Run, settings: Settings) -> bool:
    """Returns whether the user gave a number or a name that several runs may have, not a run id or a file."""
    return run.stored and run.manifest.name in names_of(reference, ladder_name(settings))


@contextmanager
def suggesting_a_choice(sides: Sequence[tuple[str, Run]], settings: Settings) -> Iterator[None]:
    """Suggests `--size` or `--gpu` when two runs differ in it alone and the user gave a number or a name for one of them."""
    try:
        yield
    except NotComparable as error:
        if len(error.details) == 1 and any(is_choice(*side, settings) for side in sides):
            choice = _what_differs([run for _, run in sides], settings)
            if choice:
                error.remedy = (
                    "Choose runs of one " + choice + ", or compare anyway with `--force` (the warnings stay)."
                )
        raise


def _what_differs(runs: Sequence[Run], settings: Settings) -> str:
    """Returns by what two runs differ that an option chooses, with the option; "" if there is none."""
    one, other = (run.manifest for run in runs)
    sizes = [side.workload or {} for side in (one, other)]
    if (
        sizes[0] != sizes[1]
        and set(sizes[0]) == set(sizes[1])
        and all(_has_a_size(run, settings) for run in runs)
    ):
        return Spoken("size with --size", "size by their ids")
    return Spoken("GPU with --gpu", "GPU by their ids") if one.gpus != other.gpus else ""


def no_choice(size: str | int, references: Sequence[str]) -> WorkloadInvalid:
    """Returns the error for --size when every reference is a run id or a file."""
    many = "is of one size" if len(references) == 1 else "are of one size each"
    return WorkloadInvalid(
        f"--size {size}: {' and '.join(references)} {many}",
        remedy="It chooses among the runs of a kernel number or of a name.",
    )


def not_profiled(reference: str, run: Run, store: RunStore, settings: Settings) -> RunNotProfiled:
    """Returns the error for a run that holds only timings, with the stored sizes and the command that profiles it."""
    message = f"{reference}: run {run.manifest.run_id} holds timings alone, no profile"
    rung = rung_of(run, settings)
    if rung is None:
        return RunNotProfiled(message)
    if not rung.is_profiled:
        return RunNotProfiled(
            message,
            remedy="It launches no kernel of its own, so there is nothing to profile; `prof show` and `prof compare` have its times.",
        )
    return RunNotProfiled(
        f"{message}; of {rung} there are:",
        details=[f"  {one}" for one in _sizes_of(run.manifest, store)],
        remedy=f"Profile it on a machine with a GPU: `{_command('collect', run.manifest, settings, settings.size)}`.",
    )


# Meaning of a size


def _wanted(manifest: Manifest, size: str | int, settings: Settings) -> dict[str, int]:
    """Returns the workload of this size in the run's ladder."""
    if not manifest.ladder or not manifest.workload:
        raise WorkloadInvalid(
            f"--size {size}: '{manifest.name}' belongs to no ladder, so it has no size to choose by",
            remedy=f"Ask for a run by its id, which `prof list {manifest.name}` prints.",
        )
    return _sizing(manifest, settings).values(size)


def _sizing(manifest: Manifest, settings: Settings) -> Workload:
    """Returns the run's parameters and those that --size sets: as its ladder says, or all if the ladder is not found."""
    ladder = readable_ladder(settings, manifest.ladder)
    if ladder is not None and ladder.name == manifest.ladder:  # a ladder given by its file may be another
        return ladder.workload
    own = manifest.workload or {}
    return Workload(own, tuple(own))


def _has_a_size(run: Run, settings: Settings) -> bool:
    """Returns whether --size can choose this run: all other parameters have the ladder's values."""
    own, sizing = run.manifest.workload or {}, _sizing(run.manifest, settings)
    return own == {**sizing.parameters, **{name: own[name] for name in sizing.size if name in own}}


# Errors that list the stored sizes


def _note_damaged(damaged: Sequence[RunUnusable], reference: str, settings: Settings) -> None:
    for error in damaged[:_MOST_NAMED]:
        settings.note(f"skipped, since its size cannot be read: {error.message}")
    if more := len(damaged[_MOST_NAMED:]):
        settings.note(f"skipped as well: {more} more, which `{_listing(reference, settings)}` lists")


def _no_such_size(
    reference: str,
    wanted: dict[str, int],
    runs: Sequence[Run],
    damaged: int,
    store: RunStore,
    settings: Settings,
) -> RunNotFound:
    """Returns the error for a size that is not stored, with the stored sizes and the number of damaged runs."""
    newest, listing = runs[0], _listing(reference, settings)
    sizes = _sizes_of(newest.manifest, store, wanted_first=size_text(wanted))
    by_id = (
        "" if all(_has_a_size(run, settings) for run in runs) else f" by its run id, which `{listing}` prints"
    )
    choices = [f"Choose one of them{by_id}"]
    if damaged:
        sizes.append(f"size not known: {counted(damaged, 'damaged run')}")
        choices.append(f"list with `{listing}` what is damaged")
    if command := _recording(reference, newest, settings):
        choices.append(f"record this one: `{command}`")
    *most, last = choices
    return RunNotFound(
        f"no run of {_quoted(reference)} of size {size_text(wanted)}{' can be read' if damaged else ''}; there are:",
        details=[f"  {one}" for one in sizes],
        remedy=f"{', '.join(most)}, or {last}." if most else f"{last}.",
    )


def _sizes_of(manifest: Manifest, store: RunStore, wanted_first: str = "") -> list[str]:
    """Returns a line for each stored size of this kernel, profiles before timings; the size `wanted_first` comes first."""
    known = manifest.ladder is not None and manifest.kernel is not None
    runs = store.find_all(str(manifest.kernel), str(manifest.ladder)) if known else ()
    names: dict[str, dict[str, None]] = {}
    for run in (*runs, *store.find_all(manifest.name, "")):
        if isinstance(run, RunUnusable):
            continue
        size = size_text(run.manifest.workload or {}) or _UNKNOWN_SIZE
        shown = run.manifest.name if run.manifest.is_profiled else f"{run.manifest.name} (timings alone)"
        names.setdefault(size, {})[shown] = None
    ordered = sorted(names, key=lambda size: size != wanted_first)
    return [f"{size}: {', '.join(names[size])}" for size in ordered]


def _listing(reference: str, settings: Settings) -> str:
    """Returns the command that lists every run of this reference."""
    of_ladder = settings.ladder_given and reference.isdecimal()
    ladder = ["--ladder", settings.ladder] if of_ladder else []
    return shlex.join(["prof", "list", reference, *ladder])


def _recording(reference: str, newest: Run, settings: Settings) -> str:
    """Returns the command that records the size asked for so that the reference finds it, or "" if no command surely does."""
    rung, manifest, by_number = rung_of(newest, settings), newest.manifest, is_number(reference)
    if rung is None:
        return ""
    ladder = str(manifest.ladder)
    if not rung.is_profiled or not (by_number or manifest.is_profiled):
        verb, name = "time", timed_name(ladder, rung.number)
    else:
        verb = "collect"
        name = preset_name(rung_name(ladder, rung.number), manifest.preset or DEFAULT_PRESET)
    return _command(verb, manifest, settings, settings.size) if by_number or manifest.name == name else ""


def how_to_profile(run: Run, settings: Settings) -> str:
    """Returns the command that profiles a run's rung at its size, or the start of it if the size is not known; for a function, the call."""
    if run.manifest.ladder is None:
        return "prof.measure(..., profile=True)"
    if rung_of(run, settings) is None or not _has_a_size(run, settings):
        return "prof collect"
    own, sizing = run.manifest.workload or {}, _sizing(run.manifest, settings)
    sizes = [str(own[name]) for name in sizing.size]
    size = sizes[0] if len(set(sizes)) == 1 else "x".join(sizes)
    return _command("collect", run.manifest, settings, None if own == sizing.parameters else size)


def _command(verb: str, manifest: Manifest, settings: Settings, size: str | int | None) -> str:
    """Returns the command that records a run's rung as that run was; with the default preset if its own no longer exists."""
    ladder = settings.ladder if is_path(settings.ladder) else manifest.ladder
    options = {
        "ladder": None if ladder == DEFAULT_LADDER else ladder,
        "kernel": manifest.kernel,
        "preset": manifest.preset if manifest.preset in _OTHER_PRESETS else None,
        "size": size,
    }
    given = [(f"--{name}", str(value)) for name, value in options.items() if value is not None]
    return shlex.join(["prof", verb, *chain.from_iterable(given)])
