"""RMSNorm in PyTorch, as its eager and its compiled rung run it."""

import torch
from torch_task import Operation, row_chunks, uniform, worst_row_error

EPSILON = 1e-6


def step(x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.rms_norm(x, gamma.shape, gamma, EPSILON)


def exact(x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    return gamma * x / (x.square().mean(dim=-1, keepdim=True) + EPSILON).sqrt()


def operation(seed: int, rows: int = 131072, hidden: int = 4096, bf16: int = 0) -> Operation:
    # Two roundings to the element type: of the normalised row, and of the result.
    dtype, precision, threshold = (
        (torch.bfloat16, "bf16", 2.0**-8) if bf16 else (torch.float16, "fp16", 2.0**-11)
    )
    x, gamma = uniform((rows, hidden), dtype, seed), uniform((hidden,), dtype, seed + 1)

    def error(result: torch.Tensor) -> float:
        return worst_row_error(
            (result[some].double(), exact(x[some].double(), gamma.double()))
            for some in row_chunks(rows, hidden)
        )

    moved_bytes = 2 * (2 * rows * hidden + hidden)
    return Operation(step, (x, gamma), moved_bytes, precision, error, threshold)
