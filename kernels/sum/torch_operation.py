"""The sum in PyTorch, as its eager and its compiled rung run it."""

import math

import torch
from torch_task import CHUNK, Operation, uniform


def step(x: torch.Tensor) -> torch.Tensor:
    return x.sum()


def operation(seed: int, n: int = 268435456) -> Operation:
    x = uniform((n,), torch.float32, seed)

    def error(result: torch.Tensor) -> float:
        """In norms of the data, the root of the sum of their squares: the sum itself may well be zero."""
        total = math.fsum(float(part.double().sum()) for part in x.split(CHUNK))
        squares = math.fsum(float(part.double().square().sum()) for part in x.split(CHUNK))
        return abs(float(result) - total) / math.sqrt(squares)

    return Operation(step, (x,), x.numel() * x.element_size(), "fp32", error, threshold=2.0**-17)
