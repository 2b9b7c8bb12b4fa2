"""`prof collect --times-only`: the kernels of any program, with their times and without counters, become a run."""

import json
import sys

import pytest

from profiler.errors import ProfiledAlready

pytestmark = pytest.mark.needs("cc")

PROGRAM = """
import ctypes, os, sys
library = ctypes.CDLL("libcuda.so.1")
library.cuInit(0)
if os.environ.get("CHILD") is None and "spawn" in sys.argv:
    os.environ["CHILD"] = "1"
    os.spawnv(os.P_WAIT, sys.executable, [sys.executable, *sys.argv])
for turn in range(4):
    library.launch(b"_Z3addIfEvPT_i", ctypes.c_uint64(1000 + turn), 8)
    library.launch(b"triton_scale", ctypes.c_uint64(3000), 4)
sys.exit(5 if "fails" in sys.argv else 0)
"""


@pytest.fixture
def collect(measuring, prof_here):
    """`collect("--name", "mine", "--", ...)` runs `prof collect --times-only` in a folder with `program.py`."""
    (measuring.folder / "program.py").write_text(PROGRAM)

    def run(*words, verb=("collect", "--times-only", "--processes", "2")):
        return prof_here(*verb, *words, cwd=measuring.folder, env=measuring.environment)

    return run


MINE = ("--name", "mine", "--", sys.executable, "program.py")
# As ncu 2025.3.1 ends a program that it profiles already, when prof would listen to it.
UNDER_NCU = (
    "raise SystemExit('==ERROR== Another tool/injection might be loaded since CUDA_INJECTION64_PATH is set to /tmp/listener.so. "
    "To run Nsight Compute unset CUDA_INJECTION64_PATH environment variable.')"
)


@pytest.mark.slow
def test_every_kernel_of_a_program_is_timed(collect, measuring):
    done = collect(*MINE)
    assert done.returncode == 0, done.stderr
    assert "timed       mine, process 2 of 2: 8 launches" in done.stderr
    (run_id,) = measuring.runs.ids()
    run = measuring.runs.open(run_id)
    kernels = {one.name: one.launches for one in run.manifest.kernels}
    assert kernels == {"void add<float>(float*, int)": 8, "triton_scale": 8}
    launches = run.to_pandas("launches")
    assert list(launches.process) == [0] * 8 + [1] * 8
    assert set(launches.function) == {"add", "triton_scale"}
    assert list(launches.grid_x[:2]) == [8, 4]
    assert list(run.to_pandas("metrics").value[:4]) == [1000, 3000, 1001, 3000]
    assert run.manifest.provenance.sources.keys() == {"program.py"}
    assert not run.manifest.has_counters
    run.verify()


def test_its_run_is_shown_compared_and_checked_like_any_other(collect):
    for name in ("before", "after"):
        assert collect("--name", name, *MINE[2:]).returncode == 0
    page = collect("after", verb=["show"])
    assert "2 kernels take 32.01 us without the profiler in 16 launches" in page.stdout
    assert "triton_scale takes 75 % of the time, by launch-too-short" in page.stdout
    one = json.loads(collect("before", "after", "-k", "add", "--format", "json", verb=["compare"]).stdout)
    assert (one["speedup"]["basis"], round(one["speedup"]["ratio"], 6)) == ("unprofiled", 1.0)
    assert collect("--baseline", "before", "after", "-k", "scale", verb=["check"]).returncode == 0


@pytest.mark.slow
def test_a_time_without_the_profiler_is_never_held_against_one_under_it(collect, measuring, reports):
    assert collect(*MINE).returncode == 0
    found = collect(
        "mine", reports / "triton_add_full.ncu-rep", "-k", "add", "--format", "json", verb=["compare"]
    )
    assert found.returncode == 0, found.stderr
    finding = json.loads(found.stdout)
    assert finding["speedup"] is None
    assert "duration_ns" not in [one["name"] for one in finding["metrics"]]


@pytest.mark.slow
def test_launches_are_chosen_by_name_and_number(collect, measuring):
    done = collect("--kernel-name", "add<float>", "--launch-skip", "1", "--launches", "2", *MINE)
    assert done.returncode == 0, done.stderr
    assert list(measuring.runs.open(measuring.runs.ids()[0]).to_pandas("metrics").value) == [1001, 1002] * 2


@pytest.mark.slow
def test_the_processes_that_a_program_starts_are_heard_too(collect, measuring):
    assert collect(*MINE, "spawn").returncode == 0
    assert measuring.runs.open(measuring.runs.ids()[0]).manifest.launches == 2 * 16


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((*MINE, "fails"), 55, "failed (exit code 5)"),
        (("--name", "mine", "--", "true"), 65, "true launched no kernel"),
        (("--name", "mine", "--", "true"), 65, "run it without a profiler of its own, such as torch.profiler"),
        (("--name", "mine", "--", sys.executable, "-c", UNDER_NCU), 72, "another profiler listens to this process"),
        (("--kernel-name", "absent", *MINE), 65, "mine: no kernel's name matches 'absent'; launched were:"),
        (("--kernel-name", "(", *MINE), 33, "'(' is not a regular expression"),
        (("--launch-skip", "90", *MINE), 66, "mine: 8 launches match, and 90 of them are skipped"),
        (("--preset", "full", *MINE), 2, "leave it out with --times-only"),
        (("--kernel", "6"), 2, "leave it out with --times-only"),
    ],
)  # fmt: skip
def test_what_cannot_be_timed_gives_one_message_and_stores_nothing(collect, measuring, words, code, message):
    done = collect(*words)
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
    assert not measuring.runs.ids()


def test_inside_another_profiler_it_says_that_prof_starts_ncu_itself(collect, measuring):
    measuring.environment["LISTENED_TO"] = "1"
    failed = collect(*MINE)
    assert failed.returncode == ProfiledAlready.exit_code
    assert (
        f"{sys.executable}: another profiler listens to this process, and CUPTI allows one" in failed.stderr
    )
    assert ProfiledAlready.remedy in failed.stderr
    assert not measuring.runs.ids()


def test_without_a_compiler_it_says_what_it_needs(collect, measuring):
    measuring.environment["PATH"] = measuring.environment["PATH"].split(":")[0]
    done = collect(*MINE)
    assert (
        done.returncode,
        "times without counters need a C compiler, and none was found" in done.stderr,
    ) == (51, True)
