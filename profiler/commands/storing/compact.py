"""`prof compact` packs many small runs into few files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Option

from profiler.commands.shared import options
from profiler.commands.shared.output import print_document
from profiler.commands.shared.progress import Progress
from profiler.measuring.tools.git import tracked_names
from profiler.present.documents.parts.rows import rows_document
from profiler.store.packs.compact import Compacted, PackPlan, compact as pack, plan_packs
from profiler.store.packs.publish import stored_files
from profiler.store.runs.run_store import RunStore
from profiler.text import counted, printable, size

_HEADER = (
    "runs", "packs", "packs_replaced", "files_before", "files_after", "bytes_before", "bytes_after", "damaged",
    "folders_removed", "dry_run", "tracked",
)  # fmt: skip


def compact(
    *,
    older_than: Annotated[
        float, Option(min=0, metavar="DAYS", help="Pack only runs that are at least DAYS old.")
    ] = 0,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print what would be done, and change nothing.")
    ] = False,
    tracked: Annotated[bool, Option("--tracked", help="Pack also runs that git tracks.")] = False,
    settings: options.StoreSettings,
) -> None:
    """Pack many small runs into few files.

    All commands give the same answers afterwards, but a store at a URL needs far fewer requests, and `prof query`
    reads a few large files. You may interrupt this at any time, and run it while others read, ingest or collect.
    Runs that are already packed well stay as they are, and so do those that git tracks, unless --tracked is given.

    Examples:
      prof compact --dry-run
      prof compact --runs s3://bucket/runs --older-than 7
    """
    store = settings.open_store()
    plan = plan_packs(store, older_than) if tracked else _plan_untracked(store, older_than)
    before = stored_files(store.place)
    done = None
    if not dry_run and (plan.runs or plan.redundant):
        with Progress("packing", len(plan.runs), settings) as progress:
            done = pack(store, plan, progress.advance)
    after = stored_files(store.place) if done else before
    if settings.format != "table":
        rows = [_row(plan, done, dry_run, before, after)]
        print_document(rows_document(_HEADER, rows), settings.format)
    else:
        for line in _lines(store, plan, done, before, after):
            print(line)
        if plan.staying:
            one, many = "folder that git tracks stays as it is", "folders that git tracks stay as they are"
            left = counted(len(plan.staying), one, many)
            print(printable(f"{store.root}: {left}; --tracked packs those too"))
    for error in done.damaged if done else ():
        print(printable(f"left as it is: {error.message}"), file=sys.stderr)


def _plan_untracked(store: RunStore, older_than: float) -> PackPlan:
    """Returns the plan in which every run and pack that git tracks stays as it is."""
    plan = plan_packs(store, older_than)
    tracked = plan.folders & tracked_names(store.root) if isinstance(store.root, Path) else set()
    return plan_packs(store, older_than, tracked) if tracked else plan


def _row(
    plan: PackPlan, done: Compacted | None, dry_run: bool, before: dict[str, int], after: dict[str, int]
) -> tuple[int | bool | None, ...]:
    """Returns the counts of what was done, or of what a dry run would do; None for a count that a dry run cannot know."""
    if dry_run:
        packs = files = held = damaged = None
    else:
        packs, files, held = len(done.packs) if done else 0, len(after), sum(after.values())
        damaged = len(done.damaged) if done else 0
    return (
        done.packed if done else len(plan.runs), packs, len(plan.absorbed),
        len(before), files, sum(before.values()), held, damaged, len(plan.redundant), dry_run, len(plan.staying),
    )  # fmt: skip


def _lines(
    store: RunStore, plan: PackPlan, done: Compacted | None, before: dict[str, int], after: dict[str, int],
) -> list[str]:  # fmt: skip
    along = f", {counted(len(plan.absorbed), 'small pack')} among them" if plan.absorbed else ""
    runs = counted(len(plan.runs), "run")
    removed = f"{counted(len(plan.redundant), 'folder')} that packs hold already"
    if done is None and not (plan.runs or plan.redundant):
        loose = counted(len(store.index.folders), "run")
        packs = counted(len(store.packs), "pack")
        return [printable(f"{store.root}: nothing to pack: {loose} in folders of their own, {packs}")]
    if done is None:
        held = f"{counted(len(before), 'file')}, {size(sum(before.values()))}"
        would = [f"pack {runs}{along}"] if plan.runs else []
        would += [f"remove {removed}"] if plan.redundant else []
        return [printable(f"{store.root}: would {' and '.join(would)}; there are {held}")]
    lines = []
    if done.packs:
        packs = counted(len(done.packs), "pack")
        lines.append(f"{counted(done.packed, 'run')} in {packs}{along}")
    if plan.redundant:
        lines.append(f"removed {removed}")
    was, now = sum(before.values()), sum(after.values())
    # A pack keeps the runs' own files as they are, and adds to them.
    grown = "; a pack adds an index, so that few files need to be opened" if now > was else ""
    lines.append(
        f"{len(before):,} files of {size(was)} before, {len(after):,} files of {size(now)} after{grown}"
    )
    return [printable(f"{store.root}: {line}") for line in lines]
