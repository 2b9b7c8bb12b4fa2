"""Says the answer in three sentences: what was measured, why it is so, and what to do next."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from profiler.analyse.causes.cause import (
    HIDING_EACH_OTHER,
    UNCOUNTED,
    Cause,
    CodePlace,
    Diagnosis,
    Headline,
    has_place,
    name_and_place,
    place_text,
)
from profiler.analyse.causes.detectors.candidate import WORTH_A_CHANGE
from profiler.analyse.recording.doubts import PYTORCH, is_part_of_step
from profiler.analyse.recording.kernel_names import choice_of, short_name
from profiler.analyse.recording.languages import Language, language_of
from profiler.analyse.recording.profile import Profile
from profiler.analyse.statistics.timings import typical_time
from profiler.catalog.causes import LAST_WAVE, UNOPTIMISED
from profiler.catalog.causes.sureness import Sureness
from profiler.catalog.metrics import DURATION
from profiler.catalog.presets import ANY_PROGRAM, record_all
from profiler.text import duration, listed, saving, short_place, whole_percent

_NO_BOUND_PCT = 90
# Of the first causes of blind tests that were right, 95 in 100 saved less than twice what was expected: a larger bound excludes little.
_TELLING_BOUND = 2.0
WEAK_PCT = 10
_ALL_PCT = 100
_HALF_PCT = 50
_AT_A_GLANCE = 240  # characters of advice: two and a half lines of a terminal of 100 columns
_MOST_NAMED = 2
_BETWEEN_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")
_MOSTLY_RIGHT_PCT = 50  # of answers: with fewer, the first cause is more often wrong than right
NOTHING_RECORDED = "Nothing is recorded from which a cause could be found."
NOTHING_FOUND = (
    f"No cause was found whose removal would save {whole_percent(100 * WORTH_A_CHANGE)} % of the time."
)

NO_LINES = "No source lines are recorded"
_LINES_OF_CUDA, _LINES_OF_CUPY = "-lineinfo", "-lineinfo (CuPy: `options=('-lineinfo',)`)"
_LINES_OF: dict[Language, str] = {
    "Numba": "`@cuda.jit(lineinfo=True)`",
    "CuTe DSL": "`CUTE_DSL_LINEINFO=1` in the environment",
    "Julia": "`julia -g1`",
}
_PYTHON = re.compile(r"(?:^|[/\\])(?:python|pypy)[\w.]*$", re.IGNORECASE)
# The compiler of PyTorch names its kernels of Triton so: for elements, sums along rows, templates, and several operations in turn.
_OF_TORCH = re.compile(r"triton_(?:poi|red|per|tem|for)_fused_")
WRITTEN_BY_TORCH = (
    "`torch.compile` wrote this kernel: change what it compiles (shapes, layouts, types, what is fused), let it try others "
    '(`mode="max-autotune"`), or write the kernel yourself.'
)
# Kernels of matrices of cuBLAS and cuDNN. `nvjet` are those since CUDA 12.8.
_OF_NVIDIA = re.compile(
    r"(?<!\w)(?:(?:volta|turing|ampere|hopper)_\w*gemm_|sm\d+_xmma_|cutlass::Kernel2?<cutlass_\d+_|nvjet_|cudnn::)"
)
BROUGHT_BY_NVIDIA = (
    "This kernel comes with a library of NVIDIA: change what you ask of it (the shapes, the layout or the type), or which of its kernels it "
    "chooses."
)
BROUGHT_BY_PYTORCH = (
    "This kernel comes with PyTorch: change what you ask of it (the shapes, the layout or the type), fuse it with others (`torch.compile`), "
    "or write one of your own."
)


def headline_of(profile: Profile, diagnosis: Diagnosis, launches: int) -> Headline:
    """Returns the headline of one recording. The profile has some of the kernel's `launches`, or all."""
    if DURATION in profile.series:
        what = (
            f"{_name(profile)} takes {_time(profile, diagnosis, launches)} on {profile.gpu}{_part(profile)}."
        )
    else:
        what = f"How long {_name(profile)} takes on {profile.gpu} is not recorded."
    record_it = record_it_text("" if profile.manifest.kernel is not None else ANY_PROGRAM)
    causes, unseen = diagnosis.causes, diagnosis.unseen
    if not causes and unseen:
        return Headline(what, _without_cause(diagnosis), record_it, tells_how_to_record=True)
    said = with_next(explained(what, causes, unseen), causes, profile, sureness=diagnosis.sureness)
    if are_weak(causes) and UNCOUNTED in unseen:
        why, next_ = f"{said.why} {diagnosis.shown}".rstrip(), f"{record_it} {said.next}"
        said = replace(said, why=why, next=next_, tells_how_to_record=True)
    return replace(said, why=said.why + hidden_text(causes, unseen))


def explained(what: str, causes: Sequence[Cause], unseen: Sequence[str] = ()) -> Headline:
    """Returns a headline that explains by the first cause `what` was measured; it does not say yet what to do next."""
    return Headline(what, why_text(causes, unseen), "", explains=causes[0].cause if causes else None)


def with_next(
    said: Headline,
    causes: Sequence[Cause],
    profile: Profile | None = None,
    *,
    at_place: bool = False,
    sureness: Sureness | None = None,
) -> Headline:
    """Returns the headline with the change to try first. With `at_place`, the name and place of its cause stand before it.

    The `sureness` is that of the first cause.
    """
    next_ = next_at_place(causes, profile) if at_place else next_text(causes, profile)
    next_ = " ".join(filter(None, [next_, unsure_text(causes, sureness)]))
    note = note_text(causes, profile)
    return replace(
        said,
        next=next_,
        advises_on=advised.cause if (advised := _advised(causes)) else None,
        tells_what_without_lines=bool(next_)
        and (bool(note) or _instead_text(profile) not in ("", WRITTEN_BY_TORCH)),
        note=note,
    )


def flag_of_lines(kernel: str = "", program: str = "") -> str:
    """Returns what keeps the source lines in the kernel's language.

    Nothing in a kernel shows that CuPy compiled it, so CuPy's flag is said too, unless the program is known not to be Python.
    """
    may_be_of_cupy = not program or _PYTHON.search(program)
    return _LINES_OF.get(language_of([kernel]), _LINES_OF_CUPY if may_be_of_cupy else _LINES_OF_CUDA)


def without_source(kernel: str = "", program: str = "") -> str:
    """Returns what to do where no lines are known, for a library's kernel and for one's own that was compiled without them."""
    return (
        f"{NO_LINES}. If the kernel is yours, compile it with {flag_of_lines(kernel, program)}. If it comes from a library, "
        "change what you ask of it: the shapes, the layout or the type."
    )


def instead_of_editing(kernel: str) -> str:
    """Returns what to do about a kernel that a library brings along, or that `torch.compile` writes anew each time; nothing for others."""
    if _OF_TORCH.match(short_name(kernel)):
        return WRITTEN_BY_TORCH
    if PYTORCH in kernel:
        return BROUGHT_BY_PYTORCH
    return BROUGHT_BY_NVIDIA if _OF_NVIDIA.search(kernel) else ""


def record_it_text(program: str = ANY_PROGRAM) -> str:
    return f"Record it with {record_all(program)}."


def _name(profile: Profile) -> str:
    """Returns a rung, or a step of several kernels, as a reader knows it, and any other kernel by its own name."""
    is_known = profile.manifest.kernel is not None or is_part_of_step(profile)
    return profile.label if is_known else short_name(profile.kernel)


def _part(profile: Profile) -> str:
    """Returns the time of the kernel that the causes explain, if more than this kernel was timed."""
    if not is_part_of_step(profile):
        return ""
    took = duration(profile.series[DURATION].mean)
    return f"; of that, {short_name(profile.kernel)} takes {took} a launch under the profiler"


def _time(profile: Profile, diagnosis: Diagnosis, launches: int) -> str:
    """Returns the time without the profiler, where it was measured, and otherwise the time of the launches that were diagnosed."""
    if profile.timings_ns:
        return f"{duration(typical_time(profile.timings_ns))} without the profiler"
    took = duration(diagnosis.duration_ns or profile.series[DURATION].mean)
    some = 0 < diagnosis.launches < launches
    alike = f"each of {diagnosis.launches} equal launches, which together take longest of all {launches}"
    longest = f"the longest of its {launches} launches" if diagnosis.launches == 1 else alike
    of = f", in {longest}," if some else ""
    return f"{took} {'under' if profile.manifest.has_counters else 'without'} the profiler{of}"


def _without_cause(diagnosis: Diagnosis) -> str:
    """Returns what is known if no cause was found, in a recording that does not show every cause."""
    if not diagnosis.can_look and not diagnosis.shown:
        return NOTHING_RECORDED
    if UNCOUNTED in diagnosis.unseen:
        looked = "Most causes" if diagnosis.can_look else "Causes"
        unseen = f"{looked} cannot be looked for: it is not recorded {listed(diagnosis.unseen)}."
        return f"{diagnosis.shown} {unseen}".lstrip()
    return " ".join(
        filter(None, [NOTHING_FOUND, diagnosis.shown, f"Not recorded: {', '.join(diagnosis.unseen)}."])
    )


def why_text(causes: Sequence[Cause], unseen: Sequence[str] = ()) -> str:
    if not causes:
        return NOTHING_FOUND
    first = causes[0]
    most = max(_expected(one) for one in causes)
    which = "largest" if _expected(first) == most else "surest"
    weak = (
        f"{_none_of_them(unseen)} alone would save {WEAK_PCT} % of the time; the {which} is "
        if are_weak(causes)
        else ""
    )
    return f"{weak}{_name_and_main_place(first)}: {first.sentence}"


def _none_of_them(unseen: Sequence[str]) -> str:
    return "Of the causes that can be looked for, none" if UNCOUNTED in unseen else "No cause"


def are_weak(causes: Sequence[Cause]) -> bool:
    """Returns whether no cause would save much."""
    return bool(causes) and not causes[0].is_ceiling and max(_expected(one) for one in causes) < WEAK_PCT


def _expected(cause: Cause) -> int:
    """Returns the saving in whole percents, as it is printed."""
    return round(cause.saves_pct.expected)


def hidden_text(causes: Sequence[Cause], unseen: Sequence[str]) -> str:
    """Returns a further sentence where no instruction was counted: other causes may then cost more than those found."""
    first = next(iter(causes), None)
    if first is None or first.is_ceiling or first.cause == UNOPTIMISED or UNCOUNTED not in unseen:
        return ""
    if first.saves_pct.expected >= _NO_BOUND_PCT:
        return ""
    return f" Other causes may be hidden: it is not recorded {listed(unseen)}."


def next_text(causes: Sequence[Cause], profile: Profile | None = None) -> str:
    """Returns the change to try first; where nothing is to be gained, what would be another kernel.

    The `profile` tells whose kernel it is, and so who can change it.
    """
    return " ".join(filter(None, [_change_text(causes), _instead_text(profile)]))


def _instead_text(profile: Profile | None) -> str:
    return instead_of_editing(profile.kernel) if profile else ""


def _change_text(causes: Sequence[Cause]) -> str:
    advised = _advised(causes)
    if advised is None or advised.is_ceiling:
        return advice_text(causes)
    hiding = "" if causes[0].is_ceiling else _hiding_text([one for one in causes if not one.is_ceiling])
    return " ".join(filter(None, [advice_text(causes), saves_text(advised), hiding]))


def advice_text(causes: Sequence[Cause]) -> str:
    """Returns the change to try first, without what it saves; at a ceiling, what can be removed beside it, or where to begin."""
    advised = _advised(causes)
    if advised is None:
        return ""
    if advised.is_ceiling:
        return f"{advised.try_}{_beginning_at_ceiling(causes)} prof knows nothing else that saves much."
    beside = (
        f"Beside this ceiling, {name_and_place(advised)} can be removed: " if causes[0].is_ceiling else ""
    )
    return beside + split_advice(advised)[0]


def split_advice(cause: Cause) -> tuple[str, str]:
    """Returns the sentences of the advice that the next step has room for, and the others, which stand at the cause alone.

    A sentence that is too long is still included if those before it are short, because they seldom say all that matters.
    """
    first, *others = _BETWEEN_SENTENCES.split(cause.try_)
    while others and (len(first) < _AT_A_GLANCE / 2 or len(first) + len(others[0]) < _AT_A_GLANCE):
        first += f" {others.pop(0)}"
    return first, " ".join(others)


def _beginning_at_ceiling(causes: Sequence[Cause]) -> str:
    """Returns where to begin with less work for the full resource: every cause named beside a ceiling spares some, except the last wave."""
    spared = next((one for one in causes if not one.is_ceiling and one.cause != LAST_WAVE), None)
    return f" Begin with {name_and_place(spared)}." if spared else ""


def _advised(causes: Sequence[Cause]) -> Cause | None:
    """Returns the cause whose change is to be tried first: at a ceiling, one beside it that is said to save much, if there is any."""
    if not causes or not causes[0].is_ceiling:
        return next(iter(causes), None)
    return next((one for one in causes if not one.is_ceiling and _expected(one) >= WEAK_PCT), causes[0])


def note_text(causes: Sequence[Cause], profile: Profile | None = None) -> str:
    """Returns what to do if the instruction to blame has no known source line; "" for a kernel that others are known to have written."""
    advised = _advised(causes)
    if _instead_text(profile) or advised is None or advised.is_ceiling or advised.where_is != "instruction":
        return ""
    if profile is None:
        return without_source()
    names = [one.name for one in profile.manifest.kernels]
    choice = f" {choice_of(profile.kernel, names)}" if len(names) > 1 else ""
    listing = (
        f"`prof sass {shlex.quote(profile.label)}{choice} --listing` shows the hot loop by these offsets."
    )
    return f"{without_source(profile.kernel, profile.manifest.program)} {listing}"


def saves_text(cause: Cause) -> str:
    expected, at_most = _expected(cause), round(cause.saves_pct.at_most)
    if expected >= _ALL_PCT:
        return "Likely to save nearly all of the time."
    likely = saving(cause.saves_pct.expected)
    if not tells_bound(cause):
        return f"Likely to save {likely} % of the time."
    if at_most <= expected:  # the estimate is the bound
        return f"Saves {likely} % of the time at most."
    return f"Likely to save {likely} % of the time, and at most {at_most} %."


def _hiding_text(causes: Sequence[Cause]) -> str:
    """Returns what the first causes save together, if they hide each other, and which of them are hidden if not all of them are."""
    first = hidden_together(causes)
    others = first[1:]
    if not others:
        return ""
    names = [one.cause for one in others]
    few = listed(names) if len(names) <= _MOST_NAMED else f"the next {len(names)} causes"
    rest = name_and_place(others[0]) if len(others) == 1 else few
    together = saving(others[-1].saves_pct.together or 0.0)
    hidden = [one.cause for before, one in pairwise(first) if _is_hidden(before, one)]
    how = f"the others hide {listed(hidden)}" if 0 < len(hidden) < len(others) else "they hide each other"
    return f"With {rest} removed as well, likely to save {together} %: {how}."


def _is_hidden(before: Cause, cause: Cause) -> bool:
    """Returns whether a cause leaves clearly less of the time that those before it leave than it would by itself."""
    one_by_one = 100 - (before.saves_pct.together or before.saves_pct.expected)
    one_by_one *= 1 - cause.saves_pct.expected / 100
    return one_by_one - (100 - (cause.saves_pct.together or 0.0)) >= 100 * WORTH_A_CHANGE


def unsure_text(causes: Sequence[Cause], sureness: Sureness | None) -> str:
    """Returns the cause to look at as well, where the authors of most such kernels did not change the first one first.

    At a ceiling, or where no cause saves much, or two hide each other, other sentences say so already.
    """
    second = next((one for one in causes[1:] if not one.is_ceiling), None)
    if sureness is None or second is None or sureness.right_first_pct >= _MOSTLY_RIGHT_PCT:
        return ""
    if causes[0].is_ceiling or are_weak(causes) or hidden_together(causes):
        return ""
    instead = f"{name_and_place(second)} ({saving(second.saves_pct.expected)} %)"
    return f"Unsure: most authors of such kernels changed something else first; look at {instead} as well."


def hidden_together(causes: Sequence[Cause]) -> Sequence[Cause]:
    """Returns the first causes, up to one that others hide; none if they save no more together than one after the other."""
    left = 1.0
    for place, one in enumerate(causes):
        left *= 1 - one.saves_pct.expected / 100
        if (one.saves_pct.together or 0.0) - 100 * (1 - left) >= 100 * HIDING_EACH_OTHER:
            return causes[: place + 1]
    return []


def tells_bound(cause: Cause) -> bool:
    """Returns whether the most that the change could save is worth saying. Nearly all of the time, or far more than is likely, is not."""
    most = min(_NO_BOUND_PCT, _TELLING_BOUND * cause.saves_pct.expected)
    return not cause.is_ceiling and cause.saves_pct.at_most < most


def next_at_place(causes: Sequence[Cause], profile: Profile | None = None) -> str:
    """Returns the change to try first after its cause and place, as in `bank-conflicts at kernel.cu:66: Pad ...`; "" without causes."""
    return f"{name_and_place(causes[0])}: {next_text(causes, profile)}" if causes else ""


def _name_and_main_place(cause: Cause) -> str:
    """Returns the name and place; for a cause of the whole kernel, `too-little-work-a-thread, mostly at kernel.cu:73` if one line has most of it."""
    place = main_place(cause)
    if place is None:
        return cause.cause
    at = " at" if has_place(cause) else ", mostly at"
    return f"{cause.cause}{at} {place_text(place)}{call_text(place)}"


def call_text(place: CodePlace) -> str:
    """Returns where the kernel calls the function of this place, if the compiler put its code into the kernel."""
    return f" (called at {short_place(place.inlined_at)})" if place.inlined_at else ""


def main_place(cause: Cause) -> CodePlace | None:
    """Returns the line or instruction to blame; of a cause of the whole kernel, the line that has half of it or more, if there is one."""
    if has_place(cause):
        return cause.where[0]
    first = cause.where[0] if cause.where and not cause.is_ceiling else None
    return first if first and first.line and first.share_pct >= _HALF_PCT else None
