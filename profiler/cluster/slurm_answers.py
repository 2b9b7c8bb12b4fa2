"""Asks Slurm about the jobs of this user: which of them still wait or run, how one ended, and what its log says at the end."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from profiler.machine import user_state_folder

_ASK_S = 30.0
_LOG_LINES = 10
_LOG_BYTES = 8192
_SAID = {
    "CANCELLED": "was cancelled",
    "NODE_FAIL": "lost its node",
    "OUT_OF_MEMORY": "took more memory than it had",
    "PREEMPTED": "made way for another",
    "TIMEOUT": "had no time left",
}
# A job that is COMPLETING is not over yet: Slurm does not know how it ended.
_OVER = {*_SAID, "BOOT_FAIL", "COMPLETED", "DEADLINE", "FAILED"}


class JobState(NamedTuple):
    """The state of a job that is not over, and why it has it."""

    name: str
    reason: str


@dataclass(frozen=True)
class Ending:
    """How a job ended, in words, and whether somebody cancelled it."""

    text: str
    was_cancelled: bool = False


def read_states() -> dict[str, JobState] | None:
    """Returns the states of all jobs of this user that are not over; None when Slurm does not answer."""
    answer = _ask("squeue", "--noheader", "--user", str(os.getuid()), "--format", "%i %T %r")
    if answer is None:
        return None
    found = {}
    for line in answer.splitlines():
        number, state, reason = (*line.split(None, 2), "", "", "")[:3]
        if state and state not in _OVER:
            found[number] = JobState(state, reason)
    return found


def read_ending(number: str) -> Ending:
    """Returns how the job ended, as long as Slurm remembers it."""
    facts = _facts_of(number)
    state = facts.get("JobState", "")
    code, _, signal = facts.get("ExitCode", "0:0").partition(":")
    how = f" by signal {signal}" if signal not in ("", "0") else ""
    if code != "0":
        how = f" with exit code {code}"
    return Ending(f"job {number} {_SAID.get(state, f'ended{how}')}", state == "CANCELLED")


def cancel(numbers: Sequence[str]) -> bool:
    """Cancels the jobs; returns whether Slurm did."""
    return _ask("scancel", *numbers) is not None


def default_log(number: str) -> Path:
    """Returns the log of a job unless the user names another. On most clusters the nodes see its folder too."""
    folder = user_state_folder() / "slurm"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{number}.log"


def find_log(number: str) -> Path:
    """Returns the log of a job, as Slurm knows it."""
    return Path(_facts_of(number).get("StdErr", default_log(number)))


def last_lines(path: Path) -> list[str]:
    """Returns the end of a log, or why there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LOG_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError as error:
        return [f"cannot be read here: {error.strerror}"]
    return [line for line in lines if line.strip()][-_LOG_LINES:] or ["it is empty"]


def _facts_of(number: str) -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S*)", _ask("scontrol", "--oneliner", "show", "job", number) or ""))


def _ask(*command: str) -> str | None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ASK_S,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
