"""The particles ladder in machine code: how many accesses a particle costs, and how wide they are."""

import pytest


@pytest.mark.parametrize("number", [1, 3])
def test_a_scalar_particle_is_six_loads_and_three_stores(machine_code, number):
    code = machine_code("particles", number)
    assert (code.opcodes["LDG.E"], code.opcodes["STG.E"]) == (6, 3)
    assert code.moved == {32}


def test_a_padded_particle_is_two_wide_loads_and_one_wide_store(machine_code):
    code = machine_code("particles", 2)
    assert (code.opcodes["LDG.E.128"], code.opcodes["STG.E.128"]) == (2, 1)
    assert code.moved == {128}


def test_four_particles_of_arrays_are_six_wide_loads_and_three_wide_stores(machine_code):
    code = machine_code("particles", 4)
    assert (code.opcodes["LDG.E.128"], code.opcodes["STG.E.128"]) == (6, 3)
    assert code.moved == {128, 32}, "32 at the ends of the arrays"
