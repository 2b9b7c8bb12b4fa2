"""A kernel's traffic in few words, and nothing where nothing was recorded."""

import pytest

from profiler.analyse.recording.overview import SheetMetric
from profiler.present.documents.parts.memory import memory_facts, width_text


def facts(**means):
    return dict(memory_facts([SheetMetric(name, "", mean, None, 1, "") for name, mean in means.items()]))


def test_occupancy_and_the_five_figures_are_called_as_nsight_compute_calls_them():
    found = facts(
        dram_bytes_per_s=4.0123e12, max_bandwidth_pct=85.94, mem_pipes_busy_pct=9.12, l1_hit_pct=0.0, l2_hit_pct=33.36,
        load_width_bits=128.0, store_width_bits=128.0, bulk_loads=0.0, bulk_stores=0.0, inst_per_byte=0.2812,
        occupancy_pct=87.06, occupancy_limit_pct=100.0, dram_throughput_pct=83.4, l1_throughput_pct=44.44, l2_throughput_pct=85.94,
    )  # fmt: skip
    assert found == {
        "occupancy": "Achieved Occupancy 87.1 %, Theoretical Occupancy 100.0 %",
        "memory": "Memory Throughput 4,012 GB/s (83.4 % of its peak), L2 85.9 %, L1 44.4 %",
        "links": "Max Bandwidth 85.9 % (of the fullest link), Mem Pipes Busy 9.1 %",
        "caches": "L1/TEX Hit Rate 0.0 %, L2 Hit Rate 33.4 %",
        "accesses": "global memory: loads of 128 bits a thread, stores of 128 bits a thread; 0.2812 instructions of all lanes per useful byte",
    }


def test_facts_about_memory_leave_out_metrics_that_were_not_recorded():
    assert facts() == {}
    assert facts(registers=32.0) == {}
    assert facts(mem_pipes_busy_pct=50.0) == {"links": "Mem Pipes Busy 50.0 %"}
    assert facts(dram_bytes_per_s=5e11) == {"memory": "Memory Throughput 500 GB/s"}
    assert facts(dram_throughput_pct=10.34) == {"memory": "device memory 10.3 %"}
    assert facts(l2_throughput_pct=84.38) == {"memory": "L2 84.4 %"}
    assert facts(bulk_loads=0.0, store_width_bits=32.0) == {
        "accesses": "global memory: stores of 32 bits a thread"
    }
    assert facts(bulk_loads=0.0) == {}


@pytest.mark.parametrize(
    ("hits", "text"),
    [
        (100.04, "L2 Hit Rate 100.0 %"),
        (100.31, "L2 Hit Rate 100.3 %, hits and lookups are counted in different passes"),
    ],
)
def test_a_hit_rate_above_all_hits_says_how_that_may_be(hits, text):
    assert facts(l2_hit_pct=hits) == {"caches": text}


def test_a_width_that_no_access_has_is_said_to_be_an_average():
    assert facts(bulk_loads=0.0, load_width_bits=34.3, store_width_bits=32.0) == {
        "accesses": "global memory: loads of several widths, 34 bits a thread on average, stores of 32 bits a thread"
    }


def test_copies_of_blocks_are_a_way_of_their_own():
    assert facts(bulk_loads=5.0, load_width_bits=32.0, bulk_stores=5.0) == {
        "accesses": "global memory: loads of 32 bits a thread and of blocks, stores of blocks"
    }


@pytest.mark.parametrize(
    ("means", "text"),
    [
        ({"load_width_bits": 128.0}, "128"),
        ({"load_width_bits": 103.6}, "104"),
        ({"bulk_loads": 5.0}, "bulk"),
        ({"load_width_bits": 32.0, "bulk_loads": 5.0}, "32+bulk"),
        ({"store_width_bits": 32.0, "bulk_stores": 5.0, "bulk_loads": 0.0}, "-"),
    ],
)
def test_a_width_is_a_threads_and_blocks_have_none(means, text):
    assert width_text(means, "load") == text
