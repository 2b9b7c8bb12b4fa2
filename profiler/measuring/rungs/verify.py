"""Verifies a rung's result: its program compares it with a reference, and prof reads the verdict.

The exit code decides. A JSON line reports the relative error and its threshold. If the line contradicts exit code 0,
the result counts as wrong:

    {"relative_error": 3.1e-07, "threshold": 1.5e-05, "not_finite": 0, "worst_element": 0.04, "ok": true}

`worst_element` is the error of the worst element, divided by the error that is allowed for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from profiler.errors import GpuNotFound, ProfError, ResultWrong, ShapeRefused
from profiler.measuring.rungs.program import RungJob, json_lines, read_number, run_program
from profiler.measuring.tools.exit_codes import EXIT_WRONG
from profiler.measuring.tools.process import Finished

_FIGURES = ("relative_error", "threshold", "worst_element")
RungVerdict = Literal["correct", "wrong", "refused", "failed", "unavailable"]


@dataclass(frozen=True)
class Checked:
    """The verdict on one job. `refused` means that the rung cannot run this shape. `error` is set unless correct."""

    job: RungJob
    verdict: RungVerdict
    relative_error: float | None = None
    threshold: float | None = None
    worst_element: float | None = None
    error: ProfError | None = None


def check_kernel(job: RungJob, timeout_s: float) -> Checked:
    """Returns the verdict on a rung. Only GpuNotFound is raised: without a GPU no other rung can run either."""
    try:
        finished = run_program(job, "check", timeout_s, accept=(0, EXIT_WRONG))
        return parse_check(job, finished)
    except GpuNotFound:
        raise
    except ShapeRefused as error:
        return Checked(job, "refused", error=error)
    except ProfError as error:
        return Checked(job, "failed", error=error)


def parse_check(job: RungJob, finished: Finished) -> Checked:
    """Returns the verdict that the program's exit code and its JSON lines give together."""
    answer: dict[str, Any] = {}
    believed = True
    for line in json_lines(job, finished):
        answer |= line
        believed = believed and _is_believed(answer)
    error, threshold, worst = (read_number(answer.get(name)) for name in _FIGURES)
    if finished.exit_code == 0 and believed:
        return Checked(job, "correct", error, threshold, worst)
    wrong = ResultWrong(f"{job.label} computes a wrong result, seed {job.seed}", details=finished.details)
    return Checked(job, "wrong", error, threshold, worst, error=wrong)


def _is_believed(answer: dict[str, Any]) -> bool:
    """Returns whether all figures are numbers and agree with the verdict. A program may leave figures out."""
    figures = {key: read_number(answer[key]) for key in (*_FIGURES, "not_finite") if key in answer}
    if answer.get("ok", True) is not True or None in figures.values() or figures.get("not_finite"):
        return False
    error, threshold, worst = map(figures.get, _FIGURES)
    return (error is None or threshold is None or error <= threshold) and (worst is None or worst <= 1)
