"""Which runs a person means, told from names alone."""

import time

import pytest

from profiler.errors import RunNotFound
from profiler.store.runs.names import kernels_of, name_filter, no_such_name, nothing_found

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
    assert [name for name in STORED if of_conv(name)] == ["conv-2", "conv-2-source", "conv-2-timed", "conv-20"]  # fmt: skip
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


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("cute", "did you mean 'cute-source'?"),
        ("source", "did you mean 'cute-source' or 'cutlass-source'?"),
        ("CuTe Sauce", "did you mean 'cute-source' or 'cutlass-source'?"),
        ("conv", "4 names hold it, such as 'conv-2', 'conv-10' or 'conv-10-timed'"),
        ("-", "it holds runs of conv-2, conv-10, conv-10-timed, cute-source, cutlass-source, my-conv"),
    ],
)
def test_a_part_of_a_name_and_a_misspelt_one_are_answered_with_the_names_that_they_may_mean(typed, told):
    stored = ["my-conv", "conv-10", "conv-2", "cutlass-source", "cute-source", "conv-10-timed"]
    assert nothing_found(typed, "gemm", stored) == f"no run of '{typed}'; {told}"


def test_where_one_name_is_wanted_a_pattern_is_answered_with_names_that_it_matches():
    told = nothing_found("conv-*", "gemm", ["my-conv", "conv-10", "conv-2"])
    assert (
        told
        == "'conv-*' is a pattern, where one name is wanted; it matches 2 names, such as 'conv-2' or 'conv-10'"
    )


def test_a_list_of_a_misspelt_name_says_which_names_come_near():
    told = no_such_name("cute-sauce", "gemm", ["cute-source", "conv-2"], of_ladder=False)
    assert told == "no run is named 'cute-sauce'; did you mean 'cute-source'?"
