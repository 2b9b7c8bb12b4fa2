"""A process is forked, and so starts in milliseconds, unless it was given what an interpreter reads when it starts."""

from __future__ import annotations

import os
import sys

import forked
import pytest

HAS_IMPORTS = [sys.executable, "-c", "import sys; print('pandas' in sys.modules)"]


@pytest.mark.parametrize(
    ("given", "is_forked"),
    [({}, True), ({"PYTHONHASHSEED": "6640"}, True), ({"PYTHONOPTIMIZE": "1"}, False)],
    ids=["as the tests began", "what Dask leaves behind", "another interpreter"],
)
def test_it_is_forked_where_an_interpreter_would_be_the_same(given, is_forked):
    found = forked.run(HAS_IMPORTS, env={**os.environ, **given}, capture_output=True, text=True, check=True)
    assert found.stdout == f"{is_forked}\n"
