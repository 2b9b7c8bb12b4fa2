"""The profiles and sheets of kernels that are recorded, and readings for those that are made up."""

from profiler.analyse.recording.overview import derive_sheet
from profiler.analyse.recording.profile import profile_kernel


def around(middle, count=5):
    """Readings with a spread of a thousandth."""
    return [middle * (1 + (index - count // 2) / 1000) for index in range(count)]


def profiles_in(store, *names, ladder="gemm"):
    """`profiles_in(recorded, "5", "6")`: of the first kernel of each of these runs."""
    runs = [store.find(name, ladder) for name in names]
    return [profile_kernel(run, run.manifest.kernels[0].name) for run in runs]


def profile_in(store, name, ladder="gemm"):
    (profile,) = profiles_in(store, name, ladder=ladder)
    return profile


def sheets_of(run):
    """Of every kernel of the run, in short."""
    return [derive_sheet(profile_kernel(run, one.name), full=False) for one in run.manifest.kernels]


def profile_of(store, name, kernel=""):
    """Of the only kernel of the run whose name has `kernel` in it."""
    run = store.find(name, "gemm")
    (found,) = (one.name for one in run.manifest.kernels if kernel in one.name)
    return profile_kernel(run, found)
