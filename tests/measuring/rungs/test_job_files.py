"""The files that a rung needs on another machine: found, hashed by their contents, and run from another folder."""

import pickle
from dataclasses import replace

import pytest

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.measuring.fleet.worker_tasks import keep_job_files
from profiler.measuring.rungs.job_files import (
    list_job_files,
    read_job_files,
    relocate_job,
    trim_job,
    write_job_files,
)
from profiler.measuring.rungs.program import RungJob, program_command
from profiler.measuring.tools.process import run

LADDER = """
title = "Made"
[workload]
size = 100
[[kernel]]
number = 1
name = "compiled"
idea = "an idea"
regex = "."
source = "1.cu"
command = ["{binary}", "{size}"]
check = ["{binary}", "{folder}", "{size}"]
[[kernel]]
number = 2
name = "script"
idea = "an idea"
regex = "."
source = "rung.py"
command = ["{source}", "{size}"]
sources = ["common.py", "../harness/shared.py"]
[[kernel]]
number = 3
name = "unnamed"
idea = "an idea"
regex = "."
source = "rung.py"
command = ["{source}", "{size}"]
"""


@pytest.fixture
def job(tmp_path):
    """`job(2)`: that rung of a ladder whose files are there."""
    folder = tmp_path / "kernels" / "made"
    folder.mkdir(parents=True)
    (tmp_path / "kernels" / "harness").mkdir()
    (folder / "ladder.toml").write_text(LADDER)
    (folder / "1.cu").write_text("")
    (folder / "rung.py").write_text("#!/bin/sh\ncat common.py ../harness/shared.py\n")
    (folder / "rung.py").chmod(0o755)
    (folder / "common.py").write_text("common\n")
    (tmp_path / "kernels" / "harness" / "shared.py").write_text("shared\n")
    binary = tmp_path / "build" / "01_compiled"
    binary.parent.mkdir()
    binary.write_text('#!/bin/sh\necho "$@"\n')
    binary.chmod(0o755)
    ladder = read_ladder(folder / "ladder.toml")
    return lambda number: RungJob(ladder, ladder.kernel(number), {"size": 7}, binary if number == 1 else None)


def moved(job, folder):
    needed = list_job_files(job)
    assert needed is not None
    folder.mkdir()
    write_job_files(needed, read_job_files(job, needed), folder / needed.hash)
    return relocate_job(job, needed, folder / needed.hash)


def test_a_binary_runs_from_where_its_files_were_written(job, tmp_path):
    there = moved(job(1), tmp_path / "there")
    words = program_command(there, "check")
    assert run(words, timeout_s=10, folder=there.ladder.folder).stdout == f"{there.ladder.folder} 7\n"
    assert there.ladder.folder.is_relative_to(tmp_path / "there")
    assert there.binary.is_relative_to(tmp_path / "there")


def test_a_script_finds_what_its_ladder_names(job, tmp_path):
    there = moved(job(2), tmp_path / "there")
    done = run(program_command(there, "profile"), timeout_s=10, folder=there.ladder.folder)
    assert done.stdout == "common\nshared\n"


def test_a_script_whose_ladder_does_not_name_its_files_cannot_travel(job):
    assert list_job_files(job(3)) is None


def test_a_file_outside_of_the_ladders_folders_cannot_travel(job, tmp_path):
    """Such a file would be written outside of the worker's folder."""
    one = job(2)
    outside = tmp_path / "outside.py"
    outside.write_text("")
    assert list_job_files(replace(one, kernel=replace(one.kernel, further_sources=(outside,)))) is None


def test_the_hash_is_that_of_the_contents_and_not_of_the_place(job, tmp_path):
    one = job(1)
    before = list_job_files(one)
    elsewhere = tmp_path / "elsewhere" / "01_compiled"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(one.binary.read_bytes())
    elsewhere.chmod(0o755)
    assert list_job_files(replace(one, binary=elsewhere, seed=9)).hash == before.hash
    one.binary.write_text("#!/bin/sh\n")
    assert list_job_files(one).hash != before.hash


def test_an_interrupted_write_leaves_no_folder(job, tmp_path):
    """As if a worker was killed while it wrote."""
    one = job(2)
    needed = list_job_files(one)
    files = read_job_files(one, needed)
    del files["harness/shared.py"]
    with pytest.raises(KeyError):
        keep_job_files(needed, files, tmp_path / needed.hash)
    assert not (tmp_path / needed.hash).exists()
    keep_job_files(needed, read_job_files(one, needed), tmp_path / needed.hash)
    assert (tmp_path / needed.hash / "harness" / "shared.py").read_text() == "shared\n"


def test_the_other_rungs_do_not_travel(job):
    one = job(1)
    slim = trim_job(one)
    assert [kernel.number for kernel in slim.ladder.kernels] == [1]
    assert program_command(slim, "profile") == program_command(one, "profile")
    assert len(pickle.dumps(slim)) < len(pickle.dumps(one))
