"""Defaults in a source: read, replaced without changing another character, and found in the shipped kernels."""

from pathlib import Path

import pytest

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.errors import DefaultsNotFound
from profiler.measuring.tune.defaults import read_defaults, with_defaults, without_defaults

SOURCE = """\
// #define TILE 1 would be too small
#ifndef TILE
#define TILE 64  // rows
  #  define UNROLL\t-2 /* loops */
#define TILED(x) x
#endif
constexpr int ROWS = TILE;
"""
NAMES = ("TILE", "UNROLL")
GEMM = read_ladder(Path(__file__).parents[3] / "kernels/gemm/ladder.toml")


def test_the_values_are_read_and_replaced_and_nothing_else():
    assert read_defaults(SOURCE, NAMES) == {"TILE": 64, "UNROLL": -2}
    changed = with_defaults(SOURCE, {"TILE": 128, "UNROLL": 4})
    assert changed == SOURCE.replace("TILE 64", "TILE 128").replace("-2", "4")
    assert with_defaults(changed, {"TILE": 64, "UNROLL": -2}) == SOURCE


def test_line_ends_stay_as_they_are():
    windows = SOURCE.replace("\n", "\r\n")
    assert with_defaults(windows, {"TILE": 8}) == windows.replace("TILE 64", "TILE 8")


def test_a_source_is_the_same_whatever_its_defaults():
    changed = with_defaults(SOURCE, {"TILE": 128, "UNROLL": 4})
    assert without_defaults(changed, NAMES) == without_defaults(SOURCE, NAMES)
    assert without_defaults(SOURCE + " ", NAMES) != without_defaults(SOURCE, NAMES)


@pytest.mark.parametrize(
    ("source", "times"),
    [
        ("", "nowhere"),
        ("#define TILE\n", "nowhere"),
        ("#define TILE (1 << 3)\n", "nowhere"),
        ("#define TILE 8 + 1\n", "nowhere"),
        ("#define TILE 8\n#define TILE 16\n", "2 times"),
    ],
)
def test_a_default_that_is_not_one_whole_number_is_refused(source, times):
    with pytest.raises(DefaultsNotFound, match=rf"defines TILE as a whole number {times}"):
        read_defaults(source, ["TILE"])


@pytest.mark.parametrize("kernel", [one for one in GEMM.kernels if one.sweep], ids=str)
def test_the_defaults_of_a_shipped_rung_are_a_point_that_its_sweep_allows(kernel):
    current = read_defaults(kernel.source.read_text(), kernel.sweep.parameters)
    assert current in list(kernel.sweep.grid())
    assert kernel.sweep.broken({**GEMM.workload.parameters, **current, "spill_bytes": 0}) is None


def test_three_shipped_rungs_declare_a_sweep():
    assert [one.number for one in GEMM.kernels if one.sweep] == [7, 8, 9]
