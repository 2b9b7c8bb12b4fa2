"""How the launches of one name were shaped, and what is said where they differ."""

import pytest

from profiler.analyse.code.machine_code import view_machine_code
from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.recording.doubts import find_doubts
from profiler.analyse.recording.launch_shapes import LaunchShape, shape_text
from profiler.analyse.recording.main_shape import pair_of_main_shapes
from profiler.analyse.recording.overview import derive_sheet
from profiler.analyse.recording.profile import profile_kernel
from profiler.text import duration
from tests.profiles import profile_in


def test_a_kernel_whose_launches_are_equal_has_one_shape(recorded):
    profile = profile_in(recorded, "5")
    (shape,) = profile.shapes
    assert (shape.grid, shape.block) == ((32, 32, 1), (256, 1, 1))
    assert (shape.registers, shape.shared_bytes, shape.launches) == (112, 16896, 15)
    assert not any("shapes" in doubt for doubt in find_doubts(profile))


@pytest.mark.parametrize(
    ("grid", "block", "text"),
    [
        ((32, 32, 1), (256, 1, 1), "32 x 32 blocks of 256 threads"),
        ((3984, 4096, 1), (1, 1, 1), "3,984 x 4,096 blocks of 1 thread"),
        ((1, 1, 1), (8, 1, 4), "1 block of 8 x 1 x 4 threads"),
    ],
)
def test_one_thread_is_one_thread(grid, block, text):
    assert shape_text(LaunchShape(grid, block, None, None, 1)) == text


def test_launches_of_one_name_may_be_of_several_programs_and_grids(store):
    """Triton compiled `add_kernel` three times, for three sizes of block: no figure is of any of them."""
    profile = profile_kernel(store.find("triton_add_full", "gemm"), "add_kernel")
    assert sorted(shape.grid for shape in profile.shapes) == [(4096, 1, 1), (16384, 1, 1), (65536, 1, 1)]
    assert sorted(shape.registers for shape in profile.shapes) == [16, 26, 56]
    assert any("3 launches of 3 shapes" in doubt for doubt in find_doubts(profile))


def test_show_says_how_a_kernel_was_launched(prof_here, prof_recorded, store):
    alike = prof_recorded("show", "5").stdout
    assert (
        "launched   32 x 32 blocks of 256 threads, 112 registers a thread, 16,896 bytes of shared memory a block "
        "(17,920 with CUDA's)" in alike
    )
    mixed = prof_here("--runs", store.root, "show", "triton_add_full", "-k", "add_kernel").stdout
    assert "launched   65,536 blocks of 128 threads, 16 registers a thread, 1 launch" in mixed


def test_a_comparison_is_of_the_grid_that_takes_most_of_the_time_on_both_sides(store):
    run = store.find("triton_add_full", "gemm")
    everything = profile_kernel(run, "add_kernel")
    one, other, said = pair_of_main_shapes(everything, everything)
    assert len(one.shapes) == one.launches == other.launches == 1
    assert said == [
        "the launches of 65,536 blocks of 128 threads, which take most of the time (1 of 3 and 1 of 3), are compared"
    ]
    comparison = compare_profiles(everything, everything)
    assert comparison.before.launches == 1
    assert said[0] in comparison.comparable.warnings


def test_every_figure_of_a_sheet_is_of_the_launches_that_its_headline_is_of(store):
    run = store.find("triton_add_full", "gemm")
    sheet = derive_sheet(run, profile_kernel(run, "add_kernel"), full=False)
    means = {one.name: one.mean for one in sheet.metrics}
    assert sheet.headline.what.startswith(
        f"add_kernel takes {duration(means['duration_ns'])} under the profiler"
    )
    assert {one.launches for one in sheet.metrics} == {1}
    assert means["load_width_bits"] == 64, "as wide as this launch loads, and no mean of 64 and 128"
    assert any(
        "all figures are of 1 of the 3 launches, those of 65,536 blocks" in one for one in sheet.cautions
    )
    everything = profile_kernel(run, "add_kernel").series["duration_ns"].values
    assert (sheet.launches, sheet.total_ns) == (3, pytest.approx(sum(everything)))


def test_launches_that_take_most_of_the_time_are_compared_also_if_their_grids_differ(store, recorded):
    """As `prof show` reads each of them: a mean over large and small launches describes neither."""
    alike = profile_in(recorded, "5")
    mixed = profile_kernel(store.find("triton_add_full", "gemm"), "add_kernel")
    one, other, said = pair_of_main_shapes(mixed, alike)
    assert (one.launches, other) == (1, alike)
    assert said == [
        "the launches that take most of the time are compared: 1 of 3, of 65,536 blocks of 128 threads, with 15 of 15, of "
        "32 x 32 blocks of 256 threads"
    ]
    assert pair_of_main_shapes(alike, alike) == (alike, alike, [])


def test_machine_code_is_of_the_launches_that_show_and_compare_take(store):
    run = store.find("triton_add_full", "gemm")
    everything = profile_kernel(run, "add_kernel")
    (large,) = [
        launch
        for launch in everything.numbers
        if profile_kernel(run, "add_kernel", among=[launch]).shapes[0].grid[0] == 65536
    ]
    for view in (view_machine_code([everything]), view_machine_code([everything, everything])):
        for sheet in view.finding.kernels:
            assert any("all figures are of 1 of the 3 launches" in one for one in sheet.cautions)
    alone = view_machine_code([profile_kernel(run, "add_kernel", among=[large])])
    assert view_machine_code([everything]).regions == alone.regions
