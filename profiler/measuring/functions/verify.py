"""Compares a function's results with those of its reference, on fresh inputs and over poisoned memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from profiler.measuring.functions.arrays import (
    Array,
    copied,
    fresh,
    holds,
    host,
    is_narrow,
    is_real,
    leaves,
    poison,
    replaced,
)

# The largest error of a type's rounding in a long sum, of the largest value: TF32 products are counted as float32.
_TOLERANCES = {"float64": 1e-10, "float32": 1e-3, "float16": 1e-2, "bfloat16": 4e-2}
_COARSEST = 0.25  # of 8 bits and fewer


class NotAlike(Exception):
    """The function's outputs cannot be compared with those of the reference; the text says why."""


@dataclass(frozen=True)
class Verified:
    """The worst output: its largest error, as a part of the reference's largest value."""

    relative_error: float
    threshold: float
    not_finite: int

    @property
    def ok(self) -> bool:
        return not self.not_finite and self.relative_error <= self.threshold


AnyFunction = Callable[..., object]


def verify(
    function: AnyFunction,
    reference: AnyFunction,
    arguments: Sequence[Any],
    seed: int,
    tolerance: float | None,
) -> Verified:
    """Returns how far the function is from its reference.

    Outputs are what a function returns, or the arguments that it writes if it returns none. They hold NaN before the
    call that counts: the memory of a returned array was freed with NaN in it, and a written argument is filled with
    it unless the reference needs its old values.
    """
    random = np.random.default_rng(seed)
    inputs = replaced(tuple(arguments), lambda array: fresh(array, random))
    written = _poisoned_run(function, inputs)
    results = [_outputs(one, inputs, written, poisoned=True) for one in (reference, function)]
    if written and not all(np.isfinite(one).all() for one, _ in results[0]):
        results = [_outputs(one, inputs, written, poisoned=False) for one in (reference, function)]
    return _compare(results[0], results[1], tolerance)


def _poisoned_run(function: AnyFunction, inputs: Sequence[Any]) -> list[int]:
    """Runs the function once, fills what it returns with NaN, and returns the places of the arguments that it wrote."""
    used = replaced(inputs, copied)
    result = function(*used)
    pairs = zip(leaves(inputs), leaves(used), strict=True)
    written = [place for place, (before, after) in enumerate(pairs) if not holds(after, host(before))]
    for array in leaves(result):
        poison(array)
    return written


def _outputs(
    function: AnyFunction, inputs: Sequence[Any], written: Sequence[int], *, poisoned: bool
) -> list[tuple[np.ndarray[Any, Any], str]]:
    """Returns the values and the type of each output."""
    used = replaced(inputs, copied)
    places = list(leaves(used))
    if poisoned:
        for place in written:
            poison(places[place])
    returned = list(leaves(function(*used)))
    arrays: list[Array] = returned or [places[place] for place in written]
    return [(host(one), _type_of(one)) for one in arrays]


def _type_of(array: Array) -> str:
    if not is_real(array):
        return "exact" if "complex" not in str(array.dtype) else "float32"
    name = str(array.dtype).rpartition(".")[2]
    return name if name in _TOLERANCES or is_narrow(array) else "float32"


def _compare(
    wanted: Sequence[tuple[np.ndarray[Any, Any], str]],
    got: Sequence[tuple[np.ndarray[Any, Any], str]],
    tolerance: float | None,
) -> Verified:
    if not got:
        raise NotAlike("it returns no array and writes none of its arguments, so there is nothing to verify")
    if len(wanted) != len(got):
        raise NotAlike(f"it has {len(got)} outputs, and its reference {len(wanted)}")
    worst = Verified(0.0, 0.0, 0)
    for place, ((want, _), (have, kind)) in enumerate(zip(wanted, got, strict=True)):
        if want.shape != have.shape:
            raise NotAlike(
                f"output {place} has the shape {have.shape}, and that of its reference {want.shape}"
            )
        found = _judge(want, have, kind, tolerance)
        if (found.ok, -_excess(found)) <= (worst.ok, -_excess(worst)):
            worst = found
    return worst


def _excess(one: Verified) -> float:
    return one.relative_error / one.threshold if one.threshold else one.relative_error


def _judge(
    want: np.ndarray[Any, Any], have: np.ndarray[Any, Any], kind: str, given: float | None
) -> Verified:
    usual = 0.0 if kind == "exact" else _TOLERANCES.get(kind, _COARSEST)
    threshold = usual if given is None else given
    whole = (
        np.longdouble if kind == "exact" else np.float64
    )  # a double does not hold every integer of 64 bits
    wide = np.complex128 if np.iscomplexobj(want) else whole
    expected, found = want.astype(wide), have.astype(wide)
    finite = np.isfinite(expected)
    alike = np.array_equal(expected[~finite], found[~finite], equal_nan=True)
    bad = int((~np.isfinite(found[finite])).sum()) + (0 if alike else int((~finite).sum()))
    known = finite & np.isfinite(found)
    if not known.any():
        return Verified(0.0, threshold, bad)
    largest = float(np.abs(expected[known]).max()) or 1.0
    return Verified(float(np.abs(expected[known] - found[known]).max()) / largest, threshold, bad)
