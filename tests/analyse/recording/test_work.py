"""The bytes that a ladder declares give further metrics, unless they cannot be this kernel's."""

import pytest

from profiler.analyse.recording.overview import summarise_rung
from profiler.analyse.recording.work import declared_work, find_useful_bytes, with_work
from profiler.catalog.metrics import BY_NAME


@pytest.fixture
def profiled(make_profile):
    """Launches of a kernel that takes 100 us, of so many warp instructions."""
    return lambda *executed, **fields: make_profile(
        *({"ns": 1e5, "metrics": {"inst_executed": count}} for count in executed), **fields
    )


def test_an_instruction_of_a_warp_is_one_for_each_of_its_lanes(profiled):
    """A copy in which each lane reads 16 bytes and writes them, in 8 instructions, makes a quarter a byte."""
    found = with_work(profiled(8.0, 8.0), bytes=32 * 32.0).series["inst_per_byte"]
    assert tuple(found.values) == (0.25, 0.25)
    assert found.ncu == BY_NAME["inst_executed"].ncu[0]


def test_without_bytes_or_without_a_count_there_is_none(profiled, make_profile):
    assert "inst_per_byte" not in with_work(profiled(8.0), None).series
    bare = make_profile({"metrics": {"x": 1.0}})
    assert with_work(bare, 1024.0).series == bare.series


def test_one_kernel_of_several_in_a_step_has_no_bytes_of_its_own(profiled, make_profile, made_ladder):
    kernel, workload = made_ladder.kernel(1), 4096
    assert find_useful_bytes(profiled(8.0, timings=(1e5, 1e5)), kernel) == 8 * workload
    assert find_useful_bytes(profiled(8.0, timings=(3e5, 3e5)), kernel) is None
    assert find_useful_bytes(make_profile({}, {"kernel": "other"}), kernel) is None


def test_the_bytes_are_the_ladders_where_the_workload_is_known(made_ladder):
    counted = made_ladder.kernel(1).bytes
    assert declared_work(counted, {"m": 1000}) == 8000
    assert declared_work(counted, {"n": 1000}) is None
    assert declared_work(counted, None) is None
    assert declared_work(None, {"m": 1000}) is None


def test_times_are_summarised_without_the_work_where_the_ladder_has_gained_a_parameter(made_ladder):
    found = summarise_rung(made_ladder.kernel(1), {"n": 1000}, [4.0])
    assert (found.median_ns, found.gbytes_per_s) == (4.0, None)
