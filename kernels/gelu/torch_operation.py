"""GELU in PyTorch, its exact form with erf, as its eager and its compiled rung run it."""

import math

import torch
from torch_task import Operation, elementwise, uniform


def step(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x)


def exact(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * torch.erfc(-x / math.sqrt(2))


def operation(seed: int, n: int = 268435456) -> Operation:
    x = uniform((n,), torch.float32, seed, -6.0, 6.0)
    return elementwise(step, x, exact, precision="fp32", threshold=1e-6)
