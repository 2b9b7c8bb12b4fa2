"""The machine code of the variants: each differs from its neighbour in the one thing that it is there for."""


def shared_loads(code):
    return sum(count for opcode, count in code.opcodes.items() if opcode.startswith("LDS"))


def test_the_compiler_hoists_operands_that_the_source_names_in_place(machine_code):
    plain, in_place, each = (machine_code("gemm-variants", number) for number in (1, 3, 4))
    assert shared_loads(in_place) == shared_loads(plain)
    assert shared_loads(each) > 5 * shared_loads(plain)


def test_only_sixteen_by_sixteen_spills(machine_code):
    spilled = {
        number: [one.spills for one in machine_code("gemm-variants", number).resources] for number in (5, 6)
    }
    assert all(spilled[6])
    assert not any(spilled[5])


def test_the_plain_vectorised_tile_loads_shared_memory_by_128_bits_alone(machine_code):
    assert machine_code("gemm-variants", 2).widths("LDS") == {128}
    assert 32 in machine_code("gemm-variants", 1).widths("LDS")


def test_neither_restrict_nor_a_promise_about_the_alignment_widens_accesses(machine_code):
    for number in (7, 8, 9):
        code = machine_code("copy-variants", number)
        assert code.moved == {32}


def test_every_vector_of_128_bits_is_the_same_access(machine_code):
    for number in (2, 5, 6):
        assert 128 in machine_code("copy-variants", number).widths("LDG")


def test_float_in_flight_is_as_narrow_as_the_float_that_it_is_compared_with(machine_code):
    assert (
        machine_code("copy-variants", 3).widths("LDG")
        == machine_code("copy-variants", 1).widths("LDG")
        == {32}
    )


def test_a_chain_of_loads_is_followed_in_the_memory_that_it_is_called_after(machine_code):
    assert machine_code("latency", 1).widths("LDS") == {32}
    for number in (2, 3, 4):
        assert machine_code("latency", number).widths("LDG") == {32}
    past_the_l1 = [
        any("LDG.E.STRONG.GPU" in one for one in machine_code("latency", number).opcodes) for number in (2, 3)
    ]
    assert past_the_l1 == [False, True]


def test_half_arithmetic_multiplies_and_adds_in_half(machine_code):
    assert {"HFMA2", "HADD2", "HMUL2"} & machine_code("rmsnorm-variants", 3).names
    assert "FFMA" in machine_code("rmsnorm-variants", 2).names
