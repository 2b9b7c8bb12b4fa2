"""The lookup in PyTorch, as its eager and its compiled rung run it."""

import torch
from torch_task import Operation, relative_error, row_chunks, uniform, uniform_ids


def step(ids: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.embedding(ids, table)


def operation(seed: int, tokens: int = 262144, hidden: int = 1024, vocab: int = 262144) -> Operation:
    table = uniform((vocab, hidden), torch.float32, seed)
    ids = uniform_ids(tokens, vocab, seed + 1)

    def error(result: torch.Tensor) -> float:
        return relative_error(
            (result[some].double(), table[ids[some].long()].double()) for some in row_chunks(tokens, hidden)
        )

    moved_bytes = tokens * (2 * 4 * hidden + 4)
    return Operation(step, (ids, table), moved_bytes, "fp32", error, threshold=0.0)
