"""Makes the file of a page: what it shows is found, its charts are drawn beside that, and all of it is written as HTML.

A page has a signature, so that a later one may replace it, and no other file.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from profiler.analyse.report import PageFindings
from profiler.errors import OutputNotWritable
from profiler.present.page import drawing
from profiler.present.page.page import SIGNATURE, Page, draw_page, page_html
from profiler.present.picture_cache import PictureCache

_HEAD_BYTES = 4096  # at the start of a page, which hold its signature


def spare_foreign_file(path: Path) -> None:
    """Refuses to write a page over a file that is neither empty nor a page of `prof`."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:  # there is none, or writing it fails with a reason
        return
    if head and SIGNATURE.encode() not in head:
        raise OutputNotWritable(
            f"{path}: exists already, and prof did not write it; its content would be lost",
            remedy="Name another file with `--output`, or write over this one with `--overwrite`.",
        )


def make_page(
    find: Callable[[], PageFindings], kept: PictureCache | None, progress: Callable[[str], None]
) -> tuple[PageFindings, Page, bytes]:
    """Returns what was found, the page of it, and the HTML of that. Pictures that are `kept` are not drawn again."""
    with _no_collection(), drawing.Drawing(kept) as pictures:
        found = find()
        progress("drawing the page")
        page = draw_page(found, pictures)
        html = page_html(page, drawing.derive_look()).encode()
        progress("")
    return found, page, html


@contextmanager
def _no_collection() -> Iterator[None]:
    """Stops the garbage collector, since all objects of a page, hundreds of thousands, are needed until it is written."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
