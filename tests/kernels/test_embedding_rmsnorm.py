"""The fused ladder in machine code: nothing between the table and the result."""


def test_the_unfused_rung_runs_the_best_kernels_of_both_ladders(machine_code):
    unfused = machine_code("embedding-rmsnorm", 1)
    best = machine_code("rmsnorm", 3).only("__half")
    assert unfused.opcodes == best.opcodes


def test_the_fused_rung_moves_a_row_as_the_rmsnorm_alone_does(machine_code):
    fused = machine_code("embedding-rmsnorm", 2).opcodes
    alone = machine_code("rmsnorm", 3).only("bulk_rowILi4E.*__half").opcodes
    for moved in ("UBLKCP.S.G", "LDS.128", "LDG.E.128.CONSTANT", "STG.E.128"):
        assert fused[moved] == alone[moved] > 0, moved


def test_the_fused_rung_reads_one_id_a_row(machine_code):
    assert machine_code("embedding-rmsnorm", 2).opcodes["LDG.E"] == 1


def test_the_ordered_rung_moves_a_row_as_the_fused_one_does(machine_code):
    ordered, fused = (machine_code("embedding-rmsnorm", number).opcodes for number in (5, 2))
    for moved in ("UBLKCP.S.G", "LDS.128", "LDG.E.128.CONSTANT", "STG.E.128"):
        assert ordered[moved] == fused[moved] > 0, moved


def test_the_ordered_rung_reads_an_id_and_its_token_a_row(machine_code):
    assert machine_code("embedding-rmsnorm", 5).opcodes["LDG.E"] == 2
