"""One target on its way to a run: the progress that is reported, and the contents of the run."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from living import is_living, wait_until

from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.presets import find_preset
from profiler.measuring.collect.collection import Collection, CollectStep, steps_of
from profiler.measuring.collect.target import rung_target
from profiler.measuring.tools.ncu import NcuOptions

RECORDING = NcuOptions(find_preset("default"))
WORDS = ("python", "$HOME; touch x", "a  b", "*", "`id`", "'\"", "", "ü", "-c", "--version", "\udcff")


def test_the_steps_are_what_was_asked_for(collecting):
    rung, program = collecting.rung(1), collecting.program("./mine")
    plan = replace(collecting.plan, processes=2, repeats=5, verify=True)

    assert [(step.what, step.process) for step in steps_of(plan, rung)] == [
        ("verify", 0), ("time", 0), ("profile", 0), ("time", 1), ("profile", 1),
    ]  # fmt: skip
    assert [(step.what, step.process) for step in steps_of(plan, program)] == [("profile", 0), ("profile", 1)]
    assert steps_of(collecting.plan, rung) == [CollectStep(rung.label, "profile", 0)]


def test_a_rung_that_can_neither_be_checked_nor_timed_is_profiled_alone(collecting):
    rung = collecting.rung(1)
    job = rung.job
    kernel = replace(job.kernel, commands={"profile": job.kernel.commands["profile"]})
    rung = replace(rung, job=replace(job, kernel=kernel))
    plan = replace(collecting.plan, repeats=5, verify=True)
    assert [step.what for step in steps_of(plan, rung)] == ["profile"]


def test_the_time_that_timing_took_is_reported_so_that_the_rest_can_be_estimated(collecting):
    collecting.collect([collecting.rung(1)], repeats=2)
    (line, _) = [what for event, _, what in collecting.told if event == "end"]
    assert line.startswith("timed       kernel 1 (works) at size=100, process 1 of 1: 2 repeats, ")


def timed_alone(target):
    kernel = replace(target.job.kernel, is_profiled=False, regex=None)
    return rung_target(replace(target.job, kernel=kernel), None, 2, RECORDING)


@pytest.mark.slow
def test_a_rung_without_a_kernel_of_its_own_becomes_a_run_of_timings(collecting):
    """The run has the name and the contents of one that `prof time` stores; ncu is not called."""
    collecting.replay("four-way")
    copy, kernel = timed_alone(collecting.rung(1)), collecting.rung(2)
    plan = {"processes": 2, "repeats": 3, "verify": True, "resume": True}
    outcomes = collecting.collect([copy, kernel], **plan)

    assert [step.what for step in steps_of(replace(collecting.plan, **plan), copy)] == [
        "verify",
        "time",
        "time",
    ]
    assert collecting.profiled == ["works2", "works2"]
    run = collecting.store.find(outcomes[0].run_id, "scripts")
    run.verify()
    manifest = run.manifest
    assert (manifest.origin, manifest.name, manifest.reports) == ("timed", "scripts-1-timed", [])
    assert (manifest.provenance.relative_error, manifest.provenance.reference) == (1e-7, "the best")
    assert manifest.command_line.endswith(f"./program.py works time 100 3 {manifest.provenance.seed}")
    assert run.table("timings").column("process").to_pylist() == [0, 0, 0, 1, 1, 1]
    lines = [line for event, step, line in collecting.told if event == "end" and step.label == copy.label]
    assert lines[1].startswith("timed       kernel 1 (works) at size=100, process 1 of 2: 3 repeats, ")
    assert lines[1].endswith(" s; it is not profiled")

    again = collecting.collect([copy, kernel], **plan)
    assert [(one.status, one.run_id) for one in again] == [("known", one.run_id) for one in outcomes]
    (other,) = collecting.collect([copy], **{**plan, "repeats": 4})
    assert other.status == "collected"


def test_a_preset_or_another_ncu_does_not_repeat_timings(collecting):
    copy = timed_alone(collecting.rung(1))
    plan = {"repeats": 1, "resume": True}
    (first,) = collecting.collect([copy], **plan)
    ncu = replace(collecting.plan.device.ncu, version="2026.1.0.0")
    recording = replace(RECORDING, preset=find_preset("counters"), cache="none")
    (again,) = collecting.collect(
        [copy], **plan, device=replace(collecting.plan.device, ncu=ncu), recording=recording
    )
    assert (again.status, again.run_id) == ("known", first.run_id)


def test_the_progress_of_ncu_is_reported_while_it_profiles(collecting):
    collecting.replay("default", pace=0.05)
    collecting.collect([collecting.rung(1, launches=3)])

    launches = [what for event, _, what in collecting.told if event == "at"]
    assert launches == sorted(launches)
    # A busy machine may read of two launches at once, and reports the later one.
    assert (launches[0], launches[-1]) == (0, 3)
    assert len(set(launches)) > 2
    (line,) = [what for event, _, what in collecting.told if event == "end"]
    assert line.startswith(
        "profiled    kernel 1 (works) at size=100, process 1 of 1: 3 launches, 16 passes, "
    )


def test_an_application_replay_reports_the_launches_in_its_report(collecting):
    collecting.replay("application-replay")
    recording = replace(collecting.plan.recording, replay="application")
    collecting.collect([collecting.rung(1)], recording=recording)

    (line,) = [what for event, _, what in collecting.told if event == "end"]
    assert line.startswith("profiled    kernel 1 (works) at size=100, process 1 of 1: 2 launches, ")
    assert "--replay-mode application" in " ".join(collecting.calls[0]["words"])


@pytest.mark.slow
def test_a_run_holds_all_that_is_known_of_it(collecting):
    collecting.replay("default")
    (outcome,) = collecting.collect(
        [collecting.rung(1, launches=3)], processes=2, repeats=4, verify=True, warmup=3
    )

    run = collecting.store.find(outcome.run_id, "scripts")
    run.verify()
    manifest = run.manifest
    assert (manifest.origin, manifest.name, manifest.preset) == ("collected", "scripts-1", "default")
    assert (manifest.ladder, manifest.kernel, manifest.workload) == ("scripts", 1, {"size": 100})
    assert (manifest.gpus, manifest.ncu_version) == (["NVIDIA H200"], "2025.3.1.0")
    assert (manifest.clock_control, manifest.cache_control, manifest.replay_mode) == ("none", "all", "kernel")
    assert [report.file for report in manifest.reports] == ["report-0.ncu-rep.zst", "report-1.ncu-rep.zst"]
    assert manifest.launches == 6
    assert manifest.missing_metrics == []
    provenance = manifest.provenance
    assert (provenance.driver_version, provenance.reference) == ("580.1", "the best")
    assert provenance.runtime == "Script 1"
    assert provenance.relative_error == 1e-7
    assert 0 < provenance.seconds < 60
    timings = run.table("timings").to_pylist()
    assert [(row["process"], row["repeat"], row["kernel_ns"]) for row in timings] == [
        (process, repeat, 100 * (10 + repeat)) for process in (0, 1) for repeat in range(4)
    ]
    assert set(run.table("launches").column("process").to_pylist()) == {0, 1}


def test_any_program_gets_its_words_as_they_are(collecting, tmp_path, monkeypatch):
    """The words hold ASCII, Unicode, bytes that are not text, and characters that a shell would interpret."""
    folder = tmp_path / "somewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (outcome,) = collecting.collect([collecting.program(*WORDS)], repeats=3, verify=True)

    (call,) = collecting.calls
    assert tuple(call["words"][-len(WORDS) :]) == WORDS
    assert call["folder"] == str(folder)
    assert not list(folder.iterdir())
    manifest = collecting.store.find(outcome.run_id, "scripts").manifest
    assert (manifest.name, manifest.ladder, manifest.kernel, manifest.workload) == ("mine", None, None, None)
    assert (
        manifest.program
        == r"""python '$HOME; touch x' 'a  b' '*' '`id`' ''"'"'"' '' 'ü' -c --version '\xff'"""
    )


def test_with_cwd_a_program_runs_there(collecting, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").write_text("#!/bin/sh\n")
    target = collecting.program("./mine")
    collecting.replay("program-fails")
    collecting.error(target, cwd=elsewhere)

    assert collecting.calls[0]["folder"] == str(elsewhere)
    found = Collection(replace(collecting.plan, cwd=elsewhere), target, collecting.store)
    assert found.provenance.binary_sha256 is not None


def test_each_preset_has_a_name_of_its_own(collecting):
    plan = replace(
        collecting.plan, recording=replace(collecting.plan.recording, preset=find_preset("counters"))
    )
    assert Collection(plan, collecting.rung(1), collecting.store).run_name == "scripts-1-counters"
    assert Collection(collecting.plan, collecting.rung(1), collecting.store).run_name == "scripts-1"


def test_a_run_of_an_older_default_is_not_continued_and_is_compared(collecting):
    """It had the same name, and no samples."""
    collecting.replay("default")
    older = replace(RECORDING, preset=replace(find_preset("counters"), name="default"))
    rung, runs = collecting.rung(1, launches=3), []
    for recording in (older, RECORDING):
        (outcome,) = collecting.collect([rung], recording=recording, resume=True)
        assert (outcome.status, outcome.error) == ("collected", None)
        runs.append(collecting.store.open(outcome.run_id))
    assert runs[0].manifest.name == runs[1].manifest.name
    found = compare_profiles(*(profile_kernel(run, run.manifest.kernels[0].name) for run in runs))
    assert found.comparable.ok


@pytest.mark.parametrize("transcript", ["four-way", "program-fails"])
def test_nothing_is_left_in_the_temporary_folder(collecting, tmp_path, monkeypatch, transcript):
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    collecting.replay(transcript)
    collecting.collect([collecting.rung(1)])

    exported = collecting.calls[0]["words"][collecting.calls[0]["words"].index("--export") + 1]
    assert Path(exported).is_relative_to(place)
    assert not list(place.iterdir())


@pytest.mark.slow
def test_the_whole_group_of_a_hung_ncu_is_gone(collecting):
    collecting.replay("hung", pace=1)
    collecting.error(collecting.rung(1), timeout_s=3.0)

    pids = collecting.calls[0]["pids"]  # its own and its program's
    assert wait_until(lambda: not any(map(is_living, pids)))
