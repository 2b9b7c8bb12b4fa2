"""Diagnoses and ladders that are kept: the same answers, faster, and none beyond what it was made of."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

import profiler
from profiler.analyse.causes.diagnose import diagnose
from profiler.analyse.recording.profile import count_opcodes
from profiler.ask import answer_cache, ladder, profiles
from profiler.ask.ladder import find_climb
from profiler.ask.profiles import count_opcodes_once, diagnose_once
from profiler.ask.rungs import gather_rungs
from profiler.errors import ComparisonError
from tests.profiles import profile_in


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "prof" / "diagnoses"


@pytest.fixture
def diagnosed(monkeypatch):
    """The kernels that were diagnosed anew, in order."""
    kernels = []

    def diagnose_and_note(profile):
        kernels.append(profile.kernel)
        return diagnose(profile)

    monkeypatch.setattr(profiles, "diagnose", diagnose_and_note)
    return kernels


@pytest.fixture
def profile(recorded):
    return profile_in(recorded, "gemm-4")


def test_a_kernel_is_diagnosed_once(cache, diagnosed, profile):
    first = diagnose_once(profile)
    assert first == diagnose(profile)
    assert first.causes
    assert repr(diagnose_once(profile)) == repr(first)  # 132 and 132.0 are equal, and look different
    assert len(diagnosed) == 1


def test_whatever_happens_to_the_folder_the_answer_is_the_same(cache, diagnosed, profile):
    right = diagnose_once(profile)
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    for damaged in (
        b"",
        whole[:40],
        whole.replace(right.causes[0].cause.encode(), b"at-fma-rate"),
        b"\0" * 99,
    ):
        entry.write_bytes(damaged)
        assert diagnose_once(profile) == right
    entry.unlink()
    cache.rmdir()
    cache.write_text("not a folder")
    assert diagnose_once(profile) == right
    assert len(diagnosed) == 6


def test_a_diagnosis_is_of_one_content(cache, diagnosed, profile):
    diagnose_once(profile)
    manifest = profile.manifest
    tables = {
        name: msgspec.structs.replace(table, sha256=table.sha256[::-1] if name == "metrics" else table.sha256)
        for name, table in manifest.tables.items()
    }
    other = msgspec.structs.replace(manifest, tables=tables)
    diagnose_once(replace(profile, run=replace(profile.run, manifest=other)))
    assert len(diagnosed) == 2


def test_another_version_of_analysis_does_not_use_what_this_one_kept(cache, diagnosed, profile, monkeypatch):
    diagnose_once(profile)
    monkeypatch.setattr(answer_cache, "hash_of_code", lambda *_: "another")  # there is no second version here
    diagnose_once(profile)
    assert len(diagnosed) == 2


@pytest.mark.parametrize("room", ["analyse", "ask", "catalog", "store"])
def test_a_change_of_any_room_that_answers_makes_every_kept_answer_old(cache, profile, monkeypatch, room):
    hashed = []
    monkeypatch.setattr(answer_cache, "hash_of_code", lambda *places: hashed.extend(places) or "hash")
    diagnose_once(profile)
    assert Path(profiler.__file__).parent / room in hashed


@pytest.mark.parametrize(
    "question",
    [
        ["show", "6"],
        ["compare", "4", "6"],
        ["check", "--baseline", "5", "4"],
        ["ladder", "--ladder", "relu"],
        ["report", "4", "--output", "page.html"],
    ],
    ids=lambda words: words[0],
)
def test_no_question_diagnoses_a_kernel_again(
    cache, diagnosed, prof_here, drawing, recorded, tmp_path, question
):
    asked = [*question, "--runs", recorded.root]
    first = prof_here(*asked, cwd=tmp_path)
    assert diagnosed
    diagnosed.clear()
    assert (
        prof_here(*asked, *(["--force"] if question[0] == "report" else []), cwd=tmp_path).stdout
        == first.stdout
    )
    assert not diagnosed


def test_the_instructions_of_a_recording_are_counted_once(cache, monkeypatch, recorded):
    counted = []

    def count_and_note(run, launches):
        counted.append(list(launches))
        return count_opcodes(run, launches)

    monkeypatch.setattr(profiles, "count_opcodes", count_and_note)
    run = recorded.find("4", "gemm")
    numbers = run.table("launches").column("launch").to_pylist()
    first, again = count_opcodes_once(run, numbers), count_opcodes_once(run, numbers)
    assert repr(again) == repr(first)
    assert count_opcodes_once(run, numbers[:1]).by_launch == {numbers[0]: first.by_launch[numbers[0]]}
    assert counted == [numbers, numbers[:1]]


def test_the_binding_of_a_rung_is_its_first_cause(prof_here, recorded):
    import json

    answered = prof_here("ladder", "--format", "json", "--full", "--runs", recorded.root)
    rungs = {rung["kernel"]: rung for rung in json.loads(answered.stdout)["kernels"]}
    shown = json.loads(prof_here("show", "4", "--format", "json", "--runs", recorded.root).stdout)
    assert rungs[4]["binding"] == shown["kernels"][0]["causes"][0]["cause"]


@pytest.fixture
def gathered(cache, monkeypatch):
    """The ladders whose rungs were read, in order."""
    names = []

    def gather_and_note(ladder, runs, **how):
        names.append(ladder.name)
        return gather_rungs(ladder, runs, **how)

    monkeypatch.setattr(ladder, "gather_rungs", gather_and_note)
    return names


def test_a_ladder_is_read_once_for_what_its_finding_says(gathered, made, made_ladder):
    made.profile("made-1", 100.0)
    made.profile("made-2", 90.0)
    first = find_climb(made.store, made_ladder)
    again = find_climb(made.store, made_ladder)
    assert again.finding == first.finding
    assert gathered == ["made"]
    assert [step.change for step in again.steps] == [step.change for step in first.steps]


def test_a_ladder_that_was_kept_is_of_the_same_question_and_the_same_runs(gathered, made, made_ladder):
    made.profile("made-1", 100.0)
    of_one = find_climb(made.store, made_ladder).finding
    assert find_climb(made.store, made_ladder, view="memory").finding.view == "memory"
    retold = replace(made_ladder, title="Another title")
    assert find_climb(made.store, retold).finding.title == "Another title"
    made.profile("made-2-roofline", 90.0)  # no rung, and yet the reason why one is missing
    missing = find_climb(made.store, made_ladder).finding.missing
    assert "made-2-roofline" in str(missing)
    made.profile("made-2", 90.0)
    of_two = find_climb(made.store, made_ladder).finding
    assert [len(one.kernels) for one in (of_one, of_two)] == [1, 2]
    assert len(gathered) == 5


def test_a_ladder_without_a_clear_rung_is_an_error_each_time(gathered, made, made_ladder, make_run):
    make_run({"kernel": "kernel_a"}, {"kernel": "kernel_b"}, name="made-1", root=made.store.root)
    for _ in range(2):
        with pytest.raises(ComparisonError, match="made-1"):
            find_climb(made.store, made_ladder)
