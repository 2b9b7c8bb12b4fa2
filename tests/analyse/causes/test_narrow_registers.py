"""A byte under way takes a whole register: a limit by such registers is one of narrow accesses."""

import pytest
from made_evidence import evidence_of

from profiler.analyse.causes.detectors.launch import occupancy


def warps_with_fewer_registers(width, loads, sectors):
    """The warps that fit beside each one: an SM holds two blocks of 16 registers a thread, and eight by other limits."""
    lines = [f"LDG.E{width} R{10 + 2 * place}, [R2.64+{place:#x}]" for place in range(loads)]
    facts = {place: {"sectors": sectors, "ideal_sectors": 100.0} for place in range(loads)}
    facts[loads] = {"waits": {"long_scoreboard": 9}}
    figures = {
        "blocks_by_registers": 2.0,
        "occupancy_limit_pct": 25.0,
        "waves": 100.0,
        "registers": 16.0,
    }
    evidence = evidence_of(*lines, "FADD R9, R9, R10", facts=facts, figures=figures)
    (candidate,) = occupancy.detect_occupancy(evidence)
    return candidate.effect.warps


@pytest.mark.parametrize(
    ("width", "loads", "sectors", "warps"),
    [
        ("", 2, 400.0, 4.0),  # a float fills its register
        (".U8", 2, 100.0, 4 * (1 - 2 * 0.75 / 16)),
        (".U16", 2, 200.0, 4 * (1 - 2 * 0.5 / 16)),
        (".U8", 3, 100.0, 4 * (1 - 3 * 0.75 / 16)),
        (".U8", 3, 3200.0, 4.0),  # lanes that lie apart cannot load wider
    ],
)
def test_registers_that_hold_a_byte_each_are_a_matter_of_narrow_loads(width, loads, sectors, warps):
    assert warps_with_fewer_registers(width, loads, sectors) == pytest.approx(warps)
