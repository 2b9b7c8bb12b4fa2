"""Opens URLs with the file systems that fsspec knows: `s3://bucket/key`, `gs://…`, `memory://…`.

A URL goes in, a file system and a path come out. Every error becomes one line, without the secrets that a URL may hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from profiler.errors import ProfError, RemoteDenied, RemoteFailed, RemoteNotInstalled
from profiler.store.remote.bounds import FileTooLarge, bounded_response
from profiler.store.remote.urls import error_text, public_url

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]

_CONNECT_S, _READ_S, _ATTEMPTS = 5, 10, 3  # give up on a dead endpoint within half a minute
_S3 = ("s3", "s3a")
# Raised when no credentials were given or found; listed by name, since each file system has a library of its own.
_NO_CREDENTIALS = {
    "NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "CredentialRetrievalError",
    "TokenRetrievalError", "UnauthorizedSSOTokenError", "SSOTokenLoadError", "DefaultCredentialsError",
    "RefreshError", "ClientAuthenticationError",
}  # fmt: skip
_REFUSED = {401, 403}


def open_filesystem(url: str) -> tuple[AbstractFileSystem, str]:
    """Returns a file system and the path in it. Credentials come as usual for it: for S3, as for every AWS tool."""
    protocol = url.partition("://")[0].lower()
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
        return {"client_kwargs": {"response_class": bounded_response()}}
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
