"""The steps of the GEMM ladder: each is small enough to read as one change."""

import difflib
from pathlib import Path

import pytest

GEMM = Path(__file__).parents[2] / "kernels/gemm"
MOST = 60  # lines that a step may change up to rung 9: what fits on one screen


def code(rung):
    """The lines of a rung's source, without blank ones and those that are comments as a whole."""
    (source,) = GEMM.glob(f"{rung:02}_*.cu")
    lines = (line.strip() for line in source.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("//")]


@pytest.mark.parametrize("rung", range(2, 10))
def test_a_step_changes_few_lines(rung):
    steps = difflib.SequenceMatcher(None, code(rung - 1), code(rung), autojunk=False).get_opcodes()
    changed = sum(
        max(old_end - old, new_end - new) for kind, old, old_end, new, new_end in steps if kind != "equal"
    )
    assert changed < MOST
