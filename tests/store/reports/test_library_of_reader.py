"""What a reader says whose library does not load. It is alone here: readers that start meanwhile would find the same one."""

import pytest

from profiler.errors import ReaderNotStarted
from profiler.store.reports.request import Request
from profiler.store.reports.sandbox import Sandbox, outcome


def test_a_library_that_does_not_load_is_not_called_a_lack_of_memory(reports, tmp_path, monkeypatch):
    (tmp_path / "ncu_report.py").write_text("raise ImportError('GLIBC_2.38 not found')\n")
    monkeypatch.syspath_prepend(tmp_path)
    report = reports / "graph.ncu-rep"

    with (
        Sandbox(workers=1) as readers,
        pytest.raises(ReaderNotStarted, match=r"GLIBC_2\.38 not found") as caught,
    ):
        outcome(readers.submit(Request((report,), tmp_path / "run")), report)

    assert "pip install --force-reinstall ncu-report" in caught.value.remedy
