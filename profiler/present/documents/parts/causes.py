"""Causes as blocks: what each change would save, what the cause is, where, and what to try."""

from __future__ import annotations

import re
from collections.abc import Sequence

from profiler.analyse.causes.cause import Cause, Headline
from profiler.analyse.causes.headline import has_bound, has_place, name_and_place, place_text
from profiler.present.document import Block, Folded, Item, Items, Section, Text

_TITLES = ("could save", "cause", "why")
_MEANING = "what causes {}, by what a change is likely to save (savings overlap)"
_NO_LINES = (
    "no source lines are recorded: compile with -lineinfo (Numba: `@cuda.jit(lineinfo=True)`, "
    "CuPy: `options=('-lineinfo',)`)"
)
_SHOWN_TEXT = 60
_MOST_IN_FULL = 3


def headline_blocks(headline: Headline | None) -> Section:
    """Returns the answer in three lines, or nothing where no duration is known."""
    return [Text(headline.what, strong=True), *why_and_next(headline)] if headline else []


def why_and_next(headline: Headline | None) -> Section:
    """Returns the why and the next step, as far as they are known."""
    lines = [("Why", headline.why), ("Next", headline.next)] if headline else []
    return [Text(f"{name}: {text}") for name, text in lines if text]


def cause_blocks(
    causes: Sequence[Cause],
    unseen: Sequence[str],
    said: Headline | None = None,
    *,
    full: bool = True,
    what: str = "its time",
) -> Section:
    """Returns the list of causes of `what`, and what the recording did not allow to see; leaves out the sentences of `said`.

    Unless `full`, the smaller causes are only named.
    """
    blocks: list[Block] = []
    shown, others = (causes, []) if full else (causes[:_MOST_IN_FULL], causes[_MOST_IN_FULL:])
    quoted: set[str] = set()
    if shown:
        blocks.append(Items(_MEANING.format(what), [_item(one, said, quoted) for one in shown], _TITLES))
    if others:
        named = ", ".join(f"{name_and_place(one)} ({one.saves_pct.expected:.0f} %)" for one in others)
        rows = [_item(one, said, quoted) for one in others]
        folded = [Items("smaller causes", rows, _TITLES)]
        blocks.append(
            Folded(f"{len(others)} more: {named}", folded, f"{len(others)} more with --full: {named}")
        )
    if any(has_place(one) and not one.where[0].line for one in causes):
        blocks.append(Text(_NO_LINES))
    if unseen:
        blocks.append(Text(f"not recorded: {'; '.join(unseen)}. `prof collect --preset source` records it."))
    return blocks


def _item(cause: Cause, said: Headline | None, quoted: set[str]) -> Item:
    """Returns a cause with its evidence; leaves out what the headline `said`, and the lines that are `quoted` above."""
    why, next_ = (said.why, said.next) if said else ("", "")
    saves = f" Saves {cause.saves_pct.at_most:.0f} % at most." if has_bound(cause) else ""
    is_explained, has_advice = cause.sentence in why, cause.try_ in next_
    parts = [
        "Why and what to try stand above." if is_explained and has_advice else "",
        "" if is_explained else cause.sentence,
        f"At {_places(cause, quoted)}." if has_place(cause) else "",
        "" if has_advice else f"Try: {cause.try_}{saves}",
    ]
    weight = 0.0 if cause.is_ceiling else cause.saves_pct.expected
    return Item(weight, cause.cause, " ".join(filter(None, parts)))


def _places(cause: Cause, quoted: set[str]) -> str:
    first, *others = cause.where
    text = f" `{_cut(first.text)}`" if first.text and first.text not in quoted else ""
    quoted.add(first.text or "")
    more = f", {', '.join(map(place_text, others))}" if others else ""
    return f"{place_text(first)}{text}{more}"


def _cut(code: str) -> str:
    """Returns the start of a line of code, which ends between two words: half a number is another number."""
    if len(code) <= _SHOWN_TEXT:
        return code
    return re.sub(r"\w*$", "", code[:_SHOWN_TEXT]).rstrip() + "…"
