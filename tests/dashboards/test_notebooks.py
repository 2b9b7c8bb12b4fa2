"""The notebooks show what the library finds in `runs/` today, and what they assert can fail."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "tests" / "notebooks.py"


def _generator():
    spec = importlib.util.spec_from_file_location("notebooks", GENERATOR)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = _generator()
every_notebook = pytest.mark.parametrize("path", generator.NOTEBOOKS, ids=lambda path: path.stem)


def read(path):
    return nbformat.read(path, as_version=4)


def outputs_of(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def test_executed_from_a_clean_kernel_they_show_what_is_stored():
    done = subprocess.run(
        [sys.executable, GENERATOR, "--check"], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_confirmation_fails_where_it_should(tmp_path):
    """The two kernels the other way round: the arrows point the wrong way, and the notebook stops there."""
    notebook = read(ROOT / "dashboards" / "four_way_confirmation.ipynb")
    for cell in notebook.cells:
        cell.source = cell.source.replace('find("5"', 'find("x"').replace('find("6"', 'find("5"')
        cell.source = cell.source.replace('find("x"', 'find("6"')
    swapped = tmp_path / "swapped.ipynb"
    nbformat.write(notebook, swapped)
    script = (
        f"import sys; sys.path.insert(0, {str(GENERATOR.parent)!r}); import notebooks, nbformat; "
        f"notebooks.executed(nbformat.read({str(swapped)!r}, as_version=4))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode != 0
    assert "AssertionError" in done.stderr
    assert "assert rungs.confirmations[0].confirmed" in done.stderr


@every_notebook
def test_every_cell_was_executed_once_in_order_without_an_error(path):
    counts = [cell.execution_count for cell in read(path).cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert {output.output_type for output in outputs_of(read(path))} <= {
        "execute_result",
        "display_data",
        "stream",
    }


@every_notebook
def test_every_live_chart_has_a_picture_for_pages_that_run_nothing(path):
    charts = [
        output.data
        for output in outputs_of(read(path))
        if any("vegalite" in kind for kind in output.get("data", ()))
    ]
    assert charts
    assert all(chart["image/svg+xml"].startswith("<svg") for chart in charts)
    assert all(chart["text/plain"] for chart in charts)


@every_notebook
def test_nothing_of_the_machine_is_stored(path):
    notebook = read(path)
    assert re.findall(r"/(?:home|Users|tmp|root|usr|work)/[^\s\"]*", path.read_text()) == []
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert all(cell.metadata == {} for cell in notebook.cells)


def test_figures_may_differ_in_their_last_digits_only():
    alike = generator.alike
    assert alike({"a": [1.0, "x"]}, {"a": [1.0 + 1e-9, "x"]})
    assert not alike({"a": 1.0}, {"a": 1.001})
    assert not alike([1.0], [1.0, 2.0])
    assert not alike({"a": 1.0}, {"b": 1.0})
    assert not alike("one", "two")
