"""ncu's output as recorded on an H200: the progress in it, and the failure behind each of its silences."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from profiler import errors
from profiler.measuring.tools.process import Finished
from profiler.measuring.tools.transcript import Transcript, recording_error

TRANSCRIPTS = Path(__file__).parents[2] / "data" / "transcripts"
NAMES = sorted(path.stem for path in TRANSCRIPTS.glob("*.json"))
PROGRESS = '==PROF== Profiling "k": '


def read(name):
    return json.loads((TRANSCRIPTS / f"{name}.json").read_text())


def finished(name):
    """Returns the finished call of ncu that the transcript records."""
    call = read(name)
    said = {
        stream: "".join(text for _, one, text in call["events"] if one == stream)
        for stream in ("stdout", "stderr")
    }
    return Finished(tuple(call["command"]), call["exit"], said["stdout"], said["stderr"], call["seconds"])


def ended(stdout="", stderr="", exit_code=0):
    return Finished(("ncu", "--export", "r", "./mine"), exit_code, stdout, stderr, 1.0)


def fed(*pieces):
    transcript = Transcript()
    for piece in pieces:
        transcript.feed(piece)
    return transcript


# How far it is


@pytest.mark.parametrize(
    ("name", "launches", "passes"),
    [
        ("default", 3, 16),
        ("counters", 3, 14),
        ("four-way", 2, 3),
        ("fewer", 3, 3),
        ("range", 1, 4),
        ("graph", 1, 2),
        ("probe", 1, 1),
        ("no-kernel", 0, None),
        ("program-absent", 0, None),
    ],
)
def test_launches_and_passes_are_counted(name, launches, passes):
    transcript = fed(finished(name).stdout)

    assert (transcript.launches, transcript.finished, transcript.passes) == (launches, launches, passes)
    assert (transcript.steps, transcript.replay) == (0, 0)


def test_progress_of_an_application_replay_counts_passes_and_launches_within_one():
    transcript = fed(finished("application-replay").stdout)

    assert (transcript.replay, transcript.launches, transcript.passes) == (14, 2, None)


def test_a_launch_that_was_cut_short_is_begun_and_not_finished():
    transcript = fed(finished("interrupted").stdout)

    assert (transcript.launches, transcript.finished) == (4, 3)
    assert transcript.fraction == 0.5


def test_the_fraction_of_a_launch_grows_with_every_dot():
    transcript, seen = Transcript(), []
    for piece in (PROGRESS, "0%", ".", "..", ".", "50%", ".", "...", "100%"):
        transcript.feed(piece)
        seen.append(transcript.fraction)

    assert seen == [0, 0, 1 / 8, 3 / 8, 4 / 8, 4 / 8, 5 / 8, 1, 1]
    assert (transcript.launches, transcript.finished) == (1, 0)
    transcript.feed(" - 6 passes\n")
    assert (transcript.launches, transcript.finished, transcript.passes, transcript.fraction) == (1, 1, 6, 0)


@given(name=st.sampled_from(NAMES), cuts=st.data())
def test_a_transcript_reads_the_same_however_its_pieces_are_cut(name, cuts):
    text = finished(name).stdout
    places = sorted(cuts.draw(st.sets(st.integers(0, len(text)), max_size=20)))
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]

    assert fed(*pieces) == fed(text)
    assert fed(*text) == fed(text)


@settings(deadline=None)
@given(st.lists(st.sampled_from([PROGRESS, "0%", ".", "50%", "100% - 3 passes", "\n", "mine: ", "a" * 9]), max_size=30))  # fmt: skip
def test_a_transcript_mixed_with_other_output_reads_the_same_however_it_is_cut(parts):
    whole, apart = fed("".join(parts)), fed(*parts)

    assert whole.finished == apart.finished <= apart.launches
    assert 0 <= apart.fraction <= 1
    apart.feed("\n")
    whole.feed("\n")
    assert whole == apart


# What went wrong


@pytest.mark.parametrize(
    ("name", "results", "error", "told"),
    [
        ("no-kernel", None, errors.NothingProfiled, "      void gemm_05_tile_2d<(bool)1>(int"),
        ("skip-all", None, errors.NothingProfiled, "      void harness::fill_uniform<float>("),
        ("not-cuda", None, errors.NothingProfiled, "    the program launched no kernel at all"),
        ("folder-absent", None, errors.ReportNotWritten, "==ERROR== Unable to write to file x.ncu-rep."),
        ("disk-full", None, errors.ReportNotWritten, "==ERROR== Failed to save the report to file"),
        ("program-fails", None, errors.ProgramFailed, "    the loss is NaN"),
        ("program-segv", None, errors.ProgramFailed, "returned an error code (11)"),
        ("program-refuses-shape", None, errors.ShapeRefused, "offsets here are 32-bit"),
        ("program-out-of-memory", None, errors.DeviceMemoryFull, "CUDA out of memory. Tried to allocate"),
        ("program-absent", None, errors.ProgramFailed, "'./no_such_program' does not exist"),
        ("fewer", 3, errors.LaunchesMissing, "3 launches in the profiler window"),
        ("counters-refused", None, errors.CountersRefused, "ERR_NVGPUCTRPERM"),
        ("counters-busy", None, errors.CountersBusy, "(like DCGM)"),
        ("unknown-section", None, errors.NcuFailed, "'--section NoSuchSection' did not match any section"),
        ("unknown-option", None, errors.NcuFailed, "unrecognised option '--no-such-option'"),
        ("range-k", None, errors.NcuFailed, "Option kernel-name is not supported during range replay"),
        ("interrupted", 3, errors.NcuFailed, 'Failed to profile "gemm_05_tile_2d"'),
    ],
)
def test_each_failure_is_one_error(name, results, error, told):
    failure = recording_error("mine", finished(name), results, wanted=50, is_rung=True)

    assert type(failure) is error
    assert failure.message.startswith("mine")
    assert failure.details[0].startswith("  ncu --") or failure.details[0].startswith("  bash -c")
    assert told in str(failure)
    assert failure.remedy


@pytest.mark.parametrize(
    ("name", "results"),
    [("default", 3), ("four-way", 2), ("application-replay", 2), ("range", 1), ("graph", 1), ("probe", 1)],
)
def test_a_good_recording_is_good(name, results):
    assert recording_error("mine", finished(name), results, wanted=results) is None


def test_an_unknown_metric_is_no_error_of_ncus():
    """So `store/reports/extract.py` looks into the report."""
    assert recording_error("mine", finished("unknown-metric"), 2, wanted=2) is None


def test_no_report_and_no_complaint_is_an_error_all_the_same():
    assert type(recording_error("mine", finished("default"), None, wanted=3)) is errors.ReportNotWritten


@pytest.mark.parametrize("code", [3, 4, 6, 7, 134])
def test_only_a_rungs_exit_codes_have_meanings(code):
    """Exit code 3 of `python train.py` does not mean a refused shape, and ncu reports an abort as 6."""
    said = ended(f"==ERROR== The application returned an error code ({code}).\n", exit_code=code)
    meanings = {3: errors.ShapeRefused, 4: errors.ResultWrong, 6: errors.DeviceMemoryFull}

    assert type(recording_error("mine", said, None, 1, is_rung=True)) is meanings.get(
        code, errors.ProgramFailed
    )
    failure = recording_error("mine", said, None, 1)
    assert type(failure) is errors.ProgramFailed
    assert "README" not in failure.remedy  # which says what a rung must do


def test_a_line_of_the_program_without_an_end_hides_none_of_ncus():
    said = ended("step 1 of 9: ==ERROR== The application returned an error code (3).\n", exit_code=3)
    assert type(recording_error("mine", said, None, 1, is_rung=True)) is errors.ShapeRefused

    said = ended("done==WARNING== No kernels were profiled.\n")
    assert type(recording_error("mine", said, None, 1)) is errors.NothingProfiled


@pytest.mark.parametrize(
    "text", ["read about ERR_NVGPUCTRPERM", "No kernels were profiled", "a tool (like DCGM)", "error: none"]
)
def test_a_program_may_say_what_it_likes(text):
    assert recording_error("mine", ended(f"{text}\n", f"{text}\n"), 5, wanted=5) is None


def test_ncu_killed_from_outside_is_reported():
    failure = recording_error(
        "mine", ended("==PROF== Connected to process 1 (mine)\n", exit_code=-9), None, 1
    )

    assert type(failure) is errors.NcuFailed
    assert "ended by SIGKILL" in failure.message


def test_a_long_list_of_launched_kernels_names_a_dozen_and_counts_the_rest():
    listing = "\n".join(f"{number}. void k{number}()" for number in range(1, 31))
    said = ended(f"==WARNING== No kernels were profiled.\nAvailable Kernels:\n{listing}\n")
    failure = recording_error("mine", said, None, 1)

    assert failure.details[1:] == (
        "    it launched:",
        *(f"      void k{number}()" for number in range(1, 13)),
        "    and 18 more",
    )


# The transcripts themselves


def test_every_transcript_is_described_and_what_nobody_recorded_is_said_to_be_so():
    described = (TRANSCRIPTS / "README.md").read_text()
    row = lambda name: next(  # noqa: E731
        line for line in described.splitlines() if line.startswith(f"| `{name}` |")
    )
    for name in NAMES:
        assert ("not a recording" in row(name)) == (read(name).get("recorded") is False)


@pytest.mark.parametrize("name", NAMES)
def test_no_transcript_names_anybodys_home(name):
    text = (TRANSCRIPTS / f"{name}.json").read_text()
    assert not any(place in text for place in ("/home/", "/root", "/Users/"))
