"""Lists a folder at a URL where somebody else may have put names without end, and finds what a pattern names there.

A bucket in S3 is listed page by page, because the search of its library holds every name at once. Other stores are
searched as fsspec searches them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from glob import has_magic
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from profiler.errors import RemoteFailed

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]

_MOST_NAMES = 1_000_000
_DEEPEST = 20


def list_files(
    system: AbstractFileSystem, folder: str, where: object, start: str = "", deepest: int = _DEEPEST
) -> Iterator[dict[str, Any]]:
    """Yields each file in the folder, as fsspec describes it; of a bucket, only those that begin with `start`.

    Raises RemoteFailed, which names `where`, when more names are listed than prof would give. Folders are searched to a
    depth where each takes a request.
    """
    folder = folder.rstrip("/")
    if is_s3(system):
        entries = _in_bucket(system, f"{folder}/{start}", 1)
    elif _finds_at_once(system):  # as a whole: nothing shows how to ask such a store for a part
        entries = ({**entry, "name": name} for name, entry in system.find(folder, detail=True).items())
    else:
        entries = _in_folders(system, folder, deepest)
    return (entry for entry in _bounded(entries, where) if entry.get("type") != "directory")


def find_matches(
    system: AbstractFileSystem, pattern: str, where: object
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each file and folder that a pattern may name, with the part of its path that the pattern matches.

    `**` stands for folders in folders: everything below is listed then, and else as many levels as the pattern has.
    """
    parts = pattern.rstrip("/").split("/")
    begin = list(takewhile(lambda part: not has_magic(part), parts))
    folder, wanted = "/".join(begin), parts[len(begin) :] + ["*"] * (parts[-1] == "**")
    if "**" in wanted:
        entries = list_files(system, folder, where)
    elif is_s3(system) and folder:
        entries = _bounded(_in_bucket(system, f"{folder}/", len(wanted), "/"), where)
    else:
        entries = _bounded(_in_folders(system, folder, len(wanted)), where)
    for entry in entries:
        names = entry["name"].rstrip("/").split("/")
        if count := _count_matched(wanted, names[len(begin) :]):
            yield "/".join(names[: len(begin) + count]), entry


def is_web(system: AbstractFileSystem) -> bool:
    return not {"http", "https"}.isdisjoint(_protocols(system))


def is_s3(system: AbstractFileSystem) -> bool:
    return "s3" in _protocols(system)


def _protocols(system: Any) -> tuple[str, ...]:
    return (system.protocol,) if isinstance(system.protocol, str) else tuple(system.protocol)


def _bounded(entries: Iterator[dict[str, Any]], where: object) -> Iterator[dict[str, Any]]:
    yield from islice(entries, _MOST_NAMES)
    if next(entries, None) is not None:
        raise RemoteFailed(f"{where}: more than {_MOST_NAMES:,} files and folders are listed there")


def _in_folders(system: Any, folder: str, deepest: int) -> Iterator[dict[str, Any]]:
    for _, folders, files in system.walk(folder, maxdepth=deepest, detail=True):
        yield from (*folders.values(), *files.values())


def _in_bucket(system: Any, start: str, levels: int, delimiter: str = "") -> Iterator[dict[str, Any]]:
    """Yields what begins with `start`, page by page: `find` would hold all names, and each of the folders in them."""
    bucket, _, key = start.partition("/")
    ahead = [key]
    for _ in range(levels):
        folders: list[str] = []
        for page in (page for prefix in ahead for page in _list_pages(system, bucket, prefix, delimiter)):
            for file in page.get("Contents", ()):
                if not file["Key"].endswith("/"):  # or it stands for a folder
                    yield {"name": f"{bucket}/{file['Key']}", "size": file["Size"], "type": "file"}
            for beyond in page.get("CommonPrefixes", ()):
                folders.append(beyond["Prefix"])
                yield {"name": f"{bucket}/{beyond['Prefix']}", "type": "directory"}
        ahead = folders


def _finds_at_once(system: Any) -> bool:
    """Returns whether a file system has a search of its own, which takes few requests for many folders."""
    from fsspec.asyn import AbstractFileSystem, AsyncFileSystem  # type: ignore[import-untyped]

    kind = type(system)
    own = AsyncFileSystem._find if issubclass(kind, AsyncFileSystem) else AbstractFileSystem.find
    return not is_web(system) and own not in (kind.find, getattr(kind, "_find", None))


def _count_matched(pattern: list[str], names: list[str]) -> int:
    """Returns how many of the first names the pattern matches, as few as it can; 0 when it matches none.

    Holds the places in the pattern that the names so far may have reached, so no pattern takes exponential time.
    """
    places = {0}
    for count, name in enumerate(names, start=1):
        for place, part in enumerate(pattern):
            if place in places and part == "**":
                places.add(place + 1)
        places = {
            place if pattern[place] == "**" else place + 1
            for place in places
            if place < len(pattern) and fnmatchcase(name, pattern[place])
        }
        if len(pattern) in places:
            return count
    return 0


def _list_pages(system: Any, bucket: str, start: str, delimiter: str) -> Iterator[dict[str, Any]]:
    """Yields S3's pages of about a thousand names that begin with `start`, each requested when it is needed.

    With a delimiter, what goes on behind it is a folder.
    """
    more: dict[str, str] = {}
    while True:
        page = system.call_s3(
            "list_objects_v2", system.req_kw, Bucket=bucket, Prefix=start, Delimiter=delimiter, **more
        )
        yield page
        if not (token := page.get("NextContinuationToken")):
            return
        more = {"ContinuationToken": token}
