"""The notebooks show what the library finds in `runs/` today, and what they assert can fail."""

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pandas
import pytest
from msgspec.structs import replace

import profiler
from profiler.commands.reading.notebook import SHIPPED
from profiler.present import charts

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "docs" / "notebooks.py"


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


@pytest.mark.slow
def test_executed_from_a_clean_kernel_they_show_what_is_stored():
    done = subprocess.run(
        [sys.executable, GENERATOR, "--check"], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def code_of(monkeypatch):
    """`code_of("ladder")`: the cells of that notebook, to be run here without charts."""
    monkeypatch.chdir(ROOT / "dashboards")
    monkeypatch.setattr(charts, "show", lambda *_: None)
    with pandas.option_context("display.float_format", None):
        yield lambda name: [cell.source for cell in read(f"{name}.ipynb").cells if cell.cell_type == "code"]


@pytest.mark.slow
def test_the_confirmation_fails_where_it_should(code_of):
    """With the two kernels the other way round, loads do not get fewer: nothing is confirmed, and the notebook stops."""
    swap = {"5": "6", "6": "5"}

    def run():
        names = {}
        for source in code_of("four_way_confirmation"):
            exec(re.sub(r'find\("([56])"', lambda found: f'find("{swap[found[1]]}"', source), names)

    with pytest.raises(ValueError, match="not enough values to unpack") as stopped:
        run()
    assert stopped.traceback[-1].name == "arrows"


def backwards(sheet, roofline):
    """The ladder upside down, and five percent longer under the profiler: each rung with the figures of another."""

    def measured(rung, other):
        metrics = {**other.metrics, "duration_ns": 1.05 * other.metrics["duration_ns"]}
        return replace(other, kernel=rung.kernel, name=rung.name, before=rung.before, metrics=metrics)

    numbers = [rung.kernel for rung in sheet.ladder.kernels]
    turned = [measured(*pair) for pair in zip(sheet.ladder.kernels, sheet.ladder.kernels[::-1], strict=True)]
    stalls = [replace(other, kernel=number) for number, other in zip(numbers, sheet.rungs[::-1], strict=True)]
    steps = [
        replace(step, metrics=other.metrics)
        for step, other in zip(sheet.steps, sheet.steps[::-1], strict=True)
    ]
    points = [
        replace(other, kernel=number) for number, other in zip(numbers, roofline.points[::-1], strict=True)
    ]
    ladder = replace(sheet.ladder, kernels=turned)
    return replace(sheet, ladder=ladder, rungs=stalls, steps=steps), replace(roofline, points=points)


@pytest.mark.slow
def test_every_assertion_of_the_ladder_notebook_fails_on_another_ladder(monkeypatch, code_of):
    """Each cell that asserts something, on the ladder upside down, after those before it without their assertions."""
    runs = profiler.open_runs(ROOT / "runs")
    sheet, roofline = backwards(profiler.ladder("gemm", runs), profiler.roofline("gemm", runs))
    of_source = {
        run.manifest.name: profiler.source_lines(run)
        for run in (runs.find(f"gemm-{number}-source", ladder="gemm") for number in (6, 5))
    }
    swapped = dict(zip(of_source, reversed(of_source.values()), strict=True))
    monkeypatch.setattr(profiler, "ladder", lambda *_: sheet)
    monkeypatch.setattr(profiler, "roofline", lambda *_: roofline)
    monkeypatch.setattr(profiler, "source_lines", lambda run: swapped[run.manifest.name])
    names, failed = {}, 0
    for source in code_of("ladder"):
        code = ast.parse(source)
        if any(isinstance(node, ast.Assert) for node in code.body):
            failed += 1
            with pytest.raises(AssertionError):
                exec(compile(code, "cell", "exec"), names)
        code.body = [node for node in code.body if not isinstance(node, ast.Assert)]
        exec(compile(code, "cell", "exec"), names)
    assert failed >= 8


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
def test_the_pictures_need_no_style_sheet(path):
    """Pages that put them among their own elements strip styles and scripts, and a shape without its fill is black."""
    for output in outputs_of(read(path)):
        picture = output.get("data", {}).get("image/svg+xml", "")
        assert set(re.findall(r"<(\w+)", picture)) <= {"svg", "g", "rect", "path", "line", "text", "tspan"}
        assert " style=" not in picture


@every_notebook
def test_every_shipped_notebook_is_listed(path):
    assert path.stem in SHIPPED
    assert len(generator.NOTEBOOKS) == len(SHIPPED)


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
