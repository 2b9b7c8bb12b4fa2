"""Causes as blocks: what each change would save, what the cause is, where, and what to try."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from profiler.analyse.causes.cause import (
    Cause,
    CodePlace,
    FullerRun,
    Headline,
    has_place,
    name_and_place,
    place_text,
)
from profiler.analyse.causes.headline import (
    NO_LINES,
    WEAK_PCT,
    call_text,
    flag_of_lines,
    hidden_together,
    main_place,
    split_advice,
    tells_bound,
)
from profiler.analyse.causes.order import what_goes_along, why_not_by_saving
from profiler.analyse.findings import CauseChange, ComparisonFinding
from profiler.catalog.causes import UNOPTIMISED
from profiler.catalog.causes.sureness import Sureness, answers_naming
from profiler.catalog.presets import what_records_all
from profiler.present.document import Block, Caution, Facts, Folded, Item, Items, Section, Text
from profiler.text import date_of, is_cupy_source, listed, saving

_TITLES = ("alone", "up to here", "cause", "why")
_MEANING = "what causes {}, and what a change is likely to save"
_CHANGED = "causes, and the part of the time that removing each is likely to save"
_ON_BOTH = (
    ". Both kernels have the causes at `limits now` and `limited before`, which cost only one of them time."
)
_COUNTED_BY_CUPY = "<CuPy source>: code that CuPy compiled from a string instead of a file; line 1 of a RawKernel is the first line of its string"
_RESOURCES = {
    "dram": "device memory", "l2": "L2", "l1": "L1", "lsu": "the load/store pipe", "issue": "issuing the other instructions",
    "fma": "the FMA pipe", "alu": "the ALU pipe", "fp64": "the FP64 pipe", "xu": "the special-function unit",
    "tensor": "the tensor pipe", "fma_heavy": "the half of the FMA pipe that multiplies integers",
}  # fmt: skip
# This says why the part differs from the throughput on the same screen, which is a part of the peak and counts all traffic.
_LESS = ", even at the highest rate that kernels reach, and if it moved no data twice"
# `x,`, `x.data,`, `*args,` or `out=x,` on a line of its own says nothing without its call.
_ARGUMENT = re.compile(r"\*{0,2}(\w+=)?[\w.]+,")
_SHOWN_TEXT = 90  # a line of the screen, without its indent
_MOST_IN_FULL = 3
_LOOK_FURTHER = " Look at the first three before you change anything."
_SURE_PCT = 60  # Where two of five such answers did not name what the author changed, a second look costs less than the lesser change.
_HOW_SURE = {80: "very", _SURE_PCT: "fairly", 0: "not very"}  # by the percent of such answers that were right
_SAVING_WIDTH = len("> 99 %")
# The most that is saved in percent, and the resource that needs the rest of the time.
_Bound = tuple[int, str]


def headline_blocks(headline: Headline | None) -> Section:
    """Returns the answer in three lines, or nothing where no duration is known."""
    return [Text(headline.what, strong=True), *why_and_next(headline)] if headline else []


def why_and_next(headline: Headline | None) -> Section:
    """Returns the why and the next step, as far as they are known, and notes: on code without lines, and on places that are in no file."""
    lines = [("Why", headline.why), ("Next", headline.next)] if headline else []
    notes = [headline.note if headline else "", _COUNTED_BY_CUPY if _names_cupy(headline) else ""]
    return [*(Text(f"{name}: {text}") for name, text in lines if text), *(Text(one) for one in notes if one)]


def _names_cupy(headline: Headline | None) -> bool:
    return headline is not None and is_cupy_source(f"{headline.what} {headline.why} {headline.next}")


def source_notes(places: Iterable[str | None], said: Headline | None) -> Section:
    """Returns what these places are in, if that is no file, and the headline above has not `said` so."""
    is_new = any(map(is_cupy_source, filter(None, places))) and not _names_cupy(said)
    return [Text(_COUNTED_BY_CUPY)] if is_new else []


def _notes_on_causes(causes: Iterable[Cause], said: Headline | None) -> Section:
    return source_notes((place.file for one in causes for place in one.where), said)


def cause_blocks(
    causes: Sequence[Cause],
    unseen: Sequence[str],
    said: Headline | None = None,
    *,
    full: bool = True,
    what: str = "its time",
    kernel: str = "",
    program: str = "",
    left_out: Mapping[str, float] = MappingProxyType({}),
    sure: Section = (),
    fuller: FullerRun | None = None,
    records_all: str = "",
) -> Section:
    """Returns the list of causes of `what`, how `sure` the first is, and what the recording did not allow to see.

    It leaves out the sentences of `said`. The `fuller` run has what this recording lacks, or else the sentence `records_all` says what would.

    Unless `full`, the smaller causes are only named; if it is, so are those that are `left_out`. How to keep source lines depends on the
    `kernel` and its `program`, if they are known.
    """
    more = _left_out(left_out) if full else []
    lacks = _not_recorded(causes, unseen, said, flag_of_lines(kernel, program), fuller, records_all)
    return [*_each_cause(causes, said, full, what), *more, *_notes_on_causes(causes, said), *sure, *lacks]


def _each_cause(
    causes: Sequence[Cause], said: Headline | None, full: bool, what: str, told: Collection[str] = ()
) -> Section:
    """Returns the list of causes, and why it is in its order as far as that is not `told` above."""
    blocks: list[Block] = []
    most = len(causes) if full else _count_shown(causes)
    shown, others = causes[:most], causes[most:]
    quoted: set[str] = set()
    shared = _shared_bounds(shown)
    items = [_item(one, said, quoted, shared) for one in shown]
    if items := [one for one in items if one.weight_pct is not None or one.sentence]:
        blocks.append(Items(_MEANING.format(what), items, _TITLES))
        texts = (*shared.values(), *why_not_by_saving(causes), *what_goes_along(shown))
        blocks += [Text(text) for text in texts if text not in told]
    if others:
        named = ", ".join(f"{name_and_place(one)} ({saving(one.saves_pct.expected)} %)" for one in others)
        rows = [_item(one, said, quoted, shared) for one in others]
        folded = [Items("smaller causes", rows, _TITLES)]
        blocks.append(Folded(f"{len(others)} more: {named}", folded, f"{len(others)} more: {named}"))
    return blocks


def sureness_blocks(
    causes: Sequence[Cause], sureness: Sureness | None, unseen: Sequence[str] = ()
) -> Section:
    """Returns how often such an answer was right, and the advice to look further where that is not often; or why it is not known.

    What the recording does not show is `unseen`.
    """
    if not causes:
        return []
    if sureness is None:
        return [Text(f"How sure: not known: {_why_not_known(causes[0], unseen)}.")]
    if causes[0].is_ceiling:
        return [Text(f"How sure: {_answers_at_ceilings(causes[0].cause, sureness)}")]
    sure = sureness.right_first_pct
    how = next(word for least, word in _HOW_SURE.items() if sure >= least)
    further = "" if sure >= _SURE_PCT else _followed_text(sureness) + _LOOK_FURTHER
    return [Text(f"How sure: {how}. {_counted_answers(sureness)}.{further}")]


def _counted_answers(sureness: Sureness) -> str:
    """Returns how many answers like this one were right, as in `Of 86 such answers on unseen kernels, 76 named …`."""
    kernels, right, three = sureness.kernels, sureness.right_first, sureness.among_three
    such = "such answers on unseen kernels"
    if not sureness.of_this_cause:
        such = "answers on unseen kernels that expected to save about as much"
    those = f"All {kernels:,} {such}" if right == kernels else f"Of {kernels:,} {such}, {right:,}"
    among = (
        ""
        if right == kernels
        else f", and {'all' if three == kernels else f'{three:,}'} among the first three"
    )
    off = "" if sureness.points_off is None else f"; estimates were {sureness.points_off:.0f} points off"
    return f"{those} named first what the author then changed{among}{off}"


def _followed_text(sureness: Sureness) -> str:
    """Returns what following such an answer did where the author had changed something else."""
    if not sureness.followed:
        return ""
    faster = "all" if sureness.faster == sureness.followed else f"{sureness.faster} of"
    return f" Where that was something else, following the first cause still made {faster} {sureness.followed} faster by 10 % or more."


def _answers_at_ceilings(ceiling: str, all_of_them: Sureness) -> str:
    """Returns how many kernels at a ceiling got faster all the same, by another change than less of that work.

    A kernel that is as fast as it can be has no faster next version, and so is not among those that are counted.
    """
    own, others = answers_naming(ceiling), all_of_them.kernels - all_of_them.right_first
    said = f"Of {all_of_them.kernels:,} that prof put at a ceiling, {others:,} got faster by another change"
    of_own = f"; at this one, {own.kernels - own.right_first:,} of {own.kernels:,}" if own.kernels else ""
    return f"only kernels with a faster next version were tested. {said}{of_own}."


def _why_not_known(first: Cause, unseen: Sequence[str]) -> str:
    if first.cause == UNOPTIMISED:
        return "too few kernels that were compiled for debugging were tested"
    lacks = listed([one.partition(" (")[0] for one in unseen])
    return f"the tests were of recordings that show {lacks}, and this one does not"


def _left_out(others: Mapping[str, float]) -> Section:
    """Returns how many causes more there are, and what removing each would save."""
    if not others:
        return []
    if len(others) == 1:
        ((name, pct),) = others.items()
        said = f"1 further cause is left out: {name}, which is likely to save {saving(pct)} % by itself."
    else:
        named = ", ".join(f"{name} ({saving(pct)} %)" for name, pct in others.items())
        said = (
            f"{len(others)} further causes are left out, with what each is likely to save by itself: {named}."
        )
    return [Text(said)]


def _count_shown(causes: Sequence[Cause]) -> int:
    """Returns how many causes the first screen shows: three, those that the next step adds up, and those that save more than one shown.

    What saves less than a tenth of the time may be hidden all the same: it is hardly worth the lines.
    """
    added = hidden_together([one for one in causes if not one.is_ceiling])
    most = max(_MOST_IN_FULL, causes.index(added[-1]) + 1 if added else 0)
    saved = [round(one.saves_pct.expected) for one in causes]
    while True:
        least = max(WEAK_PCT, _least_saved(causes[:most]) + 1)
        larger = [place for place in range(most, len(saved)) if saved[place] >= least]
        if not larger:
            return most
        most = larger[-1] + 1


def _least_saved(causes: Iterable[Cause]) -> float:
    return min((round(one.saves_pct.expected) for one in causes if not one.is_ceiling), default=math.inf)


def _not_recorded(
    causes: Sequence[Cause],
    unseen: Sequence[str],
    said: Headline | None,
    lines: str,
    fuller: FullerRun | None = None,
    records_all: str = "",
) -> Section:
    """Returns what the recording lacks for a fuller answer, and which run has it, or else how to record it.

    `lines` is the flag that keeps source lines. The headline may have `said` how to record it.
    """
    blocks: list[Block] = []
    is_known = said is not None and said.tells_what_without_lines
    if any(has_place(one) and not one.where[0].line for one in causes) and not is_known:
        blocks.append(Text(f"{NO_LINES.lower()}: compile with {lines}"))
    if unseen:
        how = "" if said and said.tells_how_to_record else f". {records_all or what_records_all()}."
        if fuller is not None:
            how = f". `prof show {fuller.name}`, recorded {date_of(fuller.recorded)}, has it."
        blocks.append(Caution(f"not recorded: {'; '.join(unseen)}{how}"))
    return blocks


def changed_cause_blocks(comparison: ComparisonFinding, after: str, *, full: bool) -> Section:
    """Returns which causes went, came and remain. Their descriptions, and what to try, are folded away unless `full`; why one
    that saves less stands first is not.

    Of two different kernels, it returns the causes of each.
    """
    if comparison.different_kernels:
        return causes_of_each(comparison, ("before", "after"), full=full)
    causes, unseen = comparison.causes, comparison.causes_unseen
    lines = flag_of_lines(comparison.after.kernel_name)
    said, of_it = comparison.headline, f"the time of {after}"
    kept = {one.cause: one for one in comparison.causes_kept}
    undecided, unmoved = comparison.causes_undecided, comparison.causes_unmoved
    # Neither side has a cause, or which causes one of them has is not known.
    if not (kept or comparison.causes_gone or comparison.causes_new or undecided or unmoved):
        return cause_blocks(causes, unseen, said, full=full, what=of_it, kernel=comparison.after.kernel_name)
    named = {one.cause for one in causes}
    remain = [_saving(one, kept[one.cause]) for one in causes if one.cause in kept]
    remain += [_change(one.cause, one) for one in kept.values() if one.cause not in named]
    hidden = "on one side only; the recording of the other could not show it"
    rows = [
        ("gone", comparison.causes_gone),
        ("new", [_saving(one) for one in causes if one.cause not in {*kept, *undecided, *unmoved}]),
        ("limits now", [_saving(one) for one in causes if one.cause in unmoved]),
        ("limited before", [one for one in unmoved if one not in named]),
        ("remain", remain),
        ("unknown", [f"{one}: {hidden}" for one in undecided]),
    ]
    meaning = f"{_CHANGED}{_ON_BOTH if unmoved else ''}"
    order = why_not_by_saving(causes)
    changes: list[Block] = [Text(meaning), Facts([row for row in rows if row[1]]), *map(Text, order)]
    each = _each_cause(causes, said, full=True, what=of_it, told=order)
    if each and not full:
        instead = f"what each is and what to try: add --full, or give {after} to `prof show`"
        each = [Folded(f"what each is and what to try, for {after}", each, instead)]
    notes = _notes_on_causes(causes, said)
    return [*changes, *notes, *each, *_not_recorded(causes, unseen, said, lines)]


def causes_of_each(comparison: ComparisonFinding, names: tuple[str, str], *, full: bool) -> Section:
    """Returns the causes of two different kernels, which are called by these names."""
    sides = dict(zip(names, (comparison.causes_before, comparison.causes), strict=True))
    blocks: list[Block] = []
    if any(sides.values()):
        rows = [(name, list(map(_saving, causes)) or ["none is known"]) for name, causes in sides.items()]
        each = [
            block
            for which, causes in zip(("first", "second"), sides.values(), strict=True)
            for block in _each_cause(causes, None, full=True, what=f"the time of the {which} kernel")
        ]
        if not full:
            told = "what each is and what to try"
            each = [Folded(told, each, f"{told}: add --full, or give one of the two to `prof show`")]
        blocks = [Text(_CHANGED), Facts(rows), *each]
    lines = flag_of_lines(comparison.after.kernel_name)
    said, unseen = comparison.headline, comparison.causes_unseen
    notes = _notes_on_causes([*comparison.causes_before, *comparison.causes], said)
    return [*blocks, *notes, *_not_recorded(comparison.causes, unseen, said, lines)]


def _saving(cause: Cause, change: CauseChange | None = None) -> str:
    """Returns what removing the cause is likely to save, and what it was before if that differs; a ceiling is the limit itself."""
    if cause.is_ceiling:
        return f"{'limit':>{_SAVING_WIDTH}}  {name_and_place(cause)}"
    now = cause.saves_pct.expected
    return _change(name_and_place(cause), change or CauseChange(cause.cause, now, now))


def _change(name: str, change: CauseChange) -> str:
    now, before = f"{saving(change.after_pct)} %", f"{saving(change.before_pct)} %"
    return f"{now:>{_SAVING_WIDTH}}  {name}{f' (before: {before})' if before != now else ''}"


def _shared_bounds(causes: Sequence[Cause]) -> dict[_Bound, str]:
    """Returns a sentence for each bound that several causes share, because the same resource needs the rest of the time."""
    counts = Counter(bound for one in causes if (bound := _bound_of(one)))
    named = {bound: [one.cause for one in causes if _bound_of(one) == bound] for bound in counts}
    return {
        bound: f"{listed(names)} each save {bound[0]} % at most: "
        f"{_RESOURCES[bound[1]]} would still need {100 - bound[0]} % of the time{_LESS if bound[1] == 'dram' else ''}."
        for bound, names in named.items()
        if len(names) > 1
    }


def _bound_of(cause: Cause) -> _Bound | None:
    limit = cause.saves_pct.limited_by
    return (round(cause.saves_pct.at_most), limit) if limit and tells_bound(cause) else None


def _item(cause: Cause, said: Headline | None, quoted: set[str], shared: Collection[_Bound]) -> Item:
    """Returns a cause with its evidence; leaves out what the headline `said`, lines `quoted` above, and `shared` bounds."""
    is_own = tells_bound(cause) and _bound_of(cause) not in shared
    saves = f" Saves {saving(cause.saves_pct.at_most)} % at most." if is_own else ""
    is_explained = said is not None and said.explains == cause.cause
    has_advice = said is not None and said.advises_on == cause.cause
    further = split_advice(cause)[1] if has_advice and not cause.is_ceiling else ""
    advice = f"Try: as above. {further}" if further else "" if has_advice else f"Try: {cause.try_}{saves}"
    parts = [
        "" if is_explained else cause.sentence,
        _where(cause, quoted),
        advice,
    ]
    weight = None if cause.is_ceiling else cause.saves_pct.expected
    return Item(weight, cause.cause, " ".join(filter(None, parts)), cause.saves_pct.together)


def _where(cause: Cause, quoted: set[str]) -> str:
    """Returns the places to blame. If the whole kernel is, it is the line that has most of the cause, or where the kernel begins."""
    if has_place(cause):
        return f"At {_places(cause.where, quoted)}."
    if place := main_place(cause):
        return f"Mostly at {_places([place], quoted)}."
    if cause.where and not cause.where[0].share_pct:
        return f"The kernel begins at {_places(cause.where, quoted)}."
    return ""


def _places(places: Sequence[CodePlace], quoted: set[str]) -> str:
    first, *others = places
    quotation = ""
    if first.text and first.text not in quoted and not _ARGUMENT.fullmatch(first.text):
        quotation = f" `{_cut(first.text)}`"
        quoted.add(first.text)
    more = f", {', '.join(map(place_text, others))}" if others else ""
    return f"{place_text(first)}{quotation}{call_text(first)}{more}"


def _cut(code: str) -> str:
    """Returns the start of a line of code, which ends between two words: half a number is another number."""
    if len(code) <= _SHOWN_TEXT:
        return code
    return re.sub(r"\w*$", "", code[:_SHOWN_TEXT]).rstrip() + "…"
