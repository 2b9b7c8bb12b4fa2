"""The points of a sweep: chosen by a seed, compiled under names of their own, judged by the compiler's figures."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from profiler.catalog.ladders.ladder import Kernel, Ladder
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.catalog.ladders.sweep import read_sweep
from profiler.errors import BuildFailed, LadderInvalid, ProgramFailed
from profiler.measuring.rungs.build import BuildRecord, Built
from profiler.measuring.tools.exit_codes import program_failure
from profiler.measuring.tools.ptxas import Resources
from profiler.measuring.tune.points import (
    BuiltPoint,
    choose_points,
    code_hash,
    failure_of,
    judge_built,
    source_hashes,
    sweep_of,
    variant,
)

TABLE = {
    "parameters": {"TILE": [2, 4, 8, 16], "UNROLL": [1, 2, 4]},
    "constraints": ["TILE * UNROLL <= 32", "registers <= 128 and spill_bytes == 0"],
}
SWEEP = read_sweep(TABLE, {"n": 64}, lambda place, reason: pytest.fail(reason))
ALLOWED = 11


def kernel(**changes):
    return Kernel(7, "tile", "a tile", "tile", {}, flags=("-O3",), **changes)


def candidate(*resources, error=None):
    settings = {"TILE": 2, "UNROLL": 4}
    record = BuildRecord("sm_90", [], "13.0.88", [], {}, "0" * 64, 1.0, list(resources))
    built = Built(
        variant(kernel(), settings),
        "failed" if error else "built",
        Path("tile"),
        None if error else record,
        error,
    )
    return BuiltPoint(5, settings, built)


def resources(function, registers, spills=0):
    return Resources(function, "sm_90", registers, 4352, 0, spills, spills)


# Choosing


def test_every_allowed_point_once_in_an_order_that_the_seed_alone_decides():
    chosen = choose_points(SWEEP, {"n": 64}, None, None, seed=1)
    assert (chosen.combinations, len(chosen.points)) == (12, ALLOWED)
    assert chosen.excluded == {"TILE * UNROLL <= 32": 1}
    assert choose_points(SWEEP, {"n": 64}, None, None, seed=1) == chosen
    other = choose_points(SWEEP, {"n": 64}, None, None, seed=2).points
    assert other != chosen.points
    assert sorted(map(str, other)) == sorted(map(str, chosen.points))


@pytest.mark.parametrize("seed", range(5))
def test_a_limit_keeps_what_the_source_has_now(seed):
    current = {"TILE": 4, "UNROLL": 2}
    chosen = choose_points(SWEEP, {"n": 64}, current, 3, seed)
    assert len(chosen.points) == 3
    assert current in chosen.points
    every = choose_points(SWEEP, {"n": 64}, current, 100, seed)
    assert len(every.points) == ALLOWED


def test_the_point_of_the_source_is_tried_even_when_no_list_names_it():
    outside = {"TILE": 3, "UNROLL": 1}
    assert outside in choose_points(SWEEP, {"n": 64}, outside, None, 1).points
    forbidden = {"TILE": 3, "UNROLL": 16}
    chosen = choose_points(SWEEP, {"n": 64}, forbidden, None, 1)
    assert forbidden not in chosen.points
    assert chosen.excluded == {"TILE * UNROLL <= 32": 2}


@pytest.mark.slow
def test_every_point_that_a_shipped_sweep_allows_passes_the_assertions_of_its_source():
    gemm = read_ladder(Path(__file__).parents[3] / "kernels/gemm/ladder.toml")
    for kernel in filter(lambda one: one.sweep is not None, gemm.kernels):
        constants, assertions = _assertions(kernel.source.read_text())
        sweep = sweep_of(kernel, gemm)
        points = choose_points(sweep, gemm.workload.parameters, None, None, seed=1).points
        assert len(points) > 200
        for point in points:
            values = dict(point)
            for name, text in constants:
                values[name] = eval(text, {"__builtins__": {}, "size_t": int}, values)
            assert all(eval(text, {"__builtins__": {}}, values) for text in assertions), (kernel, point)


def _assertions(source):
    """Constants and static assertions of a source, as Python would write them."""
    lines = re.findall(r"^constexpr int (.+?);", source, re.MULTILINE)
    constants = [part.split(" = ") for line in lines for part in re.split(r", (?=\w+ = )", line)]
    assertions = re.findall(r'^static_assert\((.+), "', source, re.MULTILINE)
    assert assertions

    def in_python(text):
        return text.replace("/", "//").replace("&&", "and")

    return [(name, in_python(text)) for name, text in constants], list(map(in_python, assertions))


def test_a_kernel_without_a_sweep_names_those_that_have_one():
    gemm = read_ladder(Path(__file__).parents[3] / "kernels/gemm/ladder.toml")
    with pytest.raises(
        LadderInvalid, match=r"kernel 6 \(vectorized\) declares no sweep; those that do: 7, 8, 9"
    ):
        sweep_of(gemm.kernel(6), gemm)


# Compiling


def test_a_point_is_the_same_kernel_with_every_parameter_given():
    one = variant(kernel(), {"TILE": 8, "UNROLL": -1})
    assert one.flags == ("-O3", "-DTILE=8", "-DUNROLL=-1")
    assert one.file_name == "07_tile-8--1"
    long = variant(kernel(), {f"P{number}": number for number in range(60)})
    assert len(long.file_name) < 60
    assert long.file_name != variant(kernel(), {f"P{number}": number + 1 for number in range(60)}).file_name


def test_the_largest_of_the_rungs_own_kernels_counts():
    point = judge_built(SWEEP, {"n": 64}, candidate(resources("_Z4tileb", 40), resources("_Z4tilei", 96), resources("other", 255, 8)))  # fmt: skip
    assert (point.point, point.status, point.reason) == (5, "correct", "")
    assert (point.registers, point.shared_bytes, point.spill_bytes) == (96, 4352, 0)


def test_a_constraint_on_the_compiled_kernel_is_not_passed_by_a_kernel_that_is_not_found():
    point = judge_built(SWEEP, {"n": 64}, candidate(resources("other", 255, 8)))
    assert point.status == "excluded"
    assert point.reason.startswith("registers <= 128 and spill_bytes == 0, but 'tile' matches no kernel")


def test_a_point_that_breaks_a_constraint_once_compiled_says_by_what():
    point = judge_built(SWEEP, {"n": 64}, candidate(resources("tile", 96, 4)))
    assert point.status == "excluded"
    assert point.reason == "registers <= 128 and spill_bytes == 0, but registers is 96, spill_bytes is 8"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ('    tile.cu(41): error: static assertion failed with "no"', 'static assertion failed with "no"'),
        ("    ptxas error   : Entry function uses too much shared data", "Entry function uses too much shared data"),
        ("    killed", "kernel 7 does not compile (exit code 2)"),
    ],
)  # fmt: skip
def test_a_point_that_does_not_compile_gives_the_reason_in_one_line(said, reason):
    error = BuildFailed("kernel 7 does not compile (exit code 2)", details=["  nvcc -Werror tile.cu", said])
    point = judge_built(SWEEP, {"n": 64}, candidate(error=error))
    assert (point.status, point.reason, point.registers) == ("uncompiled", reason, None)


def test_a_failure_is_one_line_without_the_points_own_name():
    error = program_failure(
        "kernel 7 (tile-2) at n=64", 1, "exit code 1", ["  ./tile", "    one", "    too many resources"]
    )
    assert failure_of(error, "kernel 7 (tile-2) at n=64") == "exit code 1: too many resources"
    assert failure_of(ProgramFailed("it did not end"), "kernel 7") == "it did not end"


# Telling whether a program changed


def test_other_defaults_are_the_same_source_and_anything_else_is_another(tmp_path):
    source, header = tmp_path / "tile.cu", tmp_path / "shared.cuh"
    source.write_text("#define TILE 2\n#define UNROLL 1\ncode\n")
    header.write_text("#define TILE 2\n")
    own = kernel(source=source, sweep=SWEEP)
    ladder = Ladder("made", "Made", tmp_path / "ladder.toml", None, (own,))

    def hashes():
        return source_hashes(ladder, own, SWEEP, [source, header])

    before = hashes()
    assert list(before) == ["tile.cu", "shared.cuh"]
    source.write_text("#define TILE 16\n#define UNROLL 4\ncode\n")
    assert hashes() == before
    header.write_text("#define TILE 4\n")
    assert hashes() != before
    one = candidate(resources("tile", 40))
    assert code_hash(one, before) != code_hash(one, hashes())
    assert code_hash(one, before) != code_hash(
        BuiltPoint(5, {}, replace(one.built, kernel=variant(kernel(), {"TILE": 4}))), before
    )
