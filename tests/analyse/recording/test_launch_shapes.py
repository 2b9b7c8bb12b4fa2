"""How the launches of one name were shaped, and what is said where they differ."""

import pytest

from profiler.analyse.code.machine_code import view_machine_code
from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.recording.doubts import find_doubts
from profiler.analyse.recording.launch_shapes import SAME_WORK, LaunchShape, group_launches, shape_text
from profiler.analyse.recording.main_shape import pair_of_main_shapes
from profiler.analyse.recording.overview import derive_sheet
from profiler.analyse.recording.profile import profile_kernel
from profiler.present.documents.recording import sheet_document
from profiler.present.render.terminal import Window, document_text
from profiler.text import duration, report_name
from tests.profiles import profile_in, sheets_of


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
    assert any(
        "the launches have 3 shapes (grid, block, registers, shared memory)" in doubt
        for doubt in find_doubts(profile)
    )


def test_show_says_how_a_kernel_was_launched(prof_here, prof_recorded, store):
    alike = prof_recorded("show", "5").stdout
    assert (
        "launched   32 x 32 blocks of 256 threads, 112 registers a thread, 16,896 bytes of shared memory a block "
        "(17,920 with CUDA's own)" in alike
    )
    mixed = prof_here("--runs", store.root, "show", "triton_add_full", "-k", "add_kernel").stdout
    assert "launched   65,536 blocks of 128 threads, 16 registers a thread, 1 launch" in mixed


def test_what_cuda_adds_to_shared_memory_is_said_of_the_launches_that_the_figures_are_of(make_run):
    shape = {**GRID, "shared_static_bytes": 1024}
    metrics = {"launch__shared_mem_per_block_allocated": (2048.0, "byte")}
    launches = (
        {"ns": ns, "shape": {**shape, "grid_x": grid}, "metrics": metrics}
        for ns, grid in ((9000.0, 64), (1000.0, 8))
    )
    (sheet,) = sheets_of(make_run(*launches))
    page = document_text(sheet_document(sheet), Window(width=None))
    first, second = [line for line in page.splitlines() if line.startswith("launched")]
    assert "1,024 bytes of shared memory a block (2,048 with CUDA's own)" in first
    assert "1,024 bytes of shared memory a block, 1 launch" in second


def test_a_comparison_is_of_the_grid_that_takes_most_of_the_time_on_both_sides(store):
    everything = profile_kernel(store.find("triton_add_full", "gemm"), "add_kernel")
    one, other, said = pair_of_main_shapes(everything, everything)
    assert len(one.shapes) == one.launches == other.launches == 1
    assert said == [
        "the launches of 65,536 blocks of 128 threads, which take longest (1 of 3 and 1 of 3), are compared"
    ]
    comparison = compare_profiles(everything, everything)
    assert comparison.before.launches == 1
    assert said[0] in comparison.comparable.warnings


def test_every_figure_of_a_sheet_is_of_the_launches_that_its_headline_is_of(store):
    run = store.find("triton_add_full", "gemm")
    sheet = derive_sheet(profile_kernel(run, "add_kernel"), full=False)
    means = {one.name: one.mean for one in sheet.metrics}
    assert sheet.headline.what.startswith(
        f"add_kernel takes {duration(means['duration_ns'])} under the profiler"
    )
    assert {one.launches for one in sheet.metrics} == {1}
    assert means["load_width_bits"] == 64, "as wide as this launch loads, and no mean of 64 and 128"
    assert any(
        "all figures are of 1 of the 3 launches, that of 65,536 blocks" in one for one in sheet.cautions
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
        f"of {report_name(mixed.label)}, the launches that take longest are compared: 1 of 3, of 65,536 blocks of 128 threads"
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


GRID = {
    "grid_x": 84, "grid_y": 1, "grid_z": 1, "block_x": 256, "block_y": 1, "block_z": 1,
    "registers": 32, "shared_static_bytes": 0, "shared_dynamic_bytes": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("workload", "groups"), [("kernel", 1), ("unknown", 1), ("range", 0), ("graph", 0), ("cmdlist", 0)]
)
def test_what_may_be_several_kernels_has_no_shape(workload, groups):
    """The grid that a range is recorded with is that of one of its kernels."""
    assert len(group_launches([{"launch": 0, **GRID, "workload": workload}], {0: 1e3})) == groups


@pytest.mark.parametrize(
    ("times_us", "groups"),
    [
        ([10.0, 62.0, 600.0, 6400.0], [(3,), (2,), (1,), (0,)]),  # a sweep over sizes, with one grid
        ([1.0, SAME_WORK], [(0, 1)]),  # caches and clocks may do that
        ([1.0, 1.01 * SAME_WORK], [(1,), (0,)]),
        ([8.0, 1.9, 2.1, 2.0], [(0,), (1, 2, 3)]),  # cut in the gap, and not among launches alike
        ([5.0, 1.0, 5.1, 1.0, 4.9], [(0, 2, 4), (1, 3)]),
        ([1.0] * 12 + [5.0], [tuple(range(12)), (12,)]),  # many short ones take longer than one
        ([3.0, 3.1, 2.9], [(0, 1, 2)]),
    ],
)
def test_launches_of_one_shape_are_averaged_where_they_may_do_the_same_work(times_us, groups):
    rows = [{"launch": number, "workload": "kernel", **GRID} for number in range(len(times_us))]
    found = group_launches(rows, {number: 1e3 * time for number, time in enumerate(times_us)})
    assert [numbers for _, numbers in found] == groups
    assert [(shape.first, shape.launches) for shape, _ in found] == [(one[0], len(one)) for one in groups]
    assert group_launches(rows, {})[0][1] == tuple(range(len(times_us)))  # without times, all are one


@pytest.fixture
def sweep(make_run):
    """A kernel that was launched with one grid, or these, and took so long each time; each launch has a figure of its own."""

    def launched(*times_us, grids=None, **fields):
        grids = grids or [84] * len(times_us)
        return make_run(
            *(
                {"ns": 1e3 * time, "shape": {**GRID, "grid_x": grid}, "metrics": {"inst_executed": number}}
                for number, (time, grid) in enumerate(zip(times_us, grids, strict=True))
            ),
            name="sweep",
            **fields,
        )

    return launched


def test_the_launch_that_takes_most_of_the_time_stands_alone(sweep):
    (sheet,) = sheets_of(sweep(10.0, 62.0, 600.0, 6400.0))
    assert sheet.headline.what.startswith(
        "k takes 6.400 ms under the profiler, in the longest of its 4 launches,"
    )
    (equal,) = sheets_of(sweep(30.0, 31.0, 32.0, 32.5, grids=[64, 32, 16, 16]))
    assert "in each of 2 equal launches, which together take longest of all 4," in equal.headline.what
    assert {one.launches for one in sheet.metrics} == {1}
    (caution,) = [one for one in sheet.cautions if "same work" in one]
    assert caution.startswith(
        "launches of one shape take from 10.00 us to 6.400 ms, which cannot be the same work"
    )
    assert "all figures are of 1 of the 4 launches" in caution
    (alike,) = sheets_of(sweep(600.0, 610.0, 590.0, 605.0))
    assert {one.launches for one in alike.metrics} == {4}
    assert not any("same work" in one for one in alike.cautions)


def test_a_comparison_takes_the_same_places_of_two_programs_that_launch_as_often(sweep):
    """The change made the last launch, which took longest, shorter than the first."""
    before = profile_kernel(sweep(100.0, 10.0, 1000.0), "k")
    after = profile_kernel(sweep(100.0, 10.0, 20.0), "k")
    one, other, said = pair_of_main_shapes(before, after)
    assert (one.numbers, other.numbers) == ((2,), (2,))
    assert "1 of 3 and 1 of 3" in said[0]
    assert [side.numbers for side in pair_of_main_shapes(after, before)[:2]] == [(0,), (0,)]
    fewer = profile_kernel(sweep(100.0, 20.0), "k")  # no launch is at the place of another
    assert [side.numbers for side in pair_of_main_shapes(before, fewer)[:2]] == [(2,), (0,)]


def test_launches_that_take_as_long_as_those_at_the_same_places_are_compared_as_well(sweep):
    """The first program sums in two steps; the second launches the same work as often, and loses none of it."""
    before = profile_kernel(sweep(150.0, 151.0, 3.0, grids=[4096, 4096, 64]), "k")
    after = profile_kernel(sweep(680.0, 682.0, 684.0), "k")
    one, other, said = pair_of_main_shapes(before, after)
    assert (one.numbers, other) == ((0, 1), after)
    compared = "the launches that take longest are compared: 2 of 3, of 4,096 blocks of 256 threads"
    assert said == [f"of the first, {compared}"]  # both have one name
    mirrored = pair_of_main_shapes(after, before)
    assert (mirrored[0], mirrored[1].numbers, mirrored[2]) == (after, (0, 1), [f"of the second, {compared}"])
    unlike = profile_kernel(sweep(680.0, 682.0, 500.0), "k")  # a clock alone does not explain the last one
    assert pair_of_main_shapes(before, unlike)[1].numbers == (0, 1)


def test_launches_at_the_same_places_that_are_unlike_are_not_taken_for_the_same(sweep):
    """The launch is that of the second side: those of the first have two grids there."""
    before = profile_kernel(sweep(100.0, 110.0, 10.0), "k")
    after = profile_kernel(sweep(100.0, 10.0, 200.0, grids=[84, 85, 86]), "k")
    assert [side.numbers for side in pair_of_main_shapes(before, after)[:2]] == [(2,), (2,)]


def test_show_names_the_launches_so_that_one_can_be_asked_for(sweep, prof_here, tmp_path):
    sweep(10.0, 62.0, 600.0, 6400.0, 6410.0, 1.0, root=tmp_path)

    def prof(verb, *words):
        return prof_here("--runs", tmp_path, verb, "sweep", *words)

    shown = prof_here("--runs", tmp_path, "show", "sweep").stdout
    assert "2 launches of 6.405 ms (the first is launch 3)" in shown
    assert "1 launch of 600.0 us (launch 2)" in shown
    assert "and in 1 other way" in shown
    assert "1 launch of 1.000 us (launch 5)" in prof("show", "--full").stdout
    assert prof("show", "--launch", "2").stdout.startswith("k takes 600.0 us")
    assert "62.00 us -> 600.0 us" in prof("compare", "--launch", "1", "--launch", "2").stdout
    page = tmp_path / "page.html"
    assert prof("report", "--launch", "2", "-o", page).returncode == 0
    assert "k takes 600.0\N{NO-BREAK SPACE}us" in page.read_text()
    for text, said in (
        ("6", "no launch has the number 6"),
        ("6", "`prof show sweep --full` says which had which grid"),
        ("7-3", "launch '7-3' is no number"),
        ("x", "is no number"),
    ):
        refused = prof("show", "--launch", text)
        assert refused.returncode == 33
        assert said in refused.stderr
