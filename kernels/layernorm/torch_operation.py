"""Layer norm in PyTorch, as its eager and its compiled rung run it."""

import torch
from torch_task import Operation, row_chunks, uniform, worst_row_error

EPSILON = 1e-5


def step(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, gamma.shape, gamma, beta, EPSILON)


def exact(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    return gamma * centred / (centred.square().mean(dim=-1, keepdim=True) + EPSILON).sqrt() + beta


def operation(seed: int, rows: int = 32768, hidden: int = 4096) -> Operation:
    x = uniform((rows, hidden), torch.float32, seed)
    gamma, beta = (uniform((hidden,), torch.float32, seed + place) for place in (1, 2))

    def error(result: torch.Tensor) -> float:
        return worst_row_error(
            (result[some].double(), exact(x[some].double(), gamma.double(), beta.double()))
            for some in row_chunks(rows, hidden)
        )

    moved_bytes = 4 * (2 * rows * hidden + 2 * hidden)
    return Operation(step, (x, gamma, beta), moved_bytes, "fp32", error, threshold=2.0**-18)
