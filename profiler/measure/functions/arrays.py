"""Reads, copies and fills arrays of PyTorch, CuPy, Numba, JAX and NumPy alike; imports none of them but NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
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
