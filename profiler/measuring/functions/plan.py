"""Says how a function is to be measured, and checks that before anything is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from profiler.catalog.presets import find_preset
from profiler.measuring.tools.ncu import LAUNCHES
from profiler.store.runs.run_id import path_name


@dataclass(frozen=True)
class FunctionPlan:
    """The way to measure a function; `values` are those of a sweep, and `bytes` and `flops` the work of one call."""

    name: str
    kernel_name: str | None = None
    tolerance: float | None = None
    verify: bool = True
    profile: bool = True
    bytes: int | None = None
    flops: int | None = None
    values: Mapping[str, int] | None = None
    preset: str = "default"
    processes: int = 3
    repeats: int = 20
    launches: int = LAUNCHES
    timeout_s: float = 600.0

    def __post_init__(self) -> None:
        for option in ("processes", "repeats", "launches", "timeout_s"):
            if getattr(self, option) <= 0:
                raise ValueError(f"{option} is {getattr(self, option)}, and must be more than 0")
        for work in ("bytes", "flops"):
            given: Any = getattr(self, work)
            if not isinstance(given, Real | None):
                raise TypeError(
                    f"{work} is {given!r}, and must be a number; a function of values needs over={{...}}"
                )
            object.__setattr__(self, work, None if given is None else round(given))
        if not isinstance(self.kernel_name, str | None):
            raise TypeError(
                f"kernel_name is {self.kernel_name!r}, and must be a part of the kernel's name, such as 'softmax'"
            )
        find_preset(self.preset)


def function_name(function: object) -> str:
    """Returns the name that the runs of a function have by default."""
    function = getattr(function, "func", function)  # of a functools.partial
    name = getattr(function, "__name__", type(function).__name__)
    return path_name(str(name).strip("<>_"))
