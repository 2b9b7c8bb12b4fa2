"""Kernels take turns, each failure that ncu passes over in silence is one error, and only complete runs are committed.

The ncu here replays the output and the reports of the real one on an H200.
"""

from concurrent.futures import Future
from dataclasses import replace

import pytest

from profiler import errors
from profiler.catalog.presets import find_preset
from profiler.measuring.collect.collection import Collection
from profiler.store.runs.unfinished import UNFINISHED_FOLDER, UnfinishedCollection, UnfinishedPlan


def with_metric(collecting, name):
    preset = find_preset("four-way").with_more([], [name], None)
    return replace(collecting.plan.recording, preset=preset)


# Each silence is one error


@pytest.mark.parametrize(
    ("transcript", "launches", "error", "code", "last_line"),
    [
        ("no-kernel", 2, errors.NothingProfiled, 65, "      void harness::fill_uniform<float>("),
        ("not-cuda", 2, errors.NothingProfiled, 65, "    the program launched no kernel at all"),
        ("fewer", 5, errors.LaunchesMissing, 66, "    ==PROF== Report: /tmp/prof/fewer.ncu-rep"),
        ("folder-absent", 2, errors.ReportNotWritten, 67, "    ==ERROR== Unable to write to file x.ncu-rep."),
        ("disk-full", 3, errors.ReportNotWritten, 67, "    ==PROF== Disconnected from process"),
        ("program-fails", 2, errors.ProgramFailed, 55, "    the loss is NaN"),
        ("program-segv", 2, errors.ProgramFailed, 55, "    ==PROF== Report: /tmp/prof/program-segv.ncu-rep"),
        ("program-absent", 2, errors.ProgramFailed, 55, "    ==ERROR== './no_such_program' does not exist"),
        ("program-refuses-shape", 2, errors.ShapeRefused, 59, "    error: A of 300000 x 300000 has more than"),
        ("program-out-of-memory", 2, errors.DeviceMemoryFull, 58, "    torch.OutOfMemoryError: CUDA out of memory."),
        ("counters-refused", 2, errors.CountersRefused, 63, "    ==WARNING== No kernels were profiled."),
        ("counters-busy", 2, errors.CountersBusy, 64, "    ==WARNING== No kernels were profiled."),
        ("unknown-section", 2, errors.NcuFailed, 68, "    ==ERROR== Use --list-sections to see the list"),
        ("interrupted", 3, errors.NcuFailed, 68, "    ==PROF== Report: /tmp/prof/interrupted.ncu-rep"),
    ],
)  # fmt: skip
def test_every_failure_of_ncu_becomes_its_own_error(collecting, transcript, launches, error, code, last_line):
    collecting.replay(transcript)
    target = collecting.rung(1, launches)

    if issubclass(error, (errors.CountersRefused, errors.CountersBusy)):  # would meet every kernel
        with pytest.raises(error) as caught:
            collecting.collect([target])
        failure = caught.value
    else:
        failure = collecting.error(target)

    assert (type(failure), failure.exit_code) == (error, code)
    assert failure.details[0].startswith(f"  {collecting.plan.device.ncu.path} --config-file off")
    assert failure.details[-1].startswith(last_line)
    assert failure.remedy
    assert collecting.store.ids() == []
    assert len(collecting.calls) == 1


def test_an_unknown_metric_is_found_missing_from_the_report(collecting):
    collecting.replay("unknown-metric")
    recording = with_metric(collecting, "no__such_metric.sum")
    failure = collecting.error(collecting.rung(1), recording=recording)

    assert (type(failure), failure.exit_code) == (errors.MetricsMissing, 49)
    assert "recorded nothing for no__such_metric.sum" in failure.message
    assert failure.details[0].startswith(f"  {collecting.plan.device.ncu.path} --config-file off")
    assert "--query-metrics" in failure.remedy
    assert not (collecting.store.root / UNFINISHED_FOLDER).exists(), "it will be no better next time"


def test_a_metric_of_the_preset_that_this_gpu_lacks_is_noted_and_no_failure(collecting):
    """The `four-way` report lacks most metrics of the default preset."""
    collecting.replay("four-way")
    (outcome,) = collecting.collect([collecting.rung(1)])

    (run_id,) = collecting.store.ids()
    assert (outcome.status, outcome.run_id) == ("collected", str(run_id))
    missing = collecting.store.open(run_id).manifest.missing_metrics
    assert "dram__bytes_read.sum" in missing
    assert "sm__issue_active.avg.pct_of_peak_sustained_elapsed" not in missing


@pytest.mark.parametrize(
    ("kernel", "error", "code"),
    [
        (3, errors.ResultWrong, 60),
        (4, errors.ProgramFailed, 55),
        (5, errors.ShapeRefused, 59),
        (6, errors.DeviceMemoryFull, 58),
    ],
)
def test_a_kernel_that_fails_verification_is_not_profiled(collecting, kernel, error, code):
    failure = collecting.error(collecting.rung(kernel), verify=True)

    assert (type(failure), failure.exit_code) == (error, code)
    assert "program.py" in failure.details[0]
    assert failure.remedy
    assert collecting.calls == []


@pytest.mark.slow
@pytest.mark.parametrize("step", ["verify", "profile"])
def test_a_program_that_hangs_is_ended_in_time(collecting, step):
    collecting.replay("hung", pace=1)
    kernel = 7 if step == "verify" else 1
    failure = collecting.error(collecting.rung(kernel), verify=step == "verify", timeout_s=3.0)

    assert (type(failure), failure.exit_code) == (errors.ProgramTimedOut, 56)
    assert "within 3 s" in failure.message
    assert "--timeout" in failure.remedy
    assert "started" in str(failure) or "Note: Running with unmodified GPU clocks" in str(failure)


def test_a_damaged_report_is_not_kept_for_the_next_time(collecting, reader, monkeypatch):
    """The report's structure is intact, but NVIDIA's reader finds fewer launches than it announces."""
    damaged = errors.ReportDamaged("report.ncu-rep: damaged: 1 of 3 launches can be read")
    read = Future()
    read.set_exception(damaged)
    monkeypatch.setattr(reader, "submit", lambda _: read)
    failure = collecting.error(collecting.rung(1))

    assert failure.message == damaged.message
    assert not (collecting.store.root / UNFINISHED_FOLDER).exists()


# Turns


@pytest.mark.slow
def test_kernels_take_turns_process_by_process(collecting):
    outcomes = collecting.collect(
        [collecting.rung(1), collecting.rung(2), collecting.rung(1, size=50)],
        verify=True, repeats=1, processes=2,
    )  # fmt: skip

    assert [(one.status, one.target.label) for one in outcomes] == [
        ("collected", "kernel 1 (works) at size=100"),
        ("collected", "kernel 2 (works2) at size=100"),
        ("collected", "kernel 1 (works) at size=50"),
    ]
    assert collecting.profiled == ["works", "works2", "works"] * 2
    begun = [(step.what, step.process) for event, step, _ in collecting.told if event == "begin"]
    assert begun == [
        *[("verify", 0)] * 3,
        *[("time", 0)] * 3, *[("profile", 0)] * 3,
        *[("time", 1)] * 3, *[("profile", 1)] * 3,
    ]  # fmt: skip
    assert {run_id.name for run_id in collecting.store.ids()} == {"scripts-1", "scripts-2"}
    assert len(collecting.store.ids()) == 3
    assert not (collecting.store.root / UNFINISHED_FOLDER).exists()


@pytest.mark.slow
def test_a_kernel_that_fails_is_reported_and_left_out_while_the_others_go_on(collecting):
    collecting.replay("four-way", "program-fails", "four-way")
    first, second = collecting.collect([collecting.rung(1), collecting.rung(2)], processes=2)

    assert (first.status, second.status) == ("collected", "failed")
    assert type(second.error) is errors.ProgramFailed
    assert collecting.profiled == ["works", "works2", "works"]
    told = [what for event, _, what in collecting.told if event == "end" and what is second.error]
    assert len(told) == 1
    assert len(collecting.store.ids()) == 1


def test_a_reading_that_fails_is_reported_too(collecting):
    collecting.replay("unknown-metric")
    targets = [collecting.rung(1), collecting.rung(2)]
    outcomes = collecting.collect(targets, recording=with_metric(collecting, "no__such_metric.sum"))

    told = [what for event, _, what in collecting.told if event == "end"]
    assert len(outcomes) == len(targets)
    for outcome in outcomes:
        assert outcome.error
        assert told.count(outcome.error) == 1


@pytest.mark.parametrize("transcript", ["counters-refused", "counters-busy"])
def test_a_failure_that_every_kernel_would_meet_ends_the_collection(collecting, transcript):
    collecting.replay("four-way", transcript)
    with pytest.raises((errors.CountersRefused, errors.CountersBusy)):
        collecting.collect([collecting.rung(1), collecting.rung(2)], processes=2)
    assert len(collecting.calls) == 2


# Going on


def statuses(outcomes):
    return [one.status for one in outcomes]


@pytest.mark.slow
def test_a_process_that_was_kept_is_not_measured_again(collecting):
    """The second process of the first kernel fails, after both kernels were measured once."""
    collecting.replay("four-way", "four-way", "program-fails", "four-way")
    targets = [collecting.rung(1), collecting.rung(2)]
    plan = {"processes": 2, "repeats": 1, "resume": True}
    first = collecting.collect(targets, **plan)
    assert statuses(first) == ["failed", "collected"]
    assert collecting.profiled == ["works", "works2", "works", "works2"]

    collecting.replay("four-way")
    collecting.told.clear()
    again = collecting.collect(targets, **plan)

    assert statuses(again) == ["known", "collected"]
    assert collecting.profiled == ["works"]
    assert again[0].run_id == first[1].run_id
    lines = [line for event, step, line in collecting.told if event == "end" and step.what == "profile"]
    assert [bool(line) for line in lines] == [False, False, False, True]
    run = collecting.store.find(again[1].run_id, "scripts")
    assert len(run.manifest.reports) == 2
    assert run.table("timings").column("process").to_pylist() == [0, 1]


@pytest.mark.slow
def test_the_inputs_stay_the_same_when_it_goes_on(collecting):
    collecting.replay("four-way", "program-fails", "four-way")
    target = collecting.rung(1)
    collecting.collect([target], processes=2, resume=True)
    collecting.collect([target], processes=2, resume=True)

    seeds = [call["words"][-1] for call in collecting.calls]
    assert len(seeds) == 3
    assert len(set(seeds)) == 1
    (run_id,) = collecting.store.ids()
    assert collecting.store.open(run_id).manifest.provenance.seed == int(seeds[0])


@pytest.mark.slow
def test_a_program_that_prof_did_not_compile_is_measured_again_unless_resumed(collecting):
    target = collecting.rung(1)
    assert statuses(collecting.collect([target])) == ["collected"]
    assert statuses(collecting.collect([target])) == ["collected"]
    assert len(collecting.calls) == 2
    assert statuses(collecting.collect([target], resume=True)) == ["known"]
    assert len(collecting.calls) == 2
    assert statuses(collecting.collect([target], again=True)) == ["collected"]
    assert len(collecting.calls) == 3


@pytest.mark.slow
def test_without_resume_what_an_earlier_call_kept_of_it_is_measured_again(collecting):
    collecting.replay("four-way", "program-fails", "four-way")
    target = collecting.rung(1)
    collecting.collect([target], processes=2)
    assert statuses(collecting.collect([target], processes=2)) == ["collected"]
    assert len(collecting.calls) == 4


@pytest.mark.slow
def test_another_workload_or_cache_control_is_another_collection(collecting):
    collecting.collect([collecting.rung(1)], resume=True)
    for changes, target in (
        ({}, collecting.rung(1, size=50)),
        ({"recording": replace(collecting.plan.recording, cache="none")}, collecting.rung(1)),
    ):
        before = len(collecting.calls)
        assert statuses(collecting.collect([target], resume=True, **changes)) == ["collected"]
        assert len(collecting.calls) > before


@pytest.mark.slow
def test_a_metric_asked_for_that_the_known_run_lacks_is_asked_of_ncu_again(collecting):
    """A metric of the preset may be missing; a metric that the user asked for may not."""
    collecting.replay("four-way")
    target = collecting.rung(1)
    collecting.collect([target], resume=True)
    preset = collecting.plan.recording.preset.with_more([], ["dram__bytes_read.sum"], None)
    recording = replace(collecting.plan.recording, preset=preset)

    (outcome,) = collecting.collect([target], resume=True, recording=recording)

    assert type(outcome.error) is errors.MetricsMissing


def test_one_prof_at_a_time_has_a_collection(collecting):
    """Only one process at a time may work on a collection."""
    with (
        pytest.raises(errors.CollectBusy) as caught,
        UnfinishedCollection(
            collecting.store.root, Collection(collecting.plan, collecting.rung(1), collecting.store).key
        ),
    ):
        collecting.collect([collecting.rung(1)])
    assert caught.value.exit_code == 69
    assert collecting.calls == []


def test_the_unfinished_parts_of_a_committed_run_are_swept(collecting):
    """As if prof was killed after it committed the run and before it discarded the parts."""
    collecting.collect([collecting.rung(1)], resume=True)
    key = Collection(collecting.plan, collecting.rung(1), collecting.store).key
    with UnfinishedCollection(collecting.store.root, key) as pending:
        pending.plan(UnfinishedPlan("scripts-1", 1))
    assert pending.folder.exists()

    assert statuses(collecting.collect([collecting.rung(1)], resume=True)) == ["known"]

    assert not pending.folder.exists()
