"""Softmax in PyTorch, as its eager and its compiled rungs run it."""

import torch
from torch_task import Operation, row_chunks, uniform, worst_row_error


def step(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)


def operation(seed: int, rows: int = 65536, hidden: int = 4096) -> Operation:
    x = uniform((rows, hidden), torch.float32, seed, -8.0, 8.0)

    def error(result: torch.Tensor) -> float:
        return worst_row_error(
            (result[some].double(), x[some].double().softmax(dim=-1)) for some in row_chunks(rows, hidden)
        )

    return Operation(step, (x,), 2 * x.numel() * x.element_size(), "fp32", error, threshold=2.0**-18)
