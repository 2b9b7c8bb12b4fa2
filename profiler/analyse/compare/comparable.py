"""Says whether two recordings may be compared, and what a reader should know about the pair.

Two profiles in; obstacles, which forbid the comparison, and cautions, which do not, out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from statistics import median

from profiler.analyse.compare.calls import unlike_arguments
from profiler.analyse.recording.arithmetic import find_unlike_arithmetic, is_as_much_arithmetic
from profiler.analyse.recording.doubts import CLOCK_TOLERANCE, doubts_of, is_part_of_step
from profiler.analyse.recording.kernel_names import (
    base_name,
    names_of_sides,
    plain_name,
    short_names,
    words_of,
)
from profiler.analyse.recording.launch_shapes import shape_text
from profiler.analyse.recording.profile import UNKNOWN_GPU, Profile, timings_of
from profiler.catalog.metrics import DURATION
from profiler.catalog.presets import more_launches
from profiler.errors import NotComparable
from profiler.text import first_of

_UNKNOWN = "unknown"
_THE_GPU = "the GPU"
_THE_WORKLOAD = "the workload"
_ITSELF = "both sides are the same recording: nothing can differ"
_MOST_WORDS = 6
_SAME_SESSION_HOURS = 2
# Blocks of another size round the same work up to another number of threads: by less than this, unless it is tiny.
_ROUNDED_UP = 1.1


def refuse_obstacles(
    before: Profile, after: Profile, *, force: bool = False, two_gpus: bool = False
) -> list[str]:
    """Raises NotComparable where there are obstacles, or returns them where `force` lets them pass.

    With `two_gpus`, the GPU is what the question is about, and no obstacle.
    """
    obstacles = _find_obstacles(before, after, two_gpus=two_gpus)
    if obstacles and not force:
        raise NotComparable(
            f"{before.label} and {after.label} were measured in different ways:",
            details=[f"  {obstacle}" for obstacle in obstacles],
        )
    return obstacles


def _find_obstacles(before: Profile, after: Profile, *, two_gpus: bool) -> list[str]:
    """Lists differences of the measurement that would look like differences of the kernels."""
    return [
        f"{what} differs: {one or 'none'} against {other or 'none'}"
        for what, one, other in _conditions(before, after)
        if one != other and _UNKNOWN not in (one, other) and not (two_gpus and what == _THE_GPU)
    ] + ([] if _have_durations(before, after) else _unlike_sections(before, after))


def _have_durations(before: Profile, after: Profile) -> bool:
    return DURATION in before.series and DURATION in after.series


def _unlike_sections(before: Profile, after: Profile) -> list[str]:
    """Says which sections only one side recorded. The duration, and what both have, can still be compared."""
    if not _by_ncu(before, after):
        return []
    recorded = [set(side.manifest.sections) for side in (before, after)]
    if not all(recorded) or recorded[0] == recorded[1]:
        return []
    one, other = _names_of(before, after)
    own = [
        f"{name} alone has {first_of(sorted(these - others), _MOST_WORDS)}"
        for name, these, others in ((one, recorded[0], recorded[1]), (other, recorded[1], recorded[0]))
        if these - others
    ]
    return [f"different sections were recorded: {'; '.join(own)}"]


def find_cautions(
    before: Profile, after: Profile, *, says_different: bool = False, names_are_said: bool = False
) -> list[str]:
    """Lists what a reader should know, though it does not forbid the comparison; what could overturn the answer comes first.

    That the two may not do the same work is said once. If the headline `says_different` kernels are compared, it is said already. If
    `names_are_said`, so is that their names differ.
    """
    if _is_itself(before, after):
        return [_ITSELF, *_cautions_of_sides(before, after)]
    of_grids = [] if says_different else list(_grid_cautions(before, after))
    is_said = bool(of_grids)
    return [
        *of_grids,
        *_section_cautions(before, after),
        *_precision_cautions(before, after),
        *_shift_cautions(before, after),
        *(
            []
            if says_different
            else _condition_cautions(before, after, is_said=is_said, names_are_said=names_are_said)
        ),
        *_clock_cautions(before, after),
        *_cautions_of_sides(before, after),
        *_process_cautions(before, after),
        *_time_cautions(before, after),
    ]


def _section_cautions(before: Profile, after: Profile) -> Iterator[str]:
    if _have_durations(before, after):
        for one in _unlike_sections(before, after):
            yield f"{one}; only what both sides have is compared"


def _condition_cautions(
    before: Profile, after: Profile, *, is_said: bool, names_are_said: bool
) -> Iterator[str]:
    """Warns of what differs or is not known; unless it `is_said` already, also that the work may differ."""
    may_differ = "" if is_said or names_are_said else _other_work(before, after)
    one, other = before.manifest.arguments, after.manifest.arguments
    if one and other and one != other:
        yield f"the arguments of the functions differ: {one} against {other}"
    if unlike := unlike_arguments(before.manifest, after.manifest):
        yield f"the arguments of the programs differ: {unlike}{may_differ}"
    unknown = [what for what, one, other in _conditions(before, after) if _UNKNOWN in (one, other)]
    if is_said:
        unknown = [what for what in unknown if what != _THE_WORKLOAD]
    if _by_ncu(before, after) and not (before.manifest.sections and after.manifest.sections):
        unknown.append("the sections recorded")
    if unknown:
        yield f"not recorded, and may differ: {', '.join(unknown)}{may_differ}"


def _clock_cautions(before: Profile, after: Profile) -> Iterator[str]:
    first, second = before.mean("sm_frequency_hz") or 0.0, after.mean("sm_frequency_hz") or 0.0
    if max(first, second) > (1 + CLOCK_TOLERANCE) * min(first, second) > 0:
        one, other = _names_of(before, after)
        yield f"the SM clock of {other} is {second / first:.2f} times that of {one}"


def _names_of(before: Profile, after: Profile) -> tuple[str, str]:
    return names_of_sides((before.label, after.label), (before.kernel, after.kernel))


def _is_itself(before: Profile, after: Profile) -> bool:
    """Returns whether both sides are the same launches of the same reports, under whatever name."""
    sides = [(one.manifest.sha256, one.kernel, one.numbers) for one in (before, after)]
    return sides[0] == sides[1]


def _other_work(before: Profile, after: Profile) -> str:
    """Returns the end of a caution about two kernels whose names differ; "" for one name."""
    if not (before.launches and after.launches) or plain_name(before.kernel) == plain_name(after.kernel):
        return ""
    return f"; {' and '.join(short_names(before.kernel, after.kernel))} may do different work"


def may_be_others(before: Profile, after: Profile) -> bool:
    """Returns whether the two may be different kernels: other names, and nothing recorded says that they do the same work.

    Other template arguments are a change of the same kernel.
    """
    recorded = [side.manifest for side in (before, after)]
    if all(one.workload is not None or one.arguments for one in recorded):
        return False
    return base_name(before.kernel) != base_name(after.kernel)


def are_different_kernels(before: Profile, after: Profile) -> bool:
    """Returns whether nothing suggests two versions of one kernel: no word of their names, and not as much arithmetic."""
    if not may_be_others(before, after) or is_as_much_arithmetic(before.computing, after.computing):
        return False
    words, others = (words_of(base_name(side.kernel)) for side in (before, after))
    return words.isdisjoint(others)


def condition_text(before: Profile, after: Profile, names: tuple[str, str]) -> str:
    """Returns the condition of a comparison of sides with these `names`, if only a word of the kernels' names suggests that they are
    versions of one kernel. Returns "" if more does, as a name that has all words of the other: `sum` and `sum_v2`.
    """
    if not may_be_others(before, after) or is_as_much_arithmetic(before.computing, after.computing):
        return ""
    words, others = (words_of(base_name(side.kernel)) for side in (before, after))
    if words <= others or others <= words:
        return ""
    kernels = base_name(before.kernel), base_name(after.kernel)
    which = "these" if kernels == names else " and ".join(kernels)
    return f"If {which} are versions of one kernel, "


def _grid_cautions(before: Profile, after: Profile) -> Iterator[str]:
    """Warns that the numbers of threads differ, if neither a problem size nor the arithmetic shows that the sides did the same work.

    A change of tiles or of the work of a thread changes that number as well, so this is no obstacle.
    """
    workloads = [side.manifest.workload for side in (before, after)]
    arguments = [side.manifest.arguments for side in (before, after)]
    same_work = any(None not in known and known[0] == known[1] for known in (workloads, arguments))
    if not (before.shapes and after.shapes) or same_work:
        return
    one, other = before.shapes[0], after.shapes[0]
    threads = [shape.blocks * shape.threads for shape in (one, other)]
    if max(threads) <= _ROUNDED_UP * min(threads) or is_as_much_arithmetic(before.computing, after.computing):
        return
    counts = f" ({one.blocks:,} against {other.blocks:,} of as many threads each)"
    more = counts if one.threads == other.threads else ""
    yield (
        f"maybe not the same work: {shape_text(one)} against {shape_text(other)}{more}; "
        "believe the speedup only if your change is what altered the grid"
    )


def _cautions_of_sides(before: Profile, after: Profile) -> list[str]:
    """Returns the cautions about each side; one that holds for both comes once."""
    sides = (before, after)
    one_launch = f"one launch only; {more_launches()}"
    counted = before.launches and after.launches
    singles = [[one_launch] if counted and side.launches == 1 else [] for side in sides]
    of_sides = [[*single, *doubts_of(side)] for single, side in zip(singles, sides, strict=True)]
    both = [text for text in of_sides[0] if text in of_sides[1]]
    labelled = [(side.label, text) for side, texts in zip(sides, of_sides, strict=True) for text in texts]
    own = [f"{label}: {text}" for label, text in labelled if text not in both]
    start = {one_launch: "each side has "}
    return [*(f"{start.get(text, 'both sides: ')}{text}" for text in both), *own]


def _precision_cautions(before: Profile, after: Profile) -> Iterator[str]:
    """Warns that the precisions differ, because a less precise result is not the same work. Adds the verified error of each side.

    One kernel of a step does not say in which precision the step computes.
    """
    unlike = find_unlike_arithmetic(before.computing, after.computing)
    if unlike is None or is_part_of_step(before) or is_part_of_step(after):
        return
    errors = [side.manifest.facts.relative_error for side in (before, after)]
    found = [f" (relative error {error:.1e})" if error is not None else "" for error in errors]
    one, other = _names_of(before, after)
    first, second = map(str.upper, unlike)
    checked = ", each by its own check" if all(found) else ""
    yield f"precision differs: {one} computes in {first}{found[0]}, {other} in {second}{found[1]}{checked}"


def _process_cautions(before: Profile, after: Profile) -> Iterator[str]:
    """Warns of the differences between processes, which no interval covers where there is only one."""
    sides = (before, after)
    profiled = [[one.values for one in side.series.values()] for side in sides]
    timed = [[side.timings_ns] for side in sides]
    for what, readings in (("profiled", profiled), ("timed", timed)):
        if any(max(map(len, side), default=0) < 2 for side in readings):
            continue
        processes = [max(len(set(one.processes)) for one in values) for values in readings]
        single = [side.label for side, count in zip(sides, processes, strict=True) if count == 1]
        # prof knows which process launched a kernel that it measured; the report of a program may be of several processes.
        origins = {side.manifest.origin for side in sides if side.label in single}
        foreign = what == "profiled" and "ingested" in origins
        how = (
            "comes from one report, which counts as one process" if foreign else f"was {what} in one process"
        )
        for side in ["each side"] if len(single) == 2 else single:
            yield f"{side} {how}; another process may differ by more than the intervals say"


def _time_cautions(before: Profile, after: Profile) -> Iterator[str]:
    """Warns if the two were recorded long apart: a clock, a board or a driver may have changed. A report without a time has the epoch."""
    times = [datetime.fromisoformat(side.manifest.recorded) for side in (before, after)]
    hours = abs(times[1] - times[0]).total_seconds() / 3600
    # Another GPU is another machine.
    if before.gpu == after.gpu and hours >= _SAME_SESSION_HOURS and min(times).year != 1970:
        apart = f"{hours:.0f} hours" if hours < 48 else f"{hours / 24:.0f} days"
        yield f"recorded {apart} apart; intervals leave out what changed on the machine meanwhile"


def _conditions(before: Profile, after: Profile) -> list[tuple[str, str, str]]:
    """Lists what must be equal for a difference to come from the kernel: a name, and its value on each side."""
    left, right = before.manifest, after.manifest
    whatever_measured = [(_THE_GPU, _gpu(before.gpu), _gpu(after.gpu))]
    if None not in (left.workload, right.workload) or not _arguments_tell(before, after):
        whatever_measured.append((_THE_WORKLOAD, _workload(left.workload), _workload(right.workload)))
    if not _by_ncu(before, after):
        return whatever_measured  # how ncu was set says nothing of timings
    return [
        *whatever_measured,
        ("clock control", left.clock_control, right.clock_control),
        ("cache control", left.cache_control, right.cache_control),
        ("the replay mode", left.replay_mode, right.replay_mode),
        ("ncu's major version", _major(left.ncu_version), _major(right.ncu_version)),
    ]


def _arguments_tell(before: Profile, after: Profile) -> bool:
    """Returns whether the arguments show what a workload would: that the two did the same work, or did not.

    If a program was called alike, that says nothing about two kernels in it.
    """
    left, right = before.manifest, after.manifest
    unlike = unlike_arguments(left, right)
    if unlike == "":
        return not _other_work(before, after)
    return unlike is not None or bool(left.arguments and right.arguments)


def _by_ncu(before: Profile, after: Profile) -> bool:
    """Returns whether launches of both sides were profiled, and not timed alone."""
    return all(side.launches and side.manifest.has_counters for side in (before, after))


def _gpu(name: str) -> str:
    return _UNKNOWN if name == UNKNOWN_GPU else name


def _workload(workload: dict[str, int] | None) -> str:
    if workload is None:
        return _UNKNOWN
    return " ".join(f"{name}={value}" for name, value in sorted(workload.items()))


def _major(version: str) -> str:
    return version.split(".", maxsplit=1)[0] or _UNKNOWN


_SHOWN_PCT = 0.05  # less is 0.0 % when printed


def reference_shift(before: Profile, after: Profile) -> float:
    """Returns the logarithm of how much longer the same reference took beside `after`, where another runtime timed it.

    On an H200 the same copy took 0.5 to 0.6 % longer in a program of PyTorch than in ours.
    """
    runs = [side.run for side in (before, after)]
    facts = [one for run in runs if (one := (run.times_from or run).manifest.provenance)]
    if len(facts) < 2 or facts[0].runtime == facts[1].runtime or facts[0].reference != facts[1].reference:
        return 0.0
    medians = [median(timings_of(run, "reference_ns") or [0.0]) for run in runs]
    return math.log(medians[1] / medians[0]) if all(medians) else 0.0


def _shift_cautions(before: Profile, after: Profile) -> Iterator[str]:
    """Says how much longer or shorter the same reference took beside `after`, if the speedup leaves that out."""
    longer_pct = 100 * math.expm1(reference_shift(before, after))
    if before.timings_ns and after.timings_ns and abs(longer_pct) >= _SHOWN_PCT:
        which = "longer" if longer_pct > 0 else "less"
        yield (
            f"the reference took {abs(longer_pct):.1f} % {which} beside {after.label}, in another runtime; "
            "the speedup leaves that out, and the times are as measured"
        )
