"""Makes the file of a page: what it shows is found, its charts are drawn beside that, and all of it is written as HTML."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from profiler.analyse.report import PageFindings
from profiler.present.page import drawing
from profiler.present.page.page import Page, draw_page, page_html
from profiler.present.picture_cache import PictureCache


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
