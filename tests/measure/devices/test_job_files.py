"""What a rung needs elsewhere: all of its files, by their hashes, and nothing of where they lay."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.measure.devices.job_files import kit_of, light, read_kit, settle, write_kit
from profiler.measure.devices.worker_tasks import parse_transcript, spell_transcript
from profiler.measure.rungs.program import Job, program_command
from profiler.measure.tools.process import run
from profiler.measure.tools.transcript import Transcript

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
def job(tmp_path: Path):
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
    return lambda number: Job(ladder, ladder.kernel(number), {"size": 7}, binary if number == 1 else None)


def moved(job: Job, folder: Path) -> Job:
    kit = kit_of(job)
    assert kit is not None
    folder.mkdir()
    write_kit(kit, read_kit(job, kit), folder / kit.hash)
    return settle(job, kit, folder / kit.hash)


def test_a_binary_runs_from_where_its_kit_was_written(job, tmp_path: Path) -> None:
    there = moved(job(1), tmp_path / "there")
    words = program_command(there, "check")
    assert run(words, timeout_s=10, folder=there.ladder.folder).stdout == f"{there.ladder.folder} 7\n"
    assert there.ladder.folder.is_relative_to(tmp_path / "there")
    assert there.binary.is_relative_to(tmp_path / "there")


def test_a_script_finds_what_its_ladder_names(job, tmp_path: Path) -> None:
    there = moved(job(2), tmp_path / "there")
    done = run(program_command(there, "profile"), timeout_s=10, folder=there.ladder.folder)
    assert done.stdout == "common\nshared\n"


def test_what_nobody_named_cannot_travel(job) -> None:
    assert kit_of(job(3)) is None


def test_what_lies_outside_of_the_ladders_cannot_either(job, tmp_path: Path) -> None:
    """It would be written outside of the worker's folder."""
    one = job(2)
    outside = tmp_path / "outside.py"
    outside.write_text("")
    assert kit_of(replace(one, kernel=replace(one.kernel, further_sources=(outside,)))) is None


def test_the_hash_is_that_of_the_contents_and_not_of_the_place(job, tmp_path: Path) -> None:
    one = job(1)
    before = kit_of(one)
    elsewhere = tmp_path / "elsewhere" / "01_compiled"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(one.binary.read_bytes())
    elsewhere.chmod(0o755)
    assert kit_of(replace(one, binary=elsewhere, seed=9)).hash == before.hash
    one.binary.write_text("#!/bin/sh\n")
    assert kit_of(one).hash != before.hash


def test_what_was_cut_short_is_not_taken_for_a_kit(job, tmp_path: Path) -> None:
    """A worker was killed while it wrote."""
    one = job(2)
    kit = kit_of(one)
    files = read_kit(one, kit)
    del files["harness/shared.py"]
    with pytest.raises(KeyError):
        write_kit(kit, files, tmp_path / kit.hash)
    assert not (tmp_path / kit.hash).exists()
    write_kit(kit, read_kit(one, kit), tmp_path / kit.hash)
    assert (tmp_path / kit.hash / "harness" / "shared.py").read_text() == "shared\n"


def test_the_other_rungs_do_not_travel(job) -> None:
    one = job(1)
    slim = light(one)
    assert [kernel.number for kernel in slim.ladder.kernels] == [1]
    assert program_command(slim, "profile") == program_command(one, "profile")
    assert len(pickle.dumps(slim)) < len(pickle.dumps(one))


def test_how_far_ncu_is_arrives_as_it_was_sent() -> None:
    transcript = Transcript()
    transcript.feed('==PROF== Profiling "k": 0%....50%....100% - 14 passes\n==PROF== Profiling "k": 0%..')
    told = parse_transcript(spell_transcript(transcript))
    assert (told.launches, told.finished, told.passes, told.steps) == (2, 1, 14, 2)
    assert told.fraction == transcript.fraction
