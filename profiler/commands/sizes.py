"""Which of the runs of a kernel is meant, where a size is asked for; what is said where there is none of it.

What was typed, the store and the settings in; a run, or an error that names the sizes there are, out.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from profiler.catalog import DEFAULT_LADDER
from profiler.commands.ladders import ladder_name, open_ladder, rung_of
from profiler.commands.options import Settings

if TYPE_CHECKING:
    from profiler.catalog.ladder import Workload
    from profiler.errors import RunDamaged, RunNotFound, RunNotProfiled, WorkloadInvalid
    from profiler.store.manifest import Manifest, RunId
    from profiler.store.runs import Run, RunStore

_UNKNOWN_SIZE = "size not recorded"
_AT_ONCE = 1000  # manifests held as bytes
_MOST_TOLD = 3


@dataclass(frozen=True)
class _Asked:
    """What was typed, and where it is looked for."""

    reference: str
    size: str | int
    store: RunStore
    settings: Settings

    @property
    def listing(self) -> str:
        """The command that names each of the runs it may mean."""
        of_ladder = self.settings.ladder_given and self.reference.isdecimal()
        ladder = ["--ladder", self.settings.ladder] if of_ladder else []
        return shlex.join(["prof", "list", self.reference, *ladder])


def find_sized(reference: str, store: RunStore, settings: Settings, size: str | int | None) -> Run:
    """Of the runs that a number or a name means, the newest, or the newest of this size; a run id means itself.

    A damaged run may be of any size: those passed over before the one that fits are told.
    """
    from profiler.errors import RunDamaged

    meant = [] if size is None else _meant(reference, store, settings)
    if size is None or not meant:
        return store.find(reference, ladder_name(settings))
    asked = _Asked(reference, size, store, settings)
    runs: list[Run] = []
    damaged: list[RunDamaged] = []
    wanted: dict[str, int] = {}
    for run in _opened(meant, store):
        if isinstance(run, RunDamaged):
            damaged.append(run)
            continue
        wanted = wanted or _workload(run.manifest, size, settings)
        if run.manifest.workload == wanted:
            _tell_damaged(damaged, asked)
            return run
        runs.append(run)
    if not runs:
        raise damaged[0]
    raise _no_such_size(asked, wanted, runs, len(damaged))


def _meant(reference: str, store: RunStore, settings: Settings) -> list[RunId]:
    """In the order in which they are preferred: profiles before timings, the newest first."""
    from profiler.store.names import names_of

    ids = store.ids()[::-1]
    names = dict.fromkeys(names_of(reference, ladder_name(settings)))
    return [run_id for name in names for run_id in ids if run_id.name == name]


def _opened(run_ids: Sequence[RunId], store: RunStore) -> Iterator[Run | RunDamaged]:
    from profiler.errors import RunDamaged

    for start in range(0, len(run_ids), _AT_ONCE):
        some = run_ids[start : start + _AT_ONCE]
        store.read_ahead(some)
        for run_id in some:
            try:
                run = store.open(run_id)
            except RunDamaged as error:
                yield error
            else:
                yield run


def _tell_damaged(damaged: Sequence[RunDamaged], asked: _Asked) -> None:
    """Also where only results and errors are wanted: any of them may be the run that was asked for."""
    from profiler.present.text import printable

    lines = [f"passed over, since its size cannot be read: {error.message}" for error in damaged[:_MOST_TOLD]]
    if more := len(damaged) - len(lines):
        lines.append(f"passed over as well: {more} more, which `{asked.listing}` names")
    for line in lines:
        print(printable(line), file=sys.stderr)


def _no_such_size(asked: _Asked, wanted: dict[str, int], runs: Sequence[Run], damaged: int) -> RunNotFound:
    """With the sizes that there are; of the `damaged` ones nobody knows theirs."""
    from profiler.catalog.ladder import size_text
    from profiler.errors import RunNotFound
    from profiler.present.text import counted

    manifest = runs[0].manifest
    what = f"kernel {asked.reference}" if asked.reference.isdecimal() else f"'{asked.reference}'"
    sizes = _sizes_of(manifest, asked.store, wanted_first=size_text(wanted))
    sizing = _sizing(manifest, asked.settings)
    by_id = not all(_has_a_size(run.manifest, sizing) for run in runs)
    choices = [f"Choose one of them{f' by its run id, which `{asked.listing}` gives' if by_id else ''}"]
    if damaged:
        sizes.append(f"size not known: {counted(damaged, 'damaged run', 'damaged runs')}")
        choices.append(f"see with `{asked.listing}` what is damaged")
    if command := _recording(asked, manifest):
        choices.append(f"record this one: `{command}`")
    *most, last = choices
    return RunNotFound(
        f"no run of {what} of size {size_text(wanted)}{' can be read' if damaged else ''}; there are:",
        details=[f"  {one}" for one in sizes],
        remedy=f"{', '.join(most)}, or {last}." if most else f"{last}.",
    )


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
    from profiler.catalog.ladder import Workload
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
    from profiler.store.names import names_of

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


def no_choice(size: str | int, references: Sequence[str]) -> WorkloadInvalid:
    """Where every recording was named itself."""
    from profiler.errors import WorkloadInvalid

    return WorkloadInvalid(
        f"--size {size}: {' and '.join(references)} {'is of one size' if len(references) == 1 else 'are of one size each'}",
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
        remedy=f"Profile it on a machine with a GPU: `{_command('collect', manifest, settings, size)}`.",
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


def _recording(asked: _Asked, manifest: Manifest) -> str:
    """The command after which there is one of this size under what was typed; none where no command is sure to store one."""
    from profiler.store.manifest import DEFAULT_PRESET, preset_name, rung_name, timed_name
    from profiler.store.names import is_number

    rung = rung_of(manifest, asked.settings)
    if rung is None:
        return ""
    ladder, by_number = str(manifest.ladder), is_number(asked.reference)
    if not rung.is_profiled or not (by_number or manifest.is_profiled):
        verb, name = "time", timed_name(ladder, rung.number)
    else:
        verb = "collect"
        name = preset_name(rung_name(ladder, rung.number), manifest.preset or DEFAULT_PRESET)
    return _command(verb, manifest, asked.settings, asked.size) if by_number or manifest.name == name else ""


def _command(verb: str, manifest: Manifest, settings: Settings, size: str | int | None) -> str:
    """For the rung of a run, as the run was recorded."""
    from profiler.catalog.ladder import is_path
    from profiler.store.manifest import DEFAULT_PRESET

    ladder = settings.ladder if is_path(settings.ladder) else manifest.ladder
    options = {
        "ladder": None if ladder == DEFAULT_LADDER else ladder,
        "kernel": manifest.kernel,
        "preset": None if manifest.preset == DEFAULT_PRESET else manifest.preset,
        "size": size,
    }
    given = [(f"--{name}", str(value)) for name, value in options.items() if value is not None]
    return shlex.join(["prof", verb, *chain.from_iterable(given)])
