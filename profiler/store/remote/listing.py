"""Lists a folder at a URL where somebody else may have put names without end."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from profiler.errors import RemoteFailed

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]

_MOST_NAMES = 1_000_000
_DEEPEST = 20


def list_files(
    system: AbstractFileSystem, folder: str, where: object, start: str = "", deepest: int = _DEEPEST
) -> Iterator[dict[str, Any]]:
    """Yield each file in the folder, as fsspec describes it; of a bucket in S3, only those that begin with `start`.

    Raises RemoteFailed, which names `where`, when more names are listed than prof would give. A web server is searched to a depth.
    """
    entries = _entries(system, folder.rstrip("/"), start, deepest)
    yield from (entry for entry in islice(entries, _MOST_NAMES) if entry.get("type") != "directory")
    if next(entries, None) is not None:
        raise RemoteFailed(f"{where}: more than {_MOST_NAMES:,} files and folders are listed there")


def is_web(system: AbstractFileSystem) -> bool:
    return not {"http", "https"}.isdisjoint((system.protocol, *system.protocol))


def is_s3(system: AbstractFileSystem) -> bool:
    return "s3" in (system.protocol, *system.protocol)


def _entries(system: Any, folder: str, start: str, deepest: int) -> Iterator[dict[str, Any]]:
    if is_web(system):
        for _, folders, files in system.walk(folder, maxdepth=deepest, detail=True):
            yield from (*folders.values(), *files.values())
    elif is_s3(system):
        bucket, _, key = f"{folder}/".partition("/")
        more: dict[str, str] | None = {}
        while more is not None:  # `find` would hold all names, and each of the folders in them
            page = system.call_s3(
                "list_objects_v2", system.req_kw, Bucket=bucket, Prefix=f"{key}{start}", **more
            )
            for one in page.get("Contents", ()):
                yield {"name": f"{bucket}/{one['Key']}", "size": one["Size"], "type": "file"}
            token = page.get("NextContinuationToken")
            more = {"ContinuationToken": token} if token else None
    else:  # these list as a whole
        yield from ({**entry, "name": name} for name, entry in system.find(folder, detail=True).items())
