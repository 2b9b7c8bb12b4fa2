"""Opens URLs with the file systems that fsspec knows: `s3://bucket/key`, `gs://…`, `memory://…`.

A URL goes in, a file system and a path come out. Every error becomes one line, without the secrets that a URL
may hold: a password, or the signature of a link.
"""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from profiler.errors import DiskFull, ProfError, RemoteDenied, RemoteFailed, RemoteNotInstalled

if TYPE_CHECKING:
    from aiohttp import ClientResponse
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]
    from fsspec.callbacks import Callback  # type: ignore[import-untyped]

# How large a file may be that somebody else wrote, on this machine or at a URL, and what stops at that size.
#
# A server may send without end, whatever it was asked for and whatever it announced.

MOST_FILE_BYTES = 16 << 30  # of a report or of a table of a pack, which is copied piece by piece
_MOST_BYTES = 4 << 30  # of a table or of the lines of a pack, which is read as a whole
_MOST_OTHER_BYTES = 64 << 20  # of anything else: a manifest, an index, a listing
MOST_AHEAD_BYTES = 64 << 20  # of each of the files that are read at once; a larger one is read alone
MOST_HELD_BYTES = 4 << 30  # of all of these together
_FREE_BYTES, _FREE_PART = 1 << 30, 10  # what copies leave free: a gigabyte, or a tenth of a small disk


def most_bytes(name: str, most: int | None = None) -> int:
    """Returns how large a file with this name may be that is read as a whole, and at most as large as `most`."""
    largest = _MOST_BYTES if name.endswith((".parquet", ".jsonl")) else _MOST_OTHER_BYTES
    return largest if most is None else min(largest, most)


class FileTooLarge(OSError):
    """A file is larger than one with its name can be."""

    def __init__(self, most: int) -> None:
        super().__init__(errno.EFBIG, f"larger than {most >> 20:,} MiB")
        self.most = most

    def __reduce__(self) -> tuple[object, ...]:
        return (FileTooLarge, (self.most,))


def bounded_copy(folder: Path) -> Callback:
    """Returns what a file system reports its progress to, and which stops it when the file is too large.

    Many files may be below that: it also stops one that would leave too little of the disk with `folder`.
    """
    from fsspec.callbacks import Callback

    def stop(size: int | None, value: int, **_: object) -> None:
        if max(size or 0, value) > MOST_FILE_BYTES:
            raise FileTooLarge(MOST_FILE_BYTES)
        disk = shutil.disk_usage(folder)
        if disk.free < min(_FREE_BYTES, disk.total // _FREE_PART):
            raise DiskFull(f"{folder}: copies of files at a URL would fill the disk")

    return Callback(hooks={"bound": stop})


@cache
def _bounded_response() -> type[Any]:
    """Returns the kind of answer from a web server that is read as a whole only if it is not too large."""
    from aiohttp import ClientResponse

    class Bounded(ClientResponse):
        async def read(self) -> bytes:
            if self._body is None:
                asked = self.history[0] if self.history else self
                most, pieces, count = most_bytes(asked.url.path, _end_asked(asked)), [], 0
                async for piece in self.content.iter_any():
                    pieces.append(piece)
                    count += len(piece)
                    if count > most:
                        self.close()
                        raise FileTooLarge(most)
                self._body = b"".join(pieces)
            return await super().read()

    return Bounded


def _end_asked(response: ClientResponse) -> int | None:
    """Returns where the request's range of bytes ends; a server that ignores it sends the file from its start."""
    asked = re.fullmatch(r"bytes=\d+-(\d+)", response.request_info.headers.get("Range", ""))
    return int(asked[1]) + 1 if asked else None


_URL = re.compile(r"(?P<protocol>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
# Up to the last `@` before the path; or, where what follows a `:` is no port, a password with slashes in it.
_USER_INFO = re.compile(r"[^/]*@|[^/@\[]*:(?!\d*(?:/|$))[^@]*@")
_CONNECT_S, _READ_S, _ATTEMPTS = 5, 10, 3  # give up on a dead endpoint within half a minute
_MESSAGE_CHARACTERS = 300
# Bounded, or a long word would take time squared.
_ANY_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://\S+")
_SECRET_NAME = re.compile(
    r"SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL|ACCESS_KEY|ACCOUNT_KEY|CONNECTION_STRING", re.IGNORECASE
)
_A_PIECE = 2  # so short a piece of a password gives nothing away
_A_WORD = 5  # so short a value may be a word of a message, and is no secret
_S3 = ("s3", "s3a")
# Raised when no credentials were given or found; listed by name, since each file system has a library of its own.
_NO_CREDENTIALS = {
    "NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "CredentialRetrievalError",
    "TokenRetrievalError", "UnauthorizedSSOTokenError", "SSOTokenLoadError", "DefaultCredentialsError",
    "RefreshError", "ClientAuthenticationError",
}  # fmt: skip
_REFUSED = {401, 403}


def is_url(place: object) -> bool:
    return isinstance(place, str) and _URL.fullmatch(place) is not None


def public_url(url: str) -> str:
    """Returns the URL without user and password; a web address also loses what follows `?`, which may be a signature."""
    match = _URL.fullmatch(url)
    if match is None:
        return url
    protocol, rest = match["protocol"], match["rest"].removeprefix(_user_info(url))
    if protocol.lower() in ("http", "https"):
        rest = re.split(r"[?#]", rest, maxsplit=1)[0]
    return f"{protocol}://{rest}"


def open_filesystem(url: str) -> tuple[AbstractFileSystem, str]:
    """Returns a file system and the path in it. Credentials come as usual for it: for S3, as for every AWS tool."""
    match = _URL.fullmatch(url)
    assert match is not None, url
    protocol = match["protocol"].lower()
    try:
        from fsspec.registry import get_filesystem_class  # type: ignore[import-untyped]

        kind = get_filesystem_class(protocol)
    except (ImportError, ValueError) as error:
        raise _not_installed(url, protocol, error) from error
    with remote_errors(url):
        given = kind._get_kwargs_from_urls(url)
        filesystem = kind(**_limits(protocol), **given)
        if protocol in _S3:
            filesystem.retries = 1  # botocore retries already; s3fs would repeat all of its attempts
        return filesystem, kind._strip_protocol(url)


@contextmanager
def remote_errors(url: str, missing: type[ProfError] | None = None) -> Iterator[None]:
    """Translates what a file system raises into a one-line error about `url`; a missing file raises `missing`.

    Without `missing`, FileNotFoundError passes; FileExistsError and FileTooLarge always do. Do no work on local files in here, or a
    full disk would look like a remote failure.
    """
    try:
        yield
    except ProfError:
        raise
    except FileNotFoundError as error:
        if missing is None:
            raise
        raise missing(f"{public_url(url)}: nothing is there") from error
    except (FileExistsError, FileTooLarge):
        raise
    except Exception as error:  # each file system has exceptions of its own
        raise _translated(url, error) from error


def _limits(protocol: str) -> dict[str, object]:
    if protocol in ("http", "https"):
        return {"client_kwargs": {"response_class": _bounded_response()}}
    if protocol not in _S3:
        return {}
    limits = {
        "connect_timeout": _CONNECT_S,
        "read_timeout": _READ_S,
        "retries": {"total_max_attempts": _ATTEMPTS, "mode": "standard"},
    }
    return {"config_kwargs": limits, "use_listings_cache": False}


def _not_installed(url: str, protocol: str, error: Exception) -> ProfError:
    if isinstance(error, ValueError):
        return RemoteNotInstalled(
            f"{public_url(url)}: there is no file system called '{protocol}'",
            remedy="Check the start of the URL: s3://, gs://, az://, https:// and others of fsspec will do.",
        )
    reason = str(error).partition("\n")[0]
    return RemoteNotInstalled(f"{public_url(url)}: its file system is not installed: {reason}")


def _translated(url: str, error: Exception) -> ProfError:
    where, why = public_url(url), error_text(url, error)
    status = getattr(error, "status", None) or getattr(error, "code", None)
    refused = isinstance(error, PermissionError) or status in _REFUSED
    if refused or type(error).__name__ in _NO_CREDENTIALS:
        return RemoteDenied(f"{where}: access denied: {why}")
    return RemoteFailed(f"{where}: {why}")


def error_text(url: str, error: Exception) -> str:
    """Returns the error's message on one line, without the secrets of `url` or of any other URL in it."""
    text = " ".join(str(error).split()) or type(error).__name__
    text = without_secrets(text, secrets_of([url], {}))
    return re.sub(r"\?[^\s'\"]+", "", text)[:_MESSAGE_CHARACTERS]


def secrets_of(texts: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    """Returns the users, passwords and signatures in URLs, and the secrets of the environment, the longest first."""
    found = {
        value for name, value in environment.items() if _SECRET_NAME.search(name) and len(value) > _A_WORD
    }
    for url in (match[0] for text in texts for match in _ANY_URL.finditer(text)):
        user_info = _user_info(url)
        query = re.split(r"[?#]", url, maxsplit=1)[1:]
        values = [value for pair in "".join(query).split("&") for value in pair.partition("=")[2:]]
        long = [value for value in (*query, *values) if len(value) > _A_WORD]
        password = user_info[:-1].partition(":")[2]
        pieces = [piece for piece in re.split(r"[/?#:@]", password) if len(piece) > _A_PIECE]
        # A program that takes `/` for the end of the host quotes only a piece.
        for part in (user_info, password, *pieces, *long):
            found |= {part, unquote(part)}
    return sorted(filter(None, found), key=len, reverse=True)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Returns the text without these secrets, and without users, passwords and signatures of any URL in it."""
    for secret in secrets:
        before, after = (r"(?<!\w)" if secret[0].isalnum() else "", r"(?!\w)" if secret[-1].isalnum() else "")
        text = re.sub(before + re.escape(secret) + after, "" if secret.endswith("@") else "…", text)
    text = re.sub(r"(?<=://)[^/\s'\"]+@", "", text)
    return re.sub(r"(?<=\w)\?[^\s'\"=]{0,1000}=[^\s'\"]*", "", text)


def _user_info(url: str) -> str:
    """Returns `user:password@`, or an empty text."""
    match = _URL.fullmatch(url)
    found = _USER_INFO.match(match["rest"]) if match else None
    return found[0] if found else ""
