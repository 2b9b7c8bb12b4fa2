"""Fixtures of the tests about reading one report."""

import code_once
import pytest


@pytest.fixture(autouse=True)
def code_is_read_again(monkeypatch):
    """Whatever else these tests start reads machine code itself."""
    for name, value in code_once.READ_AGAIN.items():
        monkeypatch.setenv(name, value)
