"""Which runs there are at a place, and where each of them lies: in a folder of its own, or in a pack."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from profiler.errors import RunDamaged
from profiler.store.packs.layout import MANIFESTS_FILE, Pack, PackedFiles, is_pack, read_line
from profiler.store.remote.places import Place
from profiler.store.runs.files import LooseFiles
from profiler.store.runs.manifest import MANIFEST_FILE, RunId

_LISTINGS = 5


class Shelf:
    """Remembers the packs, which never change, and looks for new ones with every listing."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._packs: dict[str, Pack] = {}
        self._packed: dict[str, Pack] = {}  # by run id
        self._ahead: dict[str, bytes] = {}
        self._listed: list[str] = []

    @property
    def loose(self) -> list[str]:
        """The folders of runs, as last listed."""
        return [name for name in self._listed if RunId.parse(name)]

    def pack_of(self, name: str) -> Pack | None:
        """The one that a run is read from; of several, the newest."""
        return self._packed.get(name)

    @property
    def packs(self) -> list[Pack]:
        return list(self._packs.values())

    def names(self) -> list[str]:
        """Of all runs, in order, and of what else lies there."""
        for _ in range(_LISTINGS):
            names = self._listed = self._place.names()
            packs = [name for name in names if is_pack(name)]
            if not packs and not self._packs:
                return names
            try:
                self._packs = {name: self._packs.get(name) or Pack.read(self._place, name) for name in packs}
            except FileNotFoundError:  # it has given way to a larger one since it was listed
                continue
            except OSError as error:
                raise RunDamaged(
                    f"{self._place.root}: a pack cannot be read: {error.strerror or error}"
                ) from error
            self._packed = {name: pack for pack in self.packs for name in pack.index.runs}
            return sorted({*names, *self._packed})
        raise RunDamaged(
            f"{self._place.root}: packs vanish as fast as they are listed",
            remedy="Run the same command again.",
        )

    def find(self, name: str) -> tuple[bytes, LooseFiles | PackedFiles]:
        """The manifest of a run and where its files are; a FileNotFoundError where there is no such run."""
        try:
            return self._found(name)
        except FileNotFoundError:  # it may have gone into a pack since it was listed
            self.names()
            return self._found(name)

    def read_ahead(self, names: Iterable[str]) -> None:
        """The manifests that will be asked for next, in few requests. What cannot be read is left to `find`."""
        loose: list[str] = []
        by_pack: dict[str, list[str]] = {}
        for name in names:
            if pack := self._packed.get(name):
                by_pack.setdefault(pack.name, []).append(name)
            else:
                loose.append(name)
        for pack_name, packed in by_pack.items():
            with suppress(OSError, RunDamaged):
                self._ahead |= self._packs[pack_name].lines(packed)
        if not isinstance(self._place.root, Path):
            found = self._place.read_all([(f"{name}/{MANIFEST_FILE}", None, None) for name in loose])
            self._ahead |= {
                name: data for name, data in zip(loose, found, strict=True) if isinstance(data, bytes)
            }

    def _found(self, name: str) -> tuple[bytes, LooseFiles | PackedFiles]:
        pack, known = self._packed.get(name), self._ahead.pop(name, None)
        if pack is None:
            data = known if known is not None else self._place.read(f"{name}/{MANIFEST_FILE}")
            return data, LooseFiles(self._place, name)
        line = read_line(known or pack.lines([name])[name], pack.shown(MANIFESTS_FILE))
        return bytes(line.manifest), PackedFiles(self._place, name, pack, line)
