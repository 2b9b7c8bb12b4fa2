"""The four-way confirmation: ticked on the recorded kernels, crossed or open elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.compare.fingerprints import FINGERPRINTS
from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.metrics import BY_NAME


@pytest.fixture(scope="module")
def gemm(recorded):
    runs = [recorded.find(number, "gemm") for number in "56"]
    return [profile_kernel(run, run.manifest.kernels[0].name) for run in runs]


def four_way(before, after):
    confirmations = compare_profiles(before, after).confirmations
    (found,) = [one for one in confirmations if one.name == "four-way"]
    return found


def test_kernel_6_confirms_all_four(gemm):
    found = four_way(*gemm)
    assert found.confirmed
    assert [(check.metric, check.expected, check.ok) for check in found.checks] == [
        ("issue_active_pct", "up", True),
        ("fma_pipe_pct", "up", True),
        ("lsu_pipe_pct", "down", True),
        ("stall_mio_throttle", "down", True),
    ]


def test_the_other_way_round_nothing_is_confirmed(gemm):
    found = four_way(*reversed(gemm))
    assert not found.confirmed
    assert [check.ok for check in found.checks] == [False] * 4


def test_a_kernel_does_not_confirm_itself(gemm):
    assert [check.ok for check in four_way(gemm[0], gemm[0]).checks] == [False] * 4


def test_a_check_whose_metric_is_missing_stays_open_and_nothing_is_confirmed(gemm):
    before, after = gemm
    name = BY_NAME["fma_pipe_pct"].ncu[0]
    series = {key: one for key, one in after.series.items() if key != "fma_pipe_pct"}
    raw = {key: one for key, one in after.raw.items() if key != name}
    found = four_way(before, replace(after, series=series, raw=raw))
    assert [check.ok for check in found.checks] == [True, None, True, True]
    assert not found.confirmed


def test_a_check_whose_change_is_unclear_stays_open(make_run):
    issue = BY_NAME["issue_active_pct"].ncu[0]
    one, other = (
        profile_kernel(make_run({"kernel": "k", "metrics": {issue: value}}), "k") for value in (50.0, 60.0)
    )
    assert four_way(one, other).checks[0].ok is None


@pytest.mark.parametrize(
    ("rungs", "executed"),
    [
        (("gemm-1", "gemm-2"), False),
        (("gemm-2", "gemm-3"), True),  # one of the two is enough
        (("gemm-10", "gemm-11"), False),  # matrices that the tensor cores fetch are loaded by no instruction
        (("textbook-5", "textbook-6"), True),  # not counted there: nobody can say that there were none
    ],
)
def test_of_kernels_without_loads_from_shared_memory_it_says_nothing(recorded, rungs, executed):
    runs = [recorded.find(name, "gemm") for name in rungs]
    found = four_way(*(profile_kernel(run, run.manifest.kernels[0].name) for run in runs))
    assert bool(found.does_not_apply) == (not executed)
    assert len(found.checks) == 4, "what the counters did can still be read"
    assert executed or not found.confirmed


def test_what_does_not_apply_is_not_confirmed_whatever_the_counters_do(make_run):
    directions = {"up": (10.0, 90.0), "down": (90.0, 10.0)}
    (fingerprint,) = [one for one in FINGERPRINTS if one.name == "four-way"]

    def confirmed(wavefronts):
        sides = []
        for side in (0, 1):
            values = {metric: directions[way][side] for metric, way in fingerprint.expected}
            values["shared_load_wavefronts"] = wavefronts[side]
            metrics = {BY_NAME[name].ncu[0]: value for name, value in values.items()}
            launches = [
                {
                    "kernel": "k",
                    "metrics": {name: value * (1 + turn / 1e4) for name, value in metrics.items()},
                }
                for turn in range(5)
            ]
            sides.append(profile_kernel(make_run(*launches), "k"))
        return four_way(*sides).confirmed

    assert confirmed((4e6, 1e6))
    assert confirmed((4e6, 0.0))
    assert not confirmed((0.0, 0.0))


def test_every_fingerprint_speaks_of_metrics_in_the_catalogue():
    for fingerprint in FINGERPRINTS:
        assert fingerprint.doc.endswith(".")
        assert {fingerprint.about, *(metric for metric, _ in fingerprint.expected)} <= set(BY_NAME)
