"""The program around the PyTorch rungs, as far as it goes without PyTorch; and that each ladder calls it as it wants to be called."""

import ast
import importlib.util
import json
import math
import statistics
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.measuring.rungs.program import RungJob, program_command
from profiler.measuring.rungs.timing import parse_timings
from profiler.measuring.rungs.verify import parse_check
from profiler.measuring.tools.process import Finished

KERNELS = Path(__file__).parents[2] / "kernels"
MEMORY_BOUND = {
    "copy", "relu", "relu-fp16", "gelu", "scale", "sum", "layernorm", "embedding", "rmsnorm", "embedding-rmsnorm", "softmax",
    "transpose",
}  # fmt: skip
HAS_TORCH = importlib.util.find_spec("torch") is not None


@pytest.fixture(scope="module")
def ladders():
    return [read_ladder(path) for path in sorted(KERNELS.glob("*/ladder.toml"))]


@pytest.fixture(scope="module")
def rungs(ladders):
    """Every rung in PyTorch, with its ladder and its source."""
    found = [
        (ladder, kernel, kernel.source)
        for ladder in ladders
        for kernel in ladder.kernels
        if kernel.name.startswith("torch_") and kernel.source is not None
    ]
    assert len(found) == 3 * len(MEMORY_BOUND)
    return found


@pytest.fixture(scope="module")
def rung():
    spec = importlib.util.spec_from_file_location("torch_rung", KERNELS / "harness" / "torch_rung.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["torch_rung"] = module  # where dataclasses look their annotations up
    spec.loader.exec_module(module)
    return module


# The command line


def test_flags_set_how_often_and_everything_else_is_the_workload(rung):
    words = "--mode time --rows 4 --repeats 7 --hidden 4096 --bf16 0 --seed 9 --json"
    options = rung.parse_options(words.split())
    assert (options.mode, options.repeats, options.warmup, options.seed) == ("time", 7, 5, 9)
    assert (options.values, options.json) == ({"rows": 4, "hidden": 4096, "bf16": 0}, True)


def test_a_seed_that_is_not_given_is_drawn(rung):
    seeds = {rung.parse_options(["--mode", "check"]).seed for _ in range(4)}
    assert len(seeds) > 1


@pytest.mark.parametrize(
    "words",
    ["", "--mode tune", "--mode time --n", "--mode time --n -1", "--mode time --n 1.5", "--mode time --repeats 0",
     "--mode time 7", "--mode time --n=x", "--mode time --N 4"],
)  # fmt: skip
def test_an_invalid_command_line_is_refused_as_a_usage_error(rung, words, capsys):
    with pytest.raises(SystemExit) as caught:
        rung.parse_options(words.split())
    assert caught.value.code == rung.USAGE
    assert "error: " in capsys.readouterr().err


def test_a_workload_that_the_operation_does_not_take_is_refused(rung, capsys):
    def operation(seed, rows=1, hidden=2): ...

    rung.check_parameters(operation, {"hidden": 1, "rows": 2})
    rung.check_parameters(operation, {})
    with pytest.raises(SystemExit) as caught:
        rung.check_parameters(operation, {"rows": 1, "n": 1})
    assert caught.value.code == rung.USAGE
    assert "--rows N --hidden N" in capsys.readouterr().err


# What it prints, and what prof makes of it


@pytest.fixture
def job():
    ladder = read_ladder(KERNELS / "relu" / "ladder.toml")
    return RungJob(ladder, ladder.kernels[-1], ladder.workload.values())


def printed(*lines, exit_code=0):
    return Finished(("python3",), exit_code, "\n".join(map(json.dumps, lines)), "", 1.0)


def test_prof_reads_its_timings(rung, job):
    kernel_ns, reference_ns = [500.4, 400.0, 600.0], [300.0, 500.0, 400.0]
    lines = [rung.repeat_line(i, *pair) for i, pair in enumerate(zip(kernel_ns, reference_ns, strict=True))]
    summary = rung.time_line(kernel_ns, reference_ns, moved_bytes=2000)
    timed = parse_timings(job, printed(*lines, summary))
    assert [(one.kernel_ns, one.reference_ns) for one in timed.timings] == [
        (500, 300),
        (400, 500),
        (600, 400),
    ]
    assert timed.facts.reference == "cudaMemcpy of as many bytes"
    assert summary["kernel_median_ns"] == 500
    assert (summary["gbytes_per_s"], summary["reference_pct"]) == (4.0, 79.94)


def test_its_reference_is_called_as_that_of_the_rungs_in_cuda(rung):
    assert f'return "{rung.REFERENCE}"' in (KERNELS / "harness" / "streams.cuh").read_text()


@pytest.mark.parametrize(
    ("error", "not_finite", "verdict"),
    [(0.0, 0, "correct"), (1e-6, 0, "correct"), (2e-6, 0, "wrong"), (0.0, 1, "wrong"), (math.nan, 0, "wrong"),
     (math.inf, 0, "wrong")],
)  # fmt: skip
def test_prof_reads_its_verdict(rung, job, error, not_finite, verdict):
    line = rung.check_line(error, 1e-6, not_finite)
    exit_code = rung.DONE if line["ok"] else rung.MISMATCH
    assert parse_check(job, printed(line, exit_code=exit_code)).verdict == verdict


def test_quantiles_lie_between_the_closest_ranks(rung):
    values = [3.0, 1.0, 2.0, 4.0, 10.0]
    quartiles = statistics.quantiles(values, n=4, method="inclusive")
    assert [rung.quantile(values, q) for q in (0.25, 0.5, 0.75)] == quartiles
    assert rung.quantile([7.0], 0.75) == 7.0


# The rungs


def test_every_ladder_that_moves_bytes_has_pytorch_in_its_three_modes(ladders):
    for ladder in ladders:
        if ladder.name in MEMORY_BOUND:
            names = [kernel.name for kernel in ladder.kernels if kernel.name.startswith("torch")]
            assert names == ["torch_eager", "torch_compile", "torch_autotuned"], ladder.name
    assert {ladder.name for ladder in ladders} >= MEMORY_BOUND


def test_a_rung_gets_the_workload_that_its_operation_takes(rung, rungs):
    for ladder, kernel, source in rungs:
        module = ast.parse((ladder.folder / "torch_operation.py").read_text())
        (operation,) = (
            node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "operation"
        )
        names = [argument.arg for argument in operation.args.args if argument.arg != "seed"]
        defaults = dict(zip(names, map(ast.literal_eval, operation.args.defaults), strict=True))
        assert defaults.items() <= ladder.workload.parameters.items(), source
        job = RungJob(ladder, kernel, ladder.workload.values(), seed=5, launches=3, repeats=4, warmup=6)
        for mode in kernel.commands:
            command = program_command(job, mode)
            assert command[:2] == ["python3", str(source)]
            options = rung.parse_options(command[2:])
            assert (options.mode, options.seed, options.json) == (mode, 5, True)
            assert options.values == defaults, source
            assert mode != "profile" or options.launches == 3
            assert mode != "time" or (options.repeats, options.warmup) == (4, 6)


def test_a_rung_names_every_file_of_ours_that_it_imports(rungs):
    wrong = {}
    for ladder, kernel, source in rungs:
        here = {
            path.stem: path for path in (*ladder.folder.glob("*.py"), *(KERNELS / "harness").glob("*.py"))
        }
        needed, found = {"torch_operation"} | imports_of(source), {source}
        while needed & set(here):
            path = here.pop(sorted(needed & set(here))[0])
            found.add(path)
            needed |= imports_of(path)
        named = {path.resolve() for path in (source, *kernel.further_sources)}
        if named != (imported := {path.resolve() for path in found}):
            wrong[source] = named ^ imported
    assert wrong == {}


@cache
def imports_of(path):
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


MODES = {
    "torch_eager": "",
    "torch_compile": ', mode="default"',
    "torch_autotuned": ', mode="max-autotune-no-cudagraphs"',
}


def test_a_rung_says_whether_it_is_compiled_and_marks_what_is_profiled(rungs):
    """Inductor launches its candidates to find the best: only a window keeps them out of the profile."""
    for _, kernel, source in rungs:
        assert kernel.has_window or not kernel.is_profiled, source
        assert f'main("torch_operation"{MODES[kernel.name]})' in source.read_text()
        assert source.name == f"{kernel.file_name}.py"
        assert f"Rung {kernel.number}:" in source.read_text()


@pytest.mark.skipif(HAS_TORCH, reason="PyTorch is installed here")
def test_without_pytorch_a_rung_refuses(rung):
    program = [sys.executable, "04_torch_eager.py", "--mode", "check", "--n", "8"]
    done = subprocess.run(program, cwd=KERNELS / "relu", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (rung.UNSUPPORTED, "")
    assert done.stderr.startswith("error: this rung needs PyTorch, which ")
    assert len(done.stderr.splitlines()) == 1
