"""The profiles of kernels that are recorded."""

from profiler.analyse.recording.profile import profile_kernel


def profiles_in(store, *names, ladder="gemm"):
    """`profiles_in(recorded, "5", "6")`: of the first kernel of each of these runs."""
    runs = [store.find(name, ladder) for name in names]
    return [profile_kernel(run, run.manifest.kernels[0].name) for run in runs]


def profile_in(store, name, ladder="gemm"):
    (profile,) = profiles_in(store, name, ladder=ladder)
    return profile


def profile_of(store, name, kernel=""):
    """Of the only kernel of the run whose name has `kernel` in it."""
    run = store.find(name, "gemm")
    (found,) = (one.name for one in run.manifest.kernels if kernel in one.name)
    return profile_kernel(run, found)
