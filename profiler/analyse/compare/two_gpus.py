"""Says what a comparison of one kernel on two GPUs needs besides: which GPU each side is of, and how near its peak it came."""

from __future__ import annotations

from dataclasses import replace

from profiler.analyse.causes.evidence.time_shares import UNITS, derive_figures
from profiler.analyse.findings import Side
from profiler.analyse.recording.profile import UNKNOWN_GPU, Profile
from profiler.text import short_gpu


def is_on_two_gpus(before: Profile, after: Profile) -> bool:
    """Returns whether the profiles show one kernel on two GPUs."""
    is_known = UNKNOWN_GPU not in (before.gpu, after.gpu)
    return is_known and before.gpu != after.gpu and _is_one_kernel(before, after)


def name_gpus(before: Profile, after: Profile) -> tuple[Profile, Profile]:
    """Returns the profiles with the GPU in each label if their GPUs differ."""
    if before.gpu == after.gpu:
        return before, after
    one, other = (replace(side, label=f"{side.label} on {short_gpu(side.gpu)}") for side in (before, after))
    return one, other


def _is_one_kernel(before: Profile, after: Profile) -> bool:
    """Returns True for two runs of one rung, whatever its library launches on each GPU, and for kernels of one name."""
    one, other = before.manifest, after.manifest
    if one.ladder and one.kernel is not None:
        return (one.ladder, one.kernel) == (other.ladder, other.kernel)
    return before.kernel == after.kernel


def peaks_text(before: Profile, after: Profile) -> str:
    """Returns how near each side came to the peak of its own GPU, in the unit that is busiest on either; "" if no counters say it."""
    one, other = (derive_figures(side) for side in (before, after))
    both = [name for name in UNITS if name in one and name in other]
    if not both:
        return ""
    busiest = max(both, key=lambda name: max(one[name], other[name]))
    here, there = f"{one[busiest]:.0f} %", f"{other[busiest]:.0f} %"
    where = f"on {short_gpu(before.gpu)} and {there} on {short_gpu(after.gpu)}"
    return f"{UNITS[busiest]} {here} busy {'on both' if here == there else where}, of each GPU's own peak."


def shares_text(before: Side, after: Side) -> str:
    """Returns how fast each side is beside the reference timed on the same GPU, or "" without one on both."""
    if not (before.timing and after.timing) or before.reference != after.reference:
        return ""
    one, other = before.timing.reference_pct, after.timing.reference_pct
    if one is None or other is None:
        return ""
    reference = before.reference or "its reference"
    return f"It reaches {one:.1f} % of {reference} on {short_gpu(before.gpu)}, and {other:.1f} % of it on {short_gpu(after.gpu)}."
