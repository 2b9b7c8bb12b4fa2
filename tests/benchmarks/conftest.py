import pytest


@pytest.fixture(autouse=True)
def python_keeps_what_it_compiled(monkeypatch):
    """As on users' machines: the packages beside which `prof` is measured were compiled when pip installed them."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
