"""The kernels of a function: which is profiled, and how long the GPU worked."""

import time

import pytest

from profiler.errors import KernelNotFound
from profiler.measuring.functions.activity import Activity, busy_ns
from profiler.measuring.functions.survey import LaunchedKernel, choose
from profiler.measuring.tools.mangling import demangled

KERNELS = [
    LaunchedKernel("_ZN2at6native18elementwise_kernelILi128ELi4EEEvi", 2, 10.0),
    LaunchedKernel("_ZN2at6native18elementwise_kernelILi512ELi1EEEvi", 3, 90.0),
    LaunchedKernel("softmax_kernel", 1, 50.0),
]


def test_the_kernel_that_takes_most_of_the_time_is_named_exactly():
    chosen = choose("f", KERNELS, None)
    assert chosen.words == ("--kernel-name-base", "mangled", "--kernel-name", KERNELS[1].name)
    assert (chosen.regex, chosen.launches) == (None, 3)


def test_a_pattern_fits_names_as_sources_spell_them():
    assert demangled(KERNELS[0].name).startswith("void at::native::elementwise_kernel<128")
    assert choose("f", KERNELS, "native::element").launches == 5
    assert choose("f", KERNELS, "^softmax").launches == 1
    with pytest.raises(KernelNotFound, match="is not a regular expression"):
        choose("f", KERNELS, "(")


def test_no_pattern_takes_exponential_time():
    started = time.process_time()
    with pytest.raises(KernelNotFound, match="launches no kernel that matches"):
        choose("f", [LaunchedKernel("softmax" * 20, 1, 1.0)], "(.*)*(.*)*(.*)*(.*)*(.*)*Q")
    assert time.process_time() - started < 5


def test_time_that_two_streams_share_counts_once():
    apart = [Activity("a", 0, 10), Activity("b", 20, 25)]
    assert busy_ns(apart) == 15
    assert busy_ns([*apart, Activity("c", 5, 22), Activity("", 6, 8)]) == 25
    assert busy_ns([]) == 0
