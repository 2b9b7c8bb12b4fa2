"""The four-way confirmation: ticked on the recorded kernels, crossed or open elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from profiler.analyse.compare import compare_profiles
from profiler.analyse.fingerprints import FINGERPRINTS
from profiler.analyse.profile import profile_kernel
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


def test_every_fingerprint_speaks_of_metrics_in_the_catalogue():
    for fingerprint in FINGERPRINTS:
        assert fingerprint.doc.endswith(".")
        assert {metric for metric, _ in fingerprint.expected} <= set(BY_NAME)
