"""Loads that the rows of a block make alike, so that one thread could make them once for several rows."""

import pytest
from made_evidence import active, evidence_of

from profiler.analyse.causes.detectors.global_memory.redundant_loads import detect_redundant_loads

COLUMN, ROW = "S2R R0, SR_TID.X", "S2R R1, SR_TID.Y"
LOADED = ["IMAD R2, R0, 0x4, RZ", "LDG.E R4, [R2.64]", "FADD R5, R4, R4"]


def named(*lines, block=(32, 8, 1), waves=100.0, facts=None):
    """100 warps execute each line: those of 12 blocks and a half."""
    figures = {"waves": waves, "dram_bytes_read": 1e9}
    evidence = evidence_of(*lines, block=block, figures=figures, grid=12, facts=facts)
    return [one for one in detect_redundant_loads(evidence) if "rows_alike" in one.evidence]


def test_a_load_that_does_not_depend_on_the_row_is_made_once_for_several_rows():
    (candidate,) = named(COLUMN, ROW, *LOADED, "FMUL R6, R5, R1", "STG.E [R8.64], R6")
    assert candidate.evidence == {"rows_alike": 8.0, "same_in_every_row_pct": pytest.approx(100 * 4 / 7)}
    # The column, its address, its load and its sum; the row, its product and its store stay.
    assert candidate.effect.resources["issue"] == pytest.approx(7 / 8 * 4 / 7)
    assert [site.instruction.name for site in candidate.weights] == ["LDG"]
    assert candidate.fact == "the same along Y"


@pytest.mark.parametrize(
    ("row", "advised"), [(ROW, "Let each thread compute several rows"), ("NOP", "Launch blocks of one row")]
)
def test_rows_that_nobody_asks_for_are_not_launched(row, advised):
    (candidate,) = named(COLUMN, row, *LOADED)
    assert candidate.advice.startswith(advised)


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        (["IMAD R2, R1, 0x4, R0", *LOADED[1:]], {}),  # another row, other data
        (LOADED, {"block": (256, 1, 1)}),  # there are no rows
        (LOADED, {"waves": 2.0}),  # with fewer threads, the GPU would not be full
        (LOADED[:1], {}),  # nothing is loaded
        # How often the loop turns depends on the row.
        ([*LOADED, "ISETP.LT.AND P0, PT, R2, R1, PT", "@P0 BRA 0x20"], {}),
    ],
)
def test_other_loads_are_not(lines, options):
    assert named(COLUMN, ROW, *lines, **options) == []


@pytest.mark.parametrize(
    ("options", "part"), [({}, 7 / 8), ({"block": (64, 4, 1)}, 3 / 4), ({"waves": 4.0}, 1 / 2)]
)
def test_fewer_rows_or_fewer_rounds_of_blocks_save_less(options, part):
    (candidate,) = named(COLUMN, ROW, *LOADED, **options)
    assert candidate.effect.resources["lsu"] == pytest.approx(part)


@pytest.mark.parametrize(("lanes", "is_repeated"), [(3.8, False), (3.9, True)])  # 1 of 8 rows has 384 threads
def test_what_no_more_threads_execute_than_one_row_has_is_repeated_by_no_other(lanes, is_repeated):
    lines = (COLUMN, ROW, *LOADED)
    facts = {place: active(lanes) for place in range(2, len(lines))}
    assert bool(named(*lines, facts=facts)) == is_repeated
