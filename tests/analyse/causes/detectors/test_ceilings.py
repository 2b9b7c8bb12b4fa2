"""What is close to the peak of a resource, and what is within reach of it."""

import re

import pytest
from made_evidence import LOAD, evidence_of, names

from profiler.analyse.causes.detectors import ceilings
from profiler.catalog.causes import BY_NAME


@pytest.mark.parametrize(
    ("resource", "enough", "cause"),
    [
        ("dram", 0.9, "at-memory-bandwidth"),
        ("l2", 0.9, "at-l2-bandwidth"),
        ("fma", 0.75, "at-fma-rate"),
        ("alu", 0.75, "at-alu-rate"),
        ("fma_heavy", 0.75, "at-fma-rate"),
        ("xu", 0.75, "at-xu-rate"),
        ("tensor", 0.75, "at-tensor-rate"),
    ],
)
def test_a_resource_near_its_peak_is_a_ceiling(resource, enough, cause):
    assert names(ceilings.detect_ceilings, evidence_of(LOAD, busy={resource: enough + 1e-9})) == [cause]
    known = {"dram_bytes_read": 1e9}  # and so is how reads and writes mix
    evidence = evidence_of(LOAD, busy={resource: enough - 0.01}, figures=known)
    assert names(ceilings.detect_ceilings, evidence) == []


@pytest.mark.parametrize(("used", "found"), [(0.80, []), (0.81, ["at-memory-bandwidth"])])
def test_without_the_mix_of_reads_and_writes_a_kernel_may_be_as_fast_as_a_copy(used, found):
    """A copy reaches 89 % of the peak, of which 90 % are 80.1 %; reads alone reach 94 %."""
    evidence = evidence_of(LOAD, busy={"dram": used / 0.94})
    assert names(ceilings.detect_ceilings, evidence) == found
    for candidate in ceilings.detect_ceilings(evidence):
        assert "at 81 % of its peak, and 89 to 94 % are within reach" in candidate.sentence
        assert candidate.sentence.endswith("would still take at least 86 % of the time.")
        assert candidate.at_most == pytest.approx(1 - used / 0.94)


@pytest.mark.parametrize(
    ("resource", "figures", "said"),
    [
        ("dram", {"dram_bytes_per_s": 3.8e12}, "at 3,800 GB/s, and 4,000 GB/s are within reach: "),
        ("l2", {"l2_pct": 76.0}, "at 76 % of its peak, and 80 % are within reach: "),
        ("fma", {}, "used to 95 % of what is within reach: "),
        ("fma", {"fma_pipe_pct": 95.0}, "at 95 % of its peak, and 100 % are within reach: "),
        ("tensor", {"tensor_pipe_pct": 95.0}, "at 95 % of its peak, and 100 % are within reach: "),
    ],
)
def test_a_ceiling_says_what_is_within_reach_with_its_unit_and_leaves_only_the_rest(resource, figures, said):
    (candidate,) = ceilings.detect_ceilings(evidence_of(LOAD, busy={resource: 0.95}, figures=figures))
    assert said in candidate.sentence
    # The same results may need fewer bytes.
    same = "to move as many bytes" if resource == "dram" else "the same work"
    assert candidate.sentence.endswith(f": {same} would still take 95 % of the time.")
    assert (candidate.saves, candidate.at_most) == (0.0, pytest.approx(0.05))


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        (
            "fma",
            "81 % are within reach beside its other instructions: the same instructions would still take 95 % of the time, and those of the FMA "
            "pipe alone 77 %.",
        ),
        ("tensor", "100 % are within reach: the same work would still take 77 % of the time."),
    ],
)
def test_other_instructions_take_cycles_of_the_fma_pipe_and_none_of_the_tensor_pipe(resource, said):
    evidence = evidence_of(LOAD, busy={resource: 0.77, "issue": 0.95}, figures={f"{resource}_pipe_pct": 77.0})
    (candidate,) = ceilings.detect_ceilings(evidence)
    assert candidate.sentence.endswith(f"at 77 % of its peak, and {said}")
    assert candidate.at_most == pytest.approx(0.23)  # what needs the rest is the work of the pipe alone


@pytest.mark.parametrize(
    ("line", "capability", "as_wgmma"),
    [
        ("HMMA.16816.F32 R4, R8, R10, R4", "9.0", 0.60),  # 6 cycles for what takes 4
        ("HMMA.16816.F32 R4, R8, R10, R4", "8.0", 0.90),  # has no `wgmma`
        ("HGMMA.64x128x16.F32 R24, gdesc[UR8], R24", "9.0", 0.90),
    ],
)
def test_products_by_mma_are_not_as_fast_as_tensor_cores_allow_where_the_gpu_has_wgmma(
    line, capability, as_wgmma
):
    evidence = evidence_of(line, busy={"tensor": 0.9}, figures={"tensor_pipe_pct": 90.0})
    vars(evidence.profile)["compute_capability"] = capability
    (candidate,) = ceilings.detect_ceilings(evidence)
    is_slower = as_wgmma < 0.9
    said = "the same instructions would still take 90 % of the time, and the same products by `wgmma` 60 %."
    assert candidate.sentence.endswith(
        said if is_slower else "the same work would still take 90 % of the time."
    )
    assert candidate.at_most == pytest.approx(1 - as_wgmma)
    assert candidate.advice.startswith("Multiply by `wgmma`") == is_slower
    assert ("BLOCK_M" in candidate.in_triton) == is_slower


@pytest.mark.parametrize(("issue", "is_more"), [(0.8, False), (0.801, True)])
def test_other_instructions_are_said_to_take_cycles_however_few(issue, is_more):
    """Both shares are 80 % when they are rounded."""
    evidence = evidence_of(LOAD, busy={"fma": 0.8, "issue": issue}, figures={"fma_pipe_pct": 80.0})
    (candidate,) = ceilings.detect_ceilings(evidence)
    assert (" beside its other instructions: the same instructions " in candidate.sentence) == is_more
    assert (", and those of the FMA pipe alone 80 %." in candidate.sentence) == is_more


@pytest.mark.parametrize(("resource", "said"), [("dram", True), ("fma", False)])
def test_without_instructions_more_bytes_may_be_moved_than_are_used(resource, said):
    for lines, unseen in (((), said), ((LOAD,), False)):
        (candidate,) = ceilings.detect_ceilings(evidence_of(*lines, busy={resource: 0.95}))
        assert ("does not say whether all bytes that move are used" in candidate.advice) == unseen


def test_without_instructions_lanes_that_lie_apart_may_be_what_fills_l2():
    assert names(ceilings.detect_ceilings, evidence_of(LOAD, busy={"l2": 0.95})) == ["at-l2-bandwidth"]
    assert names(ceilings.detect_ceilings, evidence_of(busy={"l2": 0.95})) == []


@pytest.mark.parametrize(("dram", "found"), [(0.2, ["at-l2-bandwidth"]), (0.92, ["at-memory-bandwidth"])])
def test_l2_is_full_by_itself_only_where_it_is_fuller_than_device_memory(dram, found):
    assert names(ceilings.detect_ceilings, evidence_of(LOAD, busy={"l2": 0.91, "dram": dram})) == found


@pytest.mark.parametrize("issue", [0.0, 0.9, 1.0])
@pytest.mark.parametrize(
    ("resource", "figure"),
    [
        ("fma", "fma_pipe_pct"),
        ("alu", "alu_pipe_pct"),
        ("tensor", "tensor_pipe_pct"),
        ("xu", "xu_pipe_pct"),
        ("l2", "l2_pct"),
    ],
)
def test_what_is_used_of_what_is_within_reach_is_the_time_that_the_work_still_takes(resource, figure, issue):
    used = 80.0 if resource != "l2" else 85.0
    busy = used / 100 if resource != "l2" else 0.97
    evidence = evidence_of(LOAD, busy={resource: busy, "issue": issue}, figures={figure: used})
    (candidate,) = ceilings.detect_ceilings(evidence)
    told = re.search(
        r"at (\d+) % of its peak, and (\d+) % are .* would still take (\d+) %", candidate.sentence
    )
    is_at, reach, takes = map(int, told.groups())
    assert 100 * is_at / reach == pytest.approx(takes, abs=1)  # each is rounded
    figures = candidate.evidence
    assert figures[f"{resource}_of_reachable_pct"] == pytest.approx(
        100 * figures[figure] / figures[f"{resource}_reachable_pct"]
    )
    assert round(figures[f"{resource}_of_reachable_pct"]) == takes


def test_a_pipe_that_rests_for_a_moment_is_not_said_to_work_all_of_the_time():
    evidence = evidence_of(LOAD, busy={"alu": 0.997}, figures={"alu_pipe_pct": 99.7})
    (candidate,) = ceilings.detect_ceilings(evidence)
    assert candidate.sentence.endswith(
        "at > 99 % of its peak, and 100 % are within reach: the same work would still take > 99 % of the time."
    )


@pytest.mark.parametrize("resource", ["dram", "fma", "alu", "xu"])
def test_what_to_try_at_a_ceiling_is_the_remedy_of_its_cause(resource):
    (candidate,) = ceilings.detect_ceilings(evidence_of("FFMA R4, R4, R5, R6", busy={resource: 0.95}))
    assert candidate.advice == BY_NAME[candidate.name].remedy


def test_tensor_cores_that_multiply_by_wgmma_are_advised_the_rest_of_the_remedy():
    (candidate,) = ceilings.detect_ceilings(
        evidence_of("HGMMA.64x64x16.F32 R56, gdesc[UR12], R56", busy={"tensor": 0.9})
    )
    said = candidate.advice[:1].lower() + candidate.advice[1:]
    assert BY_NAME["at-tensor-rate"].remedy.endswith(f"Otherwise {said}")
