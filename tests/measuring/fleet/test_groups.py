"""Kernels are divided into groups: those of one size stay together, and the longest group comes first."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from profiler.catalog.ladders.expressions import parse_expression
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.measuring.collect.target import Target
from profiler.measuring.fleet.groups import group_targets
from profiler.measuring.rungs.program import RungJob
from profiler.measuring.tools.ncu import Selection


@pytest.fixture(scope="module")
def rungs(tmp_path_factory, make_ladder):
    """`rungs([100, 100, 50])`: one target for each of these sizes."""
    ladder = read_ladder(make_ladder(tmp_path_factory.mktemp("ladder") / "scripts", "works"))
    kernel = replace(ladder.kernel(1), flops=parse_expression("2 * size"))

    def make(sizes):
        return [
            Target(f"{number}", Selection(), 1, RungJob(ladder, kernel, {"size": size}))
            for number, size in enumerate(sizes)
        ]

    return make


@pytest.mark.slow
@given(sizes=st.lists(st.integers(1, 4), max_size=12), by=st.sampled_from(["workloads", "kernels"]))
def test_each_target_is_in_one_group_and_a_size_stays_together(rungs, sizes, by):
    targets = rungs(sizes)
    groups = group_targets(targets, by)

    assert Counter(target.name for group in groups for target in group) == Counter(
        target.name for target in targets
    )
    assert all(groups)
    if by == "workloads":
        assert len(groups) == len(set(sizes))
        assert all(len({target.job.values["size"] for target in group}) == 1 for group in groups)
    else:
        assert [len(group) for group in groups] == [1] * len(sizes)


def test_the_longest_groups_go_first_so_that_the_last_to_end_is_short(rungs):
    groups = group_targets(rungs([1, 2, 2, 2, 4, 3]), "workloads")
    assert [[target.job.values["size"] for target in group] for group in groups] == [[2, 2, 2], [4], [3], [1]]


def test_each_group_begins_at_another_kernel_so_that_gpus_do_not_all_do_the_same(rungs):
    first, second = group_targets(rungs([20] * 4 + [10] * 4), "workloads")
    assert [target.name for target in first] == ["0", "1", "2", "3"]
    assert [target.name for target in second] == ["6", "7", "4", "5"]
