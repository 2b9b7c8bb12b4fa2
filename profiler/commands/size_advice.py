"""What is said where there is no run of the size that was asked for: the sizes there are, and the command that records it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from profiler.catalog import DEFAULT_LADDER
from profiler.commands.ladders import rung_of
from profiler.commands.options import Settings

if TYPE_CHECKING:
    from profiler.errors import RunDamaged, RunNotFound, RunNotProfiled, WorkloadInvalid
    from profiler.store.runs.manifest import Manifest
    from profiler.store.runs.run_store import Run, RunStore

_UNKNOWN_SIZE = "size not recorded"
_MOST_TOLD = 3


@dataclass(frozen=True)
class Asked:
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


def tell_damaged(damaged: Sequence[RunDamaged], asked: Asked) -> None:
    """Also where only results and errors are wanted: any of them may be the run that was asked for."""
    from profiler.text import printable

    lines = [f"passed over, since its size cannot be read: {error.message}" for error in damaged[:_MOST_TOLD]]
    if more := len(damaged) - len(lines):
        lines.append(f"passed over as well: {more} more, which `{asked.listing}` names")
    for line in lines:
        print(printable(line), file=sys.stderr)


def no_such_size(
    asked: Asked, wanted: dict[str, int], manifest: Manifest, damaged: int, *, by_id: bool
) -> RunNotFound:
    """With the sizes that there are of this kernel; of the `damaged` runs nobody knows theirs. Some are to be had `by_id` alone."""
    from profiler.catalog.ladders.ladder import size_text
    from profiler.errors import RunNotFound
    from profiler.text import counted

    what = f"kernel {asked.reference}" if asked.reference.isdecimal() else f"'{asked.reference}'"
    sizes = _sizes_of(manifest, asked.store, wanted_first=size_text(wanted))
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
    from profiler.catalog.ladders.ladder import size_text
    from profiler.errors import RunDamaged

    known = manifest.ladder is not None and manifest.kernel is not None
    runs = store.find_all(str(manifest.kernel), str(manifest.ladder)) if known else ()
    names: dict[str, dict[str, None]] = {}
    for run in (*runs, *store.find_all(manifest.name, "")):
        if isinstance(run, RunDamaged):
            continue
        size = size_text(run.manifest.workload or {}) or _UNKNOWN_SIZE
        told = run.manifest.name if run.manifest.is_profiled else f"{run.manifest.name} (timings alone)"
        names.setdefault(size, {})[told] = None
    ordered = sorted(names, key=lambda size: size != wanted_first)
    return [f"{size}: {', '.join(names[size])}" for size in ordered]


def _recording(asked: Asked, manifest: Manifest) -> str:
    """The command after which there is one of this size under what was typed; none where no command is sure to store one."""
    from profiler.store.runs.names import is_number
    from profiler.store.runs.run_id import DEFAULT_PRESET, preset_name, rung_name, timed_name

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
    from profiler.catalog.ladders.ladder import is_path
    from profiler.store.runs.run_id import DEFAULT_PRESET

    ladder = settings.ladder if is_path(settings.ladder) else manifest.ladder
    options = {
        "ladder": None if ladder == DEFAULT_LADDER else ladder,
        "kernel": manifest.kernel,
        "preset": None if manifest.preset == DEFAULT_PRESET else manifest.preset,
        "size": size,
    }
    given = [(f"--{name}", str(value)) for name, value in options.items() if value is not None]
    return shlex.join(["prof", verb, *chain.from_iterable(given)])
