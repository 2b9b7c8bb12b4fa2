"""Repairs a store: damaged things are set aside with a reason, and what killed processes left is swept. Deletes no data.

A damaged pack is written again from the runs in it that are whole, under a new index, and the old one is set aside. So
a call may be killed at any moment: a run is in the old pack, in the new one, or in both, which counts as one run. The
next call continues.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from profiler.errors import RunDamaged, RunUnreadable, StoreNotWritable
from profiler.store import fsck
from profiler.store.disk import writing_to
from profiler.store.packs.compact import alone
from profiler.store.packs.layout import is_pack
from profiler.store.packs.publish import last_file, publisher_for
from profiler.store.packs.write import PackWriter, add_to_one
from profiler.store.remote.objects import ObjectPlace
from profiler.store.remote.upload import CLAIMS_FOLDER
from profiler.store.runs.commit import DAMAGED_FOLDER, Staging, damaged_folders
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import id_time
from profiler.store.runs.run_store import SWEEPS_FOLDER, RunStore
from profiler.store.scratch import remove_left_scratch

_POLL_S = 0.02


def repair(store: RunStore, faults: Sequence[fsck.Fault]) -> Iterator[fsck.Fault]:
    """Repairs what `examine_store` found, and yields each fault with what was done about it."""
    with writing_to(store.root), alone(store.local), Staging(store.local) as staging:
        for fault in faults:
            try:
                yield replace(fault, done=_repaired(store, staging, fault))
            except RunUnreadable as error:
                yield replace(fault, kind="unread", found=f"{fault.found}; {error.message}")


def _repaired(store: RunStore, staging: Staging, fault: fsck.Fault) -> str:
    if fault.kind == "pack":
        again = _write_again(store, staging, fault.name)
        aside = _set_aside(store, staging, fault.name, fault.found)
        return f"{again}; set aside as {aside}"
    if fault.kind == "run":
        return f"set aside as {_set_aside(store, staging, fault.name, fault.found)}"
    if fault.kind == "sweep":
        with Staging(staging.root / SWEEPS_FOLDER) as sweeps:
            return f"set aside as {sweeps.set_aside(Path(fault.name).name, fault.found)}"
    if fault.kind in ("left", "scratch"):
        return _sweep(store, staging, fault)
    return ""  # what could not be read may be whole


def _sweep(store: RunStore, staging: Staging, fault: fsck.Fault) -> str:
    folder = Path(fault.name)
    if folder.is_absolute():
        if fault.kind == "scratch":
            remove_left_scratch(among=[folder])
        elif folder.exists():  # beside the sweeps: `staging` has removed those beside the runs
            with Staging(folder.parent.parent):
                pass
        return "left alone: another process uses it" if folder.exists() else "removed"
    if fault.name.startswith(f"{CLAIMS_FOLDER}/"):
        return _set_claim_aside(store, fault.name)
    if fault.name not in fsck.orphans(store.place):
        return "left alone: another process goes on with it"
    return f"set aside as {_set_aside(store, staging, fault.name, fault.found)}"


def _set_claim_aside(store: RunStore, name: str) -> str:
    assert isinstance(store.place, ObjectPlace)
    if name not in fsck.left_claims(store.place):
        return "left alone: another process goes on with it"
    store.place.copy(name, f"{DAMAGED_FOLDER}/{name}")
    store.place.remove([name])
    return f"set aside as {store.place.shown(f'{DAMAGED_FOLDER}/{name}')}"


def _set_aside(store: RunStore, staging: Staging, name: str, why: str) -> str:
    """Moves a run or a pack out of the way, and returns where it is now."""
    if not isinstance(store.place, ObjectPlace):
        return str(staging.set_aside(name, why))
    place, files = store.place, store.place.files(f"{name}/")
    taken = {
        file.rpartition(f"/{name}/")[0] for file in place.files(f"{DAMAGED_FOLDER}/") if f"/{name}/" in file
    }
    aside = next(one for one in damaged_folders() if one not in taken)
    place.put(f"{aside}/{name}.txt", f"{why}\n".encode())
    for file in files:
        place.copy(file, f"{aside}/{file}")
    if set(place.files(f"{aside}/{name}/")) != {f"{aside}/{file}" for file in files}:
        raise StoreNotWritable(f"{place.shown(aside)}: not all files of {name} arrived")
    place.remove([last_file(name)])
    place.remove(files)
    return place.shown(f"{aside}/{name}")


def _write_again(store: RunStore, staging: Staging, name: str) -> str:
    """Writes a new pack of the runs that are whole in a damaged one, and nowhere else; returns what was done."""
    publisher = publisher_for(store.place, staging)
    elsewhere = _whole_elsewhere(store, name)
    writers: list[PackWriter] = []
    for run_id, found in fsck.runs_of_pack(fsck.open_pack(store.place, name)):
        if run_id not in elsewhere and isinstance(found, Run) and _is_whole(found):
            elsewhere.add(run_id)
            add_to_one(writers, found, staging.folder)
    while id_time(datetime.now(UTC)) == name.split("-")[1]:
        time.sleep(_POLL_S)  # a pack of the same runs that was made in the same second has the same name
    packs = [publisher.publish(writer) for writer in writers]
    if not packs:
        return "it holds no whole run that is not stored elsewhere too"
    return f"{sum(len(writer.runs) for writer in writers)} of its runs are in {' and '.join(packs)}"


def _is_whole(found: Run) -> bool:
    """Returns whether a run of a pack is whole. RunUnreadable if that cannot be seen: then the pack must not go without it."""
    faults = fsck.faults_of_run(found)
    for error in faults:
        if not isinstance(error, RunDamaged):
            raise RunUnreadable(error.message) from error
    return not faults


def _whole_elsewhere(store: RunStore, name: str) -> set[str]:
    """Returns the runs of the pack that are whole in a folder of their own, or in another pack."""
    ids = {run_id for run_id, _ in fsck.runs_of_pack(fsck.open_pack(store.place, name))}
    found: set[str] = set()
    for other in store.place.names():
        if other in ids and not fsck.faults_of_folder(store.place, other):
            found.add(other)
        elif is_pack(other) and other != name:
            with suppress(RunUnreadable):
                held = fsck.runs_of_pack(fsck.open_pack(store.place, other))
                found |= {
                    run_id
                    for run_id, run in held
                    if run_id in ids and isinstance(run, Run) and not fsck.faults_of_run(run)
                }
    return found
