"""The transpose of a matrix in PyTorch, as its eager and its compiled rungs run it."""

import torch
from torch_task import Operation, relative_error, row_chunks, uniform


def step(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous()


def operation(seed: int, rows: int = 16384, columns: int = 16384) -> Operation:
    x = uniform((rows, columns), torch.float32, seed)

    def error(result: torch.Tensor) -> float:
        return relative_error(
            (result[:, some].double(), x[some].t().double()) for some in row_chunks(rows, columns)
        )

    return Operation(step, (x,), 2 * x.numel() * x.element_size(), "fp32", error, threshold=0.0)
