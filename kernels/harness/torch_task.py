"""What the operations of the PyTorch rungs are made of: fresh random data, and how far a result is from FP64."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

CHUNK = 1 << 24  # elements that are compared in FP64 at a time


@dataclass(frozen=True)
class Operation:
    """What one step computes, of which inputs, and how its result is judged."""

    step: Callable[..., torch.Tensor]
    inputs: tuple[torch.Tensor, ...]
    moved_bytes: int  # by one step, at least
    precision: str
    error: Callable[[torch.Tensor], float]  # of a result, relative
    threshold: float

    @staticmethod
    def not_finite(result: torch.Tensor) -> int:
        return sum(part.numel() - int(part.isfinite().sum()) for part in result.reshape(-1).split(CHUNK))


def uniform(
    shape: Sequence[int], dtype: torch.dtype, seed: int, low: float = -1.0, high: float = 1.0
) -> torch.Tensor:
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.empty(shape, dtype=dtype, device="cuda").uniform_(low, high, generator=generator)


def uniform_ids(count: int, below: int, seed: int) -> torch.Tensor:
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randint(below, (count,), dtype=torch.int32, device="cuda", generator=generator)


def relative_error(pairs: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> float:
    """The norm of the differences by that of the exact values, of parts of a result and what they should be, in FP64."""
    difference_squared = exact_squared = 0.0
    for part, exact in pairs:
        difference_squared += float((part - exact).square().sum())
        exact_squared += float(exact.square().sum())
    return math.sqrt(difference_squared / exact_squared) if exact_squared else math.sqrt(difference_squared)


def worst_row_error(pairs: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> float:
    """The same row by row, of which the worst counts."""
    worst = 0.0
    for part, exact in pairs:
        norms = exact.norm(dim=-1)
        errors = (part - exact).norm(dim=-1) / norms.where(norms > 0, 1.0)
        worst = max(float(errors.max()), worst)
        if math.isnan(worst):
            break
    return worst


def elementwise_pairs(
    result: torch.Tensor, x: torch.Tensor, exact: Callable[[torch.Tensor], torch.Tensor]
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """What the element type can hold of the exact result is all that may be asked for."""
    for part, of in zip(result.split(CHUNK), x.split(CHUNK), strict=True):
        yield part.double(), exact(of.double()).to(x.dtype).double()


def row_chunks(rows: int, hidden: int) -> Iterator[slice]:
    at_once = max(1, CHUNK // hidden)
    for first in range(0, rows, at_once):
        yield slice(first, min(first + at_once, rows))


def elementwise(
    step: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    exact: Callable[[torch.Tensor], torch.Tensor],
    *,
    precision: str,
    threshold: float = 0.0,
) -> Operation:
    """Of one array, which is read once, into another, which is written once."""
    return Operation(
        step=step,
        inputs=(x,),
        moved_bytes=2 * x.numel() * x.element_size(),
        precision=precision,
        error=lambda result: relative_error(elementwise_pairs(result, x, exact)),
        threshold=threshold,
    )
