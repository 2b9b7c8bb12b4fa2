"""How close a rung comes to what was measured at most: no ceiling from a data sheet, none left out in silence."""

import pytest

from profiler.analyse.recording.arithmetic import find_arithmetic, find_unlike_arithmetic
from profiler.ask.ladder import find_ceilings, find_climb, roofline_under
from profiler.catalog.ladders.ladder_file import read_ladder

GPU = "NVIDIA H200"
# A launch of the made-up ladder at m = 4096 makes 8,192 operations.
FLOPS = 2 * 4096

_CEILINGS = """
title = "Ceilings"
command = ["program"]
[workload]
n = 1000
[[kernel]]
number = 1
name = "dram"
idea = "copy what no cache holds"
regex = "dram"
bytes = "2 * n"
[[kernel]]
number = 2
name = "l2"
idea = "copy what L2 holds"
regex = "l2"
bytes = "8 * n"
[[kernel]]
number = 3
name = "fp32"
idea = "multiply and add"
regex = "fp32"
flops = "4 * n"
"""


@pytest.fixture(scope="module")
def ceilings_ladder(tmp_path_factory):
    path = tmp_path_factory.mktemp("ladders") / "ceilings" / "ladder.toml"
    path.parent.mkdir()
    path.write_text(_CEILINGS)
    return read_ladder(path)


@pytest.fixture
def measured(made):
    """2,000 bytes in 20 ns are 100 GB/s, 8,000 in 20 ns 400, and 4,000 operations in 2 ns 2,000 GFLOP/s."""
    for number, ns in ((1, 20.0), (2, 20.0), (3, 2.0)):
        made.time("ceilings", number, ns, ns, workload={"n": 1000})
    return made


def rung(made, number, ns, *, read, written=0.0, l2=None, opcode="FFMA", **fields):
    """A rung that takes so long without the profiler, and moves so many bytes."""
    counters = {"dram__bytes_read.sum": (read, "byte"), "dram__bytes_write.sum": (written, "byte")}
    if l2:
        counters["lts__t_sectors_srcunit_tex.sum"] = (l2 / 32, "sector")
    made.profile(f"made-{number}", 2 * ns, counters=counters, timings=[ns], opcodes={opcode: 100.0}, **fields)


def roofline(made, made_ladder, ceilings):
    return roofline_under(find_climb(made.store, made_ladder), made.store, ceilings)


# Where a rung stands


def test_few_operations_per_byte_stand_under_device_memory(measured, made_ladder, ceilings_ladder):
    """8,192 operations on 1,024 bytes are 8 each: at 100 GB/s no more than 800 GFLOP/s."""
    rung(measured, 1, 20.48, read=1000.0, written=24.0)
    (point,) = roofline(measured, made_ladder, ceilings_ladder).points
    assert point.gflops == pytest.approx(FLOPS / 20.48)
    assert (point.dram_bytes, point.flops_per_dram_byte) == (1024, pytest.approx(8))
    assert (point.ceiling, point.attainable_gflops) == ("dram", pytest.approx(800))
    assert point.ceiling_pct == pytest.approx(50)


def test_many_stand_under_the_arithmetic_that_they_are_made_in(measured, made_ladder, ceilings_ladder):
    rung(measured, 1, 8.192, read=64.0)
    (point,) = roofline(measured, made_ladder, ceilings_ladder).points
    assert (point.arithmetic, point.ceiling, point.attainable_gflops) == ("fp32", "fp32", 2000)
    assert point.ceiling_pct == pytest.approx(50)


def test_l2_can_be_the_ceiling_of_a_point_if_its_traffic_was_counted(measured, made_ladder, ceilings_ladder):
    """4 operations for each byte through L2, at 400 GB/s, are fewer than 16 for each of device memory at 100."""
    rung(measured, 1, 10.0, read=512.0, l2=FLOPS / 4)
    (point,) = roofline(measured, made_ladder, ceilings_ladder).points
    assert point.flops_per_l2_byte == pytest.approx(4)
    assert (point.ceiling, point.attainable_gflops) == ("dram", pytest.approx(1600))
    rung(measured, 1, 10.0, read=64.0, l2=FLOPS / 4)
    (point,) = roofline(measured, made_ladder, ceilings_ladder).points
    assert (point.ceiling, point.attainable_gflops) == ("l2", pytest.approx(1600))


def test_the_time_is_that_without_the_profiler(measured, made_ladder, ceilings_ladder):
    """Profiled alone, a rung has no place: under the profiler it took 9 ns, which says little."""
    measured.profile("made-1", 9.0, counters={"dram__bytes_read.sum": (64.0, "byte")})
    rung(measured, 2, 8.192, read=64.0)
    found = roofline(measured, made_ladder, ceilings_ladder)
    assert [point.kernel for point in found.points] == [2]
    assert found.left_out == {1: "not timed without the profiler"}


def test_without_counted_bytes_a_rung_is_left_out_with_a_reason(measured, made_ladder, ceilings_ladder):
    measured.profile("made-1", 9.0, timings=[8.0])
    found = roofline(measured, made_ladder, ceilings_ladder)
    assert found.points == []
    assert found.left_out == {1: "bytes of device memory were not counted"}


def test_one_kernel_of_several_has_not_the_bytes_of_the_time(measured, made_ladder, copying, ceilings_ladder):
    """Two kernels took 100 ns, and the one that was profiled takes half of it."""
    moved = {"dram__bytes_read.sum": (64.0, "byte")}
    measured.profile("made-1", 50.0, counters=moved, timings=[100.0], opcodes={"FFMA": 1.0})
    found = roofline(measured, made_ladder, ceilings_ladder)
    assert (found.points, found.left_out) == ([], {1: "one kernel of several was profiled"})
    (stream,) = roofline(measured, copying, ceilings_ladder).streams
    assert stream.dram_gbytes_per_s is None
    assert stream.useful_gbytes_per_s > 0


def test_bytes_per_second_will_do_where_bytes_were_not_counted(measured, made_ladder, ceilings_ladder):
    """16 GB/s for 64 ns are 1,024 bytes."""
    counters = {"dram__bytes.sum.per_second": (16e9, "byte/s")}
    measured.profile("made-1", 64.0, counters=counters, timings=[20.48])
    (point,) = roofline(measured, made_ladder, ceilings_ladder).points
    assert point.dram_bytes == pytest.approx(1024)


# Ceilings


def test_ceilings_are_rates_of_the_ladder_called_so(measured, ceilings_ladder):
    found = find_ceilings(measured.store, ceilings_ladder, GPU)
    assert {one.name: (one.value, one.unit) for one in found} == {
        "fp32": (2000, "GFLOP/s"),
        "dram": (100, "GB/s"),
        "l2": (400, "GB/s"),
    }
    assert all(one.run_id.endswith(tuple("0123456789abcdef")) for one in found)


def test_the_highest_of_several_workloads_is_the_ceiling(measured, ceilings_ladder):
    measured.time("ceilings", 3, 1.0, workload={"n": 2000})
    measured.time("ceilings", 3, 50.0, workload={"n": 3000})
    (found,) = [one for one in find_ceilings(measured.store, ceilings_ladder, GPU) if one.name == "fp32"]
    assert found.value == 8000


def test_the_newest_measurement_of_a_ceiling_counts(measured, ceilings_ladder):
    measured.time("ceilings", 1, 40.0, workload={"n": 1000})
    (found,) = [one for one in find_ceilings(measured.store, ceilings_ladder, GPU) if one.name == "dram"]
    assert found.value == 50


def test_another_gpus_ceilings_are_none(measured, ceilings_ladder):
    assert find_ceilings(measured.store, ceilings_ladder, "NVIDIA L4") == []


def test_under_the_profiler_alone_there_is_no_ceiling(made, ceilings_ladder):
    made.profile("ceilings-1", 20.0, workload={"n": 1000})
    assert find_ceilings(made.store, ceilings_ladder, GPU) == []


def test_a_ceiling_that_was_not_measured_is_named_as_missing(measured, made_ladder, ceilings_ladder):
    """Under some ceilings alone, how much is attainable is not known: nothing is said of it."""
    rung(measured, 1, 8.192, read=64.0, opcode="HGMMA.64x256x16.F32.BF16")
    found = roofline(measured, made_ladder, ceilings_ladder)
    assert found.missing == ["bf16"]
    (point,) = found.points
    assert (point.arithmetic, point.ceiling, point.attainable_gflops, point.ceiling_pct) == (
        "bf16",
        None,
        None,
        None,
    )


@pytest.mark.parametrize("has_ladder", [True, False], ids=["not recorded", "no such ladder"])
def test_without_any_ceiling_points_stand_alone(made, made_ladder, ceilings_ladder, has_ladder):
    rung(made, 1, 8.192, read=64.0)
    found = roofline(made, made_ladder, ceilings_ladder if has_ladder else None)
    assert found.ceilings == []
    assert found.missing == ["dram", "l2", "fp32"]
    assert [point.ceiling for point in found.points] == [None]


# Ladders that count no operations


@pytest.fixture(scope="module")
def copying(tmp_path_factory):
    path = tmp_path_factory.mktemp("ladders") / "made" / "ladder.toml"
    path.parent.mkdir()
    kernels = "".join(
        f'[[kernel]]\nnumber = {number}\nname = "copy_{number}"\nidea = "x"\nregex = "k"\n'
        for number in (1, 2)
    )
    path.write_text(f'title = "Copies"\ncommand = ["p"]\nbytes = "2 * m"\n[workload]\nm = 4096\n{kernels}')
    return read_ladder(path)


def test_they_are_held_against_device_memory(measured, copying, ceilings_ladder):
    """8,192 useful bytes, and 10,000 moved, in 100 ns; timings alone tell the useful ones."""
    rung(measured, 1, 100.0, read=6000.0, written=4000.0)
    measured.time("made", 2, 163.84)
    found = roofline(measured, copying, ceilings_ladder)
    first, second = found.streams
    assert (found.points, found.missing) == ([], [])
    assert (first.useful_pct, first.dram_pct) == (pytest.approx(81.92), pytest.approx(100))
    assert (second.useful_gbytes_per_s, second.dram_gbytes_per_s) == (pytest.approx(50), None)
    assert list(found.to_pandas().index) == [1, 2]


def test_only_the_ceiling_of_device_memory_can_be_missing(made, copying):
    rung(made, 1, 100.0, read=6000.0)
    found = roofline(made, copying, None)
    assert found.missing == ["dram"]
    assert found.streams[0].useful_pct is None


# What is computed in


@pytest.mark.parametrize(
    ("opcodes", "arithmetic"),
    [
        ({"FFMA": 10.0, "IMAD": 1000.0}, "fp32"),
        ({"FFMA2": 1.0, "HADD2": 0.5}, "fp32"),
        ({"FFMA": 10.0, "HMMA.16816.F32.BF16": 1.0}, "bf16"),
        ({"HMMA.1688.F32.TF32": 1.0}, "tf32"),
        ({"HMMA.16816.F32": 1.0}, "fp16"),
        ({"HGMMA.64x256x16.F32.BF16": 1.0, "HFMA2.MMA": 20.0}, "bf16"),
        ({"QGMMA.64x128x32.F32.E4M3.E4M3": 1.0}, "fp8"),
        ({"IMMA.16832.S8.S8": 1.0}, "int8"),
        ({"DMMA.884": 1.0}, "fp64"),
        ({"HFMA2.BF16_V2": 9.0, "FFMA": 5.0}, "bf16"),
        ({"UTCIMMA": 1.0}, "int8"),
        ({"IMMA.16864.S4.S4": 1.0, "FFMA": 20.0}, ""),
        ({"UTCQMMA": 1.0, "FFMA": 20.0}, ""),
        ({"UTCOMMA": 1.0, "FFMA": 20.0}, ""),  # of values of 4 bits
        ({"UTCHMMA": 1.0, "FFMA": 2000.0}, "fp32"),
        ({"DFMA": 9.0, "FFMA": 5.0}, "fp64"),
        ({"HFMA2.MMA": 9.0, "FADD": 5.0}, "fp32"),  # moves of constants
        ({"HFMA2": 9.0}, "fp16"),
        ({"HADD2.F32": 90.0, "FFMA": 5.0}, "fp32"),  # halves made floats before anything is computed
        ({"LDG.E": 9.0, "IADD3": 5.0}, ""),
        ({}, ""),
    ],
)
def test_executed_instructions_tell_what_a_kernel_computes_in(opcodes, arithmetic):
    assert find_arithmetic(opcodes) == arithmetic


@pytest.mark.parametrize(
    ("before", "after", "unlike"),
    [
        ({"FFMA": 10.0}, {"HGMMA.64x256x16.F32.BF16": 1.0, "HFMA2.MMA": 9.0}, ("fp32", "bf16")),
        ({"DFMA": 1.0}, {"FFMA": 1.0}, ("fp64", "fp32")),
        ({"FFMA": 10.0}, {"FFMA": 9.0, "HFMA2.MMA": 5.0}, None),  # constants are moved so
        ({"FADD": 4.0, "HFMA2.MMA": 9.0}, {"FADD": 4.0, "HFMA2.MMA": 1.0}, None),
        ({"HFMA2": 9.0, "HADD2": 1.0, "FADD": 4.0}, {"FADD": 4.0}, ("fp16", "fp32")),  # halves are added, too
        ({"HMUL2": 5.0, "FFMA": 9.0}, {"HMUL2": 5.0, "FFMA": 11.0}, None),  # half and half
        ({"FFMA": 10.0}, {"UTCQMMA": 1.0}, None),
        ({"FFMA": 10.0}, {"LDG.E": 9.0}, None),
        ({"FFMA": 0.0}, {"FFMA": 1.0}, None),
        ({}, {}, None),
    ],
)
def test_two_kernels_differ_in_arithmetic_if_neither_does_much_of_the_others_main_one(before, after, unlike):
    assert find_unlike_arithmetic(before, after) == unlike
    assert find_unlike_arithmetic(after, before) == (unlike and unlike[::-1])


def test_the_arithmetic_of_the_recorded_ladder_is_distinguished(recorded):
    import profiler

    arithmetic = profiler.roofline("gemm", recorded).to_pandas()["arithmetic"]
    assert arithmetic.to_dict() == {
        **dict.fromkeys(range(10), "fp32"),
        10: "bf16",
        11: "bf16",
        12: "tf32",
        13: "tf32",
        14: "fp32",
    }


def test_the_recorded_ladder_asks_the_l2_for_what_its_tiles_need(recorded):
    """Rung 9 passes its L1 by: 64 x 128 elements of C take 64 rows of A and 128 columns of B."""
    import profiler

    moved = profiler.roofline("gemm", recorded).to_pandas()["l2_bytes"]
    slabs, result = 4 * 4096**3 * (1 / 64 + 1 / 128), 4 * 4096**2
    assert moved.loc[9] == pytest.approx(slabs + result, rel=0.02)
    assert moved.loc[1:].notna().all()
