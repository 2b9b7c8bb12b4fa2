"""Sides of a branch that do nearly the same: what one copy of them would save, and which sides are no copies."""

import pytest
from made_evidence import active, evidence_of, names

from profiler.analyse.causes.detectors.idle_lanes import lanes
from profiler.analyse.causes.detectors.idle_lanes.alike_sides import detect_alike_sides

ADDED = ["IMAD.WIDE R4, R5, R6, R4", "IADD3 R4, R4, R7, RZ"]
TAKEN_AWAY = ["IMAD.WIDE R4, R6, R5, R4", "IADD3 R4, -R4, R7, RZ"]
OTHER = ["MUFU.RCP R4, R5", "FFMA R4, R4, R5, R6"]


def sides(first=ADDED, second=TAKEN_AWAY, *, each=40, taking=(90.0, 80.0), between=(), jumping=""):
    """Of 100 warps that come to a test, so many take each of its two sides, of so many instructions, with 8 lanes."""
    length = 1 + len(between) + each + 1
    end = 16 * (1 + length + each)
    texts = [
        ("ISETP.GT.AND P0, PT, R2, RZ, PT", 100.0),
        (f"@!P0 BRA {16 * (1 + length):#x}", 100.0),
        *((text.format(end), 100.0) for text in between),
        *((text, taking[0]) for text in first * (each // len(first))),
        (f"BRA {end:#x}", taking[0]),
        *((text, taking[1]) for text in second * (each // len(second))),
        ("BSYNC B0", 170.0),
        (jumping or "EXIT", 100.0),
    ]
    some = {place: active(8.0) for place, (_, executed) in enumerate(texts) if executed in taking}
    return evidence_of(*texts, facts=dict.fromkeys(range(len(texts)), active(32.0)) | some, line=None)


def test_warps_that_execute_both_sides_would_execute_one_copy_once():
    """Of 100 warps, 90 execute one side and 80 the other: 70 of them both at least."""
    evidence = sides()
    (found,) = detect_alike_sides(evidence)
    assert found.name == "divergent-branches"
    assert found.sentence.startswith(
        "Sides of a branch do nearly the same (of 41 and 40 instructions), and a warp executes 1.7 of them on average"
    )
    assert {site.instruction.text.split()[1] for site in found.weights} == {"BRA"}
    both = 70 / 170 * (41 * 90 + 40 * 80)
    assert found.effect.resources["issue"] == pytest.approx(both / evidence.executed)
    assert not [*lanes.detect_idle_lanes(evidence)]  # these lanes are named once


@pytest.mark.parametrize(
    "more",
    [
        {"second": OTHER},  # another computation
        {"each": 20},  # so short that choosing the operands takes as long
        {"taking": (60.0, 40.0)},  # each warp may have taken one side
        {"jumping": "@P1 BRA 0x40"},  # warps come to a side from elsewhere
    ],
)
def test_sides_are_no_copies_or_are_not_executed_by_the_same_warps(more):
    assert not names(detect_alike_sides, sides(**more))


def test_a_side_may_have_a_test_of_its_own():
    """As in `if (d > 0) … else if (d < 0) …`: lanes without a digit pass both."""
    evidence = sides(between=["ISETP.GT.AND P1, PT, R2, -0x1, PT", "@P1 BRA {:#x}"])
    (found,) = detect_alike_sides(evidence)
    assert [site.position for site in found.weights] == [3, 1]


def test_lanes_that_one_copy_would_hardly_help_stay_idle():
    """Of 100 warps, 1 executes both sides for 8 of its lanes."""
    found = [one.name for one in lanes.detect_idle_lanes(sides(taking=(60.0, 41.0)))]
    assert found == ["idle-lanes"]
