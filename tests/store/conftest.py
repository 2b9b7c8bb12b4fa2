"""Fixtures of the store's own tests."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

_NOBODY = 65534


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike `tmp_path`."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)


@pytest.fixture
def as_nobody() -> Callable[[], AbstractContextManager[None]]:
    """`with as_nobody():` runs without the rights of root, who may read everything."""

    @contextmanager
    def drop() -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        os.seteuid(_NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)

    return drop
