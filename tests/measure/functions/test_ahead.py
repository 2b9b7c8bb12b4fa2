"""Processes of a measurement that start ahead of their turn: they import, and touch nothing of the user's before it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("cc")
BRIEF = "processes=3, repeats=3, launches=2"
CORES = {"PYTHON_CPU_COUNT": "9"}

# A library whose import is slow; it notes when that began and ended, in which process, and what the process was told.
SLOW = """
import os, sys, time
def note(what):
    with open(os.environ["NOTES"], "a") as file:
        file.write(f"{time.monotonic()} {what} {os.getpid()}\\n")
note("imports")
time.sleep(float(os.environ.get("SLOW_S", "0.5")))
note("imported")
"""
USES = """
import cupy
def noted(x):
    cupy.note("calls")
    return fast(x)
"""
# Runs the program as the real ncu does, before it replays.
NCU = """
import os, subprocess, sys
words = sys.argv[1:]
if "--export" in words:
    subprocess.run(words[words.index("--export") + 2:], check=True)
os.execv(sys.executable, [sys.executable, "-S", {fake!r}, *words])
"""


class Notes:
    def __init__(self, path: Path) -> None:
        self._lines = [line.split() for line in path.read_text().splitlines()]

    def of(self, what: str) -> dict[int, list[float]]:
        """The moments of each process, by its id, in the order of the first."""
        found: dict[int, list[float]] = {}
        for moment, said, process in self._lines:
            if said == what:
                found.setdefault(int(process), []).append(float(moment))
        return found


@pytest.fixture
def waiting(measuring, tmp_path: Path):
    """A machine of many cores with a slow library, and an ncu that runs its program."""
    (tmp_path / "cupy.py").write_text(SLOW)
    ncu = tmp_path / "bin" / "ncu"
    fake = str(Path(__file__).parents[1] / "fake_ncu.py")
    (tmp_path / "runs_it.py").write_text(NCU.format(fake=fake))
    ncu.write_text(ncu.read_text().replace(f'-S "{fake}"', f'-S "{tmp_path / "runs_it.py"}"'))
    measuring.environment |= CORES | {"NOTES": str(tmp_path / "notes")}
    return measuring


def test_processes_import_while_others_measure_and_call_the_function_one_after_the_other(waiting):
    found = waiting.run(f"{USES}print(prof.measure(noted, x, {BRIEF}).ns)\n")
    assert (found.returncode, found.stdout.splitlines()[-1]) == (0, "1000.0"), found.stderr
    notes = Notes(waiting.folder / "notes")
    calls, imports = notes.of("calls"), notes.of("imports")
    assert len(calls) == 6
    spans = [(moments[0], moments[-1]) for moments in calls.values()]
    assert spans == sorted(spans)
    assert all(before[1] < after[0] for before, after in zip(spans, spans[1:], strict=False)), (
        "never two at a time"
    )
    survey, *others = calls
    assert all(imports[one][0] < calls[survey][-1] + 0.3 for one in others), (
        "all begin while the first measures"
    )
