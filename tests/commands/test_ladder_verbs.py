"""`prof build`, `verify`, `time` and `list` as one types them, with a GPU that is a script."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

LADDER = f"""
title = "Scripts"
command = ["{sys.executable}", "-c", "pass"]
time = ["{sys.executable}", "-c", "print('{{{{\\"kernel_ns\\": 1{{size}}, \\"reference_ns\\": 1000}}}}')"]
check = ["{sys.executable}", "-c", "import sys; sys.exit(4 * (sys.argv[1] == '2'))", "{{kernel}}"]
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
def here(tmp_path: Path) -> dict[str, Any]:
    """Where to run: a folder with a ladder `scripts`, a `runs` folder, and a GPU on the PATH."""
    folder = tmp_path / "kernels" / "scripts"
    folder.mkdir(parents=True)
    (folder / "ladder.toml").write_text(LADDER)
    (tmp_path / "runs").mkdir()
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "NVIDIA H200, 9.0, 580.1, GPU-0"\n')
    tool.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    environment |= {
        "PATH": f"{tool.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    return {"cwd": tmp_path, "env": environment}


def test_verify_tells_right_from_wrong(prof, here) -> None:
    done = prof("verify", "--ladder", "scripts", "--format", "json", **here)
    assert done.returncode == 60, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["kernel"], row["size"], row["verdict"]) for row in rows] == [
        (1, "size=100", "correct"),
        (2, "size=100", "wrong"),
    ]
    assert "1 of 2 checks found a wrong result" in done.stderr
    right = prof("verify", "--ladder", "scripts", "--kernel", "1", "--size", "64", "--size", "128", **here)
    assert right.returncode == 0
    assert "size=64" in right.stdout
    assert "size=128" in right.stdout


def test_time_stores_and_list_shows(prof, here) -> None:
    done = prof("time", "--ladder", "scripts", "--size", "23", "--format", "json", **here)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["kernel"], row["median_ns"], row["reference_pct"]) for row in rows] == [
        (1, 123, 100 * 1000 / 123), (2, 123, 100 * 1000 / 123),
    ]  # fmt: skip
    assert [path.name for path in sorted((here["cwd"] / "runs").glob("2*"))] == sorted(
        row["run_id"] for row in rows
    )
    listed = prof("--ladder", "scripts", "list", **here)
    assert listed.returncode == 0, listed.stderr
    assert "computes what it should" in listed.stdout
    assert "scripts-1-timed" in listed.stdout
    kernels = prof("list", "--ladder", "scripts", "--kernels", "--format", "json", **here)
    assert [(row["kernel"], row["profiled"], row["timed"]) for row in json.loads(kernels.stdout)] == [
        (1, 0, 1), (2, 0, 1),
    ]  # fmt: skip


def test_show_and_compare_want_a_profile(prof, here) -> None:
    prof("time", "--ladder", "scripts", **here)
    assert prof("show", "1", "--ladder", "scripts", **here).returncode == 21
    for arguments in (("show", "scripts-1-timed"), ("compare", "scripts-1-timed", "scripts-2-timed")):
        done = prof(*arguments, **here)
        assert done.returncode == 25
        assert "holds timings alone" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["verify", "--kernel", "9"], 46, "ladder 'scripts' has no kernel 9; it has 1, 2"),
        (["time", "--size", "0"], 47, "size = 0: a size is a whole number from 1"),
        (["time", "--size", "-1"], 47, "size = -1"),
        (["time", "--size", "9" * 30], 47, "a size is a whole number from 1"),
        (["time", "--size", "x"], 2, "x"),
        (["verify", "--set-param", "depth=1"], 47, "'depth' is no parameter of this workload"),
        (["verify", "--set-param", "size"], 47, "give a name and a whole number"),
        (["verify", "--set-param", "size=1.5"], 47, "give a name and a whole number"),
        (["build", "--arch", "hopper"], 2, "--arch"),
        (["verify", "--seed", "-1"], 2, "seed"),
    ],
)
def test_bad_input_is_one_line_and_a_remedy(
    prof, here, arguments: list[str], code: int, message: str
) -> None:
    done = prof(*arguments, "--ladder", "scripts", **here)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    if code != 2:
        assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("verb", ["verify", "time"])
def test_without_a_gpu(prof, here, verb: str) -> None:
    (here["cwd"] / "bin" / "nvidia-smi").write_text("#!/bin/sh\necho 'No devices were found'\nexit 6\n")
    done = prof(verb, "--ladder", "scripts", **here)
    assert done.returncode == 52
    assert done.stderr.startswith("prof: no GPU: nvidia-smi lists none (exit code 6)\n")


@pytest.mark.parametrize("verb", ["build", "verify", "time"])
def test_no_such_ladder(prof, here, verb: str) -> None:
    done = prof(verb, "--ladder", "nope", **here)
    assert done.returncode == 44
    assert "there is scripts" in done.stderr


def test_a_ladder_by_its_path(prof, here, tmp_path_factory) -> None:
    elsewhere = {**here, "cwd": tmp_path_factory.mktemp("elsewhere")}
    path = here["cwd"] / "kernels" / "scripts" / "ladder.toml"
    done = prof("verify", "--ladder", path, "--kernel", "1", **elsewhere)
    assert done.returncode == 0, done.stderr


def test_a_bad_ladder_is_refused_with_its_line(prof, here) -> None:
    path = here["cwd"] / "kernels" / "scripts" / "ladder.toml"
    path.write_text(LADDER.replace("number = 2", "number = 1"))
    done = prof("verify", "--ladder", "scripts", **here)
    assert done.returncode == 45
    assert "number 1 is taken by 'right' already" in done.stderr
    assert f"{path.relative_to(here['cwd'])}:" in done.stderr or f"{path}:" in done.stderr


def test_build_has_nothing_to_do_for_scripts(prof, here) -> None:
    done = prof("build", "--ladder", "scripts", **here)
    assert done.returncode == 0
    assert done.stdout == ""
    assert "nothing to compile" in done.stderr


def test_it_runs_as_a_module(prof, here) -> None:
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "profiler", "--help"], capture_output=True, text=True, check=False, **here
    )
    assert done.returncode == 0
    assert "verify" in done.stdout
