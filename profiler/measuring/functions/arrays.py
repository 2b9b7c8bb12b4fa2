"""Reads, copies and fills arrays of PyTorch, CuPy, Numba, JAX and NumPy alike; imports none of them but NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
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
    if _is_numba(array):
        return _with_values(array, array.copy_to_host())
    if _is_jax(array):
        return array
    return array.copy(order="K") if hasattr(array, "flags") else array.copy()


def host(array: Array) -> np.ndarray[Any, Any]:
    """Returns the values as a NumPy array; types that NumPy lacks become float32."""
    if _is_torch(array):
        array = array.detach()
        return np.asarray((array.float() if is_narrow(array) else array).cpu().resolve_conj().numpy())
    if _is_numba(array):
        return np.asarray(array.copy_to_host())
    if hasattr(array, "get") and hasattr(array, "__cuda_array_interface__"):
        return np.asarray(array.get())
    found = np.asarray(array)
    return found.astype(np.float32) if is_narrow(array) else found


def own_values(array: Array) -> np.ndarray[Any, Any]:
    """Returns the values as a NumPy array that shares its memory with nothing; those of a GPU are copied once."""
    on_gpu = array.is_cuda if _is_torch(array) else hasattr(array, "__cuda_array_interface__")
    return host(array) if on_gpu or is_narrow(array) else host(array).copy()


def _with_values(array: Array, values: np.ndarray[Any, Any]) -> Array:
    """Returns an array like this one, on the same GPU and in the same order, with other values."""
    if _is_torch(array):
        new = array.detach().clone()
        new.copy_(sys.modules["torch"].from_numpy(np.ascontiguousarray(values)))
        return new.requires_grad_(array.requires_grad)
    if _is_numba(array):
        return sys.modules["numba"].cuda.to_device(values)
    if _is_jax(array):
        return sys.modules["jax"].numpy.asarray(values, dtype=array.dtype)
    new = array.copy(order="K")
    new[...] = sys.modules["cupy"].asarray(values) if hasattr(array, "get") else values
    return new


def assign(array: Array, values: Array) -> None:
    """Puts the values of an array like this one into it."""
    if _is_torch(array):
        array.detach().copy_(values)
    elif _is_numba(array):
        array.copy_to_device(values)
    else:
        array[...] = values


# Bytes of the host's memory; the largest array takes as many again while it is compared.
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
            if _is_jax(array):
                continue
            if kept + size > MOST_KEPT_BYTES:
                self.left_out += size
                continue
            with suppress(Exception):  # of a kind that cannot be read, such as a sparse one
                self._before.append((array, own_values(array)))
                kept += size
        self._written: list[tuple[Array, Array]] = []

    @property
    def are_written(self) -> bool:
        return bool(self._written)

    def find_written(self) -> None:
        """Finds which arrays a call has changed, puts back what they held, and keeps it where they lie."""
        changed = [not holds(array, before) for array, before in self._before]
        refused = []
        for array, before in compress(self._before, changed):
            try:
                kept = _with_values(array, before)
                assign(array, kept)
            except Exception:  # it is an expanded view, was given another shape, or its GPU is full
                refused.append((array, before))
            else:
                self._written.append((array, kept))
        self.left_out += sum(_host_bytes(array) for array, before in refused if not holds(array, before))
        self._before = [
            pair for pair, is_changed in zip(self._before, changed, strict=True) if not is_changed
        ]

    def put_back(self) -> None:
        for array, before in self._written:
            assign(array, before)


def holds(array: Array, values: np.ndarray[Any, Any]) -> bool:
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
    if not is_real(array) or _is_jax(array):
        return
    if _is_torch(array):
        array.detach().fill_(float("nan"))
    elif _is_numba(array):
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
    return _with_values(array, (moved * scale).astype(values.dtype).reshape(values.shape))


def _is_torch(array: Array) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _is_numba(array: Array) -> bool:
    return hasattr(array, "copy_to_host")


def _is_jax(array: Array) -> bool:
    """Returns True for an array of JAX, which nothing can change."""
    return hasattr(array, "block_until_ready")
