"""Keeps diagnoses in the user's cache folder, so that a ladder of many kernels need not make each again.

A diagnosis depends on what was recorded and on the code that reads it. Both are the key, whole: the hashes of the
run's tables, the launches, and a hash of this program's analysis. So none is trusted beyond what it was made of.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

import msgspec

from profiler.analyse.causes.find import Diagnosis, diagnose
from profiler.analyse.recording.profile import Profile
from profiler.store.cache import Cache
from profiler.store.tables.decoding import NOT_DECODED

# A diagnosis takes 2 to 6 KB: some ten thousand kernels.
_LIMIT_BYTES = 32 << 20
_HOME = Path(__file__).resolve().parent.parent
_ANALYSIS = ("analyse", "catalog")


def diagnose_once(profile: Profile) -> Diagnosis:
    """Returns the diagnosis of a kernel: the one kept for the same recording, or else a new one, which is kept."""
    run = profile.run
    if run is None or not run.stored or not run.manifest.tables:
        return diagnose(profile)
    tables = sorted((name, table.sha256) for name, table in run.manifest.tables.items())
    key = repr((_version_of_analysis(), tables, profile.kernel, profile.numbers))
    cache = Cache("diagnoses", _LIMIT_BYTES)
    if kept := cache.get(key):
        try:
            return msgspec.json.decode(kept, type=Diagnosis)
        except NOT_DECODED:  # whole, and yet none of ours
            pass
    made = diagnose(profile)
    cache.put(key, msgspec.json.encode(made))
    return made


@lru_cache(maxsize=1)
def _version_of_analysis() -> str:
    """Returns a hash of the modules that diagnose: a version number would have to be raised by hand at each change."""
    read = hashlib.sha256()
    for room in _ANALYSIS:
        for module in sorted((_HOME / room).rglob("*.py")):
            read.update(f"{module.relative_to(_HOME)}\0".encode() + module.read_bytes())
    return read.hexdigest()
