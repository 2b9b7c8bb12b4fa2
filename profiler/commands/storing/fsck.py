"""`prof fsck` examines everything that is stored, and repairs it."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from profiler.commands.shared import options
from profiler.commands.shared.output import print_document
from profiler.commands.shared.progress import Progress
from profiler.errors import StoreDamaged
from profiler.present.document import Column
from profiler.present.documents.parts.rows import rows_document
from profiler.store.fsck import Examined, examine_store
from profiler.store.repair import repair
from profiler.store.runs.run_store import RunStore
from profiler.text import counted

_HEADER = ("kind", "name", "found", "done")
_COLUMNS = [Column("kind"), Column("name"), Column("found", folds=True), Column("done", prose=True)]


def fsck(
    *,
    mend: Annotated[
        bool,
        Option("--repair", help="Set damaged runs aside, write damaged packs again, and sweep leftovers."),
    ] = False,
    settings: options.StoreSettings,
) -> None:
    """Examine everything that is stored; repair it with --repair.

    `prof` reads every manifest, table, report, sweep and pack. It prints one line for each run, pack or sweep with
    something wrong, and for what killed processes left behind. `unread` marks what `prof` could not read: it may be
    whole, and stays. `scratch` marks what a killed process left among temporary files: it does not concern these
    runs.

    With --repair, `prof` moves damaged runs to the folder `damaged` of the runs, beside a file with the reason. It
    writes a damaged pack again from the runs in it that are whole, and removes what is marked `scratch`. It deletes
    no data. The exit code is 28 if something is wrong and was not repaired.

    Examples:
      prof fsck
      prof fsck --repair --runs s3://bucket/runs
    """
    store = RunStore(settings.runs_to_read)
    counts = Examined()
    with Progress("reading", len(store.place.names()), settings) as progress:
        faults = list(examine_store(store, counts, progress.advance))
    if mend and faults:
        faults = list(repair(store, faults))
    wrong = [fault for fault in faults if fault.is_wrong]
    if faults or settings.format != "table":
        rows = [(fault.kind, fault.name, fault.found, fault.done) for fault in faults]
        print_document(rows_document(_HEADER, rows, _COLUMNS), settings.format)
    read = [counted(counts.runs, "run"), counted(counts.packs, "pack")]
    read.append(counted(counts.sweeps, "sweep"))
    settings.say(f"{store.root}: read {', '.join(read)}")
    if any(fault.kind == "scratch" and not fault.done for fault in faults) and not wrong:
        settings.say("`prof fsck --repair` removes what killed processes left among temporary files")
    if wrong:
        raise StoreDamaged(
            f"{store.root}: {counted(len(wrong), 'thing is not as it', 'things are not as they')} should be"
        )
