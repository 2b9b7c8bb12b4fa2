"""The rungs that ask the L2 to keep what they read, in machine code: their loads say so, and their stores do not."""

import pytest

from profiler.catalog.ladders.ladder_file import read_ladder
from tests.kernels.conftest import KERNELS


def kept_in_l2(machine_code, ladder_name):
    ladder = read_ladder(KERNELS / ladder_name / "ladder.toml")
    (number,) = [one.number for one in ladder.kernels if one.name == "kept_in_l2"]
    return machine_code(ladder_name, number)


@pytest.mark.parametrize(
    "ladder", ["copy", "relu", "relu-fp16", "gelu", "scale", "layernorm", "softmax", "transpose"]
)
def test_loads_of_vectors_leave_the_caches_last(machine_code, ladder):
    opcodes = kept_in_l2(machine_code, ladder).opcodes
    assert opcodes["LDG.E.EL.128"] > 0
    assert not [one for one in opcodes if one.startswith("STG") and "EL" in one]
    assert not {"LDG.E.128"} & opcodes.keys(), "every vector of the row is marked"


@pytest.mark.parametrize(("ladder", "before"), [("rmsnorm", 3), ("embedding-rmsnorm", 2)])
def test_a_bulk_copy_with_a_policy_is_the_only_change(machine_code, ladder, before):
    kept, plain = kept_in_l2(machine_code, ladder), machine_code(ladder, before)
    if ladder == "rmsnorm":
        kept, plain = kept.only("kept_in_l2ILi2E.*__half"), plain.only("bulk_rowILi2E.*__half")
    for moved in ("LDS.128", "STG.E.128", "LDG.E.128.CONSTANT"):
        assert kept.opcodes[moved] == plain.opcodes[moved] > 0, moved
    (with_policy,) = [one for one in kept.function if "BLKCP" in one.name]
    (without,) = [one for one in plain.function if "BLKCP" in one.name]
    assert "desc" in with_policy.operands
    assert "desc" not in without.operands
