"""Finds the causes of a kernel's time: a `Profile` in, a `Diagnosis` out.

`find.py` is imported only when it is needed: its detectors take as long to import as a ladder of kept diagnoses takes to read.
"""

from __future__ import annotations

from collections.abc import Callable

from profiler.analyse.causes.cause import Diagnosis
from profiler.analyse.recording.profile import Profile

Diagnose = Callable[[Profile], Diagnosis]


def diagnose(profile: Profile) -> Diagnosis:
    """Returns the causes, in the order in which to try their changes; none for a range or a graph, or without counters.

    Questions call `ask.profiles.diagnose_once`, which keeps what this returns.
    """
    if not profile.launches:
        return Diagnosis([], [])
    from profiler.analyse.causes.find import find_all

    return find_all(profile)
