"""Reads `[kernel.tune]` of a ladder file: the points of a kernel's parameters that are worth measuring.

In: the table. Out: a `Sweep`. Its constraints are checked twice: before a point is compiled, with the values
that follow from its parameters, and afterwards, with what the compiler reports.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NoReturn, TypeVar

from profiler.catalog.ladders.expressions import (
    Constraint,
    Expression,
    Number,
    parse_constraint,
    parse_expression,
)
from profiler.catalog.ladders.toml_reader import KeyPath
from profiler.errors import ExpressionError

# The compiler reports these for a point: the largest among the kernels that the rung's regular expression matches.
COMPILED = {
    "registers": "registers of a thread",
    "shared_bytes": "static shared memory of a block",
    "spill_bytes": "bytes of registers kept in local memory",
}
_KEYS = {"parameters", "derived", "constraints"}
_MOST_COMBINATIONS = 1_000_000
_MACRO = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}")
_LARGEST_VALUE = 2**31 - 1  # what an `int` of the program holds

Parsed = TypeVar("Parsed", Expression, Constraint)
SweepPoint = dict[str, int]  # every parameter's value
Fail = Callable[[KeyPath, str], NoReturn]


@dataclass(frozen=True)
class SweepSpace:
    parameters: Mapping[str, tuple[int, ...]]
    derived: Mapping[str, Expression]
    constraints: tuple[Constraint, ...]

    @property
    def combinations(self) -> int:
        return math.prod(len(values) for values in self.parameters.values())

    def grid(self) -> Iterator[SweepPoint]:
        """Yields every combination; the last parameter changes fastest."""
        for values in product(*self.parameters.values()):
            yield dict(zip(self.parameters, values, strict=True))

    def broken(self, known: Mapping[str, Number]) -> Constraint | None:
        """Returns the first constraint that fails, or None; skips constraints with names that are not known yet."""
        values = dict(known)
        for name, expression in self.derived.items():
            if all(needed in values for needed in expression.names):
                values[name] = expression.evaluate(values)
        for constraint in self.constraints:
            decided = all(name in values for name in constraint.names)
            if decided and not constraint.holds(values):
                return constraint
        return None


def read_sweep(table: Any, workload: Mapping[str, int], fail: Fail) -> SweepSpace:
    """Returns the sweep, or calls `fail` with the keys of the bad value and the reason; `fail` must raise."""
    if not isinstance(table, dict):
        fail((), "tune is a table: [kernel.tune]")
    for key in table:
        if key not in _KEYS:
            fail((key,), f"unknown key '{key}'; known: {', '.join(sorted(_KEYS))}")
    parameters = _parameters(table.get("parameters"), workload, fail)
    taken = {*parameters, *workload, *COMPILED}
    derived: dict[str, Expression] = {}
    for name, text in _table(table, "derived", fail).items():
        at: KeyPath = ("derived", name)
        if not _MACRO.fullmatch(name) or name in taken:
            fail(at, f"'{name}' {'already means something else' if name in taken else 'is not a name'}")
        derived[name] = _parsed(parse_expression, text, {*taken, *derived}, at, fail)
    constraints = table.get("constraints", [])
    if not isinstance(constraints, list):
        fail(("constraints",), "constraints are a list of comparisons in quotes")
    names = {*taken, *derived}
    return SweepSpace(
        parameters,
        derived,
        tuple(_parsed(parse_constraint, text, names, ("constraints",), fail) for text in constraints),
    )


def _parameters(table: Any, workload: Mapping[str, int], fail: Fail) -> dict[str, tuple[int, ...]]:
    if not isinstance(table, dict) or not table:
        fail(("parameters",), "a sweep needs [kernel.tune.parameters]: macros, each with a list of values")
    parameters = {}
    for name, values in table.items():
        at: KeyPath = ("parameters", name)
        if not _MACRO.fullmatch(name):
            fail(at, f"'{name}' is not the name of a macro")
        if name in workload or name in COMPILED:
            fail(at, f"'{name}' already means something else")
        if not isinstance(values, list) or not values or not all(map(_is_value, values)):
            fail(at, f"{name} needs a list of whole numbers: at least one, none beyond {_LARGEST_VALUE}")
        if len(set(values)) < len(values):
            fail(at, f"{name} names a value twice")
        parameters[name] = tuple(values)
    if math.prod(map(len, parameters.values())) > _MOST_COMBINATIONS:
        fail(("parameters",), f"more than {_MOST_COMBINATIONS:,} combinations: give fewer values")
    return parameters


def _is_value(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST_VALUE


def _table(table: Mapping[str, Any], key: str, fail: Fail) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        fail((key,), f"{key} is a table: [kernel.tune.{key}]")
    return value


def _parsed(parse: Callable[[str], Parsed], text: object, known: set[str], at: KeyPath, fail: Fail) -> Parsed:
    if not isinstance(text, str):
        fail(at, f"{at[0]} are written in quotes, not {text!r}")
    try:
        parsed = parse(text)
    except ExpressionError as error:
        fail(at, error.message)
    for name in parsed.names:
        if name not in known:
            fail(at, f"'{text}': '{name}' is not known here; known: {', '.join(sorted(known))}")
    return parsed
