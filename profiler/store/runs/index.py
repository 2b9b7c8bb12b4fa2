"""The index of a place: which runs it holds, and whether each lies in a folder of its own or in a pack."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from profiler.errors import IdTaken, RunDamaged, RunUnusable
from profiler.store.packs.layout import MANIFESTS_FILE, PACK_FILE, Pack, PackedFiles, is_pack, read_line
from profiler.store.remote.places import Place, reading_from, unreadable
from profiler.store.runs.file_names import HASH_CHARACTERS, MANIFEST_FILE
from profiler.store.runs.files import RunFiles
from profiler.store.runs.manifest import Manifest, decode_manifest
from profiler.store.runs.run import Run
from profiler.store.runs.run_id import RunId

_LISTINGS = 5


def find_in_folder(place: Place, name: str, written: bytes | None = None) -> Run:
    """Returns the run in a folder of its own; `written` is its manifest, if it was read already."""
    file = f"{name}/{MANIFEST_FILE}"
    written = place.read(file) if written is None else written
    manifest = decode_manifest(written, place.shown(file))
    files = RunFiles(place, name, manifest.tables)
    return Run(files.where, manifest, written=written, _files=files)


def find_in_pack(pack: Pack, line: bytes) -> Run:
    """Returns the run that a line of the pack describes."""
    where = pack.shown(MANIFESTS_FILE)
    packed = read_line(line, where)
    written = bytes(packed.manifest)
    manifest = decode_manifest(written, where)
    files = PackedFiles(pack.place, manifest.run_id, manifest.tables, pack, packed)
    return Run(files.where, manifest, written=written, _files=files)


class RunIndex:
    """Remembers the packs it has read, since a pack never changes, and looks for new ones with every listing."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._packs: dict[str, Pack] = {}
        self._packed: dict[str, Pack] = {}  # by run id
        self.unusable: dict[str, RunUnusable] = {}  # the packs that the last listing could not read
        self._ahead: dict[str, bytes] = {}
        self._listed: list[str] = []

    @property
    def folders(self) -> list[str]:
        """Returns the names of the runs' own folders, as last listed."""
        return [name for name in self._listed if RunId.parse(name)]

    @property
    def packs(self) -> list[Pack]:
        return list(self._packs.values())

    def pack_of(self, name: str) -> Pack | None:
        """Returns the pack that a run is read from: the newest, when several hold it."""
        return self._packed.get(name)

    def names(self) -> list[str]:
        """Lists the place: the names of all runs, in order, and of everything else in it.

        A pack that cannot be read is listed in `unusable`, and the runs of the others are found.
        """
        missing: set[str] = set()
        for _ in range(_LISTINGS):
            names = self._listed = self._place.names()
            known, self.unusable = self._packs, {}
            self._packs, gone = {}, set[str]()
            for name in filter(is_pack, names):
                try:
                    self._packs[name] = known.get(name) or Pack.read(self._place, name)
                except FileNotFoundError:  # a larger pack replaced it after the listing, or it lost its index
                    gone.add(name)
                except RunUnusable as error:
                    self.unusable[name] = error
                except OSError as error:
                    self.unusable[name] = unreadable(error, self._place.shown(f"{name}/{PACK_FILE}"))
            if gone <= missing:
                break
            missing |= gone
        for name in gone:
            where = self._place.shown(f"{name}/{PACK_FILE}")
            self.unusable[name] = RunDamaged(f"{where}: the pack has lost its index")
        self._packed = {name: pack for pack in self.packs for name in pack.index.runs}
        return sorted({*names, *self._packed})

    def find(self, name: str) -> Run:
        """Finds a run by its whole name; FileNotFoundError when there is none, RunDamaged when its manifest is."""
        try:
            return self._read(name)
        except FileNotFoundError:
            root = self._place.root
            if isinstance(root, Path) and (root / name).is_dir():
                raise  # it has lost its manifest: a run that moves into a pack takes its folder with it
            self.names()
            return self._read(name)

    def holds(self, sha256: str, names: Iterable[str]) -> bool:
        """Returns whether one of these runs, whose ids end in the start of this hash, is of the same report.

        Raises IdTaken when all of them are of other reports, because an id must mean one report.
        """
        found: list[Manifest] = []
        for name in names:
            with reading_from(self._place.shown(f"{name}/{MANIFEST_FILE}")):
                found.append(self.find(name).manifest)
        if found and all(manifest.sha256 != sha256 for manifest in found):
            raise IdTaken(
                f"{self._place.root}: another report whose SHA-256 begins with {sha256[:HASH_CHARACTERS]} "
                f"is stored, as {found[0].run_id}"
            )
        return bool(found)

    def read_ahead(self, names: Iterable[str]) -> None:
        """Fetches the manifests that `find` will need next, in few requests. Ignores those that cannot be read."""
        folders: list[str] = []
        by_pack: dict[str, list[str]] = {}
        for name in names:
            if pack := self._packed.get(name):
                by_pack.setdefault(pack.name, []).append(name)
            else:
                folders.append(name)
        for pack_name, packed in by_pack.items():
            with suppress(OSError, RunUnusable):
                self._ahead |= self._packs[pack_name].lines(packed)
        if not isinstance(self._place.root, Path):
            found = self._place.read_all([(f"{name}/{MANIFEST_FILE}", None, None) for name in folders])
            self._ahead |= {
                name: data for name, data in zip(folders, found, strict=True) if isinstance(data, bytes)
            }

    def _read(self, name: str) -> Run:
        pack, known = self._packed.get(name), self._ahead.pop(name, None)
        if pack is None:
            return find_in_folder(self._place, name, known)
        return find_in_pack(pack, pack.verified_line(name, known or pack.lines([name])[name]))
