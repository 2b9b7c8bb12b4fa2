"""`prof compact`: many small runs into few files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from profiler.commands.options import Format, FormatOption, RunsOption, settings_of
from profiler.commands.output import Progress, print_rows

if TYPE_CHECKING:
    from profiler.store.compact import Compacted, Plan
    from profiler.store.runs import RunStore

_HEADER = (
    "runs", "packs", "packs_replaced", "files_before", "files_after", "bytes_before", "bytes_after", "damaged",
)  # fmt: skip


def compact(
    context: typer.Context,
    older_than: Annotated[
        float,
        typer.Option("--older-than", min=0, metavar="DAYS", help="Only runs recorded so many days ago."),
    ] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    runs: RunsOption = None,
    format: FormatOption = None,
) -> None:
    """Pack many small runs into few files. No answer changes.

    At a URL far fewer requests are needed then, and `prof query` reads a few large files. May be interrupted at any
    moment, and run while others read, ingest or collect; what is packed well is not packed again.

    Examples:

      prof compact --dry-run

      prof compact --runs s3://bucket/runs --older-than 7
    """
    from profiler.store.compact import compact as pack, plan_packs
    from profiler.store.packing import stored_files
    from profiler.store.runs import RunStore

    settings = settings_of(context, runs, None, format)
    store = RunStore(settings.runs_folder)
    plan = plan_packs(store, older_than)
    before = stored_files(store.place)
    done = None
    if not dry_run and (plan.runs or plan.redundant):
        with Progress("packing", len(plan.runs), settings) as progress:
            done = pack(store, plan, progress.advance)
    after = stored_files(store.place) if done else before
    if settings.format is not Format.table:
        print_rows(_HEADER, [_row(plan, done, before, after)], settings)
    else:
        for line in _lines(store, plan, done, before, after):
            print(line)
    for error in done.damaged if done else ():
        print(f"left as it is: {error.message}", file=sys.stderr)


def _row(
    plan: Plan, done: Compacted | None, before: dict[str, int], after: dict[str, int]
) -> tuple[int, ...]:
    return (
        done.packed if done else 0, len(done.packs) if done else 0, len(plan.along) if done else 0,
        len(before), len(after), sum(before.values()), sum(after.values()), len(done.damaged) if done else 0,
    )  # fmt: skip


def _lines(
    store: RunStore, plan: Plan, done: Compacted | None, before: dict[str, int], after: dict[str, int],
) -> list[str]:  # fmt: skip
    from profiler.present.text import counted, printable, size

    along = f", {counted(len(plan.along), 'small pack', 'small packs')} among them" if plan.along else ""
    runs = counted(len(plan.runs), "run", "runs")
    if done is None and not (plan.runs or plan.redundant):
        loose = counted(len(store.shelf.loose), "run", "runs")
        packs = counted(len(store.packs), "pack", "packs")
        return [printable(f"{store.root}: nothing to pack: {loose} in folders of their own, {packs}")]
    if done is None:
        held = f"{counted(len(before), 'file', 'files')}, {size(sum(before.values()))}"
        return [printable(f"{store.root}: would pack {runs}{along}; there are {held}")]
    lines = []
    if done.packs:
        packs = counted(len(done.packs), "pack", "packs")
        lines.append(f"{counted(done.packed, 'run', 'runs')} in {packs}{along}")
    if plan.redundant:
        lines.append(f"{counted(len(plan.redundant), 'folder', 'folders')} removed that packs hold already")
    lines.append(
        f"{len(before):,} files of {size(sum(before.values()))} before, "
        f"{len(after):,} files of {size(sum(after.values()))} after"
    )
    return [printable(f"{store.root}: {line}") for line in lines]
