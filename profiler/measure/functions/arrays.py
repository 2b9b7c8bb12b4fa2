"""Reads, copies and fills arrays of PyTorch, CuPy, Numba, JAX and NumPy alike; imports none of them but NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress
from numbers import Number
from typing import Any

import numpy as np

Array = Any


def leaves(value: object) -> Iterator[Array]:
    """Yields the arrays in a value: in tuples, lists and dictionaries, in their order."""
    if is_array(value):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from leaves(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from leaves(one)


def is_array(value: object) -> bool:
    """Returns True for everything with a shape and a type of numbers, on the GPU or not."""
    return hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, type)


def described(value: object) -> str:
    """Returns the type and shape of each array, the value of each number or string, and the type of anything else."""
    if value is None or isinstance(value, (Number, str)):
        return repr(value)
    if is_array(value):
        array: Array = value
        shape = "x".join(map(str, array.shape))
        return f"{str(array.dtype).removeprefix('torch.')}[{shape}]"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(described, value))})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {described(one)}' for key, one in value.items())}}}"
    return type(value).__name__


def replaced(value: Any, change: Callable[[Array], Array]) -> Any:
    """Returns the value with each of its arrays replaced by what `change` returns for it."""
    if is_array(value):
        return change(value)
    if isinstance(value, dict):
        return {key: replaced(one, change) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(replaced(one, change) for one in value))
    if isinstance(value, (tuple, list)):
        return type(value)(replaced(one, change) for one in value)
    return value


def copied(array: Array) -> Array:
    """Returns an array of its own memory with the same values and the same order in memory."""
    if _is_torch(array):
        return array.detach().clone().requires_grad_(array.requires_grad)
    if hasattr(array, "copy_to_host"):
        return with_values(array, array.copy_to_host())
    if hasattr(array, "at") and hasattr(array, "block_until_ready"):
        return array  # JAX never changes an array
    return array.copy(order="K") if hasattr(array, "flags") else array.copy()


def host(array: Array) -> np.ndarray[Any, Any]:
    """Returns the values as a NumPy array; types that NumPy lacks become float32."""
    if _is_torch(array):
        array = array.detach()
        return np.asarray((array.float() if is_narrow(array) else array).cpu().resolve_conj().numpy())
    if hasattr(array, "copy_to_host"):
        return np.asarray(array.copy_to_host())
    if hasattr(array, "get") and hasattr(array, "__cuda_array_interface__"):
        return np.asarray(array.get())
    found = np.asarray(array)
    return found.astype(np.float32) if is_narrow(array) else found


def with_values(array: Array, values: np.ndarray[Any, Any]) -> Array:
    """Returns an array like this one, on the same GPU and in the same order, with other values."""
    if _is_torch(array):
        new = array.detach().clone()
        new.copy_(sys.modules["torch"].from_numpy(np.ascontiguousarray(values)))
        return new.requires_grad_(array.requires_grad)
    if hasattr(array, "copy_to_host"):
        return sys.modules["numba"].cuda.to_device(values)
    if hasattr(array, "block_until_ready"):
        return sys.modules["jax"].numpy.asarray(values, dtype=array.dtype)
    new = array.copy(order="K")
    new[...] = sys.modules["cupy"].asarray(values) if hasattr(array, "get") else values
    return new


def assign(array: Array, values: Array) -> None:
    """Puts the values of an array like this one into it."""
    if _is_torch(array):
        array.detach().copy_(values)
    elif hasattr(array, "copy_to_host"):
        array.copy_to_device(values)
    else:
        array[...] = values


# Of the host's memory, and as much again for the largest array while it is compared.
MOST_KEPT_BYTES = 8 << 30
_COMPARED_AT_ONCE = 1 << 20  # values: NumPy's comparison takes several times the memory of what it compares


class KeptArguments:
    """The arguments of calls, which find the arrays that a call writes, and put their values back before the next.

    Otherwise a function that works in place would meet in each call what the call before has left: an array that is
    sorted already, or numbers that have grown beyond all bounds. `left_out` counts the bytes that are not put back.
    """

    def __init__(self, arguments: Sequence[Any]) -> None:
        self.values = tuple(arguments)
        self.left_out = kept = 0
        self._before: list[tuple[Array, np.ndarray[Any, Any]]] = []
        for array in leaves(self.values):
            size = _host_bytes(array)
            if hasattr(array, "block_until_ready"):  # JAX never changes an array
                continue
            if kept + size > MOST_KEPT_BYTES:
                self.left_out += size
                continue
            with suppress(Exception):  # of a kind that cannot be read, such as a sparse one
                self._before.append((array, host(array).copy()))
                kept += size
        self._written: list[tuple[Array, Array]] = []

    @property
    def are_written(self) -> bool:
        return bool(self._written)

    def find_written(self) -> None:
        """Finds which arrays a call has changed, puts back what they held, and keeps it where they lie."""
        changed = [not _holds(array, before) for array, before in self._before]
        refused = []
        for array, before in compress(self._before, changed):
            try:
                kept = with_values(array, before)
                assign(array, kept)
            except Exception:  # it is an expanded view, was given another shape, or its GPU is full
                refused.append((array, before))
            else:
                self._written.append((array, kept))
        self.left_out += sum(_host_bytes(array) for array, before in refused if not _holds(array, before))
        self._before = [
            pair for pair, is_changed in zip(self._before, changed, strict=True) if not is_changed
        ]

    def put_back(self) -> None:
        for array, before in self._written:
            assign(array, before)


def _holds(array: Array, values: np.ndarray[Any, Any]) -> bool:
    """Returns True if the array still has these values, and NaN where they are NaN."""
    now = host(array)
    if now.shape != values.shape:
        return False
    flat, before, with_nan = now.ravel(), values.ravel(), values.dtype.kind in "fc"
    pieces = (slice(at, at + _COMPARED_AT_ONCE) for at in range(0, before.size, _COMPARED_AT_ONCE))
    return all(np.array_equal(flat[one], before[one], equal_nan=with_nan) for one in pieces)


def _host_bytes(array: Array) -> int:
    """Returns the bytes that the array takes as one of NumPy."""
    grows = 4 // array.dtype.itemsize if is_narrow(array) else 1
    return int(getattr(array, "nbytes", 0)) * grows


def is_real(array: Array) -> bool:
    """Returns True if the array holds floating-point numbers."""
    return "float" in str(array.dtype)


def is_narrow(array: Array) -> bool:
    """Returns True for the floating-point types that NumPy lacks: bfloat16 and those of 8 bits and fewer."""
    name = str(array.dtype)
    return "bfloat16" in name or "float8" in name or "float4" in name


def poison(array: Array) -> None:
    """Fills an array with NaN if it holds floating-point numbers and can be changed."""
    if not is_real(array) or hasattr(array, "block_until_ready"):
        return
    if _is_torch(array):
        array.detach().fill_(float("nan"))
    elif hasattr(array, "copy_to_host"):
        array.copy_to_device(np.full(array.shape, np.nan, array.dtype))
    elif hasattr(array, "fill"):
        array.fill(np.nan)


def fresh(array: Array, random: np.random.Generator) -> Array:
    """Returns other values of the same kind: those of the array, moved along and each scaled by 0.5 to 1.5.

    So signs, ranges and zeros stay as the function expects them. Whole numbers stay: they may be indices.
    """
    values = host(array)
    if not is_real(array) or not values.size:
        return copied(array)
    moved = np.roll(values.reshape(-1), int(random.integers(values.size)))
    scale = random.random(values.size, dtype=np.float32) + np.float32(0.5)
    return with_values(array, (moved * scale).astype(values.dtype).reshape(values.shape))


def _is_torch(array: Array) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


# Compares a function's results with those of its reference, on fresh inputs and over poisoned memory.

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
    written = [place for place, (before, after) in enumerate(pairs) if not _holds(after, host(before))]
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
    threshold = given if given is not None else 0.0 if kind == "exact" else _TOLERANCES.get(kind, _COARSEST)
    wide = np.complex128 if np.iscomplexobj(want) else np.float64
    expected, found = want.astype(wide), have.astype(wide)
    finite = np.isfinite(expected)
    alike = np.array_equal(expected[~finite], found[~finite], equal_nan=True)
    bad = int((~np.isfinite(found[finite])).sum()) + (0 if alike else int((~finite).sum()))
    known = finite & np.isfinite(found)
    if not known.any():
        return Verified(0.0, threshold, bad)
    largest = float(np.abs(expected[known]).max()) or 1.0
    return Verified(float(np.abs(expected[known] - found[known]).max()) / largest, threshold, bad)
