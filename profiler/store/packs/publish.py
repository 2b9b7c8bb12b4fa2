"""Puts finished packs in place and removes what they replace: by renames in a folder, by requests on an object store."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

from profiler.errors import CompactBusy, StoreNotWritable
from profiler.store.disk import flush
from profiler.store.packs.layout import PACK_FILE, REPORTS_FOLDER, is_pack
from profiler.store.packs.write import PackWriter
from profiler.store.remote.objects import ObjectPlace
from profiler.store.remote.places import Place
from profiler.store.runs.commit import Staging
from profiler.store.runs.file_names import MANIFEST_FILE
from profiler.store.runs.run_id import RunId, id_time

# For so long, a reader that listed the folder just before the pack appeared still finds the runs.
_GRACE_S = 0.1
_AT_ONCE = 16  # files that are uploaded or copied at once
UPLOAD_DAYS = 1  # an upload that takes longer was killed


class FolderPublisher:
    """Publishes in a folder. `Staging` has removed what a killed call left."""

    def __init__(self, place: Place, staging: Staging) -> None:
        self._root = place.local
        self._staging = staging

    def has(self, name: str) -> bool:
        """Returns whether the place has a file with this name."""
        return (self._root / name).exists()

    def tidy(self, packed: Iterable[str]) -> None:
        pass

    def publish(self, writer: PackWriter) -> str:
        """Puts the pack in place, whole, and returns its name."""
        folder = writer.folder
        if writer.reports:
            (folder / REPORTS_FOLDER).mkdir()
        for name, source in writer.reports.items():
            _link(self._root / source, folder / name)
        if writer.reports:
            flush(folder / REPORTS_FOLDER)
        name = writer.close()
        self._staging.add(folder, name)
        time.sleep(_GRACE_S)
        return name

    def remove(self, folders: Sequence[str]) -> None:
        """Removes runs and packs. Each disappears from listings at once, and from the disk after that."""
        self._staging.take_away(folders)


class ObjectPublisher:
    """Publishes on an object store: `pack.json` goes last when a pack is added, and first when it is removed."""

    def __init__(self, place: ObjectPlace, staging: Staging) -> None:
        self._place = place
        self._staging = staging
        self._files = place.files()

    def has(self, name: str) -> bool:
        return bool(self._sizes([name]))

    def _sizes(self, names: Collection[str]) -> dict[str, int]:
        """Returns the size of each of these files that is there."""
        for folder in {name.partition("/")[0] for name in names if name not in self._files}:
            self._files |= self._place.files(
                f"{folder}/"
            )  # another machine may have packed since the listing
        return {name: self._files[name] for name in names if name in self._files}

    def tidy(self, packed: Iterable[str]) -> None:
        """Removes what killed calls left: files of `packed` runs without a manifest, and packs never finished."""
        held, oldest = set(packed), id_time(datetime.now(UTC) - timedelta(days=UPLOAD_DAYS))
        for folder, names in without_last_file(self._files).items():
            if folder in held or (is_pack(folder) and folder.split("-")[1] < oldest):
                self._place.remove(names)

    def publish(self, writer: PackWriter) -> str:
        name = writer.close()
        files = [path for path in writer.folder.iterdir() if path.name != PACK_FILE]
        copies = writer.reports.items()
        sizes = self._sizes(writer.reports.values())
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(lambda path: self._place.put(f"{name}/{path.name}", path), files))
            try:
                list(threads.map(lambda copy: self._place.copy(copy[1], f"{name}/{copy[0]}"), copies))
            except FileNotFoundError as error:
                raise CompactBusy(
                    f"{self._place.root}: another prof has just moved runs that were to be packed"
                ) from error
        self._place.put(f"{name}/{PACK_FILE}", writer.folder / PACK_FILE)
        there = self._place.files(f"{name}/")
        wanted = {f"{name}/{path.name}": path.stat().st_size for path in files}
        wanted |= {f"{name}/{report}": sizes[source] for report, source in copies}
        if any(there.get(one) != size for one, size in wanted.items()):
            raise StoreNotWritable(f"{self._place.shown(name)}: not all of its files are there as written")
        self._staging.discard(writer.folder)
        self._files |= there
        return name

    def remove(self, folders: Sequence[str]) -> None:
        first, by_folder = [*map(last_file, folders)], _by_folder(self._files)
        self._place.remove(first)
        rest = {name for folder in folders for name in by_folder.get(folder, ())}
        self._place.remove(rest.difference(first))


PackPublisher = FolderPublisher | ObjectPublisher


def publisher_for(place: Place, staging: Staging) -> PackPublisher:
    return (
        ObjectPublisher(place, staging) if isinstance(place, ObjectPlace) else FolderPublisher(place, staging)
    )


def last_file(folder: str) -> str:
    """Returns the file of a run or a pack that its writer puts last: without it, nobody sees the others."""
    return f"{folder}/{PACK_FILE if is_pack(folder) else MANIFEST_FILE}"


def without_last_file(files: Iterable[str]) -> dict[str, list[str]]:
    """Returns the files of an object store's runs and packs that lack their last file, by folder."""
    return {
        folder: held
        for folder, held in _by_folder(files).items()
        if (RunId.parse(folder) or is_pack(folder)) and last_file(folder) not in held
    }


def _by_folder(files: Iterable[str]) -> dict[str, list[str]]:
    folders: dict[str, list[str]] = {}
    for name in files:
        folder, is_in_folder, _ = name.partition("/")
        if is_in_folder:
            folders.setdefault(folder, []).append(name)
    return folders


def stored_files(place: Place) -> dict[str, int]:
    """Returns every file of runs and packs, with its size in bytes."""
    if isinstance(place, ObjectPlace):
        return place.files()
    found: dict[str, int] = {}
    for folder in place.names():
        if RunId.parse(folder) is None and not is_pack(folder):
            continue
        for parent, _, names in os.walk(place.local / folder):
            for name in names:
                path = os.path.join(parent, name)
                found[os.path.relpath(path, place.local)] = os.path.getsize(path)
    return found


def _link(source: Path, target: Path) -> None:
    """Gives a file a second name, which costs nothing; copies it where it is a link, or the file system has no such names."""
    try:
        if not source.is_symlink():  # from another folder, a relative one would lead elsewhere
            os.link(source, target)
            return
    except FileExistsError:
        return
    except OSError:
        pass
    shutil.copyfile(source, target)
    flush(target)
