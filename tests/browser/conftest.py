"""A real Chromium for the page, and the pages that it opens: each written once, for all tests."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]

RUNGS = (0, 1, 5, 6, 9, 12, 13, 14)

# Nothing is searched for, nothing has the focus, and the view begins at its top.
_BEGIN = """anchor => {
  const box = document.querySelector("nav input");
  box.value = "";
  box.dispatchEvent(new Event("input"));
  document.activeElement.blur();
  location.hash = anchor;
  scrollTo(0, 0);
}"""


# `prof` on whose pages there is nothing to draw: a picture takes 60 ms of processor time, and a page of a ladder has dozens.
_UNDRAWN = """
from concurrent.futures import Future
from profiler.cli import main
from profiler.present.page.drawing import Drawing
def ask(*chart, **options):
    nothing = Future()
    nothing.set_result(None)
    return nothing
Drawing.ask = ask
main()
"""


@pytest.fixture(scope="module")
def chromium(needs):
    """It ends with its module: Playwright occupies the thread's event loop, which others need."""
    found = needs("chromium")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # it refuses to run as root with one
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def write_page(once, prof):
    """`write_page("name", *arguments)`: what `prof report *arguments` writes, once."""

    def write(name, *arguments):
        def fill(folder):
            result = prof("report", *arguments, "-o", folder / "page.html", cwd=ROOT)
            assert (result.returncode, result.stdout) == (0, ""), result.stderr

        return once(f"page-{name}", fill) / "page.html"

    return write


@pytest.fixture(scope="session")
def write_tables(once):
    """`write_tables("name", *arguments)`: the same page without pictures, for tests of its tables."""

    def write(name, *arguments):
        def fill(folder):
            command = [
                sys.executable,
                "-c",
                _UNDRAWN,
                "report",
                *map(str, arguments),
                "-o",
                folder / "page.html",
            ]
            result = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
            )
            assert (result.returncode, result.stdout) == (0, ""), result.stderr

        return once(f"tables-{name}", fill) / "page.html"

    return write


@pytest.fixture(scope="session")
def ladder_page(write_page, recorded, tmp_path_factory):
    """Eight rungs of the recorded GEMM ladder and six steps: every kind of view, in half the time of the whole ladder."""
    runs = tmp_path_factory.mktemp("some-rungs")
    for run_id in recorded.ids():
        manifest = recorded.open(run_id).manifest
        if manifest.ladder == "ceilings" or (manifest.ladder == "gemm" and manifest.kernel in RUNGS):
            (runs / str(run_id)).symlink_to(recorded.root / str(run_id))
    return write_page("ladder", "--runs", runs)


@pytest.fixture(scope="module")
def opened_once(chromium, ladder_page):
    with watched(chromium) as open_page:
        yield open_page(ladder_page)


@pytest.fixture
def look_at(opened_once):
    """`look_at("#5-6", width=375)`: the ladder's page, which the tests of a file share, at a view and a width.

    It takes half a second to open. So it is for tests that leave the page whole: they may resize it, say how it is shown, go
    elsewhere, sort and search.
    """

    def look_at(anchor="#ladder", *, width=1280):
        opened_once.emulate_media(media="null", color_scheme="null")
        opened_once.set_viewport_size({"width": width, "height": 900})
        opened_once.evaluate(_BEGIN, anchor)
        expect(opened_once.locator(".view.current")).to_have_id(anchor[1:])
        return opened_once

    return look_at


@pytest.fixture
def open_page(chromium):
    """`open_page(path, "#5-6", width=375, color_scheme="dark")`; nothing may complain, nothing be asked for."""
    with watched(chromium) as open_page:
        yield open_page


@contextmanager
def watched(chromium):
    complaints, requests, contexts = [], [], []

    def open_page(path, anchor="", *, width=1280, **options):
        context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)  # ends a test that hangs
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url.partition("#")[0]))
        page.goto(f"{path.as_uri()}{anchor}")
        assert set(requests) <= {path.as_uri(), "data:,"}
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith("file:") and url != "data:,"] == []
