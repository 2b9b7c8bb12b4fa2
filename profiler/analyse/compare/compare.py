"""Two profiles in, a `ComparisonFinding` out: may they be compared, what changed, how surely."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from msgspec import structs

from profiler.analyse import findings
from profiler.analyse.causes.cause import Diagnosis, Headline
from profiler.analyse.causes.diagnose import Diagnose, diagnose
from profiler.analyse.causes.headline import with_next
from profiler.analyse.code.machine_code import compare_hot_loops
from profiler.analyse.code.opcodes import compare_opcodes
from profiler.analyse.compare.attribution import attribute
from profiler.analyse.compare.changed_causes import ChangedCauses, compare_causes, find_alike
from profiler.analyse.compare.comparable import (
    are_different_kernels,
    condition_text,
    find_cautions,
    reference_shift,
    refuse_obstacles,
)
from profiler.analyse.compare.four_way import confirm_four_way
from profiler.analyse.compare.metric_order import in_telling_order
from profiler.analyse.compare.quantities import bounded_exp
from profiler.analyse.compare.speedup_sentence import (
    on_condition,
    ratio_sentence,
    two_kernels_sentence,
)
from profiler.analyse.compare.two_gpus import is_on_two_gpus, name_gpus, peaks_text
from profiler.analyse.compare.why import find_conflicts, limits_text, why_of_pair
from profiler.analyse.recording.doubts import is_part_of_step
from profiler.analyse.recording.kernel_names import BY_ORDER, called_name, names_of_sides
from profiler.analyse.recording.main_shape import pair_of_main_shapes
from profiler.analyse.recording.profile import Profile, Series, as_catalogued, require_metrics
from profiler.analyse.statistics.differences import Readings, are_identical, mean_difference
from profiler.analyse.statistics.timings import has_several_processes, logarithms
from profiler.analyse.statistics.verdicts import judge_metrics
from profiler.catalog.metrics import CATALOGUE, DURATION, SHARED_OPCODES, TIMED_ALONE, Metric
from profiler.errors import MetricNotFound

_ONE_KERNEL = (
    "The counters do not say. They are of one kernel alone, which takes only a part of the time of {}."
)
_AS_VERSIONS = "If the two are versions of one kernel after all, `--force` compares them as such."


def compare_profiles(
    before: Profile,
    after: Profile,
    *,
    force: bool = False,
    metrics: Iterable[str] = (),
    diagnose: Diagnose = diagnose,
    does_same_work: bool = False,
) -> findings.ComparisonFinding:
    """Returns the comparison of two profiles; raises NotComparable if they were measured in different ways.

    With `force`, it returns the reasons as warnings instead. For one kernel on two GPUs, the headline says what the other
    GPU changes. Of two different kernels it says what limits each, unless somebody knows that the second `does_same_work`.
    If launches have several shapes, those of the shape that takes most of the time are compared. `diagnose` finds the
    causes of each side.
    """
    two_gpus = is_on_two_gpus(before, after)
    before, after, narrowed = pair_of_main_shapes(*name_gpus(before, after))
    obstacles = refuse_obstacles(before, after, force=force, two_gpus=two_gpus)
    wanted = require_metrics(metrics, (before, after))
    speedup = derive_speedup(before, after)
    steps = _steps(before, after, speedup)
    attribution, attribution_missing = (None, []) if steps else attribute(before, after)
    by_bytes = attribution is not None and attribution.view == "bytes"
    opcodes = compare_opcodes(before.opcodes, after.opcodes)
    causes = _find_causes(before, after, diagnose, of_steps=bool(steps), does_same_work=does_same_work)
    is_different = causes.are_different
    deltas = derive_deltas(before, after, wanted)
    if is_different:
        deltas = list(map(_without_judgement, deltas))
    called = _spoken_names(before, after)
    condition = "" if does_same_work or is_different else condition_text(before, after, called)
    cautions = find_cautions(
        before,
        after,
        says_different=is_different and speedup is not None,
        names_are_said=bool(condition and speedup),
    )
    found = findings.ComparisonFinding(
        schema_version=findings.SCHEMA_VERSION,
        before=structs.replace(derive_side(before), called=called[0]),
        after=structs.replace(derive_side(after), called=called[1]),
        comparable=findings.Comparability(not obstacles, [*obstacles, *narrowed, *cautions]),
        speedup=speedup,
        metrics=deltas,
        missing=_missing(before, after),
        confirmations=[] if by_bytes or is_different else confirm_four_way(deltas, opcodes),
        attribution=attribution,
        attribution_missing=attribution_missing,
        instructions=findings.Instructions(opcodes, compare_hot_loops(before, after)),
        causes=causes.after.causes,
        causes_unseen=causes.after.unseen,
        different_kernels=is_different,
        causes_before=causes.before.causes if causes.before and is_different else [],
        causes_gone=[one.cause for one in causes.changed.gone],
        causes_new=[one.cause for one in causes.changed.new],
        causes_less=causes.changed.less,
        causes_more=causes.changed.more,
        causes_kept=causes.changed.kept,
        causes_undecided=[one.cause for one in causes.changed.undecided],
        causes_unmoved=[one.cause for one in causes.changed.unmoved],
    )
    return structs.replace(found, headline=_headline(before, after, found, causes, steps, condition))


@dataclass(frozen=True)
class _Causes:
    """The causes of each side, and what changed in them. If a side's time is that of a step, those of the first are not looked for.

    If the kernels `are_different`, a cause that only one of them has is no change.
    """

    before: Diagnosis | None
    after: Diagnosis
    changed: ChangedCauses
    are_different: bool


def _find_causes(
    before: Profile, after: Profile, diagnose: Diagnose, *, of_steps: bool, does_same_work: bool
) -> _Causes:
    of_after = diagnose(after)
    of_before = None if of_steps else diagnose(before)
    different = not does_same_work and are_different_kernels(before, after)
    changed = ChangedCauses(is_known=False)
    if of_before and not different:
        changed = compare_causes(of_before, of_after, find_alike(before, after))
    return _Causes(of_before, of_after, changed, different)


def _headline(
    before: Profile,
    after: Profile,
    found: findings.ComparisonFinding,
    causes: _Causes,
    steps: list[str],
    condition: str,
) -> Headline | None:
    """Returns which side is faster, why, and what comes next; of two different kernels, what limits each."""
    speedup = found.speedup
    if speedup is None:
        return None
    names, times_ns = (found.before.called, found.after.called), measured_ns(before, after, speedup.basis)
    if causes.are_different:  # neither explains the other, and a change of the one is none of the other
        what = two_kernels_sentence(names, times_ns, speedup.basis)
        limits = limits_text(names, (causes.before, causes.after)) if causes.before else ""
        return Headline(f"{what} {limits}".rstrip(), "", _AS_VERSIONS)
    alike = are_measured_alike(before, after)
    what = on_condition(condition, ratio_sentence(names, times_ns, speedup, measured_alike=alike))
    if steps:
        said = Headline(what, _ONE_KERNEL.format(" and ".join(steps)), "")
    else:
        peaks = peaks_text(before, after) if is_on_two_gpus(before, after) else None
        conflicts = find_conflicts(found.metrics, causes.changed)
        gives = (conflicts.name,) if conflicts else ()
        said = Headline(what, why_of_pair(found, causes.changed, peaks), "", gives=gives)
    return with_next(said, found.causes, after, at_place=True, sureness=causes.after.sureness)


def _without_judgement(delta: findings.MetricDelta) -> findings.MetricDelta:
    """Returns the difference of two different kernels, of which neither is an improvement of the other."""
    judged = delta.verdict in ("better", "worse")
    return structs.replace(delta, verdict="changed") if judged else delta


def _steps(before: Profile, after: Profile, speedup: findings.Speedup | None) -> list[str]:
    """Returns the sides whose compared time is that of a step with several kernels."""
    if speedup is None or speedup.basis == "profiled":
        return []
    return [side.label for side in (before, after) if is_part_of_step(side)]


# What changed


def derive_speedup(before: Profile, after: Profile) -> findings.Speedup | None:
    """Returns the ratio of the sides' `typical_ns`, without the profiler where both were timed so."""
    basis: findings.Basis = "unprofiled" if before.timings_ns and after.timings_ns else "profiled"
    sides = [durations_of(profile, basis) for profile in (before, after)]
    if not all(side and all(0 < value < math.inf for value in side) for side in sides):
        return None
    if are_identical(*sides):
        return findings.Speedup(1.0, (1.0, 1.0), basis)
    left, right = _logarithms(before, after, basis)
    found = mean_difference(right, left)
    return findings.Speedup(
        ratio=bounded_exp(left.mean - right.mean),
        ci=None if found is None else (bounded_exp(found.interval().low), bounded_exp(found.interval().high)),
        basis=basis,
    )


def typical_ns(before: Profile, after: Profile, basis: findings.Basis) -> tuple[float, float]:
    """Returns the geometric mean of each side, so that swapping the sides inverts the ratio exactly.

    Without the profiler, and where both sides have several processes, it is the `typical_time` of each.
    """
    left, right = _logarithms(before, after, basis)
    return math.exp(left.mean), math.exp(right.mean)


def measured_ns(before: Profile, after: Profile, basis: findings.Basis) -> tuple[float, float]:
    """Returns the `typical_ns` of each side as it was measured, also where the ratio allows for another runtime."""
    left, right = typical_ns(before, after, basis)
    shift = reference_shift(before, after) if basis == "unprofiled" else 0.0
    return left, right * math.exp(shift)


def durations_of(profile: Profile, basis: findings.Basis) -> Readings:
    if basis == "unprofiled":
        return profile.timings_ns
    series = profile.series.get(DURATION)
    return series.values if series and series.ncu != TIMED_ALONE else Readings()


def _logarithms(before: Profile, after: Profile, basis: findings.Basis) -> list[Readings]:
    durations = [durations_of(profile, basis) for profile in (before, after)]
    sides = [logarithms(side) for side in durations]
    if basis == "unprofiled" and (shift := reference_shift(before, after)):
        sides[1] = Readings((value - shift for value in sides[1]), sides[1].processes)
    if basis == "unprofiled" and all(map(has_several_processes, sides)):
        return [side.around_medians() for side in sides]
    return sides


def derive_deltas(before: Profile, after: Profile, wanted: Sequence[str] = ()) -> list[findings.MetricDelta]:
    """Returns the changes of all metrics that both sides recorded, judged together; the `wanted` ones and the most telling come first."""
    extra = [name for name in wanted if name not in before.series]  # by ncu's own name
    pairs = [*_catalogue_pairs(before, after), *((before.raw[name], after.raw[name]) for name in extra)]
    _refuse_unlike_names(before, after, {one.metric.name for one, _ in pairs}, wanted)
    judged = judge_metrics(pairs, wanted)
    if not are_measured_alike(before, after):
        judged = [
            structs.replace(one, reason="too_few_launches") if one.reason == "beyond_launches" else one
            for one in judged
        ]
    return in_telling_order(judged, wanted)


def are_measured_alike(before: Profile, after: Profile) -> bool:
    """Returns whether both ran on one GPU with its clocks set alike, as the launches did whose difference is known."""
    return (before.gpu, before.manifest.clock_control) == (after.gpu, after.manifest.clock_control)


def _catalogue_pairs(before: Profile, after: Profile) -> list[tuple[Series, Series]]:
    """Pairs the catalogue's metrics. Leaves out the counters of shared memory if neither side uses any, because they then count other traffic."""
    shared = _may_use_shared(before) or _may_use_shared(after)
    metrics = [one for one in CATALOGUE if shared or one.group != "shared memory"]
    return [pair for metric in metrics if (pair := _paired(metric, before, after))]


def _may_use_shared(side: Profile) -> bool:
    """Returns True also where no opcodes are recorded."""
    return not side.opcodes or any(opcode.split(".")[0] in SHARED_OPCODES for opcode in side.opcodes)


def _paired(metric: Metric, before: Profile, after: Profile) -> tuple[Series, Series] | None:
    """Pairs the series under the newest name that both recordings hold, and never under two different names."""
    for name in metric.ncu:
        if name in before.raw and name in after.raw:
            return as_catalogued(metric, before.raw[name]), as_catalogued(metric, after.raw[name])
    if metric.ncu:
        return None
    left, right = before.series.get(metric.name), after.series.get(metric.name)
    return (left, right) if left and right else None


def _refuse_unlike_names(
    before: Profile, after: Profile, paired: Collection[str], wanted: Iterable[str]
) -> None:
    for name in wanted:
        if name not in paired:
            names = " and as ".join(profile.series[name].ncu for profile in (before, after))
            raise MetricNotFound(
                f"metric '{name}' was recorded as {names}, which may count different things",
                remedy="Record both sides with one version of prof and of ncu.",
            )


def _spoken_names(before: Profile, after: Profile) -> tuple[str, str]:
    """Returns what a sentence calls the two sides; if a recording has other kernels too, also which kernel is compared."""
    labels = before.label, after.label
    names = names_of_sides(labels, (before.kernel, after.kernel))
    if names == BY_ORDER:
        names = labels
    elif before.label == after.label:
        return names  # those of the kernels
    one, other = (_of_several(*side) for side in zip((before, after), names, strict=True))
    return one, other


def _of_several(profile: Profile, recording: str) -> str:
    is_one_of_them = len(profile.manifest.kernels) > 1 and profile.manifest.kernel is None
    return f"{called_name(profile.kernel)} of {recording}" if is_one_of_them else recording


def _missing(before: Profile, after: Profile) -> list[findings.MissingMetric]:
    missing = []
    for metric in CATALOGUE:
        here, there = metric.name in before.series, metric.name in after.series
        if here != there:
            missing.append(findings.MissingMetric(metric.name, "after" if here else "before"))
        elif here and not _paired(metric, before, after):
            missing.append(findings.MissingMetric(metric.name, "both"))
    return missing


def derive_side(profile: Profile) -> findings.Side:
    manifest = profile.manifest
    return findings.Side(
        label=profile.label,
        kernel_name=profile.kernel,
        gpu=profile.gpu,
        workload=manifest.workload,
        launches=profile.launches,
        run_id=manifest.run_id if profile.stored else None,
        report=None if profile.stored else profile.label,
        ncu_version=manifest.ncu_version,
        clock_control=manifest.clock_control,
        shape=profile.shapes[0] if profile.shapes else None,
    )
