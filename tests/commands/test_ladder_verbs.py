"""`prof build`, `verify`, `time` and `list` as one types them, with a GPU that is a script."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import write_tool

from profiler.commands.shared.ladders import raise_failures
from profiler.errors import BuildFailed, ProgramFailed, ShapeRefused

LADDER = f"""
title = "Scripts"
command = ["{sys.executable}", "-ISc", "pass"]
time = ["{sys.executable}", "-ISc", "print('{{{{\\"kernel_ns\\": 1{{size}}, \\"reference_ns\\": 1000}}}}')"]
check = ["{sys.executable}", "-ISc", "import sys; sys.exit(4 * (sys.argv[1] == '2'))", "{{kernel}}"]
flops = "size"
[workload]
size = 100
[[kernel]]
number = 1
name = "right"
idea = "computes what it should"
regex = "."
[[kernel]]
number = 2
name = "wrong"
idea = "does not"
regex = "."
"""


@pytest.fixture
def here(tmp_path):
    """Returns where to run: a folder with a ladder `scripts`, a `runs` folder, and a GPU on the PATH."""
    folder = tmp_path / "kernels" / "scripts"
    folder.mkdir(parents=True)
    (folder / "ladder.toml").write_text(LADDER)
    (tmp_path / "runs").mkdir()
    tool = write_tool(tmp_path / "bin" / "nvidia-smi", 'echo "NVIDIA H200, 9.0, 580.1, GPU-0"')
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    environment |= {
        "PATH": f"{tool.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    return {"cwd": tmp_path, "env": environment}


def test_verify_distinguishes_right_from_wrong(prof_here, here):
    done = prof_here("verify", "--ladder", "scripts", "--format", "json", **here)
    assert done.returncode == 60, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["kernel"], row["size"], row["verdict"]) for row in rows] == [
        (1, "size=100", "correct"),
        (2, "size=100", "wrong"),
    ]
    assert "1 of 2 checks found a wrong result" in done.stderr
    right = prof_here(
        "verify", "--ladder", "scripts", "--kernel", "1", "--size", "64", "--size", "128", **here
    )
    assert right.returncode == 0
    assert "size=64" in right.stdout
    assert "size=128" in right.stdout


def test_kernels_verified_before_ctrl_c_are_shown(here):
    path = here["cwd"] / "kernels" / "scripts" / "ladder.toml"
    path.write_text(
        LADDER.replace(
            "sys.exit(4 * (sys.argv[1] == '2'))", "import time; time.sleep(60 * (sys.argv[1] == '2'))"
        )
    )
    words = [sys.executable, "-m", "profiler", "verify", "--ladder", "scripts"]
    verify = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **here)
    assert verify.stderr.readline().startswith("correct     kernel 1 (right)")

    verify.send_signal(signal.SIGINT)

    shown, told = verify.communicate(timeout=60)
    assert verify.returncode == 130
    assert "correct" in shown.splitlines()[1]
    assert "wrong" not in shown
    assert "only 1 of 2 were verified" in told


def test_kernels_verified_before_the_gpu_went_away_are_shown(prof_here, here):
    path = here["cwd"] / "kernels" / "scripts" / "ladder.toml"
    gone = "sys.exit('no CUDA-capable device is detected' if sys.argv[1] == '2' else 0)"
    path.write_text(LADDER.replace("sys.exit(4 * (sys.argv[1] == '2'))", gone))
    done = prof_here("verify", "--ladder", "scripts", "--quiet", "--format", "json", **here)
    assert done.returncode == 52
    assert [one["verdict"] for one in json.loads(done.stdout)] == ["correct"]
    assert "only 1 of 2 were verified" in done.stderr


@pytest.fixture
def choosy(here):
    """Kernel 1 takes every size, kernel 2 refuses 1000."""
    path = here["cwd"] / "kernels" / "scripts" / "ladder.toml"
    check = "import sys; sys.exit(3 * (sys.argv[1:] == ['2', '1000']))"
    text = re.sub(
        "check = .*", f'check = ["{sys.executable}", "-ISc", "{check}", "{{kernel}}", "{{size}}"]', LADDER
    )
    path.write_text(text)
    return here


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--size", "1000"], 0),
        (["--kernel", "2", "--size", "1000", "--size", "4096"], 0),
        (["--kernel", "1", "--kernel", "2", "--size", "1000"], 0),
        (["--kernel", "2", "--size", "1000"], 59),
        (["--kernel", "2", "--size", "1000", "--size", "1000"], 59),
    ],
)
def test_a_shape_refused_is_a_failure_only_where_nothing_was_verified(prof_here, choosy, arguments, code):
    done = prof_here("verify", "--ladder", "scripts", *arguments, "--format", "json", **choosy)
    assert done.returncode == code, done.stderr
    assert "refused" in [row["verdict"] for row in json.loads(done.stdout)]
    if len(json.loads(done.stdout)) > 1:
        assert re.search(r"^refused +kernel 2 \(wrong\) at size=1000: the program", done.stderr, re.MULTILINE)


NVCC = (Path(__file__).parents[1] / "measuring" / "fake_nvcc.sh").read_text()


@pytest.fixture
def compiled(here):
    """Three kernels to compile: one is in order, one is broken, one needs a library that is not there."""
    folder = here["cwd"] / "kernels" / "compiled"
    folder.mkdir()
    write_tool(here["cwd"] / "bin" / "nvcc", NVCC)
    text = 'title = "Compiled"\ncommand = ["{binary}"]\ncheck = ["{binary}"]\nflags = ["-ftz=true"]\n'
    for number, name in enumerate(("fine", "broken", "library"), start=1):
        text += f'[[kernel]]\nnumber = {number}\nname = "{name}"\nidea = "it"\nregex = "."\nsource = "{name}.cu"\n'
        (folder / f"{name}.cu").write_text(f"#!/bin/sh\n# {name}\n")
        os.utime(folder / f"{name}.cu", (1, 1))
    (folder / "ladder.toml").write_text(text + 'needs = ["cublas"]\n')
    return here


def test_kernels_that_could_not_be_built_are_labelled_failed_or_unavailable(prof_here, compiled):
    done = prof_here("build", "--ladder", "compiled", **compiled)
    assert done.returncode == 53, done.stderr
    told = done.stderr.splitlines()
    assert any(
        re.fullmatch(r"failed +kernel 2 \(broken\) does not compile \(exit code 2\)", line) for line in told
    )
    assert any(re.match(r"unavailable ?kernel 3 \(library\) needs cuBLAS", line) for line in told)
    assert sum("kernel 1 (fine)" in line and "fast math" in line for line in told) == 1


def test_a_rung_whose_expression_matches_none_of_its_kernels_is_reported(prof_here, compiled):
    """The compiler says how many registers `scale` has; nobody asked for it."""
    said = [
        "Compiling entry function 'scale' for 'sm_90'",
        "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        "Used 40 registers",
    ]
    nvcc = compiled["cwd"] / "bin" / "nvcc"
    nvcc.write_text(NVCC + "".join(f'echo "{line}" >&2\n' for line in said))
    ladder = compiled["cwd"] / "kernels" / "compiled" / "ladder.toml"
    command = ["build", "--ladder", "compiled", "--kernel", "1"]
    done = prof_here(*command, "--format", "json", **compiled)
    assert json.loads(done.stdout)[0]["registers"] == 40
    ladder.write_text(ladder.read_text().replace('"."', '"offset"'))
    done = prof_here(*command, **compiled)
    assert done.returncode == 0, done.stderr
    assert "kernel 1 (fine): no registers: 'offset' matches no kernel that was compiled: scale" in done.stderr


def test_fast_math_is_said_again_of_what_did_not_change(prof_here, compiled):
    for status in ("built", "unchanged"):
        done = prof_here("build", "--ladder", "compiled", "--kernel", "1", **compiled)
        assert done.returncode == 0, done.stderr
        assert re.search(rf"^{status} +kernel 1 \(fine\).*, with fast math", done.stderr, re.MULTILINE)


def test_a_missing_library_fails_who_asked_for_its_kernel(prof_here, compiled):
    (compiled["cwd"] / "kernels" / "compiled" / "broken.cu").write_text("#!/bin/sh\n")
    os.utime(compiled["cwd"] / "kernels" / "compiled" / "broken.cu", (1, 1))
    for verb in ("build", "verify"):
        assert prof_here(verb, "--ladder", "compiled", **compiled).returncode == 0
        assert (
            prof_here(verb, "--ladder", "compiled", "--kernel", "1", "--kernel", "3", **compiled).returncode
            == 54
        )


def test_a_size_that_is_given_twice_is_measured_once(prof_here, here):
    """Written as one number or by its parameter; `--repeats` says how often."""
    for verb in ("verify", "time"):
        command = [verb, "--ladder", "scripts", "--kernel", "1", "--size", "23", "--size", "23"]
        done = prof_here(*command, "--format", "json", **here)
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)) == 1


def test_failures_of_several_kinds_are_counted_together():
    errors = [ShapeRefused("a", remedy="Mine."), ShapeRefused("b"), BuildFailed("c")]
    with pytest.raises(ShapeRefused) as same:
        raise_failures(errors[:2], 3, "failed")
    assert (same.value.message, same.value.remedy) == ("2 of 3 failed", "Mine.")
    with pytest.raises(ProgramFailed, match="3 of 3 failed"):
        raise_failures(errors, 3, "failed")
    with pytest.raises(BuildFailed, match=r"^c$"):
        raise_failures(errors[2:], 1, "failed")


def test_time_stores_and_list_shows(prof_here, here):
    done = prof_here("time", "--ladder", "scripts", "--size", "23", "--format", "json", **here)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["kernel"], row["median_ns"], row["reference_pct"]) for row in rows] == [
        (1, 123, 100 * 1000 / 123), (2, 123, 100 * 1000 / 123),
    ]  # fmt: skip
    assert [path.name for path in sorted((here["cwd"] / "runs").glob("2*"))] == sorted(
        row["run_id"] for row in rows
    )
    listed = prof_here("--ladder", "scripts", "list", **here)
    assert listed.returncode == 0, listed.stderr
    assert "computes what it should" in listed.stdout
    assert "scripts-1-timed" in listed.stdout
    kernels = prof_here("list", "--ladder", "scripts", "--kernels", "--format", "json", **here)
    assert [(row["kernel"], row["profiled"], row["timed"]) for row in json.loads(kernels.stdout)["kernels"]] == [
        (1, 0, 1), (2, 0, 1),
    ]  # fmt: skip


def test_stored_timings_are_shown_as_a_sheet(prof_here, here):
    timed = prof_here("time", "--ladder", "scripts", "--processes", "3", "--format", "json", **here)
    row = json.loads(timed.stdout)[0]
    assert row["gflops"] == 100 / 1100
    for reference in ("scripts-1-timed", row["run_id"], here["cwd"] / "runs" / row["run_id"]):
        shown = json.loads(prof_here("show", reference, "--format", "json", **here).stdout)
        timing = shown["timing"]
        assert shown["run"]["run_id"] == row["run_id"]
        assert (shown["processes"], timing["repeats"]) == (3, 3)
        assert {key: timing[key] for key in ("median_ns", "spread_pct", "gflops", "reference_pct")} == {
            key: pytest.approx(row[key], rel=1e-5)
            for key in ("median_ns", "spread_pct", "gflops", "reference_pct")
        }  # in short, JSON has six digits
    (table,) = csv.DictReader(
        io.StringIO(prof_here("show", "scripts-1-timed", "--format", "csv", **here).stdout)
    )
    assert (table["workload"], float(table["median_ns"]), table["gbytes_per_s"]) == ("size=100", 1100, "")
    for format in ("table", "markdown"):
        page = prof_here("show", "scripts-1-timed", "--full", "--format", format, **here).stdout
        for fact in (
            "size=100",
            "3 repeats in 3 processes",
            "1.1",
            "GFLOP/s",
            "90.91 %",
            "580.1",
            row["run_id"],
        ):
            assert fact in page, format


def test_timings_are_shown_also_where_their_ladder_is_not(prof_here, here):
    prof_here("time", "--ladder", "scripts", "--kernel", "1", **here)
    path = here["cwd"] / "kernels" / "scripts" / "ladder.toml"
    for text in (LADDER.replace("number = 1", "number = 7"), LADDER.replace("size", "width"), None):
        path.write_text(text) if text else path.unlink()
        done = prof_here("show", "scripts-1-timed", "--format", "json", **here)
        assert done.returncode == 0, done.stderr
        timing = json.loads(done.stdout)["timing"]
        assert (timing["median_ns"], timing["gflops"]) == (1100, None)
    assert "GFLOP/s" not in prof_here("show", "scripts-1-timed", **here).stdout


def test_the_list_of_a_name_distinguishes_timings_by_their_workload(prof_here, here):
    prof_here("time", "--ladder", "scripts", "--kernel", "1", "--size", "10", "--size", "20", **here)
    rows = json.loads(prof_here("list", "scripts-1-timed", "--format", "json", **here).stdout)["runs"]
    # Two runs of one second are listed in the order of their hashes.
    assert sorted(row["workload"] for row in rows) == ["size=10", "size=20"]
    assert [set(row) & {"runs", "run_id"} for row in rows] == [{"run_id"}, {"run_id"}]
    head = prof_here("list", "scripts-1-timed", **here).stdout.splitlines()[0]
    assert "workload" in head
    assert head.endswith("run id")


@pytest.mark.parametrize("format", ["table", "json", "csv", "markdown"])
@pytest.mark.parametrize("before", [True, False])
def test_a_ladder_that_is_not_there_is_an_error_of_list(prof_here, here, format, before):
    option, verb = ["--ladder", "typo"], ["list", "--format", format]
    done = prof_here(*(option + verb if before else verb + option), **here)
    assert done.returncode == 44
    assert done.stdout == "" or json.loads(done.stdout)["error"]["exit_code"] == 44
    assert bool(done.stdout) == (format == "json")


def test_a_question_that_needs_a_profile_is_refused_when_only_times_are_stored(prof_here, here):
    prof_here("time", "--ladder", "scripts", **here)
    assert "unprofiled" in prof_here("show", "1", "--ladder", "scripts", **here).stdout
    assert (
        "only the times are compared" in prof_here("compare", "1", "2", "--ladder", "scripts", **here).stdout
    )
    for arguments in (
        ("show", "scripts-1-timed", "-k", "x"),
        ("compare", "1", "2", "--ladder", "scripts", "-k", "x"),
        ("compare", "scripts-1-timed", "scripts-2-timed", "--metric", "waves"),
        ("sass", "1", "2", "--ladder", "scripts"),
    ):
        done = prof_here(*arguments, **here)
        assert done.returncode == 25
        assert "holds timings alone" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["verify", "--kernel", "9"], 46, "ladder 'scripts' has no kernel 9; it has 1 to 2"),
        (["time", "--size", "0"], 47, "--size 0: a size is a whole number from 1"),
        (["time", "--size", "-1"], 47, "--size -1: a size is"),
        (["time", "--set-param", "size=-5"], 47, "--set-param size=-5: a parameter is"),
        (["time", "--size", "9" * 30], 47, "a size is a whole number from 1"),
        (["time", "--size", "x"], 47, "--size x: give one number"),
        (["verify", "--set-param", "depth=1"], 47, "'depth' is not a parameter of this workload"),
        (["verify", "--set-param", "size"], 47, "give a name and a whole number"),
        (["verify", "--set-param", "size=1.5"], 47, "give a name and a whole number"),
        (["build", "--arch", "hopper"], 2, "--arch"),
        (["verify", "--seed", "-1"], 2, "seed"),
    ],
)
def test_bad_input_is_one_line_and_a_remedy(prof_here, here, arguments, code, message):
    done = prof_here(*arguments, "--ladder", "scripts", **here)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    if code != 2:
        assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("verb", ["verify", "time"])
def test_without_a_gpu(prof_here, here, verb):
    (here["cwd"] / "bin" / "nvidia-smi").write_text("#!/bin/sh\necho 'No devices were found'\nexit 6\n")
    done = prof_here(verb, "--ladder", "scripts", **here)
    assert done.returncode == 52
    assert done.stderr.startswith("prof: no GPU: nvidia-smi lists none (exit code 6)\n")


@pytest.mark.parametrize("verb", ["build", "verify", "time"])
def test_no_such_ladder(prof_here, here, verb):
    done = prof_here(verb, "--ladder", "nope", **here)
    assert done.returncode == 44
    assert "there is scripts" in done.stderr


def test_the_only_ladder_there_is_need_not_be_named(prof_here, here):
    done = prof_here("verify", "--kernel", "1", **here)
    assert done.returncode == 0, done.stderr
    assert "right" in done.stdout


def test_of_several_ladders_the_default_one_is_meant_and_need_be_there(prof_here, here):
    second = here["cwd"] / "kernels" / "second"
    second.mkdir()
    (second / "ladder.toml").write_text(LADDER)
    done = prof_here("verify", "--kernel", "1", **here)
    assert done.returncode == 44
    assert "no ladder 'gemm'" in done.stderr
    assert "there are scripts, second" in done.stderr


def test_a_ladder_by_its_path(prof_here, here, tmp_path_factory):
    elsewhere = {**here, "cwd": tmp_path_factory.mktemp("elsewhere")}
    path = here["cwd"] / "kernels" / "scripts" / "ladder.toml"
    done = prof_here("verify", "--ladder", path, "--kernel", "1", **elsewhere)
    assert done.returncode == 0, done.stderr


def test_build_has_nothing_to_do_for_scripts(prof_here, here):
    done = prof_here("build", "--ladder", "scripts", **here)
    assert done.returncode == 0
    assert done.stdout == ""
    assert "nothing to compile" in done.stderr
