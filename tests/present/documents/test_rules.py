"""The findings of Nsight Compute's own rules in one sentence each: the one that says something of this kernel."""

import pytest
from msgspec.structs import replace

from profiler.analyse.recording.overview import SheetFinding
from profiler.analyse.recording.rules import SheetRule
from profiler.present.documents.parts.rules import rule_lines
from tests.made_causes import cause_of

_DIVERGENT = (
    "Instructions are executed in warps, which are groups of 32 threads. Optimal instruction throughput is achieved if all 32 "
    "threads of a warp execute the same instruction. This workload achieves an average of 31.8 threads being active per cycle. "
    "This is further reduced to 19.8 threads per warp due to predication. The compiler may use predication to avoid an actual branch."
)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            _DIVERGENT,
            "This workload achieves an average of 31.8 threads being active per cycle. "
            "This is further reduced to 19.8 threads per warp due to predication.",
        ),
        ("All pipelines wait. On average, 3 of them do. Look.", "On average, 3 of them do."),
        ("All compute pipelines are under-utilized. Look.", "All compute pipelines are under-utilized."),
    ],
    ids=["explained first", "a figure", "none"],
)
def test_the_sentence_with_a_figure_of_this_kernel_is_told(message, told):
    rule = SheetRule("WarpStateStats", "optimization", message, 38.2, None, None, None)
    sheet = SheetFinding("k", 1, "NVIDIA H200", [], [], [rule])
    assert rule_lines(sheet, full=False) == [f"WarpStateStats (estimated speedup 38.2 %): {told}"]
    assert rule_lines(sheet, full=True) == [f"WarpStateStats (estimated speedup 38.2 %): {message}"]


@pytest.mark.parametrize(("kind", "is_shown"), [("global", True), ("local", False), (None, True)])
def test_what_a_rule_promises_of_a_part_of_the_kernel_is_left_to_the_full_answer(kind, is_shown):
    """Half of the FP32 instructions may be to save where all others are of FP64."""
    message = "This kernel executes 0 fused and 24576 non-fused FP32 instructions."
    rule = SheetRule("InstructionStats", "optimization", message, 50.0, speedup_kind=kind)
    sheet = SheetFinding("k", 1, "NVIDIA H200", [], [], [rule])
    (line,) = rule_lines(sheet, full=False)
    assert (line == f"InstructionStats (estimated speedup 50 %): {message}") is is_shown
    assert is_shown or line == "1 finding of Nsight Compute is left out"
    (whole,) = rule_lines(sheet, full=True)
    assert ("estimated speedup 50 % of a part" in whole) is not is_shown


@pytest.mark.parametrize(
    ("promised", "saves_pct", "is_shown"),
    [(4.9, 30.0, False), (5.0, 30.0, True), (4.9, 4.8, True), (4.9, None, True)],
)
def test_what_promises_little_is_left_out_beside_a_cause_that_would_save_more(promised, saves_pct, is_shown):
    rule = SheetRule("SourceCounters", "optimization", "1522 excessive sectors.", promised)
    causes = [cause_of(saves=saves_pct)] if saves_pct else []
    (line,) = rule_lines(SheetFinding("k", 1, "GPU", [], [], [rule], causes=causes), full=False)
    assert (
        line.startswith("SourceCounters" if is_shown else "1 finding of Nsight Compute is left out") is True
    )
    assert len(rule_lines(SheetFinding("k", 1, "GPU", [], [], [rule], causes=causes), full=True)) == 1


def test_which_causes_the_findings_agree_with_that_are_left_out_is_said():
    of_causes = [["barriers"], ["idle-lanes", "divergent-branches"], [], ["loads-not-overlapped"]]
    rules = [
        SheetRule("S", "optimization", f"finding {n}", None, causes=one) for n, one in enumerate(of_causes)
    ]
    causes = [cause_of(name) for name in ("idle-lanes", "barriers")]
    sheet = SheetFinding("k", 1, "GPU", [], [], rules, causes=causes)
    said = "4 findings of Nsight Compute are left out, 2 of which agree with idle-lanes and barriers"
    assert rule_lines(sheet, full=False) == [said]
    both = "2 findings of Nsight Compute are left out, both of which agree with idle-lanes and barriers"
    assert rule_lines(replace(sheet, rules=rules[:2]), full=False) == [both]
