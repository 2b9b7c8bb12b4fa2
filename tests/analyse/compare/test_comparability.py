"""Which recordings may be compared at all, and what is said of those that may not quite."""

from dataclasses import replace

import pytest

import profiler
from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.compare.two_gpus import peaks_text
from profiler.analyse.recording.profile import profile_kernel
from profiler.errors import NotComparable
from profiler.store.runs.manifest import Provenance

OBSTACLES = [
    ({"gpu": "NVIDIA A100"}, {}, "the GPU differs: NVIDIA H200 against NVIDIA A100"),
    ({}, {"workload": {"m": 512}}, "the workload differs: m=4096 against m=512"),
    ({}, {"clock_control": "base"}, "clock control differs: none against base"),
    ({}, {"cache_control": "none"}, "cache control differs: all against none"),
    ({}, {"replay_mode": "application"}, "the replay mode differs: kernel against application"),
    ({}, {"ncu_version": "2026.1.0.0"}, "ncu's major version differs: 2025 against 2026"),
]


@pytest.fixture
def two_processes(make_profile):
    """A kernel that was launched in two processes."""
    return lambda launch, **fields: make_profile(*({**launch, "process": one} for one in (0, 1)), **fields)


@pytest.fixture
def pair(two_processes):
    """A profile, and another that differs from it in one condition."""
    return lambda launch, fields: (
        two_processes({"ns": 100.0}, ladder="made", kernel=1),
        two_processes({"ns": 100.0, **launch}, ladder="made", kernel=2, **fields),
    )


@pytest.mark.parametrize(("launch", "fields", "sentence"), OBSTACLES)
def test_each_difference_of_the_measurement_is_refused_by_name(pair, launch, fields, sentence):
    with pytest.raises(NotComparable) as refused:
        compare_profiles(*pair(launch, fields))
    assert refused.value.exit_code == 31
    assert [line.strip() for line in refused.value.details] == [sentence]
    assert "--force" in refused.value.remedy


@pytest.mark.parametrize(("launch", "fields", "sentence"), OBSTACLES)
def test_force_compares_anyway_and_keeps_the_reason(pair, launch, fields, sentence):
    comparable = compare_profiles(*pair(launch, fields), force=True).comparable
    assert comparable.ok is False
    assert sentence in comparable.warnings


# The second side's grid, block, arithmetic and recorded size; the first has 64 blocks of 256 threads and 100 FFMAs.
GRIDS = [
    ((25, 11), (16, 16), 0, None, True),  # other blocks alike, and nothing shows the size of the problem
    ((25, 11), (16, 16), 230, None, True),
    ((25, 11), (16, 16), 104, None, False),  # it computes as much: the tiles changed
    ((4, 4), (32, 32), 0, None, False),  # the same threads in larger blocks
    ((8, 8), (16, 16), 0, None, False),
    ((25, 11), (16, 16), 0, {"m": 4096}, False),  # the size is recorded
]


@pytest.mark.parametrize(("grid", "block", "ffmas", "workload", "is_said"), GRIDS)
def test_another_number_of_threads_may_be_another_problem_unless_its_size_or_arithmetic_is_the_same(
    make_profile, grid, block, ffmas, workload, is_said
):
    def profile(grid, block, ffmas):
        opcodes = {"FFMA": ffmas} if ffmas else {}
        launch = {"ns": 1.0, "grid": grid, "block": block, "opcodes": opcodes}
        return make_profile(launch, workload=workload)

    found = compare_profiles(profile((8, 8), (16, 16), 100), profile(grid, block, ffmas))
    said = [one for one in found.comparable.warnings if "maybe not the same work" in one]
    assert bool(said) is is_said
    is_unknown = any("may differ: the workload" in one for one in found.comparable.warnings)
    assert is_unknown is (workload is None and not is_said)  # the same doubt, in other words
    for line in said:
        assert "8 x 8 blocks of 16 x 16 threads against 25 x 11 blocks" in line
        assert "64 against 275 of as many threads each" in line
        assert found.comparable.warnings[0] == line
        assert found.comparable.ok
    assert [one.shape.grid[:2] for one in (found.before, found.after)] == [(8, 8), grid]


def test_the_headline_doubts_kernels_of_other_names_that_may_do_other_work(make_profile):
    """Two reports of one folder may be of different kernels that share a word, such as "softmax"."""

    def profile(kernel, blocks, **opcodes):
        launch = {"kernel": kernel, "ns": 1.0, "grid": blocks, "block": 128, "opcodes": opcodes}
        return make_profile(launch, workload=None)

    for after, is_doubted in (("softmax_drop", True), ("topk_softmax", False)):
        found = compare_profiles(profile("topk_softmax", 64, FFMA=100), profile(after, 8))
        doubt = "If these are versions of one kernel, topk_softmax and softmax_drop "
        assert found.headline.what.startswith(doubt) == is_doubted
        assert "64 blocks of 128 threads against 8 blocks of 128 threads" in found.comparable.warnings[0]


def test_a_recording_that_is_compared_with_itself_is_called_so(store):
    run = store.find("several", "gemm")
    scale, offset = (profile_kernel(run, f"{name}(float *, float)") for name in ("scale", "offset"))
    said = "both sides are the same recording: nothing can differ"
    warnings = compare_profiles(scale, scale).comparable.warnings
    assert warnings[0] == said
    assert [one for one in warnings if "may differ" in one or "processes" in one] == []
    assert said not in compare_profiles(scale, offset).comparable.warnings
    by_numbers = [profile_kernel(run, scale.kernel, {number}) for number in scale.numbers[:2]]
    assert said not in compare_profiles(*by_numbers).comparable.warnings


def test_two_that_did_not_record_the_same_are_compared_in_what_both_have(pair):
    found = compare_profiles(*pair({}, {"sections": ["SpeedOfLight", "WarpStateStats"]}))
    assert found.comparable.ok
    (said,) = [one for one in found.comparable.warnings if "sections" in one]
    assert "alone has SpeedOfLight; only what both sides have is compared" in said
    assert "none against" not in said
    assert found.speedup.ratio == 1.0


def test_different_sections_are_refused_if_a_side_has_no_duration(make_profile):
    sections = (["LaunchStats"], ["LaunchStats", "SpeedOfLight"])
    sides = [make_profile({"metrics": {"cycles": 5.0}}, sections=one) for one in sections]
    with pytest.raises(NotComparable) as refused:
        compare_profiles(*sides)
    (said,) = refused.value.details
    assert said.strip().startswith("different sections were recorded: ")
    assert said.endswith(" alone has SpeedOfLight")


def test_several_differences_are_all_named_at_once(pair):
    with pytest.raises(NotComparable) as refused:
        compare_profiles(*pair({"gpu": "NVIDIA A100"}, {"clock_control": "base", "cache_control": "none"}))
    assert len(refused.value.details) == 3


@pytest.mark.parametrize(
    ("launch", "fields", "what"),
    [
        ({"gpu": None}, {"gpus": []}, "the GPU"),
        ({}, {"workload": None}, "the workload"),
        ({}, {"clock_control": "unknown"}, "clock control"),
        ({}, {"cache_control": "unknown"}, "cache control"),
        ({}, {"replay_mode": "unknown"}, "the replay mode"),
        ({}, {"ncu_version": ""}, "ncu's major version"),
        ({}, {"sections": []}, "the sections recorded"),
    ],
)
def test_a_fact_that_was_not_recorded_gives_a_caution_and_no_refusal(pair, launch, fields, what):
    comparable = compare_profiles(*pair(launch, fields)).comparable
    assert comparable.ok is True
    assert comparable.warnings == [f"not recorded, and may differ: {what}"]


def test_recordings_measured_the_same_way_carry_no_warning(pair):
    assert compare_profiles(*pair({}, {})).comparable.warnings == []


def test_the_order_of_sections_and_of_workload_parameters_does_not_matter(two_processes):
    one = two_processes({"ns": 1.0}, sections=["A", "B"], workload={"m": 1, "n": 2})
    other = two_processes({"ns": 1.0}, sections=["B", "A"], workload={"n": 2, "m": 1})
    assert compare_profiles(one, other).comparable.ok


@pytest.mark.parametrize("clocks", [(1.98e9, 1.5e9), (1.5e9, 1.98e9)])
def test_a_clock_that_ran_differently_is_a_caution_whichever_side_was_faster(two_processes, clocks):
    before, after = (two_processes({"metrics": {"sm_frequency_hz": clock}}) for clock in clocks)
    (warning,) = compare_profiles(before, after).comparable.warnings
    assert warning == f"the SM clock of the second is {clocks[1] / clocks[0]:.2f} times that of the first"
    (named,) = compare_profiles(before, replace(after, label="gemm 6")).comparable.warnings
    assert named == f"the SM clock of gemm 6 is {clocks[1] / clocks[0]:.2f} times that of {before.label}"


def test_a_clock_within_five_per_cent_and_a_clock_of_zero_are_not_worth_a_caution(two_processes):
    for clocks in ((1.98e9, 1.90e9), (0.0, 1.98e9)):
        sides = (two_processes({"metrics": {"sm_frequency_hz": clock}}) for clock in clocks)
        assert compare_profiles(*sides).comparable.warnings == []


def test_a_kernel_in_less_precision_is_not_the_same_work_done_faster(two_processes):
    """The warning has the error that verification found for each side, also if only one was verified."""

    def computing(name, opcode, error=None):
        provenance = Provenance(relative_error=error)
        return two_processes({"opcodes": {opcode: 5}}, name=name, provenance=provenance)

    full, half = computing("full", "FFMA", 1.14e-6), computing("half", "HGMMA.64x256x16.F32.BF16", 4.02e-6)
    assert compare_profiles(full, half).comparable.warnings == [
        "precision differs: full computes in FP32 (relative error 1.1e-06), half in BF16 (relative error 4.0e-06), each by its own check"
    ]
    assert compare_profiles(computing("other", "HMMA.1688.F32.TF32"), full).comparable.warnings == [
        "precision differs: other computes in TF32, full in FP32 (relative error 1.1e-06)"
    ]
    assert compare_profiles(full, computing("alike", "FFMA")).comparable.warnings == []


@pytest.mark.parametrize(("ladder", "unlike"), [("gemm", [10, 12]), ("ceilings", [5, 6])])
def test_recorded_steps_to_other_arithmetic_are_cautioned_and_no_others(recorded, ladder, unlike):
    """GEMM 10 and 11 compute in BF16, 12 and 13 in TF32, and 14 follows 9."""
    assert cautioned_for_precision(ladder, recorded) == unlike


def test_halves_that_become_floats_first_are_no_other_arithmetic(shipped_runs):
    assert cautioned_for_precision("rmsnorm", shipped_runs) == []


@pytest.mark.parametrize(
    ("second", "unlike"),
    [
        ("HFMA2.MMA R9, -RZ, RZ, 14.1875, -0.0015869140625", False),  # moves a constant of 32 bits
        ("HFMA2.MMA R9, R4, R5, R9", True),
    ],
)
def test_constants_that_are_moved_as_halves_are_no_arithmetic(two_processes, second, unlike):
    sides = (two_processes({"instructions": [(text, 5)]}) for text in ("FADD R1, R2, R3", second))
    found = compare_profiles(*sides)
    assert any("precision differs" in one for one in found.comparable.warnings) == unlike


def cautioned_for_precision(ladder, runs):
    rungs = profiler.ladder(ladder, runs).ladder.kernels
    return [rung.kernel for rung in rungs if any("precision differs" in told for told in rung.warnings)]


@pytest.mark.parametrize(
    ("busy_pct", "said"),
    [
        (52.0, "The FMA pipe is 52 % busy on both, of each GPU's own peak."),
        (74.0, "The FMA pipe is 52 % busy on H200 and 74 % on H100, of each GPU's own peak."),
    ],
)
def test_both_gpus_shares_of_their_peak_are_said_once_where_they_are_equal(make_profile, busy_pct, said):
    sides = [
        make_profile({"gpu": gpu, "metrics": {"fma_pipe_pct": value}})
        for gpu, value in (("NVIDIA H200", 52.0), ("NVIDIA H100", busy_pct))
    ]
    assert peaks_text(*sides) == said


@pytest.fixture
def of_processes(make_profile):
    """A kernel that these processes launched."""
    return lambda processes, **fields: make_profile(
        *({"process": one, "metrics": {"sm_frequency_hz": 1e9}} for one in processes), **fields
    )


def test_launches_of_one_process_are_a_caution_since_they_do_not_show_how_processes_differ(of_processes):
    single, single_again, several, several_again = (
        of_processes(one, name=f"run-{number}", origin="collected")
        for number, one in enumerate(([0, 0], [0, 0], [0, 1, 2], [0, 1, 2]))
    )
    sentence = "was profiled in one process; another process may differ by more than the intervals say"
    assert compare_profiles(several, several_again).comparable.warnings == []
    assert compare_profiles(single, single_again).comparable.warnings == [f"each side {sentence}"]
    assert compare_profiles(single, several).comparable.warnings == [f"{single.label} {sentence}"]
    assert compare_profiles(several, single).comparable.warnings == [f"{single.label} {sentence}"]


def test_the_report_of_a_program_is_not_said_to_be_of_one_process(of_processes):
    """`ncu --target-processes all` writes the launches of several into one."""
    one, other = (of_processes([0, 0], name=name) for name in ("one", "other"))
    said = "comes from one report, which counts as one process; another process may differ by more than the intervals say"
    assert compare_profiles(one, other).comparable.warnings == [f"each side {said}"]


def test_repeats_timed_in_one_process_are_too_where_both_sides_were_timed(of_processes):
    facts = {"timings": [90.0, 91.0]}
    timed, again = (of_processes([0, 1], name=name, **facts) for name in ("timed", "again"))
    (warning,) = compare_profiles(timed, again).comparable.warnings
    assert (
        warning
        == "each side was timed in one process; another process may differ by more than the intervals say"
    )
    assert compare_profiles(timed, of_processes([0, 1])).comparable.warnings == []


def test_recordings_of_another_day_are_a_caution_since_no_interval_covers_the_machine(of_processes):
    noon, later, other_day, unknown = (
        of_processes([0, 1], recorded=f"{time}:00Z")
        for time in ("2026-01-01T12:00", "2026-01-01T13:30", "2026-01-04T12:00", "1970-01-01T00:00")
    )
    sentence = "recorded {} apart; intervals leave out what changed on the machine meanwhile"
    assert compare_profiles(noon, later).comparable.warnings == []
    assert compare_profiles(noon, unknown).comparable.warnings == []
    assert compare_profiles(noon, other_day).comparable.warnings == [sentence.format("3 days")]
    assert compare_profiles(other_day, later).comparable.warnings == [sentence.format("3 days")]


def test_only_the_gpus_that_ran_the_compared_kernel_count(make_profile):
    here, elsewhere = {"ns": 1.0}, {"kernel": "other", "gpu": "NVIDIA A100"}
    assert compare_profiles(make_profile(here, here, elsewhere), make_profile(here, here)).comparable.ok
