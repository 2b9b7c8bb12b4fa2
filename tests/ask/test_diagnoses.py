"""Diagnoses that are kept: the same answers, faster, and none beyond what it was made of."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from profiler.analyse.causes.diagnose import diagnose
from profiler.analyse.recording.profile import profile_kernel
from profiler.ask import profiles
from profiler.ask.profiles import diagnose_once


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "prof" / "diagnoses"


@pytest.fixture
def made(monkeypatch):
    """The kernels that were diagnosed anew, in order."""
    kernels = []

    def diagnose_and_note(profile):
        kernels.append(profile.kernel)
        return diagnose(profile)

    monkeypatch.setattr(profiles, "diagnose", diagnose_and_note)
    return kernels


@pytest.fixture
def profile(recorded):
    run = recorded.find("gemm-4", "gemm")
    return profile_kernel(run, run.manifest.kernels[0].name)


def test_a_kernel_is_diagnosed_once(cache, made, profile):
    first = diagnose_once(profile)
    assert first == diagnose(profile)
    assert first.causes
    assert diagnose_once(profile) == first
    assert len(made) == 1


def test_whatever_happens_to_the_folder_the_answer_is_the_same(cache, made, profile):
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
    assert len(made) == 6


def test_a_diagnosis_is_of_one_content(cache, made, profile):
    diagnose_once(profile)
    manifest = profile.manifest
    tables = {
        name: msgspec.structs.replace(table, sha256=table.sha256[::-1] if name == "metrics" else table.sha256)
        for name, table in manifest.tables.items()
    }
    diagnose_once(replace(profile, manifest=msgspec.structs.replace(manifest, tables=tables)))
    assert len(made) == 2


def test_another_version_of_the_analysis_does_not_use_what_this_one_kept(cache, made, profile, monkeypatch):
    diagnose_once(profile)
    monkeypatch.setattr(profiles, "hash_of_code", lambda *_: "another")  # there is no second version here
    diagnose_once(profile)
    assert len(made) == 2


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
def test_no_question_diagnoses_a_kernel_again(cache, made, prof_here, drawing, recorded, tmp_path, question):
    asked = [*question, "--runs", recorded.root]
    first = prof_here(*asked, cwd=tmp_path)
    assert made
    made.clear()
    assert (
        prof_here(*asked, *(["--force"] if question[0] == "report" else []), cwd=tmp_path).stdout
        == first.stdout
    )
    assert not made


def test_the_binding_of_a_rung_is_its_first_cause(prof_here, recorded):
    import json

    answered = prof_here("ladder", "--format", "json", "--full", "--runs", recorded.root)
    rungs = {rung["kernel"]: rung for rung in json.loads(answered.stdout)["kernels"]}
    shown = json.loads(prof_here("show", "4", "--format", "json", "--runs", recorded.root).stdout)
    assert rungs[4]["binding"] == shown["kernels"][0]["causes"][0]["cause"]
