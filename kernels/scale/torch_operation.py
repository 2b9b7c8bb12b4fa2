"""Scaling in PyTorch, as its eager and its compiled rung run it."""

import torch
from torch_task import Operation, elementwise, uniform

FACTOR = torch.tensor(1.7, dtype=torch.float32).item()


def step(x: torch.Tensor) -> torch.Tensor:
    return FACTOR * x


def operation(seed: int, n: int = 268435456) -> Operation:
    x = uniform((n,), torch.float32, seed)
    return elementwise(step, x, lambda exact: FACTOR * exact, precision="fp32")
