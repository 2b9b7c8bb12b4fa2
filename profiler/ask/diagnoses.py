"""Keeps diagnoses in the user's cache folder, so that no question need make one again.

A diagnosis depends on what was recorded and on the code that reads it. Both are the key, whole: the hashes of the
run's tables, the kernel, its launches, and a hash of this program's analysis.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from profiler.analyse.causes.find import Diagnosis, diagnose
from profiler.analyse.recording.profile import Profile
from profiler.store.cache import Cache, hash_of_code
from profiler.store.tables.decoding import NOT_DECODED

# A diagnosis takes 2 to 6 KB: some ten thousand kernels.
_LIMIT_BYTES = 32 << 20
_HOME = Path(__file__).resolve().parent.parent
_ANALYSIS = (_HOME / "analyse", _HOME / "catalog")


def diagnose_once(profile: Profile) -> Diagnosis:
    """Returns the diagnosis of a kernel: the one kept for the same recording, or else a new one, which is kept."""
    tables = sorted((name, table.sha256) for name, table in profile.manifest.tables.items())
    if not tables or not all(sha256 for _, sha256 in tables):  # made in memory
        return diagnose(profile)
    key = repr((hash_of_code(*_ANALYSIS), tables, profile.kernel, profile.numbers))
    cache = Cache("diagnoses", _LIMIT_BYTES)
    if kept := cache.get(key):
        try:
            return msgspec.json.decode(kept, type=Diagnosis)
        except NOT_DECODED:  # whole, and yet none of ours
            pass
    made = diagnose(profile)
    cache.put(key, msgspec.json.encode(made))
    return made
