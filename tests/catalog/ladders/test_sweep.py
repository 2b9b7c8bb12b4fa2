"""Sweeps: what `[kernel.tune]` means, how a bad one fails, and that exactly the allowed points are left."""

import pytest
from hypothesis import given, strategies as st

from profiler.catalog.ladders.expressions import parse_constraint
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.catalog.ladders.sweep import read_sweep
from profiler.errors import ExpressionError, LadderInvalid

LADDER = """\
title = "Tiles"
command = ["{binary}"]
[workload]
n = 1024
[[kernel]]
number = 1
name = "tile"
idea = "a tile"
regex = "tile"
source = "tile.cu"
[kernel.tune]
constraints = [
    "threads <= 1024 and n % TILE == 0",
    "registers * threads <= 65536",
]
[kernel.tune.parameters]
TILE = [8, 16, 24]
UNROLL = [1, 2]
[kernel.tune.derived]
lanes = "TILE // 4"
threads = "lanes * TILE"
"""


def sweep_in(folder, text):
    (folder / "ladder.toml").write_text(text)
    sweep = read_ladder(folder / "ladder.toml").kernel(1).sweep
    assert sweep is not None
    return sweep


def test_the_grid_is_every_combination(tmp_path):
    sweep = sweep_in(tmp_path, LADDER)
    assert sweep.combinations == 6
    grid = list(sweep.grid())
    assert grid[:3] == [{"TILE": 8, "UNROLL": 1}, {"TILE": 8, "UNROLL": 2}, {"TILE": 16, "UNROLL": 1}]
    assert len(grid) == 6


def test_a_constraint_is_asked_as_soon_as_all_that_it_names_is_known(tmp_path):
    sweep = sweep_in(tmp_path, LADDER)
    point = {"TILE": 16, "UNROLL": 1, "n": 1024}
    assert sweep.broken(point) is None
    assert sweep.broken({**point, "registers": 128}) is None
    broken = sweep.broken({**point, "registers": 2000})
    assert broken.text == "registers * threads <= 65536"
    broken = sweep.broken({**point, "TILE": 24})
    assert broken.names == ("threads", "n", "TILE")


def test_a_kernel_without_the_table_has_no_sweep(tmp_path):
    (tmp_path / "ladder.toml").write_text(LADDER.split("[kernel.tune]", maxsplit=1)[0])
    assert read_ladder(tmp_path / "ladder.toml").kernel(1).sweep is None


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("[8, 16, 24]", "[]", 17, "TILE needs a list of whole numbers: at least one"),
        ("[8, 16, 24]", "[8, 1.5]", 17, "TILE needs a list of whole numbers"),
        ("[8, 16, 24]", "[8, true]", 17, "TILE needs a list of whole numbers"),
        ("[8, 16, 24]", "[8, 3000000000]", 17, "none beyond 2147483647"),
        ("[8, 16, 24]", "[8, 8]", 17, "TILE names a value twice"),
        ("TILE = [8", '"a b" = [8', 17, "'a b' is not the name of a macro"),
        ("TILE = [8", "n = [8", 17, "'n' already means something else"),
        ("TILE = [8", "registers = [8", 17, "'registers' already means something else"),
        ("lanes =", "UNROLL =", 20, "'UNROLL' already means something else"),
        ('"TILE // 4"', '"TILE // WIDTH"', 20, "'WIDTH' is not known here"),
        ('"TILE // 4"', '"threads"', 20, "'threads' is not known here"),
        ('"TILE // 4"', "4", 20, "derived are written in quotes, not 4"),
        ("n % TILE == 0", "n % TILE", 12, "'n % TILE' compares nothing: use one of <= < >= > == !="),
        ("n % TILE == 0", "n = TILE", 12, "'=' is not part of arithmetic"),
        ("n % TILE == 0", "n <= TILE <= 4", 12, "'n <= TILE <= 4' is a chain: join two comparisons by 'and'"),
        ("[kernel.tune.derived]", "[kernel.tune.names]", 19, "unknown key 'names'"),
        ('source = "tile.cu"', 'source = "tile.py"', 11, "prof compiles: its source ends in .cu"),
        ("[kernel.tune.parameters]", "[kernel.tune.more]", 16, "unknown key 'more'"),
    ],
)
def test_a_bad_table_fails_with_its_line(tmp_path, old, new, line, reason):
    assert old in LADDER
    with pytest.raises(LadderInvalid) as caught:
        sweep_in(tmp_path, LADDER.replace(old, new).replace("{binary}", "python"))
    assert caught.value.message.startswith(f"{tmp_path / 'ladder.toml'}:{line}: ")
    assert reason in caught.value.message


def test_a_sweep_that_nobody_could_finish_is_refused(tmp_path):
    many = "TILE = [" + ", ".join(map(str, range(1, 1002))) + "]\n"
    with pytest.raises(LadderInvalid, match="more than 1,000,000 combinations"):
        sweep_in(tmp_path, LADDER.replace("UNROLL = [1, 2]", many.replace("TILE", "UNROLL")).replace("TILE = [8, 16, 24]", many))  # fmt: skip


_SUMS = st.sampled_from(["A", "B", "A * B", "A + 2 * B", "A // B", "A % B", "n // A", "A - B", "n % (A + B)"])
_COMPARISONS = st.tuples(_SUMS, st.sampled_from(["<=", "<", ">=", ">", "==", "!="]), _SUMS).map(" ".join)
_CONSTRAINTS = st.lists(st.lists(_COMPARISONS, min_size=1, max_size=3).map(" and ".join), max_size=3)
_VALUES = st.lists(st.integers(1, 40), min_size=1, max_size=4, unique=True)


@given(_VALUES, _VALUES, _CONSTRAINTS)
def test_the_points_left_are_those_that_python_would_leave(a, b, constraints):
    table = {"parameters": {"A": a, "B": b}, "constraints": constraints}
    sweep = read_sweep(table, {"n": 96}, lambda place, reason: pytest.fail(f"{place}: {reason}"))
    for point in sweep.grid():
        values = {**point, "n": 96}
        holds = [eval(text, {"__builtins__": {}}, values) for text in constraints]
        broken = sweep.broken(values)
        assert (broken.text if broken else None) == next(
            (text for text, one in zip(constraints, holds, strict=True) if not one), None
        )


def test_a_comparison_after_a_false_one_is_not_evaluated():
    condition = parse_constraint("k > 0 and n % k == 0")
    assert not condition.holds({"k": 0, "n": 7})
    assert condition.holds({"k": 7, "n": 7})
    with pytest.raises(ExpressionError, match="division by zero"):
        parse_constraint("n % k == 0 and k > 0").holds({"k": 0, "n": 7})


@pytest.mark.parametrize(
    "text",
    ["", "1", "k", "k <", "< k", "k < n and", "and k < n", "k < n or n < k", "k == n == 1", "(k < n) < 2", "k < (n < 2)", "(k < n and n < 2) and k", "k in n", "k is n", "not k < n", "k =< n", "k <> n", "and == 1"],
)  # fmt: skip
def test_anything_else_is_no_constraint(text):
    with pytest.raises(ExpressionError, match="character"):
        parse_constraint(text)
