"""The program around a rung in PyTorch: the flags, the lines and the exit codes of program.cuh.

A rung's file names the module of its ladder's operation, and the mode of torch.compile if that makes its step. That module has
a function `operation`, which takes the workload and a seed and returns an `Operation` of torch_task.py.
Nothing of prof is imported, and PyTorch only when there is something to run: without it the rung refuses.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import math
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

DONE, USAGE, UNSUPPORTED, MISMATCH, CUDA_FAILED, OUT_OF_MEMORY = 0, 2, 3, 4, 5, 6
PARAMETER = re.compile(r"--[a-z_][a-z0-9_]*")
COUNTS = (("--repeats", 20, 1), ("--launches", 1, 1), ("--warmup", 5, 0))  # a default, and the least
MODES = ("check", "time", "profile")
REFERENCE = "cudaMemcpy of as many bytes"
FLUSHES = (
    8  # reads of the buffer that empties the L2: long enough for Python to queue what is timed behind them
)
Tensor = Any


@dataclass(frozen=True)
class Options:
    mode: str
    values: Mapping[str, int]  # of the workload, where given
    repeats: int
    launches: int
    warmup: int
    seed: int
    json: bool


def fail(code: int, message: str) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(code)


def parse_options(words: Sequence[str]) -> Options:
    """Flags that are not known here are the workload's: the operation knows which it has."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, epilog="Further flags, such as --n 4096, set the workload."
    )
    parser.add_argument("--mode", choices=MODES, required=True)
    for flag, default, low in COUNTS:
        parser.add_argument(flag, type=whole_number(low), default=default)
    parser.add_argument("--seed", type=whole_number(0), default=secrets.randbits(32))
    parser.add_argument("--json", action="store_true")
    own = {"--mode", "--seed", "--json", "--help", *(flag for flag, _, _ in COUNTS)}
    further = [word for word in dict.fromkeys(words) if word not in own and PARAMETER.fullmatch(word)]
    for flag in further:
        parser.add_argument(flag, type=whole_number(0), required=True)
    given = vars(parser.parse_args(words))
    values = {flag[2:]: given.pop(flag[2:]) for flag in further}
    return Options(values=values, **given)


def whole_number(low: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        if not text.isdecimal() or int(text) < low:
            raise argparse.ArgumentTypeError(f"a whole number from {low}, not '{text}'")
        return int(text)

    return convert


def check_parameters(operation: Callable[..., object], given: Iterable[str]) -> None:
    """The workload is what the operation takes beside its seed; what is not given has a default there."""
    known = [name for name in inspect.signature(operation).parameters if name != "seed"]
    if not set(given) <= set(known):
        fail(USAGE, f"this rung's workload is set by {' '.join(f'--{name} N' for name in known)}")


def quantile(values: Iterable[float], q: float) -> float:
    """Linear interpolation between the closest ranks."""
    ordered = sorted(values)
    rank = q * (len(ordered) - 1)
    below = int(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (rank - below) * (ordered[above] - ordered[below])


def repeat_line(repeat: int, kernel_ns: float, reference_ns: float) -> dict[str, Any]:
    return {"repeat": repeat, "kernel_ns": round(kernel_ns), "reference_ns": round(reference_ns)}


def time_line(kernel_ns: Sequence[float], reference_ns: Sequence[float], moved_bytes: int) -> dict[str, Any]:
    median_ns, reference_median_ns = quantile(kernel_ns, 0.5), quantile(reference_ns, 0.5)
    return {
        "summary": True,
        "repeats": len(kernel_ns),
        "kernel_median_ns": round(median_ns),
        "kernel_min_ns": round(min(kernel_ns)),
        "kernel_max_ns": round(max(kernel_ns)),
        "kernel_iqr_ns": round(quantile(kernel_ns, 0.75) - quantile(kernel_ns, 0.25)),
        "gbytes_per_s": round(moved_bytes / median_ns, 1),
        "reference": REFERENCE,
        "reference_median_ns": round(reference_median_ns),
        "reference_pct": round(100 * reference_median_ns / median_ns, 2),
    }


def check_line(error: float, threshold: float, not_finite: int) -> dict[str, Any]:
    """An error that is no number has no place in JSON, and is never within the threshold."""
    return {
        "relative_error": error if math.isfinite(error) else None,
        "threshold": threshold,
        "not_finite": not_finite,
        "ok": not_finite == 0 and error <= threshold,
    }


class Program:
    def __init__(
        self, torch: Any, name: str, options: Options, operation: Any, compile_mode: str | None
    ) -> None:
        self.torch, self.name, self.options, self.operation = torch, name, options, operation
        self.step = torch.compile(operation.step, mode=compile_mode) if compile_mode else operation.step
        # The first step compiles what there is to compile and allocates what the others use again.
        self.launch()
        torch.cuda.synchronize()

    def launch(self) -> Tensor:
        return self.step(*self.operation.inputs)

    def run(self) -> int:
        return {"check": self.check, "time": self.time, "profile": self.profile}[self.options.mode]()

    def check(self) -> int:
        self.poison()
        result = self.launch()
        found = self.judge(result)
        self.tell(found, f"relative error {found['relative_error']} (at most {found['threshold']:.3e})")
        return self.verdict(found, "wrong result")

    def poison(self) -> None:
        """Fills a result with NaN: the allocator gives the next step the block that is freed here."""
        self.launch().fill_(math.nan)

    def judge(self, result: Tensor) -> dict[str, Any]:
        self.torch.cuda.synchronize()
        not_finite = self.operation.not_finite(result)
        return check_line(self.operation.error(result), self.operation.threshold, not_finite)

    @staticmethod
    def verdict(found: Mapping[str, Any], what: str) -> int:
        if not found["ok"]:
            print(f"error: {what}: {found}", file=sys.stderr)
        return DONE if found["ok"] else MISMATCH

    def time(self) -> int:
        torch = self.torch
        from_ = torch.ones(max(1, self.operation.moved_bytes // 2), dtype=torch.uint8, device="cuda")
        to = torch.empty_like(from_)
        flush_bytes = 4 * max(torch.cuda.get_device_properties(0).L2_cache_size, 1 << 20)
        other = torch.zeros(flush_bytes // 4, dtype=torch.float32, device="cuda")
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

        def time_once_ns(launch: Callable[[], object]) -> float:
            """With a cold L2, emptied by reading something larger: no line of anybody has to be written back."""
            for _ in range(FLUSHES):
                other.sum()
            start.record()
            launch()
            stop.record()
            torch.cuda.synchronize()
            return float(start.elapsed_time(stop)) * 1e6

        last: list[Tensor] = []  # what the last launch computed

        def poison() -> None:
            last.clear()
            self.poison()

        kernel_ns: list[float] = []
        reference_ns: list[float] = []
        turns: tuple[tuple[list[float], Callable[[], object], Callable[[], object]], ...] = (
            (kernel_ns, poison, lambda: last.append(self.launch())),
            (reference_ns, lambda: None, lambda: to.copy_(from_)),
        )
        for repeat in range(-self.options.warmup, self.options.repeats):
            # Alternating which of the two goes first cancels what the first leaves behind: heat, clocks.
            for times_ns, prepare, launch in turns if repeat % 2 == 0 else turns[::-1]:
                prepare()
                time_ns = time_once_ns(launch)
                if repeat >= 0:
                    times_ns.append(time_ns)
            if repeat >= 0 and self.options.json:
                print(json.dumps(repeat_line(repeat, kernel_ns[-1], reference_ns[-1])))
        found = time_line(kernel_ns, reference_ns, self.operation.moved_bytes)
        judged = self.judge(last[0])
        self.tell(
            {**found, **{name: figure for name, figure in judged.items() if name != "ok"}},
            f"median {found['kernel_median_ns'] / 1e3:.1f} us, {found['gbytes_per_s']} GB/s, "
            f"{found['reference_pct']} % of {REFERENCE}",
        )
        return self.verdict(judged, "wrong result of the last timed launch")

    def profile(self) -> int:
        torch, options = self.torch, self.options
        for _ in range(options.warmup):
            self.launch()
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        for _ in range(options.launches):
            self.launch()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        self.tell(
            {"warmup": options.warmup, "launches": options.launches},
            f"{options.launches} steps in the profiler window",
        )
        return DONE

    def tell(self, found: Mapping[str, Any], text: str) -> None:
        if not self.options.json:
            print(f"{self.name}: {text}")
            return
        identity = {
            "mode": self.options.mode,
            "kernel": self.name,
            "precision": self.operation.precision,
            "gpu": self.torch.cuda.get_device_name(0),
            "runtime": runtime(self.torch),
            **self.options.values,
            "seed": self.options.seed,
        }
        print(json.dumps({**identity, **found}))


def runtime(torch: Any) -> str:
    """Returns PyTorch's version and that of Triton, in which torch.compile writes its kernels."""
    try:
        triton = importlib.import_module("triton")
    except ImportError:
        return f"PyTorch {torch.__version__}"
    return f"PyTorch {torch.__version__}, Triton {triton.__version__}"


def main(module: str, *, mode: str | None = None) -> NoReturn:
    """Runs a rung, and ends the process with its exit code. `mode` is the mode of torch.compile; None runs eagerly."""
    options = parse_options(sys.argv[1:])
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no pool of processes for one kernel
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        fail(UNSUPPORTED, f"this rung needs PyTorch, which {sys.executable} does not have: {error}")
    if not torch.cuda.is_available():
        fail(CUDA_FAILED, "no CUDA device: PyTorch sees none")
    own = importlib.import_module(module)
    check_parameters(own.operation, options.values)
    try:
        with torch.no_grad():
            operation = own.operation(seed=options.seed, **options.values)
            sys.exit(Program(torch, Path(sys.argv[0]).stem, options, operation, mode).run())
    except torch.cuda.OutOfMemoryError as error:
        fail(OUT_OF_MEMORY, f"out of device memory: {error}")
