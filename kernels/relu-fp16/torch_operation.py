"""ReLU of halves in PyTorch, as its eager and its compiled rung run it."""

import torch
from torch_task import Operation, elementwise, uniform


def step(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x)


def operation(seed: int, n: int = 536870912) -> Operation:
    x = uniform((n,), torch.float16, seed)
    return elementwise(step, x, lambda exact: exact.clamp(min=0), precision="fp16")
