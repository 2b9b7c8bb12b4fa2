"""A lookup and the RMSNorm of what it found in PyTorch, as the eager and the compiled rung run it."""

import torch
from torch_task import Operation, row_chunks, uniform, uniform_ids, worst_row_error

EPSILON = 1e-6


def step(ids: torch.Tensor, table: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    rows = torch.nn.functional.embedding(ids, table)
    return torch.nn.functional.rms_norm(rows, gamma.shape, gamma, EPSILON)


def exact(x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    return gamma * x / (x.square().mean(dim=-1, keepdim=True) + EPSILON).sqrt()


def operation(seed: int, tokens: int = 131072, hidden: int = 4096, vocab: int = 131072) -> Operation:
    table, gamma = (
        uniform(shape, torch.float16, seed + place)
        for place, shape in enumerate(((vocab, hidden), (hidden,)))
    )
    ids = uniform_ids(tokens, vocab, seed + 2)

    def error(result: torch.Tensor) -> float:
        return worst_row_error(
            (result[some].double(), exact(table[ids[some].long()].double(), gamma.double()))
            for some in row_chunks(tokens, hidden)
        )

    moved_bytes = tokens * (2 * 2 * hidden + 4) + 2 * hidden  # the rows are written once, by a fused kernel
    return Operation(step, (ids, table, gamma), moved_bytes, "fp16", error, threshold=2.0**-11)
