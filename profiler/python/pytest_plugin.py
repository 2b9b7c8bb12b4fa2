"""The pytest plugin: the fixture `prof_kernel` measures a function and compares it with a baseline folder of runs.

A test fails if its function got slower than the baseline, and says why. If the measurement cannot decide, the test has
the outcome `unclear`: it neither passes nor fails. Without a GPU it is skipped, or fails if a GPU is required.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from profiler.errors import ProfError

_UNCLEAR = "prof: unclear: "
_FOLDER = "prof-baseline"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("prof", "measuring CUDA kernels with prof")
    group.addoption(
        "--prof-baseline",
        metavar="DIR",
        default=_FOLDER,
        help=f"folder of the runs to compare with [{_FOLDER}]",
    )
    group.addoption(
        "--prof-update", action="store_true", help="measure new runs for the baseline; compare nothing"
    )
    group.addoption(
        "--prof-require-gpu", action="store_true", help="fail without a GPU instead of skipping; in CI"
    )
    parser.addini("prof_require_gpu", "fail without a GPU, as --prof-require-gpu does", type="bool")
    group.addoption("--prof-times-only", action="store_true", help="measure times, without counters")


def pytest_configure(config: pytest.Config) -> None:
    """Refuses a baseline folder that is missing, because skipped tests would never mention it."""
    named = config.getoption("--prof-baseline")
    is_missing = named != _FOLDER and not Path(config.rootpath, named).is_dir()
    if is_missing and not config.getoption("--prof-update"):
        raise pytest.UsageError(f"--prof-baseline {named}: no such folder; --prof-update makes it")


@pytest.fixture
def prof_kernel(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Any]:
    """Measures a function, and fails the test if it got slower than the run of this test in the baseline.

    Takes what `prof.measure` takes, except `runs` and `over`, and also `max_slower_pct`, the limit of this test.
    Returns the measurement.
    """
    namespace = request.module.__dict__

    def measure(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        return _measured(request, tmp_path, namespace, function, arguments, options)

    return measure


def _measured(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    namespace: dict[str, Any],
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    from profiler.ask.check import slower_limit
    from profiler.errors import GpuNotFound, ProfError
    from profiler.measuring.functions.plan import function_name
    from profiler.python.measuring import measure_one

    config = request.config
    baseline = Path(config.rootpath, config.getoption("--prof-baseline"))
    update: bool = config.getoption("--prof-update")
    if config.getoption("--prof-times-only"):
        options["profile"] = False
    name = options.pop("name", None) or f"{request.node.name}-{function_name(function)}"
    reference, max_slower_pct = (options.pop(one, None) for one in ("reference", "max_slower_pct"))
    if max_slower_pct is not None:
        slower_limit(max_slower_pct)  # before it measures for minutes
    runs = baseline if update else tmp_path / "runs"
    try:
        found = measure_one(function, arguments, reference, runs, namespace, name=name, **options)
    except GpuNotFound as error:
        if config.getoption("--prof-require-gpu") or config.getini("prof_require_gpu"):
            raise pytest.fail.Exception(f"prof: {error.message}", pytrace=False) from None
        pytest.skip(f"prof: {error.message}")
    except ProfError as error:
        raise _failed(error) from None
    if not update:
        fail_if_worse(baseline, runs, max_slower_pct)
    return found


def fail_if_worse(baseline: Path, runs: Path, max_slower_pct: float | None = None) -> None:
    """Compares the newest run in `runs` with its counterpart in the baseline; fails or is unclear as `prof check` says."""
    from profiler.analyse.check import failure_text
    from profiler.ask.check import check
    from profiler.ask.named.settings import Settings
    from profiler.errors import ProfError, RunNotFound
    from profiler.python.words import in_python
    from profiler.store.runs.run_store import RunStore

    newest = RunStore(runs).ids()[-1]
    settings = Settings(runs=runs)
    baseline.mkdir(parents=True, exist_ok=True)
    try:
        finding = check(
            str(baseline), str(newest), settings, kernel_name=None, every=False, max_slower_pct=max_slower_pct
        )
    except RunNotFound as error:
        pytest.skip(f"{_UNCLEAR}{error.message}; pytest --prof-update measures a baseline")
    except ProfError as error:
        raise _failed(error) from None
    (pair,) = in_python(finding.pairs)
    if finding.outcome == "passed":
        return
    said = [failure_text(one) for one in pair.checks if one.outcome != "passed"]
    said = said or pair.refused or [pair.doubt]
    if finding.outcome == "unclear":
        pytest.skip(_UNCLEAR + "; ".join(said))
    why = [line for line in (pair.what, pair.why, pair.next) if line]
    pytest.fail("\n".join([f"{pair.name}: {finding.outcome.replace('_', ' ')}", *said, *why]), pytrace=False)


def _failed(error: ProfError) -> BaseException:
    """Returns the failure of a test for an error of prof, with what to do about it."""
    from profiler.python.words import advise

    advise(error)
    return pytest.fail.Exception(f"{error}\n{error.remedy}", pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
    """Gives tests that could not be decided a letter and a count of their own."""
    if report.skipped and isinstance(report.longrepr, tuple) and _UNCLEAR in report.longrepr[2]:
        return "unclear", "u", "UNCLEAR"
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints what could not be decided, and why."""
    unclear = terminalreporter.getreports("unclear")
    if unclear:
        terminalreporter.section("prof: unclear")
        for report in unclear:
            reason = report.longrepr[2].partition(_UNCLEAR)[2]
            terminalreporter.line(f"{report.nodeid}: {reason}")
