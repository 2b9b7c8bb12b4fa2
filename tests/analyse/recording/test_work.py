"""The bytes that a ladder declares give further metrics, unless they cannot be this kernel's."""

import pytest

from profiler.analyse.recording.overview import summarise_rung
from profiler.analyse.recording.profile import profile_kernel
from profiler.analyse.recording.work import declared_work, find_useful_bytes, with_work
from profiler.catalog.metrics import BY_NAME

_EXECUTED = BY_NAME["inst_executed"].ncu[0]


@pytest.fixture
def profiled(make_run):
    """Two launches of a kernel that takes 100 us, of so many warp instructions."""

    def make(*executed, timings=()):
        launches = [
            {"kernel": "k", "metrics": {"gpu__time_duration.sum": (1e5, "ns"), _EXECUTED: count}}
            for count in executed
        ]
        return profile_kernel(make_run(*launches, timings=timings), "k")

    return make


def test_an_instruction_of_a_warp_is_one_for_each_of_its_lanes(profiled):
    """A copy in which each lane reads 16 bytes and writes them, in 8 instructions, makes a quarter a byte."""
    found = with_work(profiled(8.0, 8.0), bytes=32 * 32.0).series["inst_per_byte"]
    assert tuple(found.values) == (0.25, 0.25)
    assert found.ncu == _EXECUTED


def test_without_bytes_or_without_a_count_there_is_none(profiled, make_run):
    assert "inst_per_byte" not in with_work(profiled(8.0), None).series
    bare = profile_kernel(make_run({"kernel": "k", "metrics": {"x": 1.0}}), "k")
    assert with_work(bare, 1024.0).series == bare.series


def test_one_kernel_of_several_in_a_step_has_no_bytes_of_its_own(profiled, make_run, made_ladder):
    kernel, workload = made_ladder.kernel(1), 4096
    assert find_useful_bytes(profiled(8.0, timings=(1e5, 1e5)), kernel) == 8 * workload
    assert find_useful_bytes(profiled(8.0, timings=(3e5, 3e5)), kernel) is None
    two = make_run({"kernel": "k", "metrics": {}}, {"kernel": "other", "metrics": {}})
    assert find_useful_bytes(profile_kernel(two, "k"), kernel) is None


def test_the_bytes_are_the_ladders_where_the_workload_is_known(made_ladder):
    counted = made_ladder.kernel(1).bytes
    assert declared_work(counted, {"m": 1000}) == 8000
    assert declared_work(counted, {"n": 1000}) is None
    assert declared_work(counted, None) is None
    assert declared_work(None, {"m": 1000}) is None


def test_times_are_summarised_without_the_work_where_the_ladder_has_gained_a_parameter(made_ladder):
    found = summarise_rung(made_ladder.kernel(1), {"n": 1000}, [4.0])
    assert (found.median_ns, found.gbytes_per_s) == (4.0, None)
