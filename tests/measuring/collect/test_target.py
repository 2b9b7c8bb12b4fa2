"""Targets: the command that runs one under ncu, and the key that shows whether it was collected before."""

import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.catalog.presets import find_preset
from profiler.measuring.collect.provenance import program_provenance
from profiler.measuring.collect.target import (
    Target,
    collection_key,
    prepare,
    rung_target,
    typed_command,
)
from profiler.measuring.rungs.program import RungJob
from profiler.measuring.rungs.provenance import rung_provenance
from profiler.measuring.tools.git import GitCommit
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tools.ncu import Ncu, NcuOptions, Selection
from profiler.store.disk import sha256_of
from profiler.store.runs.manifest import Provenance

NCU = Ncu(Path("/opt/ncu"), "2025.3.1.0")
DEFAULT = NcuOptions(find_preset("default"))
FACTS = Provenance(sources={"a.cu": "1" * 64}, binary_sha256="2" * 64, seed=1)
WORDS = ("./mine", "$HOME; touch x", "a  b", "*", "`id`", "'\"", "", "ü", "-c", "--version")

LADDER = """
title = "Made"
command = ["{binary}", "--n", "{n}", "--launches", "{launches}", "--seed", "{seed}", "{folder}/data"]
[workload]
n = 100
m = 200
[[kernel]]
number = 6
name = "tile"
idea = "i"
regex = "tile"
skip = 5
source = "06_tile.cu"
"""


@pytest.fixture
def rung(tmp_path):
    """A compiled rung in somebody's home."""
    folder = tmp_path / "home" / "jane" / "kernels" / "made"
    folder.mkdir(parents=True)
    (folder / "ladder.toml").write_text(LADDER)
    (folder / "06_tile.cu").write_text("")
    ladder = read_ladder(folder / "ladder.toml")
    binary = folder / "06_tile"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    job = RungJob(ladder, ladder.kernel(6), ladder.workload.values(), binary, seed=7)
    return rung_target(job, None, launches=3, recording=DEFAULT)


def mine(*words, name="mine"):
    return Target(name, Selection("gemm", 3, 5), 5, program=words or WORDS)


def key(target, recording=DEFAULT, **changes):
    facts = {
        "provenance": FACTS, "gpu": "NVIDIA H200", "ncu": NCU, "processes": 3, "timed": (20, 5), **changes,
    }  # fmt: skip
    return collection_key(target, recording, **facts)


# Words


def test_a_compiled_rung_is_profiled_from_a_neutral_folder(rung, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words, folder = prepare(rung, NCU, DEFAULT, scratch, None)

    assert words[words.index("--export") + 1 :][:2] == ["report.ncu-rep", "./06_tile"]
    assert folder == scratch
    assert os.access(scratch / "06_tile", os.X_OK)
    assert words[words.index("--kernel-name") + 1] == "regex:tile"
    assert words[words.index("--launch-skip") + 1] == "5"
    assert words[words.index("--launch-count") + 1] == words[words.index("--launches") + 1] == "3"


def test_a_path_that_the_ladders_command_names_stays_absolute(rung, tmp_path):
    """A path in a rung's command must stay absolute, or it would lead nowhere."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words, _ = prepare(rung, NCU, DEFAULT, scratch, None)
    private = [word for word in words if "jane" in word]
    assert private == [f"{rung.job.ladder.folder}/data"]


SCRIPTS = """
title = "Scripts"
command = ["python3", "{source}", "--n", "{n}", "--launches", "{launches}", "{folder}/data"]
[workload]
n = 100
[[kernel]]
number = 7
name = "eager"
idea = "i"
regex = "elementwise"
source = "07_eager.py"
"""


def script(tmp_path, text):
    """A script in somebody's home that imports another beside it and one in the folder beside that."""
    folder = tmp_path / "home" / "jane" / "kernels" / "made"
    for name in ("07_eager.py", "step.py", "../common/step_base.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "ladder.toml").write_text(text)
    ladder = read_ladder(folder / "ladder.toml")
    return rung_target(
        RungJob(ladder, ladder.kernel(7), ladder.workload.values()), None, launches=3, recording=DEFAULT
    )


def test_a_script_that_names_all_its_files_is_profiled_from_a_neutral_folder(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    target = script(tmp_path, SCRIPTS + 'sources = ["step.py", "../common/step_base.py"]')
    words, folder = prepare(target, NCU, DEFAULT, scratch, None)

    assert folder == scratch
    assert not [word for word in words if str(tmp_path) in word]
    at = words.index("python3")
    assert words[at:] == [
        "python3", "./made/07_eager.py", "--n", "100", "--launches", "3", "./made/data",
    ]  # fmt: skip
    copies = {str(path.relative_to(scratch)): path.read_text() for path in scratch.rglob("*.py")}
    assert copies == {
        "made/07_eager.py": "07_eager.py",
        "made/step.py": "step.py",
        "common/step_base.py": "../common/step_base.py",
    }
    typed = typed_command(target, NCU, DEFAULT, target.report_name())
    assert typed[typed.index("python3") + 1] == str(tmp_path / "home/jane/kernels/made/07_eager.py")


def test_a_script_that_may_read_what_nobody_named_stays_where_it_is(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    target = script(tmp_path, SCRIPTS)
    _, folder = prepare(target, NCU, DEFAULT, scratch, None)
    assert folder == target.folder
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("name", ["07_eager.py", "step.py", "../common/step_base.py"])
def test_every_file_that_a_script_names_decides_what_a_run_holds(tmp_path, name):
    target = script(tmp_path, SCRIPTS + 'sources = ["step.py", "../common/step_base.py"]')

    def facts():
        gpu = Gpu("NVIDIA H200", "sm_90", "580.1", "GPU-0")
        return rung_provenance(target.job.ladder, target.job.kernel, None, gpu, GitCommit(None, None))

    before = facts()
    assert set(before.sources) == {"07_eager.py", "step.py", "../common/step_base.py"}
    (target.job.ladder.folder / name).write_text("another idea")
    assert before.sources[name] != facts().sources[name]
    assert key(target, provenance=before) != key(target, provenance=facts())


def test_with_cwd_it_runs_there_and_is_not_moved(rung, tmp_path):
    scratch, elsewhere = tmp_path / "scratch", tmp_path / "elsewhere"
    scratch.mkdir()
    words, folder = prepare(rung, NCU, DEFAULT, scratch, elsewhere)

    assert folder == elsewhere
    assert str(rung.job.binary) in words
    assert str(scratch / "report.ncu-rep") in words
    assert not list(scratch.iterdir())


def test_any_program_keeps_its_folder_and_its_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, folder = prepare(mine(), NCU, DEFAULT, tmp_path / "scratch", None)

    assert folder == tmp_path
    assert tuple(words[-len(WORDS) :]) == WORDS
    assert words[words.index("--export") + 1] == str(tmp_path / "scratch" / "report.ncu-rep")


def test_the_command_to_type_names_no_scratch_folder(rung):
    words = typed_command(rung, NCU, DEFAULT, rung.report_name())
    assert words[words.index("--export") + 1 :][:2] == ["made-6.ncu-rep", str(rung.job.binary)]


def test_ranges_are_counted_by_the_program(rung):
    ranges = rung_target(rung.job, None, launches=3, recording=replace(DEFAULT, replay="range"))
    assert ranges.selection == Selection()
    assert ranges.required_launches == 1
    assert ranges.job.launches == 3


# Provenance of any program


def test_its_executable_and_the_files_among_its_words_are_hashed(tmp_path):
    for name in ("train.py", "mine"):
        (tmp_path / name).write_text(name)
    facts = program_provenance(mine("./mine", "train.py", "--epochs", "3"), Provenance(), tmp_path)

    assert facts.binary_sha256 == sha256_of(tmp_path / "mine")
    assert facts.sources == {"train.py": sha256_of(tmp_path / "train.py")}


def test_a_word_that_is_no_file_hides_no_file_of_the_same_name(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/train.py").write_text("train")
    facts = program_provenance(mine("sh", "scripts/train.py", "results/train.py"), Provenance(), tmp_path)
    assert facts.sources == {"train.py": sha256_of(tmp_path / "scripts/train.py")}


def test_an_executable_on_the_path_is_found_there(tmp_path):
    facts = program_provenance(mine("sh", "-c", "true"), Provenance(), tmp_path)
    assert facts.binary_sha256 is not None
    assert program_provenance(mine("no-such-program"), Provenance(), tmp_path).binary_sha256 is None


@pytest.mark.parametrize("word", ["x" * 300, "a/" * 4000, "a\0b", "", ".", "/", "no-such-file", "\udcff"])
def test_whatever_is_no_file_is_just_a_word(tmp_path, word):
    assert program_provenance(mine("sh", "-c", word), Provenance(), tmp_path).sources == {}


def test_a_source_that_cannot_be_read_is_not_hashed(tmp_path):
    path = tmp_path / "secret.py"
    path.write_text("")
    path.chmod(0)
    facts = program_provenance(mine("sh", "secret.py"), Provenance(), tmp_path)
    assert bool(facts.sources) == (os.geteuid() == 0)


# The key


def test_the_key_is_the_same_for_the_same(rung):
    assert key(rung) == key(rung)
    assert len(key(rung)) == 64


def test_seed_time_place_and_path_do_not_count(rung, tmp_path):
    moved = replace(rung, job=replace(rung.job, seed=8, binary=tmp_path / "other", environment={"X": "y"}))
    facts = msgspec.structs.replace(FACTS, seed=2, git_commit="3" * 40, git_dirty=True, seconds=9.0)
    assert key(moved, provenance=facts, ncu=Ncu(tmp_path, NCU.version)) == key(rung)


def test_everything_that_decides_what_a_run_holds_counts(rung):
    job = rung.job
    kernel = replace(job.kernel, commands={"profile": ("{binary}",)})
    different = [
        key(rung),
        key(replace(rung, name="made-7")),
        key(replace(rung, job=replace(job, values={"n": 1, "m": 200}))),
        key(replace(rung, job=replace(job, kernel=kernel))),
        key(replace(rung, selection=replace(rung.selection, launches=4))),
        key(replace(rung, selection=replace(rung.selection, skip=4))),
        key(replace(rung, selection=replace(rung.selection, of_window=True))),
        key(replace(rung, selection=replace(rung.selection, regex="t"))),
        key(rung, provenance=msgspec.structs.replace(FACTS, sources={"a.cu": "4" * 64})),
        key(rung, provenance=msgspec.structs.replace(FACTS, binary_sha256="4" * 64)),
        key(rung, NcuOptions(find_preset("counters"))),
        key(rung, NcuOptions(replace(find_preset("counters"), name="default"))),  # of older versions
        key(rung, NcuOptions(find_preset("default").with_more([], ["dram__x.sum"], None))),
        key(rung, NcuOptions(find_preset("default").with_more(["LaunchStats"], [], None))),
        key(rung, NcuOptions(find_preset("default").with_more([], [], "basic"))),
        key(rung, replace(DEFAULT, replay="application")),
        key(rung, replace(DEFAULT, graphs="graph")),
        key(rung, replace(DEFAULT, clock="base")),
        key(rung, replace(DEFAULT, cache="none")),
        key(rung, replace(DEFAULT, extra=("--nvtx",))),
        key(rung, gpu="NVIDIA H100"),
        key(rung, ncu=Ncu(NCU.path, "2026.1.0.0")),
        key(rung, processes=4),
        key(rung, timed=(20, 6)),
        key(rung, timed=None),
        key(mine()),
        key(mine("./mine", "other words")),
        key(mine(name="other")),
    ]
    assert len(set(different)) == len(different)


def test_words_cannot_run_into_each_other():
    assert key(mine("a b", "c")) != key(mine("a", "b c"))
    assert key(mine("a", "\udcff")) != key(mine("a", "\udcfe"))


def test_the_number_of_launches_is_part_of_the_key_in_range_replay(rung):
    ranges = replace(DEFAULT, replay="range")
    three, four = (rung_target(rung.job, None, launches, ranges) for launches in (3, 4))
    assert key(three, ranges) != key(four, ranges)
