"""Timing and verifying: the command, the lines that the program must print, and every way in which it may fail."""

import math

import pytest

from profiler.errors import (
    DeviceMemoryFull,
    GpuNotFound,
    LadderInvalid,
    OutputInvalid,
    ProgramFailed,
    ProgramTimedOut,
    ResultWrong,
    ShapeRefused,
    ToolNotFound,
)
from profiler.measuring.rungs.program import fresh_seed, program_command
from profiler.measuring.rungs.timing import parse_timings, time_kernel, with_facts
from profiler.measuring.rungs.verify import check_kernel, parse_check
from profiler.measuring.tools.process import Finished
from profiler.store.process_timings import ClockSample, Timing
from profiler.store.runs.manifest import Clocks, Provenance, Spread


def finished(*lines, exit_code=0):
    return Finished(("program",), exit_code, "\n".join(lines), "", 1.0)


def test_the_command_is_filled_in(job):
    command = program_command(job("works", repeats=9), "time")
    assert command[3:] == ["works", "time", "100", "9", "7"]


def test_the_command_as_it_is_published_names_no_place(job):
    one = job("works")
    command = program_command(one, "time", relative_to=one.ladder.folder)
    assert command[2] == "./program.py"


def test_the_repeats_and_the_reference(job):
    timed = time_kernel(job("works", repeats=3), timeout_s=60)
    assert timed.timings == [Timing(0, 0, 1000, 900), Timing(0, 1, 1100, 900), Timing(0, 2, 1200, 900)]
    assert timed.facts.reference == "the best"


def test_a_program_may_state_its_runtime(job):
    lines = ('{"kernel_ns": 5}', '{"summary": true, "runtime": "PyTorch 2.11.0"}')
    timed = parse_timings(job("works"), finished(*lines))
    assert (timed.facts.reference, timed.facts.runtime) == (None, "PyTorch 2.11.0")
    assert (
        parse_timings(job("works"), finished(lines[0], '{"summary": true, "runtime": 3}')).facts.runtime
        is None
    )


def test_the_fastest_algorithm_of_the_reference_may_be_timed_too(job):
    lines = (
        '{"kernel_ns": 5, "reference_ns": 4, "best_ns": 3}',
        '{"summary": true, "reference": "cuBLAS fp32", "library": "cuBLAS 13.1.0", "algorithm": {"id": 21, "name": "x"}}',
    )
    timed = parse_timings(job("works"), finished(*lines))
    assert timed.timings == [Timing(0, 0, 5, 4, 3)]
    assert (timed.facts.library, timed.facts.algorithm) == ("cuBLAS 13.1.0", {"id": 21})


def test_clocks_count_while_the_repeats_were_timed(job):
    samples = [ClockSample(moment, 1980 - moment, 400 + moment) for moment in (1.0, 2.0, 3.0, 4.0)]
    lines = ('{"kernel_ns": 5}', '{"summary": true, "began": 1.5, "ended": 3.5}')
    facts = parse_timings(job("works"), finished(*lines), samples).facts
    assert facts.clocks == samples[1:3]
    clocks = with_facts(Provenance(), [facts]).clocks
    assert clocks == Clocks(2, Spread(1977, 1977.5, 1978), Spread(402, 402.5, 403))


def test_without_samples_no_clock_is_recorded(job):
    assert (
        with_facts(Provenance(), [parse_timings(job("works"), finished('{"kernel_ns": 5}')).facts]).clocks
        is None
    )


def test_a_reference_may_be_absent(job):
    one = job("works")
    assert parse_timings(one, finished('{"kernel_ns": 5}')).timings == [Timing(0, 0, 5, None)]
    assert parse_timings(one, finished('{"kernel_ns": 5.5, "reference_ns": null}')).timings == [
        Timing(0, 0, 5.5, None)
    ]


NO_TIMINGS = (
    "",
    "{",
    '{"kernel_ns": }',
    '{"kernel_ns": "5"}',
    '{"kernel_ns": true}',
    '{"kernel_ns": 0}',
    '{"kernel_ns": -5}',
    '{"kernel_ns": NaN}',
    '{"kernel_ns": Infinity}',
    '{"kernel_ns": 1e999}',
    '{"kernel_ns": null}',
    '{"kernel_ns": [1]}',
    '{"kernel_ns": ' + "9" * 400 + "}",
    '{"kernel_ns": 5, "reference_ns": 0}',
    '{"kernel_ns": 5, "reference_ns": "x"}',
    '{"time": 5}',
    "[1, 2]",
    "{" * 100_000,
    '{"kernel_ns": ' + "[" * 100_000,
)


def test_a_line_that_is_no_timing_is_refused(job):
    one = job("works")

    def is_refused(line):
        try:
            parse_timings(one, finished(line))
        except OutputInvalid as error:
            return "printed" in error.message
        return False

    assert [line for line in NO_TIMINGS if not is_refused(line)] == []


FAILURES = [
    ("refuses", ShapeRefused, "refuses this shape"),
    ("memory", DeviceMemoryFull, "out of device memory"),
    ("torch_memory", DeviceMemoryFull, "out of device memory"),
    ("no_gpu", GpuNotFound, "sees no GPU"),
    ("fails", ProgramFailed, "failed (exit code 9)"),
    ("dies", ProgramFailed, "failed (ended by SIGSEGV)"),
    ("silent", OutputInvalid, "printed no timings"),
    ("garbage", OutputInvalid, "printed a line that is not JSON"),
    ("nonsense", OutputInvalid, "a duration that is not a positive number"),
    ("mixed", OutputInvalid, "a reference time for some repeats only"),
]


@pytest.mark.parametrize(("what", "error", "message"), FAILURES, ids=[what for what, *_ in FAILURES])
def test_every_failure_of_a_timed_program_becomes_its_own_error(job, what, error, message):
    with pytest.raises(error) as caught:
        time_kernel(job(what), timeout_s=60)
    assert message in caught.value.message
    assert f"kernel 1 ({what}) at size=100" in caught.value.message
    assert "program.py" in caught.value.details[0]
    assert caught.value.remedy
    assert "\n" not in caught.value.message


def test_a_failures_last_lines_are_shown(job):
    with pytest.raises(ProgramFailed) as caught:
        time_kernel(job("fails"), timeout_s=60)
    assert caught.value.details[-1] == "    line 49"
    assert len(caught.value.details) == 9


@pytest.mark.slow
def test_time_runs_out(job):
    with pytest.raises(ProgramTimedOut, match=r"kernel 1 \(hangs\) .*did not end within 2 s") as caught:
        time_kernel(job("hangs"), timeout_s=2)
    assert "program.py" in caught.value.details[0]
    assert "--timeout" in caught.value.remedy


def test_a_program_that_is_not_there(job):
    one = job("works")
    object.__setattr__(one.kernel, "commands", {"time": ("/nowhere/python", "x")})
    with pytest.raises(ToolNotFound, match="cannot be started"):
        time_kernel(one, timeout_s=5)


def test_a_ladder_without_the_command(job):
    one = job("works")
    commands = {"profile": one.kernel.commands["profile"]}
    object.__setattr__(one.kernel, "commands", commands)
    with pytest.raises(LadderInvalid, match="kernel 1 \\(works\\) has no 'time' command") as caught:
        time_kernel(one, timeout_s=5)
    assert "time = [...]" in caught.value.remedy


def test_right_and_wrong(job):
    right, wrong = check_kernel(job("works"), 60), check_kernel(job("wrong"), 60)
    assert (right.verdict, right.relative_error, right.threshold, right.error) == (
        "correct",
        1e-7,
        1e-5,
        None,
    )
    assert (wrong.verdict, wrong.relative_error) == ("wrong", 1.0)
    assert isinstance(wrong.error, ResultWrong)
    assert "seed 7" in str(wrong.error)


VERDICTS = (
    ((), 0, "correct"),
    (("no json",), 0, "correct"),
    ((), 4, "wrong"),
    (('{"ok": true}',), 4, "wrong"),
    (('{"ok": false}',), 0, "wrong"),
    (('{"ok": "yes"}',), 0, "wrong"),
    (('{"relative_error": 2, "threshold": 1}',), 0, "wrong"),
    (('{"relative_error": null, "threshold": 1, "ok": false}',), 4, "wrong"),
    (('{"relative_error": 1, "threshold": 1}',), 0, "correct"),
    (('{"relative_error": 0, "not_finite": 0}',), 0, "correct"),
    (('{"relative_error": 0, "not_finite": 3}',), 0, "wrong"),
    (('{"not_finite": true}',), 0, "wrong"),
    (('{"relative_error": NaN}',), 0, "wrong"),
    (('{"relative_error": Infinity, "threshold": Infinity}',), 0, "wrong"),
    (('{"relative_error": -1}',), 0, "wrong"),
    (('{"relative_error": "huge"}',), 0, "wrong"),
    (('{"relative_error": null}',), 0, "wrong"),
    (('{"relative_error": ' + "9" * 400 + "}",), 0, "wrong"),
    (('{"relative_error": 0, "threshold": NaN}',), 0, "wrong"),
    (('{"relative_error": NaN}', '{"relative_error": 0}'), 0, "wrong"),
)  # what the program printed, its exit code, and the verdict


def test_a_program_that_contradicts_itself_is_not_believed(job):
    one = job("works")
    found = [
        (lines, code, parse_check(one, finished(*lines, exit_code=code)).verdict)
        for lines, code, _ in VERDICTS
    ]
    assert found == list(VERDICTS)


@pytest.mark.parametrize(
    ("what", "verdict"),
    [("refuses", "refused"), ("memory", "failed"), ("fails", "failed"), ("garbage", "failed")],
)
def test_no_verdict(job, what, verdict):
    checked = check_kernel(job(what), 60)
    assert (checked.verdict, checked.relative_error) == (verdict, None)
    assert checked.error is not None


def test_without_a_gpu_nothing_else_is_tried(job):
    with pytest.raises(GpuNotFound):
        check_kernel(job("no_gpu"), 60)


def test_seeds_are_fresh():
    seeds = {fresh_seed() for _ in range(100)}
    assert len(seeds) > 90
    assert all(0 <= seed < 2**32 and math.isfinite(seed) for seed in seeds)
