"""`prof collect` with the real thing: a GPU, nvcc and ncu. Run them with `pytest -m gpu tests/gpu/test_collect.py`."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from living import living, wait_until

from profiler.measuring.tools.gpus import find_gpu
from profiler.measuring.tools.toolchain import find_toolchain
from profiler.store.reports.privacy import find_home_directories
from profiler.store.runs.run_store import RunStore

ROOT = Path(__file__).resolve().parents[2]
PROF = [sys.executable, "-c", "from profiler.cli import main; main()"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
PAIR = ("--kernel", "5-6", "--size", "512", "--launches", "2", "--processes", "2", "--repeats", "3")
QUICK = ("--preset", "four-way", "--processes", "1")

# Asks for more memory than any GPU has, and says what CUDA says.
HOG = """
#include <cstdio>
int main() {
    void* memory;
    cudaError_t status = cudaMalloc(&memory, size_t(1) << 50);
    std::fprintf(stderr, "cudaMalloc: %s\\n", cudaGetErrorString(status));
    return status == cudaSuccess ? 0 : 1;
}
"""

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The ladder `gemm`, a zoo of launches and a hog of memory, in a folder of their own."""
    folder = tmp_path_factory.mktemp("gpu")
    shutil.copytree(ROOT / "kernels", folder / "kernels")
    shutil.copy(ROOT / "tests" / "data" / "reports" / "zoo.cu", folder)
    (folder / "hog.cu").write_text(HOG)
    nvcc, arch = find_toolchain().nvcc, find_gpu().arch
    for name in ("zoo", "hog"):
        subprocess.run([nvcc, f"-arch={arch}", "-o", name, f"{name}.cu", "-ldl"], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def collect(place):
    """`collect("--kernel", 5)`: the command in a process of its own, in that folder."""

    def run(*words):
        command = [*PROF, "collect", "--runs", "runs", *map(str, words)]
        return subprocess.run(
            command, cwd=place, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False
        )

    return run


@pytest.fixture
def failed(collect, place):
    """`failed(...)`: the same for a call that fails; it commits nothing."""

    def run(*words):
        before = RunStore(place / "runs").ids()
        done = collect(*words)
        assert RunStore(place / "runs").ids() == before
        assert done.stdout == ""
        return done

    return run


@pytest.fixture(scope="module")
def pair(collect, place):
    """Kernels 5 and 6, verified, timed and profiled in two processes each."""
    done = collect(*PAIR)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "next: prof compare 5 6"
    store = RunStore(place / "runs")
    return [store.find("5", "gemm"), store.find("6", "gemm")]


def named(place, name):
    return RunStore(place / "runs").find(name, "gemm")


# Rungs


def test_a_pair_of_rungs_is_verified_timed_and_profiled(pair):
    for run, number in zip(pair, (5, 6), strict=True):
        run.verify()
        manifest = run.manifest
        assert (manifest.origin, manifest.kernel, manifest.preset) == ("collected", number, "default")
        assert manifest.workload == {"m": 512, "n": 512, "k": 512}
        assert (len(manifest.reports), manifest.launches) == (2, 4)
        assert (manifest.clock_control, manifest.cache_control, manifest.replay_mode) == (
            "none",
            "all",
            "kernel",
        )
        assert [f"gemm_{number:02}" in kernel.name for kernel in manifest.kernels] == [True]
        assert manifest.provenance.relative_error is not None
        assert manifest.provenance.relative_error < 1e-3
        assert run.table("timings").num_rows == 6
        frequencies = [
            row["value"]
            for row in run.table("metrics").to_pylist()
            if row["metric"] == "sm__cycles_elapsed.avg.per_second"
        ]
        assert len(frequencies) == 4
        assert all(1e8 < value < 1e10 for value in frequencies)


def test_their_reports_name_nobodys_home(pair):
    for run in pair:
        for report in run.manifest.reports:
            assert find_home_directories(run.report_path(report), own=Path.home()) == []
        assert f"{ROOT}/" not in run.manifest.command_line
        assert Path(run.manifest.program).parent.name.startswith("prof-")


def test_a_kernel_that_is_collected_already_is_skipped(pair, collect):
    done = collect(*PAIR, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert [(row["status"], row["run_id"]) for row in json.loads(done.stdout)] == [
        ("known", run.manifest.run_id) for run in pair
    ]
    assert "profiled" not in done.stderr


def test_a_dry_run_prints_what_ncu_takes(pair, collect, place):
    done = collect("--kernel", "6", "--size", "512", "--launches", 1, "--processes", 1, "--repeats", 0,
                   "--no-verify", "--preset", "four-way", "--dry-run")  # fmt: skip
    _, line = done.stdout.replace("\\\n", "").splitlines()
    typed = subprocess.run(["bash", "-c", line], cwd=place, capture_output=True, text=True, check=False)
    assert typed.returncode == 0, typed.stdout + typed.stderr
    assert (place / "gemm-6.ncu-rep").exists()


def test_killed_in_the_middle_it_leaves_nothing_running_and_goes_on(place, pair):
    words = [*PROF, "--runs", "killed", "collect", *PAIR, "--no-verify", "--repeats", "0"]
    mark = f"PROF_GPU_TEST={place}"
    process = subprocess.Popen(
        words, cwd=place, env={**ENVIRONMENT, "PROF_GPU_TEST": str(place)}, stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stderr.readline().startswith("profiled    kernel 5")
    time.sleep(1.0)  # the next ncu is at work
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)

    assert wait_until(lambda: not living(mark), 10), living(mark)
    assert RunStore(place / "killed").ids() == []
    again = subprocess.run(words, cwd=place, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert again.stderr.count("profiled ") == 3
    assert [run_id.name for run_id in RunStore(place / "killed").ids()] == ["gemm-5", "gemm-6"]


# Any program


def test_ranges(collect, place):
    done = collect("--name", "ranges", "--replay-mode", "range", *QUICK, "--", "./zoo", "range")
    assert done.returncode == 0, done.stderr
    run = named(place, "ranges-four-way")
    assert run.manifest.replay_mode == "range"
    assert run.table("launches").column("workload").to_pylist() == ["range", "range"]


def test_graphs_as_a_whole(collect, place):
    done = collect("--name", "graphs", "--graph-profiling", "graph", *QUICK, "--", "./zoo", "graph")
    assert done.returncode == 0, done.stderr
    launches = named(place, "graphs-four-way").table("launches")
    assert launches.column("workload").to_pylist() == ["graph", "graph"]


def test_chosen_by_name_and_after_some_launches(collect, place):
    done = collect("--name", "chosen", "--kernel-name", "scale|offset", "--launch-skip", 1, "--launches", 3,
                   *QUICK, "--", "./zoo", "several")  # fmt: skip
    assert done.returncode == 0, done.stderr
    functions = named(place, "chosen-four-way").table("launches").column("function").to_pylist()
    assert functions == ["offset", "scale", "offset"]


# What goes wrong


def test_an_unknown_metric(failed):
    done = failed("--name", "bad", *QUICK, "--metric", "no__such_metric.sum", "--", "./zoo", "several")
    assert done.returncode == 49
    assert "recorded nothing for no__such_metric.sum" in done.stderr


def test_an_unknown_section(failed):
    done = failed("--name", "bad", *QUICK, "--section", "NoSuchSection", "--", "./zoo", "several")
    assert done.returncode == 68
    assert "NoSuchSection" in done.stderr


def test_no_kernel_that_fits(failed):
    done = failed("--name", "bad", *QUICK, "--kernel-name", "softmax", "--", "./zoo", "several")
    assert done.returncode == 65
    assert "      scale(float *, float)" in done.stderr


def test_fewer_launches_than_asked_for(failed):
    done = failed("--name", "bad", *QUICK, "--launches", 50, "--", "./zoo", "several")
    assert done.returncode == 66
    assert "7 of 50 launches" in done.stderr


def test_a_program_that_fails_after_its_launches(failed):
    program = ("sh", "-c", "./zoo several; echo the loss is NaN >&2; exit 7")
    done = failed("--name", "bad", *QUICK, "--", *program)
    assert done.returncode == 55
    assert "    the loss is NaN" in done.stderr


def test_out_of_device_memory(failed):
    done = failed("--name", "bad", *QUICK, "--", "./hog")
    assert done.returncode == 58
    assert "cudaMalloc: out of memory" in done.stderr


def test_a_program_that_hangs(failed, place):
    done = failed("--name", "bad", *QUICK, "--timeout", 8, "--", "sh", "-c", "./zoo several; sleep 98761")
    assert done.returncode == 56
    assert "within 8 s" in done.stderr
    assert wait_until(lambda: not any("sleep 98761" in one.words for one in living()), 10)
