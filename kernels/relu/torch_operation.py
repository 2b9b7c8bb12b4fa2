"""ReLU in PyTorch, as its eager and its compiled rung run it."""

import torch
from torch_task import Operation, elementwise, uniform


def step(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


def operation(seed: int, n: int = 268435456) -> Operation:
    x = uniform((n,), torch.float32, seed)
    return elementwise(step, x, lambda exact: exact.clamp(min=0), precision="fp32")
