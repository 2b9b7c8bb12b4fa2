"""Loads that threads repeat whose indices have the same remainder."""

import pytest
import track_record

from profiler.analyse.causes.detectors.global_memory.loads_of_remainders import detect_loads_of_remainders
from profiler.analyse.causes.find import look_at
from profiler.analyse.recording.profile import profile_kernel


@pytest.fixture(scope="module")
def evidence_of_kernel():
    runs = track_record.open_kernels({"relax_values", "relax_points", "bias_rows"})
    return {name: look_at(profile_kernel(run, track_record.kernel_of(run))) for name, run in runs.items()}


def test_what_planes_share_comes_from_device_memory_for_each_of_them(evidence_of_kernel):
    """Three of four loads are the same for nine planes, which do not fit into L2 together."""
    (candidate,) = detect_loads_of_remainders(evidence_of_kernel["relax_values"])
    assert "75 % of what loads request" in candidate.sentence
    # Of four arrays of nine planes that were read, and one that was written, three are read once for eight planes.
    assert candidate.effect.resources["dram"] == pytest.approx(3 / 5 * 7 / 8, abs=0.02)


def test_what_l2_holds_for_all_costs_device_memory_nothing(evidence_of_kernel):
    (candidate,) = detect_loads_of_remainders(evidence_of_kernel["bias_rows"])
    assert candidate.effect.resources["dram"] == pytest.approx(0, abs=0.01)


def test_a_thread_that_takes_all_planes_of_its_point_repeats_nothing(evidence_of_kernel):
    assert not list(detect_loads_of_remainders(evidence_of_kernel["relax_points"]))
