"""Says the answer in three sentences: what was measured, why it is so, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from profiler.analyse.causes.cause import Cause, CodePlace, Diagnosis, Headline, where_is
from profiler.analyse.recording.doubts import is_part_of_step
from profiler.analyse.recording.kernel_choice import brief_name
from profiler.analyse.recording.kernel_names import base_name, plain_name
from profiler.analyse.recording.profile import Profile
from profiler.catalog.metrics import DURATION
from profiler.catalog.presets import ANY_PROGRAM, record_source
from profiler.text import duration, short_place

_NAME_WIDTH = 60
_NO_BOUND_PCT = 90
_WEAK_PCT = 10
NOTHING_RECORDED = "Nothing is recorded from which a cause could be found."
NOTHING_FOUND = "No cause was found whose removal would save 3 % of the time."


def headline_of(profile: Profile, diagnosis: Diagnosis, launches: int) -> Headline:
    """Returns the headline of one recording. `launches` are all those that the profile is some of."""
    if DURATION in profile.series:
        what = (
            f"{_name(profile)} takes {_time(profile, diagnosis, launches)} on {profile.gpu}{_part(profile)}."
        )
    else:
        what = f"How long {_name(profile)} takes on {profile.gpu} is not recorded."
    record_it = record_it_text("" if profile.manifest.kernel is not None else ANY_PROGRAM)
    if not diagnosis.can_look:
        return Headline(what, NOTHING_RECORDED, record_it)
    if not diagnosis.causes and diagnosis.unseen:
        return Headline(what, f"{NOTHING_FOUND} Not recorded: {', '.join(diagnosis.unseen)}.", record_it)
    return Headline(what, why_text(diagnosis.causes), next_text(diagnosis.causes))


def record_it_text(program: str = ANY_PROGRAM) -> str:
    return f"Record it with {record_source(program)}."


def _name(profile: Profile) -> str:
    """Returns a rung, or a step of several kernels, as a reader knows it, and any other kernel by its own name."""
    is_known = profile.manifest.kernel is not None or is_part_of_step(profile)
    return profile.label if is_known else _kernel_name(profile)


def _kernel_name(profile: Profile) -> str:
    plain = plain_name(profile.kernel)
    return plain if len(plain) <= _NAME_WIDTH else brief_name(base_name(profile.kernel), _NAME_WIDTH)


def _part(profile: Profile) -> str:
    """Returns the time of the kernel that the causes are of, where more than it was timed."""
    if not is_part_of_step(profile):
        return ""
    took = duration(profile.series[DURATION].mean)
    return f"; of that, {_kernel_name(profile)} takes {took} a launch under the profiler"


def _time(profile: Profile, diagnosis: Diagnosis, launches: int) -> str:
    """Returns the time without the profiler, where it was measured; else that of the launches that were diagnosed."""
    if profile.timings_ns:
        return f"{duration(median(profile.timings_ns))} without the profiler"
    took = duration(diagnosis.duration_ns or profile.series[DURATION].mean)
    some = 0 < diagnosis.launches < launches
    which = "that one" if diagnosis.launches == 1 else f"those {diagnosis.launches}"
    take = "takes" if diagnosis.launches == 1 else "take"
    of = f", in {which} of its {launches} launches that {take} most of the time," if some else ""
    return f"{took} {'under' if profile.manifest.has_counters else 'without'} the profiler{of}"


def why_text(causes: Sequence[Cause]) -> str:
    if not causes:
        return NOTHING_FOUND
    first = causes[0]
    weak = (
        f"No cause would save {_WEAK_PCT} % of the time; the largest is "
        if not first.is_ceiling and round(first.saves_pct.expected) < _WEAK_PCT
        else ""
    )
    return f"{weak}{name_and_place(first)}: {first.sentence}"


def next_text(causes: Sequence[Cause]) -> str:
    """Returns the change that saves most; where nothing is to be gained, what would be another kernel."""
    open_ones = [one for one in causes if not one.is_ceiling]
    if causes and causes[0] not in open_ones:
        return f"prof knows no change of this kernel alone that saves much. {causes[0].try_}"
    return f"{open_ones[0].try_} {saves_text(open_ones[0])}" if open_ones else ""


def saves_text(cause: Cause) -> str:
    saves = cause.saves_pct
    bound = f", and never more than {saves.at_most:.0f} %" if has_bound(cause) else ""
    return f"Likely to save {saves.expected:.0f} % of the time{bound}."


def has_bound(cause: Cause) -> bool:
    """Returns whether the most that the change could save is worth saying: nearly all of the time is no bound."""
    return not cause.is_ceiling and cause.saves_pct.at_most < _NO_BOUND_PCT


def name_and_place(cause: Cause) -> str:
    """Returns `bank-conflicts at kernel.cu:66`, or the name alone where no line is to blame."""
    return f"{cause.cause} at {place_text(cause.where[0])}" if has_place(cause) else cause.cause


def place_text(place: CodePlace) -> str:
    """Returns the whole place in a form that fits a sentence."""
    return short_place(whole_place_text(place))


def whole_place_text(place: CodePlace) -> str:
    """Returns `kernel.cu:66`, or the instruction's offset where no line is known."""
    return (
        f"{place.file}:{place.line}"
        if place.file and place.line
        else f"offset {place.offset:#x} ({place.opcode})"
    )


def has_place(cause: Cause) -> bool:
    """Returns whether a line or an instruction is to blame."""
    return where_is(cause.cause, cause.where) in ("line", "instruction")
