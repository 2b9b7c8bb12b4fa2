"""Which runs a person means, told from names alone."""

from __future__ import annotations

import time

import pytest

from profiler.errors import RunNotFound
from profiler.store.runs.names import kernels_of, name_filter, nothing_found

STORED = [
    "conv-2",
    "conv-2-source",
    "conv-2-timed",
    "conv-2-1",
    "conv-2-1-timed",
    "conv-2-1-source",
    "conv-20",
    "conv-2d-1",
    "my-run",
]


@pytest.mark.parametrize(
    ("reference", "ladder", "names"),
    [
        ("2", "conv", "conv-2 conv-2-source conv-2-timed"),
        ("02", "Conv", "conv-2 conv-2-source conv-2-timed"),
        ("1", "conv-2", "conv-2-1 conv-2-1-timed conv-2-1-source"),
        ("1", "conv-2d", "conv-2d-1"),
        ("1", "conv", ""),
    ],
)
def test_a_number_means_its_kernel_in_a_ladder_whose_name_others_begin_with(reference, ladder, names):
    assert [name for name in STORED if name_filter(reference, ladder)(name)] == names.split()


def test_a_ladder_has_no_kernels_of_one_whose_name_begins_like_it():
    of_conv = name_filter(None, "conv", of_ladder=True)
    assert [name for name in STORED if of_conv(name)] == [
        "conv-2",
        "conv-2-source",
        "conv-2-timed",
        "conv-20",
    ]
    assert kernels_of("conv", ["conv-2-1", "conv-2-1-timed"], any_preset=True) == []
    assert nothing_found("2", "conv", ["conv-2-1", "conv-3"]) == "no run of kernel 2; conv has runs of 3"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("CONV-2*-Timed", "conv-2-timed conv-2-1-timed"),
        ("conv:20*", "conv-20"),
        (" My Run* ", "my-run"),
        ("CONV-2[A-Z]-?", "conv-2d-1"),
        ("conv-2[!D]", "conv-20"),
        ("conv-2[!0-9]?1", "conv-2d-1"),
        ("conv[:-]20", "conv-20"),
        ("conv?2[]d]-1", "conv-2d-1"),
    ],
)
def test_a_pattern_is_changed_as_names_are_when_they_are_stored(pattern, names):
    assert [name for name in STORED if name_filter(pattern, "gemm")(name)] == names.split()


@pytest.mark.parametrize("pattern", ["*a" * 90 + "Q", "*?" * 90 + "Q", "*[a-z]" * 33 + "Q", "[a" * 100])
def test_a_pattern_with_many_stars_takes_no_exponential_time(pattern):
    started = time.process_time()
    assert not name_filter(pattern, "conv")("a" * 500)
    assert time.process_time() - started < 1


def test_an_overlong_pattern_is_refused():
    with pytest.raises(RunNotFound, match="is too long for a pattern of names: 300 characters") as refused:
        name_filter("[a" * 150, "conv")
    assert "at most 200" in refused.value.remedy
