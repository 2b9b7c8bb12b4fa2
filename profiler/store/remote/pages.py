"""Lists buckets page by page in S3, Google's and Azure's stores: the searches of their libraries hold every name at once.

In: a file system of fsspec. Out: pages of about a thousand names, each requested when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any, NamedTuple


class ListingPage(NamedTuple):
    """Files with their sizes, folders, which end in a slash, and what to ask for the next page with; None for the last one."""

    files: list[tuple[str, int]]
    folders: list[str]
    token: str | None


# Takes the system, the bucket, the start of the names, the delimiter and the token.
_Ask = Callable[[Any, str, str, str, str | None], ListingPage]


def has_pages(system: Any) -> bool:
    return _ask_for(system) is not None


def is_s3(system: Any) -> bool:
    return _ask_for(system) is _ask_s3


def list_pages(system: Any, bucket: str, start: str, delimiter: str = "") -> Iterator[ListingPage]:
    """Yields the pages of names that begin with `start`; with a delimiter, what goes on behind it is a folder."""
    ask, token = _ask_for(system), None
    assert ask is not None, system
    while True:
        page = ask(system, bucket, start, delimiter, token)
        yield page
        if not page.token:
            return
        token = page.token


def _ask_for(system: Any) -> _Ask | None:
    protocols = (system.protocol,) if isinstance(system.protocol, str) else system.protocol
    return next((_ASK[one] for one in protocols if one in _ASK), None)


def _ask_s3(system: Any, bucket: str, start: str, delimiter: str, token: str | None) -> ListingPage:
    more = {"ContinuationToken": token} if token else {}
    page = system.call_s3(
        "list_objects_v2", system.req_kw, Bucket=bucket, Prefix=start, Delimiter=delimiter, **more
    )
    return ListingPage(
        [(one["Key"], one["Size"]) for one in page.get("Contents", ())],
        [one["Prefix"] for one in page.get("CommonPrefixes", ())],
        page.get("NextContinuationToken"),
    )


def _ask_google(system: Any, bucket: str, start: str, delimiter: str, token: str | None) -> ListingPage:
    more = {name: text for name, text in (("delimiter", delimiter), ("pageToken", token)) if text}
    page = system.call("GET", "b/{}/o", bucket, prefix=start, json_out=True, **more)
    return ListingPage(
        [(one["name"], int(one["size"])) for one in page.get("items", ())],
        page.get("prefixes", []),
        page.get("nextPageToken"),
    )


def _ask_azure(system: Any, bucket: str, start: str, delimiter: str, token: str | None) -> ListingPage:
    from fsspec.asyn import sync  # type: ignore[import-untyped]

    async def ask() -> ListingPage:
        client = system.service_client.get_container_client(bucket)
        if delimiter:
            listed = client.walk_blobs(name_starts_with=start, delimiter=delimiter)
        else:
            listed = client.list_blobs(name_starts_with=start)
        pages = listed.by_page(token)
        try:
            found = [one async for one in await anext(pages)]
        except Exception as error:  # its class is in a library that need not be installed
            if getattr(error, "status_code", None) != HTTPStatus.NOT_FOUND:
                raise
            raise FileNotFoundError(f"the specified bucket does not exist: {bucket}") from error
        folders = [one.name for one in found if not hasattr(one, "size")]
        return ListingPage(
            [(one.name, one.size) for one in found if hasattr(one, "size")], folders, pages.continuation_token
        )

    page: ListingPage = sync(system.loop, ask)
    return page


_ASK: dict[str, _Ask] = {"s3": _ask_s3, "gs": _ask_google, "abfs": _ask_azure}
